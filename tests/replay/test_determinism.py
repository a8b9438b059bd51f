"""Same seed, same rules, same sequence of requests: same faults, same ids, same trace, byte for byte.

What differs by nature: the wall time (`wt`), and the port (`port`), which is a free one in each run. With a database state events
also have the number of their entry (`lsn`), so a run in memory and one on a file are compared without it. With `--sync full` an
answer waits for the disk, and may come behind what happens meanwhile: such runs are compared with each other, one request at a
time."""
import contextlib
import http.client
import json
import pathlib
import re
import select
import signal

import pytest

from commands import run
from exchange.wire import authorization
from parties import until
from raw import Raw
from recording import lines

HERE = pathlib.Path(__file__).resolve().parent
SESSION = HERE / "session.jsonl"
RULES = HERE / "session.rules"
BY_NATURE = re.compile(rb'"(?:wt|port)":\d+,')


def trace_of(server):
    """The whole trace as it is, but for what differs by nature."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("GET", "/_quern/trace?since=0")
    text = connection.getresponse().read()
    connection.close()
    return BY_NATURE.sub(b"", text).splitlines()


@pytest.fixture
def serve(start, tmp_path):
    """Servers that differ in nothing but their options."""
    count = 0

    def serving(*options, without=None):
        nonlocal count
        count += 1
        folder = tmp_path / str(count)
        folder.mkdir()
        options = [str(folder / "db") if word == "DB" else word for word in options]
        rules = [line for line in RULES.read_text().splitlines() if without is None or without not in line]
        (folder / "rules").write_text("\n".join(rules))
        return start("--chaos", folder / "rules", "--public-url", "http://localhost:9324", "--record", folder / "record",
                     "--trace", folder / "trace", *options), folder / "record"

    return serving


def replayed(serve, *options, **how):
    """The session, each request when the one before was answered or parked: its trace and its recording."""
    server, record = serve(*options, **how)
    answer = run("replay", str(SESSION), "--endpoint", server.endpoint, "--speed", "max")
    assert answer.returncode in (0, 1), answer
    trace = trace_of(server)
    server.stop()
    return trace, record


def first_difference(one, other):
    for number, (a, b) in enumerate(zip(one, other)):
        if a != b:
            return "event %d:\n%s\n%s" % (number, a.decode(), b.decode())
    return "%d and %d events" % (len(one), len(other))


STORES = {"memory": (), "file": ("--db", "DB"), "file-full": ("--db", "DB", "--sync", "full")}


@pytest.mark.parametrize("store", STORES)
def test_two_runs_have_the_same_trace(serve, store):
    (one, first), (other, second) = (replayed(serve, *STORES[store]) for _ in range(2))
    assert one == other, first_difference(one, other)
    without_time = re.compile(rb'"(?:wt|at)":\d+,?')
    assert without_time.sub(b"", first.read_bytes()) == without_time.sub(b"", second.read_bytes())


def without(member, trace):
    pattern = re.compile(rb'"%s":\d+,' % member.encode())
    return [pattern.sub(b"", line) for line in trace]


def test_a_file_changes_nothing_but_the_numbers_of_entries(serve):
    memory, file = (without("lsn", replayed(serve, *STORES[store])[0]) for store in ("memory", "file"))
    assert file == memory, first_difference(file, memory)


def test_the_session_has_every_rule_fire(serve):
    trace, _ = replayed(serve)
    fired = {json.loads(line).get("rule") for line in trace if b'"kind":"fault"' in line}
    rules = {line.split(" as ")[-1] for line in RULES.read_text().splitlines() if line.startswith("on ")}
    assert rules - fired == set()


# The same requests, byte for byte, in other passes of the loop


@contextlib.contextmanager
def stopped(server):
    """What is sent meanwhile is there at once when the server goes on."""
    server.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.process.send_signal(signal.SIGCONT)


class Sender:
    """Sends the requests of a recording as they stand in it: with the same seed their handles are right."""

    def __init__(self, server, record, connection_of=lambda request: request["conn"]):
        self.server, self.connection_of = server, connection_of
        self.lines = [line for line in lines(record) if line["kind"] in ("request", "answer", "clock", "fault")]
        self.answers = {line["n"]: line for line in self.lines if line["kind"] == "answer"}
        self.connections = {}
        self.begun = server.control("GET", "/_quern/info")[1]["requests"]

    def connection(self, request):
        number = self.connection_of(request)
        if number not in self.connections:
            self.connections[number] = Raw(self.server, timeout_s=60)
            self.server.control("GET", "/_quern/health")  # it is accepted by now
        return self.connections[number]

    def hang_up(self, request):
        connection = self.connections.pop(self.connection_of(request), None)
        if connection is not None:
            connection.socket.close()

    def bytes_of(self, request):
        extra = [("Authorization", authorization(request["region"], request["instance"]))]
        return self.connection(request).json(request["action"], request["input"], extra=extra)

    def is_quick(self, at):
        """Answered before anything else, whole, and on a connection that stays."""
        number = self.lines[at]["n"]
        behind = next(line for line in self.lines[at + 1:] if line["kind"] != "fault")
        return (behind["kind"], behind.get("n")) == ("answer", number) and not self.touches(number)

    def touches(self, number):
        answer = self.answers[number]
        rule = answer.get("rule", "")
        return answer.get("lost") or answer.get("cut") or rule.startswith("slow-") or rule == "n-garbage"

    def groups(self, size):
        """Runs of at most so many requests: all but the last are quick, and no connection comes twice unless it is the only
        one."""
        group, at = [], 0
        while at < len(self.lines):
            line = self.lines[at]
            if line["kind"] == "request":
                same = {self.connection_of(other) for other in group} | {self.connection_of(line)}
                if group and 1 < len(same) < len(group) + 1:
                    yield group
                    group = []
                group.append(line)
                if len(group) == size or not self.is_quick(at):
                    yield group
                    group = []
            elif line["kind"] == "clock" or (line["kind"] == "answer" and not any(line["n"] == other["n"] for other in group)):
                if group:
                    yield group
                group = []
                yield line
            at += 1
        if group:
            yield group

    def take(self, request):
        """The answer that it had then, or the end that its connection had."""
        answer = self.answers[request["n"]]
        connection = self.connection(request)
        if answer.get("lost"):
            select.select([connection.socket], [], [], 0 if "hang" in answer.get("rule", "-") or "rule" not in answer else 20)
            self.hang_up(request)
            return
        try:
            reply = connection.read()
            assert reply.status == answer["status"], (request, answer, reply)
            if reply.header("Connection") == "close":
                self.hang_up(request)
        except (EOFError, OSError):
            assert answer.get("cut"), (request, answer)
            self.hang_up(request)

    def send(self, group):
        data = [(self.connection(request), self.bytes_of(request)) for request in group]
        for _ in range(2):  # the pass that answers the second one is behind all that was before
            self.server.control("GET", "/_quern/health")
        with stopped(self.server) if len(group) > 1 else contextlib.nullcontext():
            for connection, one in data:
                connection.send(one)
        self.begun += len(group)
        until(lambda: self.server.control("GET", "/_quern/info")[1]["requests"] >= self.begun)

    def run(self, size):
        waiting, together = {}, 0
        for step in self.groups(size):
            if isinstance(step, list):
                self.send(step)
                together += len(step) > 1
                for request in step:
                    at = self.lines.index(request)
                    behind = next(line for line in self.lines[at + 1:] if line["kind"] != "fault")
                    if len(step) > 1 and request is not step[-1] or (behind["kind"], behind.get("n")) == ("answer", request["n"]):
                        self.take(request)
                    else:
                        waiting[request["n"]] = request
            elif step["kind"] == "clock":
                self.server.control("POST", "/_quern/clock", {"advance_ms": step["to"] - step["from"]})
            elif step["n"] in waiting:
                self.take(waiting.pop(step["n"]))
        for connection in self.connections.values():
            connection.socket.close()
        assert size == 1 or together > 20, together


def sent(server, record, size, in_line=False):
    sender = Sender(server, record)
    if in_line:  # one connection for all, but for those that keep it waiting
        slow = {line["n"] for at, line in enumerate(sender.lines) if line["kind"] == "request" and not sender.is_quick(at)}
        sender.connection_of = lambda request: request["n"] if request["n"] in slow else 0
    sender.run(size)
    trace = trace_of(server)
    server.stop()
    return trace


def by_whomever(trace):
    """Without what clients call themselves: a recording does not keep it."""
    return [re.sub(rb',"agent":"[^"]*"', b"", line) for line in trace]


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("store", ["memory", "file"])
def test_requests_of_several_connections_in_one_pass(serve, store, size):
    expected, record = replayed(serve, *STORES[store])
    trace, expected = by_whomever(sent(serve(*STORES[store])[0], record, size)), by_whomever(expected)
    assert trace == expected, first_difference(trace, expected)


@pytest.mark.parametrize("store", ["memory", "file"])
def test_requests_that_are_pipelined_on_one_connection(serve, store):
    """Connections are of no account but to a rule that counts by them."""
    how = {"without": "per connection"}
    expected, record = replayed(serve, *STORES[store], **how)
    trace = sent(serve(*STORES[store], **how)[0], record, 20, in_line=True)
    trace, expected = (by_whomever(without("conn", one)) for one in (trace, expected))
    assert trace == expected, first_difference(trace, expected)
