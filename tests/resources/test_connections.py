"""Very many connections that say nothing, or half of something: bounded memory, others are served."""
import resource
import socket
import time

import pytest
from durable import Connection
from figures import info, is_sanitized, rss_mb, wait_until

WANTED = 10_000
SPARE = 300  # files for everything else
PER_CONNECTION_KB = 16
HALF = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-amz-json-1.0\r\nX-Amz-Tar"


@pytest.fixture
def files():
    """As many files for this process, and for the servers that it starts, as the system allows."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    yield before[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def connect(server, count, first_bytes):
    crowd = []
    for _ in range(count):
        one = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        if first_bytes:
            one.sendall(first_bytes)
        crowd.append(one)
    wait_until(lambda: info(server)["connections"] >= count, "not all are taken")
    return crowd


@pytest.mark.parametrize("first_bytes", [b"", HALF], ids=["silent", "half a head"])
def test_10000_connections_that_say_too_little(start, files, first_bytes, record_property, capsys):
    count = min(WANTED, files - SPARE)
    if count < WANTED:
        with capsys.disabled():
            print("only %d connections: the hard limit of open files is %d" % (count, files))
    server = start()
    inside = Connection(server.port)
    url = inside.call("CreateQueue", {"QueueName": "q"})["QueueUrl"]
    before = rss_mb(server)
    crowd = connect(server, count, first_bytes)
    grown = rss_mb(server) - before
    record_property("rss_mb_grown", grown)
    with capsys.disabled():
        print("\n%d connections: %.0f MB more, %.1f KB each" % (count, grown, grown * 1024 / count))
    assert grown * 1024 / count < PER_CONNECTION_KB * (2 if is_sanitized() else 1)
    started = time.monotonic()
    for n in range(100):
        inside.call("SendMessage", {"QueueUrl": url, "MessageBody": "m%d" % n})
    new_one = Connection(server.port)
    assert len(new_one.call("ReceiveMessage", {"QueueUrl": url})["Messages"]) == 1
    assert time.monotonic() - started < 10, "others are not served"
    for one in crowd:
        one.close()
    wait_until(lambda: info(server)["connections"] < 10, "connections stay though their clients have gone")
    assert len(new_one.call("ReceiveMessage", {"QueueUrl": url})["Messages"]) == 1
    inside.close()
    new_one.close()


def test_silent_connections_are_closed_after_the_time_out(start):
    server = start("--client-timeout", "1")
    crowd = connect(server, 200, b"")
    crowd += connect(server, 200, HALF)
    wait_until(lambda: info(server)["connections"] < 10, "connections stay for ever")
    for one in crowd:
        one.close()
