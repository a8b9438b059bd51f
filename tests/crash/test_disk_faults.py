"""A disk that goes bad below a server that is in use, with very many polls parked: answers go on
until the ring is three quarters full, then changes are refused and reads go on; when the disk is
well again all is well, and nothing that was answered is lost."""
import errno
import http.client
import json
import time

import bad_disk
import pytest
import ring_file
from durable import Connection, Refused, Store
from steady import Load

RING = 512 * 1024  # filled within moments
POLLS = 1000
PATIENCE_S = 60


def wait_until(condition, what):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    return bad_disk.build(tmp_path_factory.mktemp("bad-disk"))


@pytest.fixture
def disk(library, folder):
    below = bad_disk.BadDisk(library, folder)
    yield below
    below.close()


@pytest.fixture
def open_store(disk, folder):
    """A store with a small ring on the bad disk."""
    opened = []

    def run(sync):
        store = Store(folder, ends_by="kill", options=("--sync", sync))
        opened.append(store)
        store.start(clock="real")
        store.end(by="stop")
        ring_file.make_small(store, RING)
        store.start(clock="real")
        return store

    yield run
    disk.heal()
    for store in opened:
        store.end()


class Polls:
    """Parked receives on a queue of their own."""

    def __init__(self, store, count):
        self.store = store
        self.url = store.queue("quiet")
        self.connections = []
        body = json.dumps({"QueueUrl": self.url, "WaitTimeSeconds": 20, "MaxNumberOfMessages": 1})
        headers = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS.ReceiveMessage"}
        for _ in range(count):
            connection = http.client.HTTPConnection("127.0.0.1", store.server.port, timeout=PATIENCE_S)
            connection.request("POST", "/", body, headers)
            self.connections.append(connection)
        wait_until(lambda: self.parked() == count, "the polls are not parked")

    def parked(self):
        return info(self.store)["engine"]["parked"]

    def answers(self):
        """Each poll's status and bodies."""
        found = []
        for connection in self.connections:
            answer = connection.getresponse()
            document = json.loads(answer.read() or b"{}")
            found.append((answer.status, [m["Body"] for m in document.get("Messages", [])]))
            connection.close()
        return found


def info(store):
    status, document = store.server.control("GET", "/_quern/info")
    assert status == 200
    return document


def ring_used(store):
    return info(store)["journal"]["ring_bytes_used"]


def send_until_accepted(store, url, body):
    def is_accepted():
        try:
            store.send(url, body)
        except Refused as refusal:
            assert refusal.code == "ServiceUnavailable"
            return False
        return True

    wait_until(is_accepted, "nothing is accepted though the disk is well")


def expect_reads_and_refusals(store, quiet):
    """While the ring is three quarters full."""
    connection = Connection(store.server.port)
    for action, members in (
        ("SendMessage", {"QueueUrl": quiet, "MessageBody": "refused"}),
        ("DeleteMessage", {"QueueUrl": quiet, "ReceiptHandle": "any"}),
        ("CreateQueue", {"QueueName": "refused"}),
        ("TagQueue", {"QueueUrl": quiet, "Tags": {"refused": "1"}}),
    ):
        with pytest.raises(Refused) as refusal:
            connection.call(action, members)
        assert (refusal.value.status, refusal.value.code) == (503, "ServiceUnavailable"), action
    assert connection.call("GetQueueUrl", {"QueueName": "quiet"}) == {"QueueUrl": quiet}
    assert len(connection.call("ListQueues", {"QueueNamePrefix": "qui"})["QueueUrls"]) == 1
    asked = {"QueueUrl": quiet, "AttributeNames": ["ApproximateNumberOfMessages"]}
    assert connection.call("GetQueueAttributes", asked) == {"Attributes": {"ApproximateNumberOfMessages": "0"}}
    assert connection.call("ListQueueTags", {"QueueUrl": quiet}) in ({}, {"Tags": {}})
    connection.close()


def feed(store, url, count):
    """Sends bodies, each another; as many as there are polls."""
    bodies = ["for a poll %d" % n for n in range(count)]
    for start in range(0, count, 10):
        entries = [{"Id": str(n), "MessageBody": body} for n, body in enumerate(bodies[start : start + 10])]
        answer = store.call("SendMessageBatch", QueueUrl=url, Entries=entries)
        assert len(answer["Successful"]) == len(entries)
    return bodies


FAULTS = {
    "full disk": ("normal", bad_disk.WRITE, errno.ENOSPC, ""),
    "I/O error": ("full", bad_disk.WRITE, errno.EIO, ""),
    "short writes": ("normal", bad_disk.SHORT_WRITE, errno.ENOSPC, ""),
    "failing fsync": ("full", bad_disk.SYNC, errno.EIO, ".db-wal"),
}


@pytest.mark.parametrize("sync, calls, error, ending", FAULTS.values(), ids=FAULTS.keys())
def test_a_bad_disk_under_load_with_1000_polls_parked(open_store, disk, sync, calls, error, ending):
    store = open_store(sync)
    load = Load(store)
    load.make_queues()
    polls = Polls(store, POLLS)
    load.begin()
    time.sleep(0.3)
    assert load.refusals() == 0, "the disk is well"

    before = load.answers()
    disk.fail(calls, error, ending)
    wait_until(lambda: disk.failures() > 0, "nothing has failed")
    wait_until(lambda: load.refusals() > 0, "nothing is refused")
    assert load.answers() > before + 50, "answers go on until then"
    used = ring_used(store)
    assert RING * 3 // 4 <= used <= RING
    expect_reads_and_refusals(store, polls.url)
    assert ring_used(store) >= used

    disk.heal()
    send_until_accepted(store, polls.url, "the first")
    refusals = load.refusals()
    answers = load.answers()
    wait_until(lambda: load.answers() > answers + 200, "answers do not go on")
    load.end()
    assert load.refusals() - refusals <= len(load.workers), "still refused"
    sent = ["the first"] + feed(store, polls.url, POLLS)
    answered = polls.answers()
    assert {status for status, _ in answered} <= {200, 503}
    received = [body for _, bodies in answered for body in bodies]
    assert len(received) == len(set(received)) > 0
    kept = [message["body"] for message in store.peek("quiet")]
    assert sorted(kept) == sorted(sent), "a lease is not yet over, a message not gone"
    load.check("after the disk was well again")
    log = store.server.log()
    assert log.count("SQLite cannot write") <= 3 and "SQLite writes again" in log
    store.restart(clock="real", by="kill")
    load.check("at the next start")
    assert sorted(m["body"] for m in store.peek("quiet")) == sorted(sent)


@pytest.mark.parametrize("by", ["kill", "stop"])
def test_an_end_while_the_disk_is_bad_loses_nothing(open_store, disk, by):
    store = open_store("normal")
    load = Load(store)
    load.make_queues()
    disk.fail(bad_disk.WRITE, errno.EIO)
    load.begin()
    wait_until(lambda: load.refusals() > 0, "nothing is refused")
    load.end()
    store.end(by)
    disk.heal()
    store.start(clock="real")
    load.check("at the next start")


def test_a_start_on_a_bad_disk_is_refused_and_loses_nothing(open_store, disk):
    store = open_store("normal")
    load = Load(store)
    load.make_queues()
    disk.fail(bad_disk.WRITE, errno.ENOSPC)
    load.begin()
    time.sleep(0.5)
    store.server.process.kill()
    load.end()
    store.end()
    for calls, error, says in (
        (bad_disk.WRITE, errno.ENOSPC, "No space left on device"),
        (bad_disk.WRITE, errno.EIO, "Input/output error"),
        (bad_disk.READ, errno.EIO, "Input/output error"),
    ):
        disk.fail(calls, error)
        with pytest.raises(RuntimeError, match="ended with 2 at start") as death:
            store.start(clock="real")
        lines = [line for line in str(death.value).splitlines()[1:] if line]
        assert len(lines) == 1 and says in lines[0] and "quern.db" in lines[0], lines
    disk.heal()
    store.start(clock="real")
    load.check("when the disk was well again")


def test_a_ring_that_cannot_be_synced_ends_the_server_with_a_clear_message(open_store, disk):
    store = open_store("full")
    load = Load(store)
    load.make_queues()
    load.begin()
    time.sleep(0.3)
    disk.fail(bad_disk.SYNC, errno.EIO, "-ring")
    assert store.server.process.wait(20) == 1
    load.end()
    (line,) = [line for line in store.server.log().splitlines() if line.startswith("error")]
    for word in ("the ring cannot be synced", "the next start recovers", "quern.db-ring", "Input/output error"):
        assert word in line, line
    disk.heal()
    store.restart(clock="real", by="kill")
    load.check("after a ring that could not be synced")


def test_a_body_that_cannot_be_read_is_an_error_and_nothing_has_changed(open_store, disk):
    store = open_store("normal")
    url = store.queue("q")
    body = "b" * 40_000
    store.send(url, body)
    store.restart(clock="real", by="stop")  # bodies are read from the file then
    disk.fail(bad_disk.READ, errno.EIO)
    refusal = store.refusal("ReceiveMessage", QueueUrl=url)
    assert (refusal.status, refusal.code) == (500, "InternalFailure"), refusal
    assert str(store.path) not in refusal.message
    assert store.counts(url) == (1, 0, 0)
    disk.heal()
    (message,) = store.receive(url)
    assert message["Body"] == body and message["Attributes"]["ApproximateReceiveCount"] == "1"


@pytest.mark.parametrize(
    "calls, error, ending",
    [
        (bad_disk.SYNC, errno.EIO, "-ring"),
        (bad_disk.WRITE, errno.ENOSPC, ""),
        (bad_disk.SYNC, errno.EIO, ".db"),
        (bad_disk.OPEN, errno.EMFILE, "-wal"),
    ],
    ids=["ring not synced", "disk full", "database not synced", "out of files"],
)
def test_a_new_store_that_cannot_be_made_leaves_nothing_behind(folder, disk, calls, error, ending):
    before = sorted(folder.iterdir())
    store = Store(folder, ends_by="kill")
    disk.fail(calls, error, ending)
    with pytest.raises(RuntimeError, match="ended with 2 at start") as death:
        store.start()
    lines = [line for line in str(death.value).splitlines()[1:] if line]
    assert len(lines) == 1 and "quern.db" in lines[0], lines
    assert sorted(folder.iterdir()) == before
    disk.heal()
    store.start()
    store.send(store.queue("q"), "kept")
    store.restart()
    assert [message["body"] for message in store.peek("q")] == ["kept"]
    store.end()
