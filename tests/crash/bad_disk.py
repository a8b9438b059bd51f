"""A disk that can be told to be bad, below a real server: a library that is preloaded into it."""
import errno
import mmap
import os
import pathlib
import struct
import subprocess

from exchange.process import program

SOURCE = pathlib.Path(__file__).with_name("bad_disk.c")
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]

# As bad_disk.c names them.
WRITE, SHORT_WRITE, SYNC, TRUNCATE, READ, OPEN = 1, 2, 4, 8, 16, 32
ORDERS = struct.Struct("<III20s")


def build(folder):
    """The library, in this folder."""
    library = folder / "bad_disk.so"
    subprocess.run(
        ["gcc", *FLAGS, "-O1", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl"],
        check=True,
        timeout=120,
    )
    return library


def sanitizer_runtime():
    """The path of the runtime that must be loaded before all others, if the program has one."""
    listing = subprocess.run(["ldd", program()], capture_output=True, text=True, check=True, timeout=60).stdout
    return [word for word in listing.split() if word.startswith("/") and "libasan" in word][:1]


class BadDisk:
    """Servers that are started while this is in use have it below them. The disk is well at first."""

    def __init__(self, library, folder):
        self.library = library
        path = folder / "orders"
        path.write_bytes(bytes(ORDERS.size))
        self.file = open(path, "r+b")
        self.orders = mmap.mmap(self.file.fileno(), ORDERS.size)
        self.before = os.environ.get("LD_PRELOAD")
        os.environ["LD_PRELOAD"] = ":".join([*sanitizer_runtime(), str(library)])
        os.environ["BAD_DISK_ORDERS"] = str(path)

    def close(self):
        del os.environ["BAD_DISK_ORDERS"]
        if self.before is None:
            del os.environ["LD_PRELOAD"]
        else:
            os.environ["LD_PRELOAD"] = self.before
        self.orders.close()
        self.file.close()

    def fail(self, calls, error=errno.EIO, ending=""):
        """From now on these calls on the store's files with this ending fail."""
        self.heal()
        ORDERS.pack_into(self.orders, 0, 0, error, 0, ending.encode())
        struct.pack_into("<I", self.orders, 0, calls)

    def heal(self):
        struct.pack_into("<I", self.orders, 0, 0)

    def failures(self):
        """How many calls have failed since the last change for the worse."""
        return ORDERS.unpack_from(self.orders, 0)[2]
