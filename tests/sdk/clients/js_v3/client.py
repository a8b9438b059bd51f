"""Version 3 of the AWS SDK for JavaScript: the current one, and one from when it spoke the query
protocol."""

import pathlib

from sdk_clients import Client
from sdk_install import node_folder

FOLDER = pathlib.Path(__file__).resolve().parent
BESIDE = [FOLDER.parent / "js" / "lines.mjs"]


def current():
    return ["node", node_folder("js_v3", FOLDER, beside=BESIDE), "MessageSystemAttributeNames"]


def query():
    runner = node_folder("js_v3_query", FOLDER, pins="query", beside=BESIDE)
    return ["node", runner, "AttributeNames"]


def shows(name, error):
    return seen(error, name, name if error["typed"] else "SQSServiceException")


def seen(error, shape, class_name):
    return {
        "class": class_name,
        "shape": shape,
        "code": error["query"],
        "status": error["status"],
        "fault": "client",
    }


# While it spoke the query protocol, the SDK had a class for an error only in these actions.
BATCHES = ("ChangeMessageVisibilityBatch", "DeleteMessageBatch", "SendMessageBatch")
TYPED_IN = {
    "BatchEntryIdsNotDistinct": BATCHES,
    "BatchRequestTooLong": ("SendMessageBatch",),
    "EmptyBatchRequest": BATCHES,
    "InvalidAttributeName": ("GetQueueAttributes", "SetQueueAttributes"),
    "InvalidBatchEntryId": BATCHES,
    "InvalidMessageContents": ("SendMessage",),
    "OverLimit": ("AddPermission", "ReceiveMessage"),
    "PurgeQueueInProgress": ("PurgeQueue",),
    "QueueDeletedRecently": ("CreateQueue",),
    "QueueDoesNotExist": ("GetQueueUrl", "ListDeadLetterSourceQueues", "PurgeQueue"),
    "QueueNameExists": ("CreateQueue",),
    "ReceiptHandleIsInvalid": ("ChangeMessageVisibility", "DeleteMessage"),
    "ResourceNotFoundException": (
        "CancelMessageMoveTask",
        "ListMessageMoveTasks",
        "StartMessageMoveTask",
    ),
    "TooManyEntriesInBatchRequest": BATCHES,
}


def shows_query(name, error, action):
    if action in TYPED_IN.get(name, ()):
        return seen(error, name, name)
    return seen(error, error["query"], "SQSServiceException")


class QueryClient(Client):
    def check_error(self, errors, name, shown):
        want = self.shows(name, errors[name], shown.get("action"))
        got = {key: shown.get(key) for key in want}
        assert got == want, "wanted %s shown as %s, got %s" % (name, want, shown)


CLIENTS = [
    Client(name="js-v3-json", label="AWS SDK for JavaScript v3", language="JavaScript",
           protocol="json", kind="api", tier="quick", start=current, shows=shows),
    QueryClient(name="js-v3-query", label="AWS SDK for JavaScript v3 (before JSON)",
                language="JavaScript", protocol="query", kind="api", tier="installed",
                start=query, shows=shows_query),
]
