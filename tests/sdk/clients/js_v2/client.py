"""Version 2 of the AWS SDK for JavaScript: the last one, and one from when it spoke the query
protocol."""

import pathlib

from sdk_clients import Client
from sdk_install import node_folder

FOLDER = pathlib.Path(__file__).resolve().parent
BESIDE = [FOLDER.parent / "js" / "lines.mjs"]
QUIET = {"AWS_SDK_JS_SUPPRESS_MAINTENANCE_MODE_MESSAGE": "1"}


def start(protocol):
    name = "js_v2_" + protocol
    return ["node", node_folder(name, FOLDER, pins=protocol, beside=BESIDE)]


def shows(_name, error):
    return {"code": error["query"], "status": error["status"]}


CLIENTS = [
    Client(name="js-v2-json", label="AWS SDK for JavaScript v2", language="JavaScript",
           protocol="json", kind="api", tier="installed", start=lambda: start("json"),
           shows=shows, environment=QUIET),
    Client(name="js-v2-query", label="AWS SDK for JavaScript v2 (before JSON)",
           language="JavaScript", protocol="query", kind="api", tier="installed",
           start=lambda: start("query"), shows=shows, environment=QUIET),
]
