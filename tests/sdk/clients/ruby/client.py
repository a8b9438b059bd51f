"""Version 1 of the AWS SDK for Ruby, from Debian. Its Host header has no port."""

import pathlib

from sdk_clients import Client
from sdk_install import debian

RUNNER = pathlib.Path(__file__).resolve().parent / "runner.rb"


def start():
    debian("ruby", "ruby-aws-sdk")
    return ["/usr/bin/ruby", RUNNER]


def shows(_name, error):
    code = error["query"]
    return {"class": code.split(".")[-1], "code": code, "status": error["status"]}


LACKS = dict.fromkeys(
    (
        "CreateQueue.Tags",
        "ListDeadLetterSourceQueues.MaxResults",
        "ListQueues.MaxResults",
        "PurgeQueue",
        "ReceiveMessage.ReceiveRequestAttemptId",
        "SendMessage.MessageDeduplicationId",
        "SendMessage.MessageGroupId",
        "SendMessage.MessageSystemAttributes",
        "SendMessageBatch.MessageGroupId",
        "StartMessageMoveTask",
    ),
    "younger than 1.67.0",
)

CLIENTS = [
    Client(name="ruby-v1-query", label="AWS SDK for Ruby v1 (Debian's)", language="Ruby",
           protocol="query", kind="api", tier="installed", start=start, shows=shows,
           lacks=LACKS, public=True),
]
