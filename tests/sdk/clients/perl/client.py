"""Amazon::SQS::Simple, from Debian. It sends a form body together with an X-Amz-Target header, signs
with the scope of another service, and gives the Host header without its port."""

import pathlib

from sdk_clients import Client
from sdk_install import debian

RUNNER = pathlib.Path(__file__).resolve().parent / "runner.pl"


def start():
    debian("libamazon-sqs-simple-perl")
    return ["/usr/bin/perl", RUNNER]


def shows(_name, error):
    return {"code": error["query"], "status": error["status"]}


LACKS = dict.fromkeys(
    (
        "ChangeMessageVisibilityBatch",
        "CreateQueue.tags",
        "GetQueueUrl",
        "ListDeadLetterSourceQueues",
        "ListQueues.MaxResults",
        "SendMessage.MessageSystemAttributes",
        "StartMessageMoveTask",
    ),
    "not in 2.07",
)
LACKS.update({
    "CreateQueue with what needs escaping": "the module escapes bodies and handles only",
    "DeleteMessageBatch": "takes messages, not entries with ids, and tells of no entry",
    "SendMessage with what needs escaping": "the module escapes bodies and handles only",
    "SendMessage.MessageBody with U+FFFF": "the module puts U+FFFD for it",
    "SendMessageBatch": "takes bodies in no order, and tells of no entry that failed",
})

CLIENTS = [
    Client(name="perl-query", label="Amazon::SQS::Simple (Debian's)", language="Perl", protocol="query",
           kind="api", tier="installed", start=start, shows=shows, lacks=LACKS, public=True),
]
