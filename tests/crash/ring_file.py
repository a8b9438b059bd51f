"""The ring of a store, looked at and changed while no server has it."""
import os
import shutil
import sqlite3
import struct
import tempfile

PAGE = 4096  # the header has one, then come the records
HEADER = struct.Struct("<8sIIQQ")  # magic, version, checksum of the rest, database, size
RECORD = struct.Struct("<IIQq")  # checksum, length, LSN, instant; the payload follows
WRAP = 0xFFFFFFFF  # a length that says: the record is at the start


def _table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = _table()


def crc32c(data, crc=0):
    crc ^= 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def path_of(store):
    return store.path.with_name(store.path.name + "-ring")


def make_small(store, size):
    """Puts a smaller ring, with nothing in it, in the place of one that is drained."""
    path = path_of(store)
    magic, version, _, database, _ = HEADER.unpack_from(path.read_bytes()[:PAGE])
    named = struct.pack("<QQ", database, size)
    header = HEADER.pack(magic, version, crc32c(named), database, size)
    path.write_bytes(header.ljust(PAGE, b"\0") + bytes(size))


class Record:
    def __init__(self, at, length, lsn):
        self.at = at  # in the file
        self.length = length
        self.lsn = lsn

    @property
    def end(self):
        return (self.at + RECORD.size + self.length + 7) // 8 * 8


def position(store):
    """The last LSN that SQLite holds, and where in the data its successor is looked for."""
    with tempfile.TemporaryDirectory() as folder:  # SQLite changes the files that it opens
        for path in store.folder.glob(store.path.name + "*"):
            if path != path_of(store):
                shutil.copy(path, folder)
        connection = sqlite3.connect(os.path.join(folder, store.path.name))
        found = connection.execute("SELECT lsn, ring_offset FROM position").fetchone()
        connection.close()
        return found


def records(store):
    """What a start would replay, as long as the ring has not gone round; nothing is verified."""
    data = path_of(store).read_bytes()
    lsn, offset = position(store)
    found = []
    at = PAGE + offset
    while at + RECORD.size <= len(data):
        _, length, found_lsn, _ = RECORD.unpack_from(data, at)
        if found_lsn != lsn + 1 or length == WRAP:
            break
        found.append(Record(at, length, found_lsn))
        lsn, at = found_lsn, found[-1].end
    return found


def change(store, at, new):
    """Overwrites bytes of the file."""
    with open(path_of(store), "r+b") as file:
        file.seek(at)
        file.write(new)


def flip(store, at, bit=0):
    with open(path_of(store), "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1 << bit]))
