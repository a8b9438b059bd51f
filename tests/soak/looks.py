"""What one can see of a server from outside while it works."""
import os
import pathlib
import re


def status_kib(pid, name):
    text = pathlib.Path("/proc/%d/status" % pid).read_text()
    return int(re.search(r"^%s:\s+(\d+)" % name, text, re.M)[1])


def look(server, database):
    """RssAnon is the server's own memory. The rest of RSS is files: the program, the ring of 64 MiB,
    which comes into RSS page by page during its first lap, and SQLite's index of the log."""
    pid = server.process.pid
    status, info = server.control("GET", "/_quern/info")
    assert status == 200, "no answer: %s" % status
    wal = pathlib.Path(str(database) + "-wal")
    return {
        "rss_kib": status_kib(pid, "VmRSS"),
        "own_kib": status_kib(pid, "RssAnon"),
        "files": len(os.listdir("/proc/%d/fd" % pid)),
        "threads": status_kib(pid, "Threads"),
        "wal_kib": wal.stat().st_size // 1024 if wal.exists() else 0,
        "database_kib": database.stat().st_size // 1024,
        "messages": info["engine"]["messages"],
        "queues": info["engine"]["queues"],
        "ring_kib": info["journal"]["ring_bytes_max_used"] // 1024,
        "write_errors": info["journal"]["write_errors"],
        "cpu_s": cpu_s(pid),
    }


def cpu_s(pid):
    fields = pathlib.Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
