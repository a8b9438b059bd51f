"""What a server process uses."""
import os
import pathlib
import subprocess
import time

from exchange.process import program

MB = 1024 * 1024
PATIENCE_S = 60


def is_sanitized():
    """Such a program keeps freed memory for a while, and pads what it has."""
    listing = subprocess.run(["ldd", program()], capture_output=True, text=True, check=True, timeout=60)
    return "libasan" in listing.stdout


def rss_mb(server):
    status = pathlib.Path("/proc/%d/status" % server.process.pid).read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


def cpu_ticks(server):
    """Of all threads, in user and system mode."""
    stat = pathlib.Path("/proc/%d/stat" % server.process.pid).read_text()
    fields = stat.rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def open_files(server):
    return len(os.listdir("/proc/%d/fd" % server.process.pid))


def info(server):
    status, document = server.control("GET", "/_quern/info")
    assert status == 200
    return document


def wait_until(condition, what):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)
