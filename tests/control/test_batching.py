"""What a call makes due at once is done before the next call, also when both come in one pass of the loop."""
import contextlib
import json
import signal

import pytest

from parties import events
from raw import Raw
from test_rules import add


@contextlib.contextmanager
def stopped(server):
    """What is sent meanwhile is there at once when the server goes on."""
    server.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.process.send_signal(signal.SIGCONT)


@pytest.fixture
def raw(server):
    with Raw(server) as connection:
        yield connection


@pytest.fixture
def other(server):
    with Raw(server) as connection:
        yield connection


def answer(connection):
    reply = connection.read()
    assert reply.status == 200, reply
    return json.loads(reply.body or b"{}")


def call(connection, action, **members):
    connection.send(connection.json(action, members))
    return answer(connection)


def receive_behind(server, first, action, second, receive, **members):
    """The call and a receive in one pass, in this order: the messages that the receive gets."""
    with stopped(server):
        first.send(first.json(action, members))
        second.send(second.json("ReceiveMessage", receive))
    answer(first)
    return [message["MessageId"] for message in answer(second).get("Messages", [])]


@pytest.mark.parametrize("pipelined", [True, False])
def test_message_that_a_rule_brings_back(server, raw, other, queue, pipelined):
    message = call(raw, "SendMessage", QueueUrl=queue, MessageBody="x")["MessageId"]
    handle = call(raw, "ReceiveMessage", QueueUrl=queue)["Messages"][0]["ReceiptHandle"]
    add(server, "on msg.delete once do resurrect")
    second = raw if pipelined else other
    got = receive_behind(server, raw, "DeleteMessage", second, {"QueueUrl": queue}, QueueUrl=queue, ReceiptHandle=handle)
    assert got == [message]


@pytest.mark.parametrize("pipelined", [True, False])
def test_message_that_a_move_task_moves(server, sqs, raw, other, queue, name, pipelined):
    arn = "arn:aws:sqs:us-east-1:000000000000:"
    dead = sqs("CreateQueue", QueueName=name + "-dlq")["QueueUrl"]
    policy = json.dumps({"deadLetterTargetArn": arn + name + "-dlq", "maxReceiveCount": 1})
    sqs("SetQueueAttributes", QueueUrl=queue, Attributes={"RedrivePolicy": policy})
    sqs("SendMessage", QueueUrl=dead, MessageBody="x")
    second = raw if pipelined else other
    moved = {"SourceArn": arn + name + "-dlq", "DestinationArn": arn + name}
    got = receive_behind(server, raw, "StartMessageMoveTask", second, {"QueueUrl": queue}, **moved)
    assert len(got) == 1


def test_call_that_its_own_rule_lets_go(server, raw, other, queue):
    add(server, "on SendMessage once at arrive do hold then mark held")
    assert len(receive_behind(server, raw, "SendMessage", other, {"QueueUrl": queue}, QueueUrl=queue, MessageBody="x")) == 1


def test_connections_are_numbered_by_their_first_call(server, raw, other, queue):
    server.control("GET", "/_quern/trace")
    sent = {"QueueUrl": queue}
    answers = [call(connection, "ListQueueTags", **sent) for connection in (other, raw, other)]
    assert answers == [{}] * 3
    seen = [event["conn"] for event in events(server) if event["kind"] == "api.in"]
    assert seen[-3:] == [2, 3, 2]  # the queue's own connection came first


@pytest.mark.parametrize("pipelined", [True, False])
@pytest.mark.parametrize("point", ["arrive", "pre-commit", "post-commit", "mid-response", "post-response"])
def test_effect_at_each_point_comes_before_the_next_call(server, raw, other, queue, point, pipelined):
    """Also behind an answer that has not left yet."""
    message = call(raw, "SendMessage", QueueUrl=queue, MessageBody="x")["MessageId"]
    handle = call(raw, "ReceiveMessage", QueueUrl=queue)["Messages"][0]["ReceiptHandle"]
    add(server, "on ChangeMessageVisibility once at %s do expire-lease" % point)
    second = raw if pipelined else other
    changed = {"QueueUrl": queue, "ReceiptHandle": handle, "VisibilityTimeout": 60}
    got = receive_behind(server, raw, "ChangeMessageVisibility", second, {"QueueUrl": queue}, **changed)
    assert got == ([] if point in ("arrive", "pre-commit") else [message])
