"""Mixed load for QUERN_SOAK_S seconds on a server with a database: nothing grows.

The clock of the server runs RATE times as fast as ours, so that what SQS remembers for minutes
(deduplication and attempt ids, deleted names) has come and gone before the figures count.
"""
import json
import os
import pathlib
import time

import flat
import looks
import pytest
from exchange.process import Server
from load import Load, fill

SOAK_S = float(os.environ.get("QUERN_SOAK_S", "15"))
RATE = 60
LOOK_S = 0.5 if SOAK_S <= 120 else 5
RING_KIB = 64 * 1024
WAL_MAX_KIB = 64 * 1024
MIB = 1024
GROWTH_KIB = 512  # of memory, over the second half: measured below 200 after a minute, below 10 later
SPREAD_KIB = 4 * MIB  # a moment with many messages


@pytest.fixture(scope="module")
def soak(tmp_path_factory):
    """The looks at the server, in order, as (second, figures), and what was complained of."""
    database = tmp_path_factory.mktemp("soak") / "soak.db"
    server = Server("--db", str(database), clock="virtual")
    server.control("POST", "/_quern/clock", {"rate": RATE})
    load = Load(server.port)
    seen = []
    try:
        fill(server.port, load.complaints)
        load.start()
        begun = time.monotonic()
        while time.monotonic() < begun + SOAK_S:
            time.sleep(LOOK_S)
            seen.append((time.monotonic() - begun, looks.look(server, database)))
    finally:
        load.stop()
        log = server.log()
        server.stop()
        keep(seen, load)
    return seen, load, log


def keep(seen, load):
    """For the curve: the file that QUERN_SOAK_JSON names."""
    if "QUERN_SOAK_JSON" in os.environ:
        pathlib.Path(os.environ["QUERN_SOAK_JSON"]).write_text(json.dumps(
            {"seconds": SOAK_S, "calls": load.calls(), "turns": load.turns(), "looks": seen}))


def curve(soak, name):
    return [(second, figures[name]) for second, figures in soak[0]]


def test_nobody_complains(soak):
    assert soak[1].complaints == []


def test_every_actor_acts(soak):
    assert [name for name, turns in soak[1].turns().items() if turns < SOAK_S / 10] == []


def test_the_server_says_nothing(soak):
    lines = [line for line in soak[2].splitlines() if line.startswith(("warn", "error"))]
    assert lines == []


@pytest.mark.parametrize("memory", ["own_kib", "rss_kib"])
def test_memory_is_flat(soak, memory):
    assert flat.why_not_flat(curve(soak, memory), GROWTH_KIB, SPREAD_KIB) is None


def test_the_files_in_memory_are_the_ring_and_little_else(soak):
    files = [figures["rss_kib"] - figures["own_kib"] for _, figures in soak[0]]
    assert max(files) < RING_KIB + 16 * MIB


def test_file_descriptors_are_flat(soak):
    assert flat.why_not_flat(curve(soak, "files"), 2, 8) is None


def test_threads_are_flat(soak):
    assert flat.why_not_flat(curve(soak, "threads"), 0, 0) is None


def test_the_write_ahead_log_is_bounded(soak):
    assert max(value for _, value in curve(soak, "wal_kib")) <= WAL_MAX_KIB


def test_the_database_is_flat(soak):
    assert flat.why_not_flat(curve(soak, "database_kib"), 1 * MIB, 8 * MIB) is None


def test_the_ring_is_never_half_full(soak):
    assert max(value for _, value in curve(soak, "ring_kib")) < RING_KIB / 2


def test_sqlite_never_fails(soak):
    assert max(value for _, value in curve(soak, "write_errors")) == 0


def test_what_is_sent_does_not_pile_up(soak):
    assert flat.why_not_flat(curve(soak, "messages"), 200, 1000) is None
