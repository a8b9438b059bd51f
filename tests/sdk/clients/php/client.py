"""AsyncAws, from Debian."""

import pathlib

from sdk_clients import Client
from sdk_install import debian

RUNNER = pathlib.Path(__file__).resolve().parent / "runner.php"


def start():
    debian("php-cli", "php-curl", "php-xml", "php-async-aws-sqs")
    return ["/usr/bin/php", RUNNER]


def shows(_name, error):
    return {"code": error["query"], "status": error["status"], "fault": "Sender"}


LACKS = dict.fromkeys(
    (
        "AddPermission",
        "ListDeadLetterSourceQueues",
        "SetQueueAttributes",
        "StartMessageMoveTask",
        "TagQueue",
    ),
    "1.7.0 has fourteen of the actions",
)
LACKS["ReceiveMessage.AttributeName DeadLetterQueueSourceArn"] = "not in its list of names"

CLIENTS = [
    Client(name="php-asyncaws-query", label="AsyncAws (Debian's)", language="PHP", protocol="query",
           kind="api", tier="installed", start=start, shows=shows,
           lacks=LACKS),
]
