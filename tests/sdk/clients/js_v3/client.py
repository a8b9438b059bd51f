"""Version 3 of the AWS SDK for JavaScript."""

import pathlib

from sdk_clients import Client
from sdk_install import node_folder

FOLDER = pathlib.Path(__file__).resolve().parent


def start():
    return ["node", node_folder("js_v3", FOLDER)]


def shows(name, error):
    return {
        "class": name if error["typed"] else "SQSServiceException",
        "shape": name,
        "code": error["query"],
        "status": error["status"],
        "fault": "client",
    }


CLIENTS = [
    Client(name="js-v3-json", label="AWS SDK for JavaScript v3", language="JavaScript",
           protocol="json", kind="api", tier="quick", start=start, shows=shows),
]
