"""boto 2, from Debian: most of its calls are GET requests with everything in the URL."""

import pathlib

from sdk_clients import Client
from sdk_install import debian

RUNNER = pathlib.Path(__file__).resolve().parent / "runner.py"


def start():
    debian("python3-boto")
    return ["/usr/bin/python3", RUNNER]


def shows(_name, error):
    return {"code": error["query"], "status": error["status"], "fault": "Sender"}


LACKS = dict.fromkeys(
    (
        "CreateQueue.tags",
        "ListQueues.MaxResults",
        "ListDeadLetterSourceQueues.MaxResults",
        "ReceiveMessage.ReceiveRequestAttemptId",
        "SendMessage.MessageDeduplicationId",
        "SendMessage.MessageGroupId",
        "SendMessage.MessageSystemAttributes",
        "SendMessageBatch.MessageGroupId",
        "StartMessageMoveTask",
    ),
    "younger than 2.49.0",
)
LACKS.update({
    "ChangeMessageVisibilityBatch's answer": "entries that succeeded are not read",
    "CreateQueue.Attributes.DelaySeconds": "create_queue() has the visibility timeout only",
    "CreateQueue.Attributes.FifoQueue": "create_queue() has the visibility timeout only",
    "CreateQueue.Attributes.RedrivePolicy": "create_queue() has the visibility timeout only",
    "GetQueueUrl's error": "get_queue() turns each error into None",
    "SendMessage.DelaySeconds of 0": "a zero is not sent",
    "SendMessageBatch's digest of attributes": "not read",
})

CLIENTS = [
    Client(name="boto2-query", label="boto 2 (Debian's)", language="Python", protocol="query",
           kind="api", tier="installed", start=start, shows=shows, lacks=LACKS),
]
