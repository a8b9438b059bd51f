"""Messages and queues that rules send, copy, spoil, move and clear away, in both protocols."""
import base64
import json

import pytest
from exchange import process

from faulty import Party, Rules, count_of

ATTRIBUTES = {
    "text": {"DataType": "String.kind", "StringValue": "v\u00e4l\nue"},
    "bytes": {"DataType": "Binary", "BinaryValue": base64.b64encode(bytes(range(256))).decode()},
}


@pytest.fixture
def make(party, name):
    """Queues that go with their test."""
    made = []

    def new(suffix, **attributes):
        if suffix.endswith(".fifo"):
            attributes["FifoQueue"] = "true"
        made.append(party.call("CreateQueue", QueueName=name + suffix, Attributes=attributes)["QueueUrl"])
        return made[-1]

    yield new
    for url in made:
        party.answer("DeleteQueue", QueueUrl=url)


# The same once more


def assert_sent_twice(messages, ids, body="m"):
    """One that was sent, and one that the fault sent: alike but for the id."""
    assert len(messages) == 2 and len({message["MessageId"] for message in messages}) == 2
    assert sum(message["MessageId"] in ids for message in messages) == 1
    for message in messages:
        assert message["Body"] == body and message["MessageAttributes"] == ATTRIBUTES
        assert message["Attributes"]["AWSTraceHeader"] == "Root=1-5759e988-bd862e3fe1be46a994272793"


SENT = {
    "MessageAttributes": ATTRIBUTES,
    "MessageSystemAttributes": {
        "AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1-5759e988-bd862e3fe1be46a994272793"}
    },
}


@pytest.mark.parametrize("rule", ["on SendMessage once do dup-send", "on SendMessage once do after 2s dup-send"])
def test_a_message_is_sent_twice(server, rules, party, queue, rule):
    rules.add(rule)
    ids = party.send(queue, "m", **SENT)
    server.advance_ms(2000)
    assert_sent_twice(party.receive(queue), ids)


def test_single_entries_of_a_batch_are_sent_twice(rules, party, queue):
    rules.add('on SendMessageBatch where body."k" in (1, 3) do dup-send')
    entries = [{"Id": str(n), "MessageBody": '{"k":%d}' % n} for n in (1, 2, 3)]
    sent = party.call("SendMessageBatch", QueueUrl=queue, Entries=entries)["Successful"]
    messages = party.receive(queue)
    assert sorted(message["Body"] for message in messages) == ['{"k":1}', '{"k":1}', '{"k":2}', '{"k":3}', '{"k":3}']
    assert {entry["MessageId"] for entry in sent} < {message["MessageId"] for message in messages}


def test_an_entry_that_failed_is_not_sent_twice(rules, party, queue):
    rules.add("on SendMessageBatch do dup-send")
    entries = [{"Id": "good", "MessageBody": "m"}, {"Id": "bad", "MessageBody": "n", "DelaySeconds": 901}]
    assert len(party.call("SendMessageBatch", QueueUrl=queue, Entries=entries)["Failed"]) == 1
    assert party.bodies(queue) == ["m", "m"]


@pytest.mark.parametrize("event", ["ReceiveMessage", "lease.grant", "lease.expire", "msg.delete", "DeleteMessage",
                                   "ChangeMessageVisibility", "lease.grant once do after 1s mark x then"])
def test_a_message_is_sent_again_on_whatever_happens_to_it(server, rules, party, queue, event):
    ids = party.send(queue, "m", **SENT)
    rule = "on %s once do dup-send" % event
    rules.add(rule if "then" not in event else "on lease.grant once do after 1s dup-send")
    (first,) = party.receive(queue, VisibilityTimeout=30)
    if event == "ChangeMessageVisibility":
        party.hide(queue, first, 20)
    if "elete" in event:
        party.delete(queue, first)
    server.advance_ms(30_000)
    messages = party.receive(queue)
    assert_sent_twice(messages if "elete" not in event else messages + [first], ids)
    assert rules.not_done() == []


def test_a_dead_letter_is_sent_again_to_where_it_came_from(server, rules, party, queue, make):
    dead = make("-dead")
    arn = party.call("GetQueueAttributes", QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1})
    party.call("SetQueueAttributes", QueueUrl=queue, Attributes={"RedrivePolicy": policy})
    party.send(queue, "m", **SENT)
    party.receive(queue, VisibilityTimeout=0)
    rules.add("on msg.dlq once do dup-send")
    assert party.receive(queue) == []
    (again,) = party.receive(queue)
    assert again["Body"] == "m" and count_of(again) == 1
    assert party.bodies(dead) == ["m"]


def test_what_is_sent_again_hits_the_limits_of_its_queue(rules, party, queue):
    rules.add("on SendMessage once do after 1s dup-send")
    party.send(queue, "m" * 2000)
    party.call("SetQueueAttributes", QueueUrl=queue, Attributes={"MaximumMessageSize": "1024"})
    rules.server.advance_ms(1000)
    (reason,) = rules.not_done()
    assert "Message must be shorter than 1024 bytes" in reason


def test_a_message_that_is_gone_cannot_be_sent_again(server, rules, party, queue):
    rules.add("on SendMessage once do after 1s dup-send")
    party.send(queue, "m")
    party.call("PurgeQueue", QueueUrl=queue)
    server.advance_ms(1000)
    assert rules.not_done() == ["not done: the message is gone"]


def test_a_faked_send_is_not_sent_again(rules, party, queue):
    rules.add("unsound on SendMessage once at pre-commit do fake-success as lost", "on SendMessage do dup-send")
    party.send(queue, "m")
    assert party.bodies(queue) == [] and rules.not_done() == ["not done: the message is gone"]


@pytest.mark.parametrize("group, of_second", [("", "g"), (" group h", "h")])
def test_a_fifo_message_is_sent_again_to_its_group_or_another(rules, party, make, group, of_second):
    queue = make(".fifo")
    rules.add("on SendMessage do dup-send")
    party.send(queue, "m", MessageGroupId="g", MessageDeduplicationId="1")
    assert rules.fired() == 0
    rules.remove()
    rules.add("unsound on SendMessage once do dup-send" + group)
    party.send(queue, "n", MessageGroupId="g", MessageDeduplicationId="2")
    messages = party.receive(queue)
    assert [message["Body"] for message in messages] == ["m", "n", "n"]
    assert [message["Attributes"]["MessageGroupId"] for message in messages] == ["g", "g", of_second]
    numbers = [message["Attributes"]["SequenceNumber"] for message in messages]
    assert numbers == sorted(set(numbers))


# Bodies that cannot be read


POISON = [
    ('{"a": [1, 2, 3]}', '{"a": [1'),
    ('["x"]', '["x'),
    ('"text"', '"te'),
    ("12345", "123{"),
    ("7", "7{"),
    ('{"a":1}' + " " * 20, '{"a":1}       {'),
    ("true", "tr"),
    ("plain text", "plain"),
    ("\u00e4\u00f6\u00fc", "\u00e4\u00f6"),
    ("\U0001f680", "\U0001f680"),
    ('{"key": "\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc"}', None),
]


@pytest.mark.parametrize("body, poisoned", POISON, ids=range(len(POISON)))
def test_a_body_is_cut_so_that_no_json_can_be_read(rules, party, queue, body, poisoned):
    rules.add("on SendMessage once do poison-body")
    party.send(queue, body)
    first, second = party.bodies(queue)
    assert first == body and body.startswith(second.rstrip("{"))
    assert poisoned is None or second == poisoned
    with pytest.raises(ValueError):
        json.loads(second)


def test_a_fifo_queue_gets_poison_too(rules, party, make):
    queue = make(".fifo", ContentBasedDeduplication="true")
    rules.add("on SendMessage once do poison-body group p")
    party.send(queue, "[1]", MessageGroupId="g")
    messages = party.receive(queue)
    assert [(m["Body"], m["Attributes"]["MessageGroupId"]) for m in messages] == [("[1]", "g"), ("[1", "p")]


# Messages from nowhere


def test_a_tick_sends_to_the_queue_that_it_names(server, rules, party, queue, name):
    rules.add('on tick 1s times 3 do send "{\\"n\\": 1}" to ' + name)
    server.advance_ms(2500)
    assert party.bodies(queue) == ['{"n": 1}'] * 2
    server.advance_ms(5000)
    assert party.bodies(queue) == ['{"n": 1}']


def test_a_message_to_a_queue_that_is_not_there_is_told(server, rules, party, name):
    rules.add('on tick 1s once do send "x" to %s-nowhere' % name)
    server.advance_ms(1000)
    assert rules.not_done() == ["not done: there is no such queue"]


def test_a_message_wakes_a_poll(server, rules, party, queue, name):
    rules.add('on tick 1s once do send "x" to ' + name)
    poll = party.later("ReceiveMessage", QueueUrl=queue, WaitTimeSeconds=20)
    while server.control("GET", "/_quern/queues/" + name)[1]["waiting_polls"] == 0:
        pass
    server.advance_ms(1000)
    assert [m["Body"] for m in poll.result()["Messages"]] == ["x"]


def test_each_message_to_a_fifo_queue_is_one_of_its_own(server, rules, party, make, name):
    queue = make(".fifo")
    rules.add('on tick 1s times 2 do send "x" to %s.fifo group g' % name)
    server.advance_ms(2000)
    messages = party.receive(queue)
    assert [(m["Body"], m["Attributes"]["MessageGroupId"]) for m in messages] == [("x", "g")] * 2
    assert len({m["Attributes"]["MessageDeduplicationId"] for m in messages}) == 2


def lines_of(*messages):
    return "".join(json.dumps(message) + "\n" for message in messages)


def test_a_file_of_messages_is_sent_in_its_order(rules, party, queue, tmp_path):
    file = tmp_path / "my messages=1.jsonl"
    file.write_text(lines_of(
        {"body": "a", "attributes": ATTRIBUTES, "groupId": "tenant", "dedupId": None},
        {"body": "b", "sentAt": 5, "receiveCount": 7, "dedupId": "only for FIFO queues"},
    ) + "\n" + lines_of({"body": "\u00fc \"quoted\""}))
    rules.add('on ReceiveMessage once do send @"%s"' % file)
    file.unlink()  # it was read when the rule was added
    assert party.bodies(queue) == []
    first, second, third = party.receive(queue)
    assert (first["Body"], first["MessageAttributes"], first["Attributes"]["MessageGroupId"]) == ("a", ATTRIBUTES, "tenant")
    assert (second["Body"], third["Body"]) == ("b", '\u00fc "quoted"')


def test_a_file_for_a_fifo_queue_keeps_groups_and_ids(rules, party, make, name, tmp_path):
    queue = make(".fifo")
    file = tmp_path / "f"
    file.write_text(lines_of({"body": "a", "groupId": "g", "dedupId": "d"}, {"body": "a again", "groupId": "g", "dedupId": "d"},
                             {"body": "b", "groupId": "h"}))
    rules.add("on ReceiveMessage times 1 do send @%s to %s.fifo" % (file, name))
    party.receive(queue)
    seen = [(m["Body"], m["Attributes"]["MessageGroupId"]) for m in party.receive(queue)]
    assert seen == [("a", "g"), ("b", "h")]


BAD_FILES = [
    ("", "the file has no messages"),
    ("\n\n", "the file has no messages"),
    ('{"body": "a"}\nnonsense\n', "line 2: a message is a JSON object on a line of its own"),
    ('{"body": "a"}\n[]\n', "line 2: a message is a JSON object"),
    ('{"body": "a", "body": "b"}\n', "line 1: a message is a JSON object"),
    ('\n{"Body": "a"}\n', 'line 2: "body" is missing, or no text'),
    ('{"body": ""}\n', '"body" is missing'),
    ('{"body": 7}\n', '"body" is missing'),
    ('{"body": "\\u0001"}\n', "a character that SQS does not take"),
    ('{"body": "a", "groupId": ""}\n', '"groupId" is a text of 1 to 128 characters'),
    ('{"body": "a", "dedupId": 7}\n', '"dedupId" is a text of 1 to 128 characters'),
    ('{"body": "a", "attributes": []}\n', '"attributes" is an object'),
    ('{"body": "a", "attributes": {"x": "y"}}\n', "an attribute is"),
    (json.dumps({"body": "a", "attributes": {str(n): ATTRIBUTES["text"] for n in range(11)}}), "10 attributes at most"),
    ('{"body": "%s"}\n' % ("x" * 1048577), "a body has 1048576 bytes at most"),
]


@pytest.fixture(scope="module")
def idle():
    """A server that only reads rules."""
    server = process.Server()
    yield Rules(server)
    server.stop()


@pytest.mark.parametrize("text, problem", BAD_FILES, ids=range(len(BAD_FILES)))
def test_a_wrong_file_refuses_the_rule_with_the_line(idle, tmp_path, text, problem):
    file = tmp_path / "f"
    file.write_text(text)
    error = idle.refusal("on any do send @%s" % file)
    assert error.startswith("line 1, column 11: %s" % file) and problem in error


def test_a_file_that_cannot_be_read_refuses_the_rule(idle, tmp_path):
    assert "No such file or directory" in idle.refusal("on any do send @%s/none" % tmp_path)
    assert "that is no file" in idle.refusal("on any do send @%s" % tmp_path)
    assert "that is no file" in idle.refusal("on any do send @/dev/zero")


def test_a_file_for_a_fifo_queue_names_groups_or_the_rule_does(idle, tmp_path):
    file = tmp_path / "f"
    file.write_text(lines_of({"body": "a"}))
    assert 'needs a "groupId"' in idle.refusal("on tick 1s do send @%s to q.fifo" % file)
    idle.add("on tick 1s do send @%s to q.fifo group g" % file)
    idle.remove()


def test_what_stands_in_a_foreign_file_is_not_shown(idle, tmp_path):
    file = tmp_path / "secret"
    file.write_text("the password is 1234\n")
    assert "password" not in idle.refusal("on any do send @%s" % file)


# Queues


def test_a_purge_does_not_wait_for_the_one_before(party, queue, rules):
    server = process.Server("--aws-waits")
    mine = Party(server, party.protocol)
    there = Rules(server)
    url = mine.call("CreateQueue", QueueName="q")["QueueUrl"]
    there.add("on SendMessage do purge")
    for _ in range(2):
        mine.send(url, "x")
        assert there.counts("q") == (0, 0, 0)
    assert mine.answer("PurgeQueue", QueueUrl=url).code == "AWS.SimpleQueueService.PurgeQueueInProgress"
    assert there.not_done() == []
    mine.client.close()
    server.stop()


def test_a_queue_comes_and_goes_by_the_clock(server, rules, party, name):
    url = party.call("CreateQueue", QueueName=name, Attributes={"DelaySeconds": "5"})["QueueUrl"]
    rules.add("on tick 10s once do delete-queue of %s then after 2s create-queue %s" % (name, name))
    poll = party.later("ReceiveMessage", QueueUrl=url, WaitTimeSeconds=20)
    while server.control("GET", "/_quern/queues/" + name)[1]["waiting_polls"] == 0:
        pass
    server.advance_ms(10_000)
    with pytest.raises(AssertionError, match="NonExistentQueue"):
        poll.result()
    server.advance_ms(2000)
    asked = party.call("GetQueueAttributes", QueueUrl=url, AttributeNames=["DelaySeconds"])
    assert asked["Attributes"] == {"DelaySeconds": "0"}
    party.call("DeleteQueue", QueueUrl=url)


def test_a_queue_that_is_there_is_not_created_and_the_trace_says_so(rules, party, queue):
    rules.add("on SendMessage once do create-queue")
    party.send(queue, "x")
    assert rules.not_done() == ["not done: there is a queue of this name"]


def test_attributes_are_set_as_by_the_api(server, rules, party, queue, name):
    rules.add("on tick 1s once do set-attr VisibilityTimeout=7 of " + name)
    server.advance_ms(1000)
    asked = party.call("GetQueueAttributes", QueueUrl=queue, AttributeNames=["VisibilityTimeout"])
    assert asked["Attributes"] == {"VisibilityTimeout": "7"}


def test_what_the_api_refuses_is_told(server, rules, party, queue, name):
    arn = "arn:aws:sqs:us-east-1:000000000000:nowhere"
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1}).replace('"', '\\"')
    rules.add('on SendMessage once do set-attr RedrivePolicy="%s" then redrive' % policy)
    party.send(queue, "x")
    policy_reason, redrive_reason = rules.not_done()
    assert "RedrivePolicy" in policy_reason
    assert "Source queue must be configured as a Dead Letter Queue" in redrive_reason


def test_a_chain_makes_a_message_and_clears_it_away(server, rules, party, queue, name):
    rules.add('on DeleteMessage once do send "a" then after 1s send "b" then after 1s purge as flood')
    party.send(queue, "x")
    (message,) = party.receive(queue)
    party.delete(queue, message)
    assert rules.counts(name) == (1, 0, 0)
    server.advance_ms(1000)
    assert rules.counts(name) == (2, 0, 0)
    server.advance_ms(1000)
    assert rules.counts(name) == (0, 0, 0)
