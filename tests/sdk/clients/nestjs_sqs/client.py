"""The SQS module for NestJS."""

import pathlib

from sdk_clients import Client
from sdk_install import node_folder

FOLDER = pathlib.Path(__file__).resolve().parent
BESIDE = [FOLDER.parent / "js" / name for name in ("lines.mjs", "consuming.mjs")]


def start():
    return ["node", node_folder("nestjs_sqs", FOLDER, beside=BESIDE)]


CLIENTS = [
    Client(name="nestjs-sqs", label="@ssut/nestjs-sqs", language="JavaScript", protocol="json", kind="framework",
           tier="installed", start=start, sends=True),
]
