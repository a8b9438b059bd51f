"""A server that is killed beside the append of one entry: a batch, a deduplication record, a move to a
dead-letter queue, a chunk of a move task or of what retention ends, a lapse of leases. A fixed workload for
each; at the next start the entry is there as a whole or not at all."""
import http.client
import json

import pytest
from durable import Store

GONE = (OSError, http.client.HTTPException)


@pytest.fixture
def store(folder):
    opened = Store(folder, ends_by="kill")
    opened.start()
    yield opened
    opened.end()


def kill_at(store, failpoint, step, pause_ms=0):
    """Another server, that is gone amid the step, and the next."""
    store.restart("--failpoint", failpoint)
    with pytest.raises(GONE):
        step()
    assert store.server.process.wait(20) == -9
    store.restart(pause_ms=pause_ms)


def bodies(store, name):
    return sorted(message["body"] for message in store.peek(name))


def batch(kind, texts):
    entries = [{"Id": str(n), "MessageBody": text} for n, text in enumerate(texts)]
    if kind == "fifo":
        for entry in entries:
            entry.update(MessageGroupId="g" + entry["Id"], MessageDeduplicationId=entry["MessageBody"])
    return entries


def send_all(store, url, texts, kind="standard"):
    for start in range(0, len(texts), 10):
        answer = store.call("SendMessageBatch", QueueUrl=url, Entries=batch(kind, texts[start : start + 10]))
        assert "Failed" not in answer


def queue_of(store, kind, name="q", **attributes):
    name += ".fifo" if kind == "fifo" else ""
    store.queue(name, **attributes)
    return name


KINDS = pytest.mark.parametrize("kind", ["standard", "fifo"])
TEXTS = ["text-%02d" % n for n in range(10)]


@KINDS
@pytest.mark.parametrize("entry", [1, 5, 10])
def test_a_batch_that_was_cut_short_is_not_there_at_all(store, kind, entry):
    name = queue_of(store, kind)
    send_all(store, name, ["before"], kind)
    kill_at(store, "send_batch.entry:%d=kill" % entry, lambda: send_all(store, name, TEXTS, kind))
    assert bodies(store, name) == ["before"]
    send_all(store, name, TEXTS, kind)
    store.restart()
    assert bodies(store, name) == ["before"] + TEXTS


@pytest.mark.parametrize("texts", [TEXTS[:1], TEXTS], ids=["single", "batch"])
def test_a_message_and_its_deduplication_record_are_one_entry(store, texts):
    name = queue_of(store, "fifo")
    kill_at(store, "dedup.after_insert=kill", lambda: send_all(store, name, texts, "fifo"))
    assert bodies(store, name) == texts
    known = {message["body"]: message["message_id"] for message in store.peek(name)}
    again = store.call("SendMessageBatch", QueueUrl=name, Entries=batch("fifo", texts))["Successful"]
    assert {texts[int(success["Id"])]: success["MessageId"] for success in again} == known
    assert bodies(store, name) == texts


@KINDS
@pytest.mark.parametrize("side", ["before_commit", "after_commit"])
def test_a_dead_letter_is_in_one_of_both_queues(store, kind, side):
    dead = queue_of(store, kind, "dead")
    policy = json.dumps({"deadLetterTargetArn": store.arn(dead), "maxReceiveCount": 1})
    name = queue_of(store, kind, RedrivePolicy=policy, VisibilityTimeout=0)
    send_all(store, name, TEXTS, kind)
    assert len(store.receive(name)) == 10
    kill_at(store, "redrive.%s=kill" % side, lambda: store.receive(name))
    moved = [] if side == "before_commit" else TEXTS
    assert bodies(store, dead) == moved
    assert bodies(store, name) == [text for text in TEXTS if text not in moved]
    assert store.receive(name) == []
    store.restart()
    assert (bodies(store, name), bodies(store, dead)) == ([], TEXTS)


@KINDS
@pytest.mark.parametrize("chunk", [1, 3])
def test_a_move_task_goes_on_behind_its_last_chunk(store, kind, chunk):
    dead = queue_of(store, kind, "dead")
    source = queue_of(store, kind, "source")
    arn = store.arn(dead)
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1})
    store.call("SetQueueAttributes", QueueUrl=source, Attributes={"RedrivePolicy": policy})
    target = queue_of(store, kind, "target")
    texts = sorted("text-%02d" % n for n in range(60))
    send_all(store, dead, texts, kind)
    store.call(
        "StartMessageMoveTask", SourceArn=arn, DestinationArn=store.arn(target), MaxNumberOfMessagesPerSecond=20
    )
    before = len(bodies(store, target))
    kill_at(store, "movetask.after_chunk=kill:%d" % chunk, lambda: store.server.advance_ms(1000))
    moved = bodies(store, target)
    assert before < len(moved) < 60
    assert sorted(moved + bodies(store, dead)) == texts
    store.advance_ms(10_000)
    assert (bodies(store, dead), bodies(store, target)) == ([], texts)
    (task,) = store.call("ListMessageMoveTasks", SourceArn=arn)["Results"]
    assert (task["Status"], task["ApproximateNumberOfMessagesMoved"]) == ("COMPLETED", 60)


@pytest.mark.parametrize("chunk", [1, 2])
def test_what_retention_has_ended_does_not_come_back(store, chunk):
    store.queue("q", MessageRetentionPeriod=60)
    store.queue("kept")
    texts = sorted("text-%02d" % n for n in range(1500))  # more than one slice
    send_all(store, "q", texts)
    send_all(store, "kept", TEXTS)
    kill_at(store, "retention.after_chunk=kill:%d" % chunk, lambda: store.server.advance_ms(60_000))
    left = bodies(store, "q")
    assert len(left) <= 1500 - 100 and set(left) <= set(texts)
    store.advance_ms(60_000)
    assert bodies(store, "q") == []
    store.restart()
    assert (bodies(store, "q"), bodies(store, "kept")) == ([], TEXTS)


@pytest.mark.parametrize("later_s, state", [(5, (0, 1, 0)), (11, (1, 0, 0))], ids=["before the end", "behind it"])
@pytest.mark.parametrize("side", ["before_commit", "after_commit"])
def test_a_lapse_is_neither_lost_nor_doubled(store, side, later_s, state):
    url = store.queue("q", VisibilityTimeout=10)
    store.send(url, "leased")
    assert store.bodies(url) == ["leased"]
    kill_at(store, "lease_timer.%s=kill" % side, lambda: store.server.advance_ms(11_000), later_s * 1000)
    assert store.counts("q") == state
    store.advance_ms(11_000)
    (message,) = store.receive("q")
    assert message["Attributes"]["ApproximateReceiveCount"] == "2"
    assert store.receive("q") == []
