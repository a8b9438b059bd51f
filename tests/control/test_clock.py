"""The virtual clock: it stands still until it is moved, and everything follows it."""
import time

import pytest

from parties import Waiting, events, parked, until

START_MS = 1767225600000  # 2026-01-01


def now(server):
    return server.control("GET", "/_quern/clock")[1]["now_ms"]


def move(server, **body):
    return server.control("POST", "/_quern/clock", body)


def test_clock_stands_still(server):
    assert now(server) == START_MS
    time.sleep(0.05)
    assert now(server) == START_MS


def test_clock_starts_where_it_is_told(start):
    assert now(start(clock="virtual=2030-06-01T12:00:00Z")) == 1906545600000
    assert now(start(clock="virtual=1234567890123")) == 1234567890123


def test_advance_answers_the_new_instant(server):
    status, answer = move(server, advance_ms=1500)
    assert (status, answer["now_ms"]) == (200, START_MS + 1500)
    assert answer["now"] == "2026-01-01T00:00:01.500Z"


def test_advance_by_nothing_is_answered(server):
    assert move(server, advance_ms=0)[0] == 200


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"advance_ms": -1},
        {"advance_ms": "5"},
        {"advance_ms": 1.5},
        {"advance_ms": 2**62},
        {"rate": -1},
        {"rate": 1001},
        {"rate": "fast"},
        {"advance_ms": 1, "rate": 1},
    ],
)
def test_other_moves_are_refused(server, body):
    status, answer = server.control("POST", "/_quern/clock", body)
    assert status == 400 and answer["error"]
    assert now(server) == START_MS


def test_real_clock_cannot_be_moved(start):
    server = start(clock="real")
    for body in ({"advance_ms": 1}, {"rate": 2}):
        status, answer = server.control("POST", "/_quern/clock", body)
        assert status == 400 and "virtual" in answer["error"]
    assert abs(now(server) - time.time() * 1000) < 60000


def test_rate_lets_the_clock_run(server):
    move(server, rate=1000)
    until(lambda: now(server) > START_MS + 5000)
    assert move(server, rate=0)[1]["rate"] == 0
    stopped = now(server)
    time.sleep(0.05)
    assert now(server) == stopped


def test_what_falls_due_is_done_when_the_advance_is_answered(server, sqs, queue):
    sqs("SetQueueAttributes", QueueUrl=queue, Attributes={"MessageRetentionPeriod": "60"})
    for n in range(0, 3000, 10):
        entries = [{"Id": str(i), "MessageBody": str(n + i)} for i in range(10)]
        sqs("SendMessageBatch", QueueUrl=queue, Entries=entries)
    move(server, advance_ms=60000)
    figures = server.control("GET", "/_quern/queues")[1]["queues"][0]
    assert (figures["visible"], figures["in_flight"]) == (0, 0)
    assert server.control("GET", "/_quern/info")[1]["engine"]["messages"] == 0


def test_leases_lapse_in_their_order_on_the_way(server, sqs, queue):
    for body, timeout in (("late", 20), ("soon", 10)):
        sqs("SendMessage", QueueUrl=queue, MessageBody=body)
        sqs("ReceiveMessage", QueueUrl=queue, VisibilityTimeout=timeout)
    events(server)  # from the first reader on the trace is full
    move(server, advance_ms=60000)
    lapsed = [e for e in events(server) if e["kind"] == "lease.expire"]
    assert [e["vt"] - START_MS for e in lapsed] == [10000, 20000]


def test_poll_ends_in_virtual_time(server, queue):
    poll = Waiting(server, "ReceiveMessage", QueueUrl=queue, WaitTimeSeconds=20)
    until(lambda: parked(server) == 1)
    move(server, advance_ms=19999)
    assert parked(server) == 1
    move(server, advance_ms=1)
    assert poll.members() == {}


def test_poll_is_served_by_a_lease_that_lapses_on_the_way(server, sqs, queue):
    sqs("SendMessage", QueueUrl=queue, MessageBody="again")
    sqs("ReceiveMessage", QueueUrl=queue, VisibilityTimeout=5)
    poll = Waiting(server, "ReceiveMessage", QueueUrl=queue, WaitTimeSeconds=20)
    until(lambda: parked(server) == 1)
    move(server, advance_ms=3600_000)
    assert poll.members()["Messages"][0]["Body"] == "again"


def test_keep_polls_carries_them_along(server, queue):
    poll = Waiting(server, "ReceiveMessage", QueueUrl=queue, WaitTimeSeconds=20)
    until(lambda: parked(server) == 1)
    move(server, advance_ms=3600_000, keep_polls=True)
    assert parked(server) == 1 and poll.is_waiting()
    move(server, advance_ms=20_000)
    assert poll.members() == {}


def test_kept_poll_is_served_by_what_falls_due(server, sqs, queue):
    sqs("SendMessage", QueueUrl=queue, MessageBody="later", DelaySeconds=900)
    poll = Waiting(server, "ReceiveMessage", QueueUrl=queue, WaitTimeSeconds=20)
    until(lambda: parked(server) == 1)
    move(server, advance_ms=900_000, keep_polls=True)
    assert poll.members()["Messages"][0]["Body"] == "later"


def test_poll_under_a_clock_that_stands_still_ends_in_real_time(server, queue):
    started = time.monotonic()
    poll = Waiting(server, "ReceiveMessage", QueueUrl=queue, WaitTimeSeconds=1)
    assert poll.members() == {}
    assert 0.9 < time.monotonic() - started < 10
    assert now(server) == START_MS


def test_advances_of_several_add_up(server):
    answers = [Moving(server, 1000) for _ in range(5)]
    assert sorted(a.result() for a in answers) == [START_MS + 1000 * n for n in range(1, 6)]


class Moving:
    """An advance on a connection of its own."""

    def __init__(self, server, by_ms):
        import threading

        self.outcome = None
        self.thread = threading.Thread(target=self._move, args=(server, by_ms))
        self.thread.start()

    def _move(self, server, by_ms):
        self.outcome = server.control("POST", "/_quern/clock", {"advance_ms": by_ms})[1]["now_ms"]

    def result(self):
        self.thread.join(20)
        return self.outcome


def test_advance_outlives_a_kill(start, tmp_path):
    db = ("--db", str(tmp_path / "q.db"))
    server = start(*db)
    move(server, advance_ms=123_456)
    server.kill()
    assert now(start(*db)) == START_MS + 123_456
