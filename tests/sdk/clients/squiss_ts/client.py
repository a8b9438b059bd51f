"""squiss-ts."""

import pathlib

from sdk_clients import Client
from sdk_install import node_folder

FOLDER = pathlib.Path(__file__).resolve().parent
BESIDE = [FOLDER.parent / "js" / name for name in ("lines.mjs", "consuming.mjs")]


def start():
    return ["node", node_folder("squiss_ts", FOLDER, beside=BESIDE)]


CLIENTS = [
    Client(name="squiss-ts", label="squiss-ts", language="JavaScript", protocol="json", kind="framework",
           tier="installed", start=start, sends=True),
]
