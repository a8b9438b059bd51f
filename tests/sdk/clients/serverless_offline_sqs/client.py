"""serverless-offline-sqs: Lambda functions that take their events from a queue. A large install, and a
process of some seconds for each consumer."""

import pathlib

from sdk_clients import Client
from sdk_install import node_folder

FOLDER = pathlib.Path(__file__).resolve().parent
BESIDE = [FOLDER.parent / "js" / name for name in ("lines.mjs", "consuming.mjs")]
BESIDE += [FOLDER / "handler.js"]


def start():
    return ["node", node_folder("serverless_offline_sqs", FOLDER, beside=BESIDE)]


CLIENTS = [
    Client(name="serverless-offline-sqs", label="serverless-offline-sqs", language="JavaScript",
           protocol="json", kind="framework", tier="slow", start=start),
]
