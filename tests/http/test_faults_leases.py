"""Leases that end earlier or later than the consumer was told, by rules, in both protocols."""
import pytest


def leased_for_s(rules, server, name):
    """How long the only message of the queue stays in flight from now on."""
    seconds = 0
    while rules.counts(name) == (0, 1, 0):
        server.advance_ms(1000)
        seconds += 1
        assert seconds < 200
    return seconds


# What is done to a lease of 30 s when it is granted, when 10 s have passed if its visibility is set again.
LEASES = [
    ("shorten-lease 5s", 5),
    ("shorten-lease 0s", 0),
    ("shorten-lease 60s", 30),
    ("extend-lease 5s", 35),
    ("expire-lease", 0),
    ("after 3s shorten-lease 5s", 8),
    ("after 3s extend-lease 5s", 35),
    ("shorten-lease 5s then after 2s extend-lease 10s", 15),
]
EVENTS = ["lease.grant", "ReceiveMessage", "ReceiveMessage at post-commit", "ReceiveMessage at post-response"]


@pytest.mark.parametrize("action, seconds", LEASES)
@pytest.mark.parametrize("event", EVENTS)
def test_a_lease_lasts_as_a_rule_says(server, rules, party, queue, name, event, action, seconds):
    rules.add("on %s once do %s" % (event.replace(" at", " where queue=%s at" % name), action))
    party.send(queue, "m")
    (message,) = party.receive(queue, VisibilityTimeout=30)
    assert leased_for_s(rules, server, name) == seconds
    assert rules.not_done() == [] and rules.fired() == 1
    party.delete(queue, message)  # the latest handle is good on a standard queue


@pytest.mark.parametrize("action, seconds", LEASES)
@pytest.mark.parametrize("call", ["ChangeMessageVisibility", "ChangeMessageVisibilityBatch"])
def test_a_changed_lease_lasts_as_a_rule_says(server, rules, party, queue, name, call, action, seconds):
    party.send(queue, "m")
    (message,) = party.receive(queue, VisibilityTimeout=100)
    rules.add("on ChangeMessageVisibility* once do " + action)
    if call == "ChangeMessageVisibility":
        party.hide(queue, message, 30)
    else:
        entry = {"Id": "x", "ReceiptHandle": message["ReceiptHandle"], "VisibilityTimeout": 30}
        assert len(party.call(call, QueueUrl=queue, Entries=[entry])["Successful"]) == 1
    assert leased_for_s(rules, server, name) == seconds


def test_the_trace_tells_the_new_end(server, rules, party, queue):
    rules.add("on lease.grant once do shorten-lease 5s as short")
    party.send(queue, "m")
    (message,) = party.receive(queue, VisibilityTimeout=30)
    (granted,) = rules.events("lease.grant")
    (changed,) = rules.events("lease.extend")
    assert granted["deadline"] - changed["deadline"] == 25_000
    assert (changed["reason"], changed["h"]) == ("fault", message["ReceiptHandle"])


def test_only_the_named_message_of_an_answer_is_hit(server, rules, party, queue, name):
    rules.add('on ReceiveMessage where body."key"=b do shorten-lease 5s')
    party.send(queue, '{"key":"a"}', '{"key":"b"}', '{"key":"c"}')
    assert len(party.receive(queue, VisibilityTimeout=30)) == 3
    server.advance_ms(5000)
    assert party.bodies(queue) == ['{"key":"b"}']


def test_a_lease_that_is_over_cannot_be_changed_and_the_trace_says_so(server, rules, party, queue):
    rules.add("on lease.grant once do after 10s extend-lease 5s as longer")
    party.send(queue, "m")
    (message,) = party.receive(queue, VisibilityTimeout=30)
    party.delete(queue, message)
    server.advance_ms(10_000)
    assert rules.not_done() == ["not done: the lease is over"]


def test_the_later_lease_of_a_message_is_left_alone(server, rules, party, queue, name):
    rules.add("on lease.grant once do after 10s expire-lease")
    party.send(queue, "m")
    (message,) = party.receive(queue, VisibilityTimeout=30)
    party.hide(queue, message, 0)
    party.receive(queue, VisibilityTimeout=30)
    server.advance_ms(10_000)
    assert rules.counts(name) == (0, 1, 0)


@pytest.mark.parametrize("action", ["expire-lease", "shorten-lease 1s"])
def test_a_fifo_lease_is_shortened_only_by_a_rule_that_says_unsound(server, rules, party, name, action):
    queue = party.call("CreateQueue", QueueName=name + ".fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    rules.add("on lease.grant do %s as quiet" % action)
    party.send(queue, "m", MessageGroupId="g", MessageDeduplicationId="d")
    party.receive(queue)
    server.advance_ms(1000)
    assert rules.counts(name + ".fifo") == (0, 1, 0) and rules.fired() == 0
    rules.remove()
    server.advance_ms(30_000)
    rules.add("unsound on lease.grant where queue ~ *.fifo do " + action)
    party.receive(queue)
    server.advance_ms(1000)
    assert rules.counts(name + ".fifo") == (1, 0, 0)
    party.call("DeleteQueue", QueueUrl=queue)
