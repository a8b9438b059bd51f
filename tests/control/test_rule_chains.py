"""Chains of actions: what happens one after the other, to the call and apart from it."""
import pytest

from exchange import client as exchange_client
from parties import Waiting, until
from test_rules import add, counts, rules


@pytest.fixture
def call(server):
    connection = exchange_client.Client(server)
    yield lambda action, **members: connection.call("json", action, members)
    connection.close()


@pytest.fixture
def queue(call, name):
    return call("CreateQueue", QueueName=name).members["QueueUrl"]


@pytest.mark.parametrize("point, stored", [("arrive", 0), ("pre-commit", 0), ("post-commit", 1)])
def test_error_behind_a_delay(server, call, queue, name, point, stored):
    add(server, "on SendMessage once at %s do delay 20ms then delay 20ms then throttle as slow" % point)
    answer = call("SendMessage", QueueUrl=queue, MessageBody="x")
    assert (answer.status, answer.code) == (400, "ThrottlingException")
    assert counts(server, name) == (stored, 0)
    assert (rules(server)[0]["matched"], rules(server)[0]["fired"]) == (1, 1)


def test_delayed_receive_that_then_gets_less(server, call, queue):
    for _ in range(3):
        call("SendMessage", QueueUrl=queue, MessageBody="x")
    add(server, "on ReceiveMessage once at pre-commit do delay 20ms then short 1")
    got = call("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=10).members["Messages"]
    assert len(got) == 1


def test_held_until_the_clock_has_come_so_far(server, call, queue, name):
    add(server, "on SendMessage once at arrive do hold then after 30s as gate")
    held = Waiting(server, "SendMessage", QueueUrl=queue, MessageBody="x")
    until(lambda: rules(server)[0]["fired"] == 1)
    server.control("POST", "/_quern/clock", {"advance_ms": 29000})
    assert held.is_waiting() and counts(server, name) == (0, 0)
    server.control("POST", "/_quern/clock", {"advance_ms": 1000})
    assert "MessageId" in held.members()


def test_held_delete_whose_lease_lapses_meanwhile(server, call, queue, name):
    call("SendMessage", QueueUrl=queue, MessageBody="x")
    handle = call("ReceiveMessage", QueueUrl=queue, VisibilityTimeout=60).members["Messages"][0]["ReceiptHandle"]
    add(server, "on DeleteMessage once at pre-commit do hold then after 5s expire-lease")
    held = Waiting(server, "DeleteMessage", QueueUrl=queue, ReceiptHandle=handle)
    until(lambda: rules(server)[0]["fired"] == 1)
    assert held.is_waiting() and counts(server, name) == (0, 1)
    server.control("POST", "/_quern/clock", {"advance_ms": 5000})
    held.members()
    assert counts(server, name) == (0, 0)  # lapsed, and the newest handle all the same


def test_held_call_that_is_then_refused(server, call, queue, name):
    add(server, "on SendMessage once at post-commit do hold then 5xx 503")
    answer = call("SendMessage", QueueUrl=queue, MessageBody="x")
    assert answer.status == 503
    assert counts(server, name) == (1, 0)
