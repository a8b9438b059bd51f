"""A ring that is not as its server left it: replay stops at the first bad record and says so, what precedes
is there; a ring that is no ring of this program is refused, and nothing is destroyed."""
import os
import shutil

import pytest
import ring_file
from durable import Store
from test_files import on_disk, refused, serve

RING = 256 * 1024
COUNT = 12
BODIES = ["body %02d of the ring" % n for n in range(COUNT)]
SAYS = "the ring has a bad record"


@pytest.fixture(scope="module")
def left(tmp_path_factory):
    """What a killed server leaves: COUNT sends in the ring, none of them in SQLite."""
    folder = tmp_path_factory.mktemp("left")
    store = Store(folder, ends_by="kill")
    store.start()
    store.queue("q")
    store.end(by="stop")
    ring_file.make_small(store, RING)
    store.start("--failpoint", "writer.before_commit=delay 600000")
    for body in BODIES:
        store.send("q", body)
    store.end()
    return folder


@pytest.fixture
def store(left, folder):
    """A store in that state; with `sends`, the records of its sends."""
    for path in left.iterdir():
        shutil.copy(path, folder)
    copy = Store(folder, ends_by="kill")
    found = ring_file.records(copy)
    copy.sends = [record for record in found if record.length > 64]
    assert len(copy.sends) == COUNT, [(r.lsn, r.length) for r in found]
    yield copy
    copy.end()


def bodies(store):
    return [message["body"] for message in store.peek("q")]


def told(store):
    return [line for line in store.server.log().splitlines() if SAYS in line]


def expect_end_before(store, record, kept):
    """The start replays up to there; the store goes on from there."""
    store.start()
    assert bodies(store) == BODIES[:kept]
    (line,) = told(store)
    assert line.startswith("warn journal: ")
    assert "lsn=%d " % record.lsn in line + " " and "quern.db-ring" in line
    store.send("q", "after")
    store.restart()
    assert bodies(store) == BODIES[:kept] + ["after"]
    assert told(store) == []
    store.restart(by="stop")
    assert bodies(store) == BODIES[:kept] + ["after"]


def test_a_whole_ring_is_replayed_in_silence(store):
    store.start()
    assert bodies(store) == BODIES
    assert told(store) == []


PLACES = {
    "checksum": lambda r: r.at,
    "length": lambda r: r.at + 4,
    "length, its high byte": lambda r: r.at + 7,
    "LSN": lambda r: r.at + 8,
    "LSN, its high byte": lambda r: r.at + 15,
    "instant": lambda r: r.at + 16,
    "first byte of the payload": lambda r: r.at + ring_file.RECORD.size,
    "amid the payload": lambda r: r.at + ring_file.RECORD.size + r.length // 2,
    "last byte of the payload": lambda r: r.at + ring_file.RECORD.size + r.length - 1,
}
NUMBERS = pytest.mark.parametrize("number", [0, 6, COUNT - 1], ids=["first", "middle", "last"])


@NUMBERS
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())
def test_replay_stops_at_a_flipped_bit(store, place, number):
    record = store.sends[number]
    ring_file.flip(store, place(record), bit=number % 8)
    expect_end_before(store, record, number)


RUINS = {
    "the header is garbage": lambda r: (r.at, bytes(range(100, 124))),
    "the header is zero": lambda r: (r.at, bytes(24)),
    "all of it is zero": lambda r: (r.at, bytes(r.end - r.at)),
    "its second half is zero": lambda r: (r.at + 24 + r.length // 2, bytes(r.length - r.length // 2)),
}


@pytest.mark.parametrize("ruin", RUINS.values(), ids=RUINS.keys())
def test_replay_stops_at_a_torn_record(store, ruin):
    record = store.sends[6]
    ring_file.change(store, *ruin(record))
    expect_end_before(store, record, 6)


def test_replay_stops_at_a_page_that_never_reached_the_disk(store):
    """As a power cut leaves it: records before and behind it are good."""
    first, last = store.sends[3], store.sends[8]
    ring_file.change(store, first.at, bytes(last.end - first.at))
    expect_end_before(store, first, 3)


def test_what_was_cut_off_at_the_end_was_never_there(store):
    """Nothing tells zeros from a ring that was used no further."""
    record = store.sends[9]
    ring_file.change(store, record.at, bytes(store.sends[-1].end - record.at))
    store.start()
    assert bodies(store) == BODIES[:9]


# ---- no ring of this program ----


def test_a_flipped_bit_anywhere_in_the_header_is_refused_and_destroys_nothing(store):
    for at in range(ring_file.HEADER.size):
        ring_file.flip(store, at, at % 8)
        before = on_disk(store.folder)["quern.db-ring"]
        refused(serve("--db", store.path), "quern.db-ring")
        assert on_disk(store.folder)["quern.db-ring"] == before
        ring_file.flip(store, at, at % 8)
    store.start()
    assert bodies(store) == BODIES


@pytest.mark.parametrize("version, says", [(0, "damaged"), (2, "newer"), (0xFFFFFFFF, "newer")])
def test_another_version_is_refused_and_destroys_nothing(store, version, says):
    ring_file.change(store, 8, version.to_bytes(4, "little"))
    refused(serve("--db", store.path), "quern.db-ring", says)
    ring_file.change(store, 8, (1).to_bytes(4, "little"))
    store.start()
    assert bodies(store) == BODIES


@pytest.mark.parametrize("size", [1, 31, 32, 4095, 4096, 4096 + RING // 2, 4096 + RING - 1])
def test_a_truncated_file_is_refused_and_destroys_nothing(store, size):
    path = ring_file.path_of(store)
    whole = path.read_bytes()
    os.truncate(path, size)
    refused(serve("--db", store.path), "quern.db-ring")
    assert path.read_bytes() == whole[:size]
    path.write_bytes(whole)
    store.start()
    assert bodies(store) == BODIES


def test_a_database_without_its_wal_is_refused_and_destroys_nothing(folder):
    """As somebody leaves it who copies the database and its ring of a killed server: they were taken, all changes
    since the last checkpoint were lost, and later ones were written over those in the ring."""
    store = Store(folder, ends_by="kill")
    store.start()
    store.queue("q")
    for body in BODIES:
        store.send("q", body)
    store.end()
    wal = folder / (store.path.name + "-wal")
    content = wal.read_bytes()
    wal.unlink()
    before = on_disk(folder)["quern.db-ring"]
    refused(serve("--db", store.path), "quern.db is older than its ring", "-wal")
    assert on_disk(folder)["quern.db-ring"] == before
    wal.write_bytes(content)
    store.start()
    assert bodies(store) == BODIES
    store.end()


@pytest.mark.parametrize("size", [None, 0], ids=["gone", "empty"])
def test_without_its_ring_a_database_goes_on_and_says_so(store, size):
    path = ring_file.path_of(store)
    path.unlink()
    if size == 0:
        path.touch()
    store.start()
    assert bodies(store) == []
    assert store.server.log().count("the ring was gone, a new one is made") == 1
    store.send("q", "after")
    store.restart()
    assert bodies(store) == ["after"]
