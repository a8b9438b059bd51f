"""A disk without room: what was promised stays, reads go on, changes are refused at last."""
import os
import resource
import signal
import subprocess
import time

import pytest
from durable import Refused, Store, peek
from exchange.process import program
from test_files import on_disk, refused

MB = 1024 * 1024
RING = 64 * MB
BODY = 250_000
ENOUGH = 1200  # messages of this size, more than any of these disks takes


class FileLimit:
    """No file may grow beyond a size; unlike a full disk it needs no rights to try."""

    name = "file size limit"

    def __init__(self, folder):
        self.folder = folder

    def fill(self, server):
        """The ring has its place already; the database has not."""
        self.before = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (MB, -1))

    def give_room(self, server):
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, self.before)

    def remove(self):
        pass


class SmallDisk:
    """A file system of 80 MB, of which the ring takes 64."""

    name = "small disk"

    def __init__(self, folder):
        self.folder = folder / "disk"
        self.folder.mkdir()
        self.mount("-t", "tmpfs", "-o", "size=80m", "tmpfs")

    def mount(self, *arguments):
        subprocess.run(["mount", *arguments, str(self.folder)], check=True, capture_output=True)

    def fill(self, server):
        pass

    def give_room(self, server):
        self.mount("-o", "remount,size=400m")

    def remove(self):
        subprocess.run(["umount", str(self.folder)], check=True)


def may_mount():
    """Whether file systems can be mounted here: not by everybody, not in every container."""
    if os.geteuid() != 0:
        return False
    trial = subprocess.run(
        ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True, check=False
    )
    return trial.returncode == 0


@pytest.fixture(params=[FileLimit, SmallDisk] if may_mount() else [FileLimit], ids=lambda kind: kind.name)
def disk(request, folder):
    limited = request.param(folder)
    yield limited
    limited.remove()


@pytest.fixture
def full_store(disk):
    """A store whose disk has no room, filled until it refused; the bodies that were accepted."""
    store = Store(disk.folder, ends_by="kill")
    store.start(clock="real")
    disk.fill(store.server)
    url = store.queue("q", VisibilityTimeout=0)
    accepted = []
    refusal = None
    for n in range(ENOUGH):
        body = ("%06d " % n).ljust(BODY, "x")
        try:
            store.send(url, body)
        except Refused as refused_one:
            refusal = refused_one
            break
        accepted.append(body)
    assert refusal is not None, "the disk is never full"
    yield store, url, accepted, refusal
    store.end()


def bodies(store):
    return [m["body"] for m in peek(store.server, "q")]


def wait_until_accepted(store, url, body):
    deadline = time.monotonic() + 20
    while True:
        try:
            return store.send(url, body)
        except Refused as refused_one:
            assert refused_one.status == 503 and time.monotonic() < deadline
            time.sleep(0.05)


def test_changes_are_refused_from_three_quarters_of_the_ring_until_there_is_room(full_store, disk):
    store, url, accepted, refusal = full_store
    assert (refusal.status, refusal.code) == (503, "ServiceUnavailable")
    status, info = store.server.control("GET", "/_quern/info")
    assert status == 200
    assert RING * 3 // 4 <= info["journal"]["ring_bytes_used"] <= RING
    assert info["journal"]["write_errors"] > 0
    for action, members in (
        ("SetQueueAttributes", {"QueueUrl": url, "Attributes": {"DelaySeconds": "1"}}),
        ("PurgeQueue", {"QueueUrl": url}),
        ("DeleteQueue", {"QueueUrl": url}),
        ("ReceiveMessage", {"QueueUrl": url}),
        ("SendMessageBatch", {"QueueUrl": url, "Entries": [{"Id": "a", "MessageBody": "b"}]}),
    ):
        refused_one = store.refusal(action, **members)
        assert (refused_one.status, refused_one.code) == (503, "ServiceUnavailable"), action
    assert [u.rsplit("/", 1)[1] for u in store.call("ListQueues")["QueueUrls"]] == ["q"]
    assert store.url("q") == url
    assert store.counts(url) == (len(accepted), 0, 0)
    assert store.attributes(url)["DelaySeconds"] == "0"
    status, page = store.server.control("GET", "/_quern/queues/q/messages?limit=3")
    assert [m["body"] for m in page["messages"]] == accepted[:3]

    disk.give_room(store.server)
    wait_until_accepted(store, url, "after")
    (first,) = store.receive(url, 1)
    assert first["Body"] == accepted[0]
    store.delete(url, first)
    store.restart(clock="real", by="kill")
    store.restart(clock="real", by="stop")
    assert bodies(store) == accepted[1:] + ["after"]


def test_a_kill_while_the_disk_is_full_loses_nothing(full_store, disk):
    store, _, accepted, _ = full_store
    disk.give_room(store.server)
    store.restart(clock="real", by="kill")
    assert bodies(store) == accepted


def test_a_stop_while_the_disk_is_full_loses_nothing(full_store, disk):
    store, _, accepted, _ = full_store
    server = store.server
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(60) == 0
    if isinstance(disk, SmallDisk):
        disk.give_room(server)
    store.restart(clock="real", by="kill")
    assert bodies(store) == accepted


def test_a_start_without_room_for_the_ring_is_refused_and_leaves_nothing(folder):
    before = on_disk(folder)
    done = subprocess.run(
        [program(), "serve", "--bind", "127.0.0.1:0", "--db", str(folder / "quern.db")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (RING // 2, RING // 2)),
    )
    refused(done, "quern.db-ring")
    assert on_disk(folder) == before
