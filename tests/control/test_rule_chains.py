"""Chains of actions: what happens one after the other, to the call and apart from it."""
import pytest

from parties import Waiting, until
from test_rules import add, counts, rules


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


def test_what_is_done_before_a_request_counts_for_it(server, call, name):
    """At pre-commit a lease ends, and the delete that comes with its handle is too late."""
    queue = call("CreateQueue", QueueName=name + ".fifo", Attributes={"FifoQueue": "true"}).members["QueueUrl"]
    sent = {"MessageBody": "x", "MessageGroupId": "g", "MessageDeduplicationId": "d"}
    call("SendMessage", QueueUrl=queue, **sent)
    handle = call("ReceiveMessage", QueueUrl=queue).members["Messages"][0]["ReceiptHandle"]
    add(server, "unsound on DeleteMessage once at pre-commit do expire-lease")
    late = call("DeleteMessage", QueueUrl=queue, ReceiptHandle=handle)
    assert (late.status, late.code) == (400, "InvalidParameterValue") and "expired" in late.message
    assert counts(server, name + ".fifo") == (1, 0)


def test_what_is_done_behind_a_request_does_not_count_for_it(server, call, queue, name):
    call("SendMessage", QueueUrl=queue, MessageBody="x")
    add(server, "on ReceiveMessage once at post-commit do expire-lease")
    (message,) = call("ReceiveMessage", QueueUrl=queue).members["Messages"]
    assert counts(server, name) == (1, 0)
    (again,) = call("ReceiveMessage", QueueUrl=queue).members["Messages"]
    assert again["MessageId"] == message["MessageId"]


def test_what_a_chain_does_before_its_verdict_is_done(server, call, queue, name):
    call("SendMessage", QueueUrl=queue, MessageBody="x")
    call("ReceiveMessage", QueueUrl=queue, VisibilityTimeout=600)
    call("SendMessage", QueueUrl=queue, MessageBody="y")
    add(server, "on ReceiveMessage once at post-commit do expire-lease then 5xx 500")
    assert call("ReceiveMessage", QueueUrl=queue).status == 500
    assert counts(server, name) == (1, 1)


def test_each_held_call_is_released_by_its_own_chain(server, call, queue, name):
    add(server, "on SendMessage do hold then after 10s as gate")
    first = Waiting(server, "SendMessage", QueueUrl=queue, MessageBody="x")
    until(lambda: rules(server)[0]["fired"] == 1)
    server.advance_ms(6000)
    second = Waiting(server, "SendMessage", QueueUrl=queue, MessageBody="y")
    until(lambda: rules(server)[0]["fired"] == 2)
    server.advance_ms(4000)
    assert "MessageId" in first.members()
    assert second.is_waiting() and counts(server, name) == (1, 0)
    server.advance_ms(6000)
    assert "MessageId" in second.members()


def test_a_hold_whose_end_came_during_the_delay_before_it(server, call, queue, name):
    add(server, "on SendMessage once do delay 300ms then hold then after 5s")
    late = Waiting(server, "SendMessage", QueueUrl=queue, MessageBody="x")
    until(lambda: rules(server)[0]["fired"] == 1)
    server.advance_ms(60_000)
    assert late.is_waiting()
    assert "MessageId" in late.members()
