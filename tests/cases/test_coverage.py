"""The case files themselves: complete in form, and no action without its successes and refusals."""
import pathlib
import re

import pytest

from exchange.case import PROTOCOLS, Case
from exchange.wire import to_pairs

FOLDER = pathlib.Path(__file__).resolve().parent
CASES = [Case(path, FOLDER) for path in sorted(FOLDER.glob("*/*.json"))]

ACTIONS = """AddPermission CancelMessageMoveTask ChangeMessageVisibility ChangeMessageVisibilityBatch CreateQueue
DeleteMessage DeleteMessageBatch DeleteQueue GetQueueAttributes GetQueueUrl ListDeadLetterSourceQueues
ListMessageMoveTasks ListQueueTags ListQueues PurgeQueue ReceiveMessage RemovePermission SendMessage
SendMessageBatch SetQueueAttributes StartMessageMoveTask TagQueue UntagQueue""".split()

QUEUE_ACTIONS = [
    a
    for a in ACTIONS
    if a not in ("CreateQueue", "GetQueueUrl", "ListQueues")
    and not a.endswith("MessageMoveTask")
    and not a.endswith("MessageMoveTasks")
]


def answers(action):
    for case in CASES:
        if case.data["request"]["action"] == action:
            answer = case.data["answer"]
            yield {**answer, **answer.get("json", {})}


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_a_case_names_its_rule_and_source(case):
    known = {"rule", "says", "source", "options", "protocols", "setup", "request", "answer", "then"}
    assert set(case.data) <= known
    assert {"rule", "says", "source", "request", "answer"} <= set(case.data)
    assert re.match(r"\[[DSRVCA]\]", case.data["source"])
    assert set(case.protocols) <= set(PROTOCOLS)
    action = case.data["request"]["action"]
    folder = re.sub(r"(?<!^)(?=[A-Z])", "_", action).lower()
    assert case.path.parent.name in (folder, "protocol")
    answer = case.data["answer"]
    for protocol in case.protocols:
        whole = {**answer, **answer.get(protocol, {})}
        if whole.get("status", 200) != 200:
            assert "code" in whole and (whole["code"] is None or "fault" in whole)
            assert protocol == "query" or "type" in whole


@pytest.mark.parametrize("action", ACTIONS)
def test_each_action_has_successes_and_refusals(action):
    statuses = [a.get("status", 200) for a in answers(action)]
    assert statuses.count(200) >= 2, "successes"
    assert len(statuses) - statuses.count(200) >= (1 if action == "ListQueues" else 2), "refusals"


@pytest.mark.parametrize("action", QUEUE_ACTIONS)
def test_each_queue_action_refuses_bad_queue_urls(action):
    codes = [a.get("code") for a in answers(action)]
    for code in ("MissingParameter", "InvalidAddress", "AWS.SimpleQueueService.NonExistentQueue"):
        assert code in codes


def test_query_names_follow_the_naming_table():
    members = {
        "QueueUrl": "u",
        "Entries": [
            {
                "Id": "a",
                "MessageAttributes": {"k": {"DataType": "String", "StringValue": "v"}},
                "DelaySeconds": 3,
            }
        ],
    }
    assert to_pairs("SendMessageBatch", members)[2:] == [
        ("QueueUrl", "u"),
        ("SendMessageBatchRequestEntry.1.Id", "a"),
        ("SendMessageBatchRequestEntry.1.MessageAttribute.1.Name", "k"),
        ("SendMessageBatchRequestEntry.1.MessageAttribute.1.Value.DataType", "String"),
        ("SendMessageBatchRequestEntry.1.MessageAttribute.1.Value.StringValue", "v"),
        ("SendMessageBatchRequestEntry.1.DelaySeconds", "3"),
    ]
    both = to_pairs("ReceiveMessage", {"AttributeNames": ["A"], "MessageSystemAttributeNames": ["B"]})
    assert both[2:] == [("AttributeName.1", "A"), ("AttributeName.2", "B")]
    tags = to_pairs(
        "CreateQueue", {"QueueName": "n", "tags": {"k": "v"}, "Attributes": {"DelaySeconds": "1"}}
    )
    assert tags[2:] == [
        ("QueueName", "n"),
        ("Tag.1.Key", "k"),
        ("Tag.1.Value", "v"),
        ("Attribute.1.Name", "DelaySeconds"),
        ("Attribute.1.Value", "1"),
    ]
