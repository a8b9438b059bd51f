"""POST /_quern/act: one action of the fault grammar, done once and now, without a rule."""
import pytest

from parties import events, until
from test_rules import counts, rules


def act(server, do, **where):
    status, answer = server.control("POST", "/_quern/act", {"do": do, **where})
    assert status == 200, answer


def received(call, queue, **how):
    return call("ReceiveMessage", QueueUrl=queue, **how).members.get("Messages", [])


@pytest.fixture
def leased(call, queue):
    call("SendMessage", QueueUrl=queue, MessageBody="x")
    return received(call, queue, VisibilityTimeout=600)[0]


def test_lease_of_a_message_ends(server, call, queue, name, leased):
    act(server, "expire-lease", queue=name, mid=leased["MessageId"])
    until(lambda: counts(server, name) == (1, 0))
    assert rules(server) == []


def test_lease_by_its_handle_and_not_another(server, call, queue, name, leased):
    act(server, "expire-lease", queue=name, mid=leased["MessageId"], handle=leased["ReceiptHandle"], n=7)
    assert counts(server, name) == (0, 1)
    assert "not done: the lease is over" in [event.get("reason") for event in events(server)]


def test_copy_is_delivered_beside_the_lease(server, call, queue, name, leased):
    act(server, "deliver-again", queue=name, mid=leased["MessageId"])
    until(lambda: [m["MessageId"] for m in received(call, queue)] == [leased["MessageId"]])


def test_queue_is_purged_and_gets_a_message(server, call, queue, name, leased):
    act(server, "purge", queue=name)
    until(lambda: counts(server, name) == (0, 0))
    act(server, 'send "from nowhere" to ' + name)
    until(lambda: counts(server, name) == (1, 0))


def test_it_waits_when_it_says_so(server, call, queue, name, leased):
    act(server, "after 30s expire-lease", queue=name, mid=leased["MessageId"])
    server.control("POST", "/_quern/clock", {"advance_ms": 29000})
    assert counts(server, name) == (0, 1)
    server.control("POST", "/_quern/clock", {"advance_ms": 1000})
    assert counts(server, name) == (1, 0)


@pytest.mark.parametrize("do, about", [
    ("expire-leese", "expire-lease"),
    ("kill instance", "not a harness"),
    ("error InternalError", "request"),
    ("", "expected"),
])
def test_what_cannot_be_done_is_said(server, do, about):
    status, answer = server.control("POST", "/_quern/act", {"do": do})
    assert status == 400 and about in answer["error"], answer
