"""What faults did to stored messages is journaled like what requests did: a restart right behind it
loses nothing and adds nothing."""
import threading

import pytest
from durable import Connection


def rule(store, text):
    status, answer = store.server.control("POST", "/_quern/rules", {"rule": text})
    assert status == 200, answer


@pytest.mark.parametrize("action, end_s", [("shorten-lease 5s", 5), ("extend-lease 5s", 35), ("expire-lease", 0)])
def test_a_lease_ends_when_a_fault_said(store, action, end_s):
    url = store.queue("q", VisibilityTimeout=30)
    rule(store, "on lease.grant once do " + action)
    store.send(url, "m")
    store.receive(url)
    store.restart()
    url = store.url("q")
    if end_s > 0:
        store.advance_ms(end_s * 1000 - 1)
        assert store.counts(url) == (0, 1, 0)
        store.advance_ms(1)
    assert store.counts(url) == (1, 0, 0)
    (message,) = store.receive(url)
    store.delete(url, message)
    assert store.counts(url) == (0, 0, 0)


def delete_each(store, url, messages):
    """Each copy goes with its own handle."""
    for n, message in enumerate(messages):
        store.delete(url, message)
        assert store.counts(url)[1] == len(messages) - n - 1


def test_both_leases_of_a_message_hold(store):
    url = store.queue("q")
    store.send(url, "m")
    rule(store, "on lease.grant once do deliver-again")
    first = store.receive(url)
    store.restart()
    url = store.url("q")
    assert store.counts(url) == (1, 1, 0)
    second = store.receive(url)
    store.restart()
    url = store.url("q")
    assert store.counts(url) == (0, 2, 0)
    assert first[0]["MessageId"] == second[0]["MessageId"] and first[0]["Body"] == second[0]["Body"]
    delete_each(store, url, first + second)


def test_a_copy_for_others_is_for_all_once_its_time_has_come(store):
    url = store.queue("q", VisibilityTimeout=30)
    store.send(url, "m")
    rule(store, "on lease.grant once do deliver-again to other")
    (message,) = store.receive(url)
    store.restart()
    url = store.url("q")
    store.delete(url, message)
    assert store.counts(url) == (0, 0, 1)
    store.advance_s(30)
    assert store.bodies(url) == ["m"]


def test_both_of_one_answer_hold(store):
    url = store.queue("q")
    store.send(url, "m")
    rule(store, "on ReceiveMessage once do dup-in-batch")
    messages = store.receive(url)
    store.restart()
    url = store.url("q")
    assert len(messages) == 2 and store.counts(url) == (0, 2, 0)
    delete_each(store, url, messages)


def test_what_went_to_both_is_leased_to_both(store):
    url = store.queue("q")
    store.send(url, "m")
    rule(store, "on ReceiveMessage once do deliver-to-both")
    other = Connection(store.server.port)
    messages = []
    thread = threading.Thread(target=lambda: messages.extend(other.call("ReceiveMessage", {"QueueUrl": url})["Messages"]))
    thread.start()
    while store.server.control("GET", "/_quern/rules")[1]["rules"][0]["fired"] == 0:
        pass
    messages.extend(store.receive(url))
    thread.join(20)
    other.close()
    store.restart()
    url = store.url("q")
    assert len(messages) == 2 and store.counts(url) == (0, 2, 0)
    delete_each(store, url, messages)


def test_another_order_loses_nothing(store):
    url = store.queue("q")
    for body in "abc":
        store.send(url, body)
    rule(store, "on ReceiveMessage once do reorder reverse")
    assert store.bodies(url, 1) == ["c"]
    store.restart()
    url = store.url("q")
    assert store.counts(url) == (2, 1, 0)
    assert store.bodies(url) == ["a", "b"]


def test_a_delayed_key_comes_when_its_time_has_come(store):
    url = store.queue("q")
    store.send(url, '{"idempotencyKey":"k"}')
    rule(store, "on SendMessage once do reorder delay k by 5s")
    store.send(url, "other")
    store.restart()
    url = store.url("q")
    assert store.counts(url) == (1, 0, 1)
    store.advance_ms(4999)
    assert store.bodies(url) == ["other"]
    store.advance_ms(1)
    assert store.bodies(url) == ['{"idempotencyKey":"k"}']


QUEUES = [
    ('send "n"', (2, 0, 0), ["m", "n"]),
    ("dup-send", (2, 0, 0), ["m", "m"]),
    ("poison-body", (2, 0, 0), ["[1]", "[1"]),
    ("purge", (0, 0, 0), []),
    ("set-attr DelaySeconds=5", (1, 0, 0), ["m"]),
    ("create-queue other", (1, 0, 0), ["m"]),
    ("redrive of dead", (2, 0, 0), ["dead", "m"]),
]


@pytest.mark.parametrize("action, counts, bodies", QUEUES)
def test_what_was_sent_or_done_to_a_queue_stays(store, action, counts, bodies):
    """Right behind the answer to the send that brought it about."""
    dead = store.queue("dead")
    policy = '{"deadLetterTargetArn":"%s","maxReceiveCount":1}' % store.arn(dead)
    url = store.queue("q", RedrivePolicy=policy)
    store.send(url, "dead")
    store.receive(url, VisibilityTimeout=0)
    assert store.bodies(url) == [] and store.counts(dead) == (1, 0, 0)
    rule(store, "on SendMessage once do " + action)
    store.send(url, "[1]" if "poison" in action else "m")
    store.restart()
    url = store.url("q")
    assert store.counts(url) == counts
    assert sorted(store.bodies(url), key=str) == sorted(bodies)
    assert store.counts(store.url("dead")) == ((0, 0, 0) if "redrive" in action else (1, 0, 0))
    assert store.attributes(url)["DelaySeconds"] == ("5" if "set-attr" in action else "0")
    names = {one.rsplit("/", 1)[1] for one in store.call("ListQueues")["QueueUrls"]}
    assert names == {"q", "dead"} | ({"other"} if "create" in action else set())


def test_a_queue_that_a_fault_deleted_stays_away(store):
    store.send(store.queue("q"), "m")
    store.queue("p")
    rule(store, "on SendMessage once do delete-queue of q")
    store.send(store.url("p"), "m")
    store.restart()
    assert store.refusal("GetQueueUrl", QueueName="q").code == "AWS.SimpleQueueService.NonExistentQueue"
    assert store.counts(store.url("p")) == (1, 0, 0)


def test_a_fifo_message_that_a_fault_sent_is_remembered_by_its_id(store, folder):
    file = folder / "messages"
    file.write_text('{"body":"a","groupId":"g","dedupId":"d"}\n')
    url = store.queue("q.fifo")
    rule(store, "on SendMessage once do send @%s" % file)
    store.send_fifo(url, "m")
    store.restart()
    url = store.url("q.fifo")
    store.send_fifo(url, "the same to SQS", key="d")
    assert store.bodies(url) == ["m", "a"]
