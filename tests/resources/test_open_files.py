"""A server that may open no more files: who is connected is served, others wait or are turned away, and all
is well when some have gone."""
import resource
import socket
import time

from durable import Connection, Store
from figures import cpu_ticks, info, open_files, wait_until

TICKS_S = 100  # of CPU time: USER_HZ


def call(connection, action, **members):
    return connection.call(action, members)


def take_all_files(server):
    """No file more than are open now; what gives them back."""
    before = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (open_files(server), before_max(server)))
    return lambda: resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, before)


def before_max(server):
    return resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)[1]


def knock(server, count):
    """Connections of which nobody knows whether they will be taken."""
    return [socket.create_connection(("127.0.0.1", server.port), timeout=20) for _ in range(count)]


def test_without_files_connections_wait_and_nothing_spins(start):
    server = start()
    inside = Connection(server.port)
    url = call(inside, "CreateQueue", QueueName="q")["QueueUrl"]
    give_back = take_all_files(server)
    waiting = [Connection(server.port) for _ in range(20)]
    for connection in waiting:
        connection.http.connect()
        connection.http.sock.sendall(b"POST / HTTP/1.1\r\n")
    time.sleep(0.3)
    ticks, started = cpu_ticks(server), time.monotonic()
    for n in range(20):
        call(inside, "SendMessage", QueueUrl=url, MessageBody="m%d" % n)
    time.sleep(1)
    spent = (cpu_ticks(server) - ticks) / (time.monotonic() - started)
    assert spent < TICKS_S / 4, "%d ticks a second while nothing can be done" % spent
    assert server.log().count("connections have to wait") == 1
    give_back()
    for connection in waiting:
        connection.http.sock.sendall(b"Host: x\r\nContent-Length: 0\r\n\r\n")
        assert connection.http.sock.recv(12) == b"HTTP/1.1 400"
        connection.close()
    assert len(call(inside, "ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=10)["Messages"]) == 10
    inside.close()


def test_a_connection_is_taken_when_another_has_gone(start):
    server = start()
    first, second = Connection(server.port), Connection(server.port)
    call(first, "ListQueues")
    call(second, "ListQueues")
    give_back = take_all_files(server)
    third = Connection(server.port)
    third.http.connect()
    third.http.sock.sendall(b"GET /_quern/health HTTP/1.1\r\nHost: x\r\n\r\n")
    time.sleep(0.2)
    second.close()
    assert third.http.sock.recv(12) == b"HTTP/1.1 200"
    call(first, "ListQueues")
    first.close()
    third.close()
    give_back()


def test_more_connections_than_files_are_turned_away_or_wait(start):
    """The limit that was there from the start."""
    server = start(files=200)
    inside = Connection(server.port)
    url = call(inside, "CreateQueue", QueueName="q")["QueueUrl"]
    crowd = knock(server, 400)
    time.sleep(0.3)
    for n in range(50):
        call(inside, "SendMessage", QueueUrl=url, MessageBody="m%d" % n)
    assert open_files(server) <= 200
    ticks = cpu_ticks(server)
    time.sleep(1)
    assert cpu_ticks(server) - ticks < TICKS_S / 4
    for one in crowd:
        one.close()
    wait_until(lambda: _is_served(server), "nobody is taken any more")
    inside.close()


def _is_served(server):
    try:
        return info(server)["connections"] < 10
    except OSError:
        return False


def test_a_store_works_without_files(folder):
    """Nothing has to be opened to write, or to read bodies that are no longer in memory."""
    store = Store(folder)
    store.start(clock="real")
    url = store.queue("q", VisibilityTimeout=600)
    for n in range(50):
        store.send(url, "%02d" % n + "x" * 50_000)
    store.restart(clock="real", by="stop")
    store.counts(url)
    give_back = take_all_files(store.server)
    bodies = []
    while len(bodies) < 50:
        messages = store.receive(url)
        bodies += [m["Body"][:2] for m in messages]
        for message in messages[:5]:
            store.delete(url, message)
        store.send(url + "", "later", DelaySeconds=900)
    assert sorted(bodies) == ["%02d" % n for n in range(50)]
    before = store.counts(url)
    give_back()
    wait_until(
        lambda: info(store.server)["journal"]["written_lsn"] == info(store.server)["journal"]["last_lsn"],
        "SQLite does not follow",
    )
    assert info(store.server)["journal"]["write_errors"] == 0
    store.restart(clock="real", by="kill")
    assert store.counts(url) == before
    store.end(by="stop")
