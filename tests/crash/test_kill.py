"""A server that is killed amid a stream of requests: what was answered is there at the next start,
nothing deleted comes back, nothing is there that nobody sent.

The loop of kills runs 200 cycles. A long one, on other seeds:

    QUERN_KILL_CYCLES=2000 QUERN_KILL_SEED=NAME ./dev test crash
"""
import os
import random
import subprocess
import time

import pytest
from durable import Store
from traffic import Traffic

KILL_CYCLES = int(os.environ.get("QUERN_KILL_CYCLES", "200"))
KILL_PARTS = 4  # stores
KILL_SEED = os.environ.get("QUERN_KILL_SEED", "")

# Each passage of a failpoint that tells something of its own.
FAILPOINTS = [
    ("normal", "ring.mid_append=kill:1"),
    ("normal", "ring.mid_append=kill:40"),
    ("full", "ring.mid_append=kill:400"),
    ("full", "ring.before_sync=kill:1"),
    ("full", "ring.before_sync=kill:60"),
    ("normal", "writer.before_commit=kill:1"),
    ("full", "writer.before_commit=kill:5"),
    ("normal", "writer.after_commit=kill:1"),
    ("full", "writer.after_commit=kill:5"),
    ("normal", "wal.checkpoint=kill:1"),
    ("normal", "purge.mid=kill:1"),
    ("full", "purge.mid=kill:3"),
]
BOOT_FAILPOINTS = ["boot.before_recovery=kill", "boot.mid_recovery=kill"]


@pytest.fixture
def open_store(folder):
    """A running server on the real clock with a given --sync, and the clients of it."""
    opened = []

    def run(sync, seed):
        store = Store(folder, ends_by="kill", options=("--sync", sync))
        opened.append(store)
        store.start(clock="real")
        traffic = Traffic(store, seed)
        traffic.make_queues()
        return store, traffic

    yield run
    for store in opened:
        store.end()


def use_until_killed(store, traffic, failpoint):
    """The next life of the store, with an end at the failpoint."""
    try:
        store.restart("--failpoint", failpoint, clock="real")
    except RuntimeError as death:  # what fell due at the start brought it there already
        assert "ended with -9" in str(death)
        return
    traffic.begin()
    if failpoint.startswith("wal.checkpoint"):
        time.sleep(0.2)
        traffic.end()  # it comes with rest
    try:
        assert store.server.process.wait(20) == -9
    except subprocess.TimeoutExpired:
        raise AssertionError("the server did not come to its failpoint") from None
    traffic.end()
    store.end()


def next_life(store, chance):
    """Starts the next server, at times after some that do not come far."""
    if chance.random() < 0.2:
        for _ in range(chance.randint(1, 3)):
            store.start_and_kill(chance.uniform(0, 1.3 * store.start_s))
    options = ["--sync", "full" if chance.random() < 0.2 else "normal"]
    if chance.random() < 0.15:  # all stays in the ring, and the next start has to bring it home
        options += ["--failpoint", "writer.before_commit=delay 600000"]
    started = time.monotonic()
    store.start(*options)
    store.start_s = time.monotonic() - started


@pytest.mark.parametrize("part", range(KILL_PARTS))
def test_all_that_was_answered_outlives_kill_after_kill(folder, part, capsys):
    chance = random.Random("kill %s %d" % (KILL_SEED, part))
    store = Store(folder, ends_by="kill")
    try:
        next_life(store, random.Random(0))
        traffic = Traffic(store, "kill%s-%d" % (KILL_SEED, part), is_virtual=True)
        traffic.make_queues()
        for number in range(1, KILL_CYCLES // KILL_PARTS + 1):
            traffic.begin()
            time.sleep(chance.uniform(0.02, 0.35))
            store.server.process.kill()
            traffic.end()
            store.end()
            next_life(store, chance)
            traffic.check("after kill %d" % number)
            if number % 25 == 0:
                traffic.drain("after kill %d" % number)
    finally:
        store.end()
    counts = traffic.ledger.counts
    with capsys.disabled():
        print("\n%d kills: %s" % (number, ", ".join("%s %d" % pair for pair in sorted(counts.items()))))
    assert all(counts[what] > number for what in ("sends", "deletes", "receives", "visibility changes", "gone")), counts


def test_all_that_was_answered_outlives_a_stop_amid_requests(open_store):
    store, traffic = open_store("normal", "stop")
    for number in range(4):
        traffic.begin()
        time.sleep(0.3)
        store.end(by="stop")
        traffic.end()
        store.start(clock="real")
        traffic.check("after stop %d" % (number + 1))


@pytest.mark.parametrize("sync, failpoint", FAILPOINTS, ids=[f for _, f in FAILPOINTS])
def test_all_that_was_answered_outlives_a_kill_at(open_store, sync, failpoint):
    store, traffic = open_store(sync, failpoint)
    traffic.begin()
    time.sleep(0.2)
    traffic.end()
    use_until_killed(store, traffic, failpoint)
    store.start(clock="real")
    traffic.check("after the kill")
    traffic.begin()
    time.sleep(0.2)
    traffic.end()
    store.restart(clock="real", by="stop")
    traffic.check("after going on")


@pytest.mark.parametrize("sync", ["normal", "full"])
@pytest.mark.parametrize("failpoint", BOOT_FAILPOINTS)
def test_a_recovery_that_was_killed_begins_anew(open_store, failpoint, sync):
    store, traffic = open_store(sync, failpoint)
    store.restart("--failpoint", "writer.before_commit=delay 600000", clock="real")
    traffic.begin()
    time.sleep(0.4)
    store.server.process.kill()
    traffic.end()
    store.end()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="ended with -9"):
            store.start("--failpoint", failpoint, clock="real")
    store.start(clock="real")
    traffic.check("after the recovery")


def test_a_checkpoint_that_fails_loses_nothing(open_store):
    store, traffic = open_store("normal", "checkpoint")
    store.restart("--failpoint", "wal.checkpoint=error", clock="real")
    for number in range(2):
        traffic.begin()
        time.sleep(0.3)
        traffic.end()
        time.sleep(1.3)
        store.restart("--failpoint", "wal.checkpoint=error", clock="real")
        traffic.check("life %d" % number)


@pytest.mark.parametrize("passage", [20, 70])
def test_a_sync_that_fails_ends_the_server_and_loses_nothing(open_store, passage):
    store, traffic = open_store("full", "sync")
    store.restart("--failpoint", "ring.before_sync=error:%d" % passage, clock="real")
    traffic.begin()
    code = store.server.process.wait(20)
    traffic.end()
    assert code not in (0, -9, -11)
    store.restart(clock="real")
    traffic.check("after a refused sync")


def test_a_store_that_refuses_to_be_written_loses_nothing(open_store):
    store, traffic = open_store("normal", "writer")
    store.restart("--failpoint", "writer.before_commit=error", clock="real")
    traffic.begin()
    time.sleep(0.5)
    store.server.process.kill()
    traffic.end()
    store.restart(clock="real")
    traffic.check("with SQLite refusing everything")
