"""The frame of the table of faults: what a client sees of each action of chaos/actions.def that the server carries out,
at each point where it may stand and in both protocols, and what the store holds afterwards.

A row is a function in a file faults_*.py of this folder (all of them are read), under the word of its action:

    @row("reset", "on SendMessage once at {point} do reset as fault")
    def reset(scene):
        seen = scene.arm().exchange("SendMessage", QueueUrl=scene.url, MessageBody="x")
        ...
        assert scene.counts() == scene.done((0, 0), (1, 0))

test_faults_wire.py calls it once for each point and protocol, each time with a server of its own. It may be given

    points     those that it is for, when the server refuses the action at others of its points (a test sees to that), or
               when another row of the same action is for the others; () for a rule on an event that has no points
    options    of the server; {folder} is a folder of its own
    code       what the trace calls it, if that is not the word
    survives   False: the server does not outlive it
    fired      how often the rule fires (1)
    hits       how many messages that are, where the rule looks at each

Behind each row stand the checks that hold for all: the rule has fired, and the trace and the log say so.
"""
import contextlib
import importlib
import json
import pathlib
import re
import select
import tempfile
import time

from exchange import client as exchange_client
from exchange import process, wire

HERE = pathlib.Path(__file__).resolve().parent
ACTIONS = HERE.parents[1] / "chaos" / "actions.def"
POINTS = ("arrive", "pre-commit", "post-commit", "mid-response", "post-response")
PROTOCOLS = ("json", "query")
# The sets of points that chaos/action.c names.
SETS = {
    "PRE_COMMIT_ONLY": POINTS[1:2],
    "POST_COMMIT_ONLY": POINTS[2:3],
    "MID_RESPONSE_ONLY": POINTS[3:4],
    "UNTIL_PRE_COMMIT": POINTS[:2],
    "UNTIL_COMMIT": POINTS[:3],
    "UNTIL_RESPONSE": POINTS[:4],
    "EVERYWHERE": POINTS,
}
NOBODY_S = 20  # longer than anything that is waited for
ROWS = []


def carried():
    """The server's actions: word -> the points where each may stand."""
    rows = re.findall(r'^QN_RULE_ACTION\(\w+, "([^"]+)", \w+, \w+, (\w+), \w+, (\w+), [^)]*\)$', ACTIONS.read_text(), re.M)
    assert len(rows) > 50
    return {word: SETS[points] for word, carrier, points in rows if carrier == "SERVER"}


class Row:
    def __init__(self, word, rule, function, points, options, code, survives, fired, hits):
        self.word = word
        self.rule = rule
        self.function = function
        self.points = carried().get(word, ()) if points is None else points
        self.options = options
        self.code = code or word
        self.survives = survives
        self.fired = fired
        self.hits = hits or fired

    def __str__(self):
        return self.word + ("" if self.function.__name__ == self.word.replace("-", "_") else ":" + self.function.__name__)


def row(word, rule, points=None, options=(), code=None, survives=True, fired=1, hits=None):
    def add(function):
        ROWS.append(Row(word, rule, function, points, options, code, survives, fired, hits))
        return function

    return add


def read_rows():
    for file in sorted(HERE.glob("faults_*.py")):
        importlib.import_module(file.stem)
    return ROWS


class Seen:
    """What a client saw of one answer: its bytes, and how they ended: "whole" (and the connection was open), "end" (FIN) or
    "reset"."""

    def __init__(self, data, end):
        self.data = data
        self.end = end
        self.head, _, self.body = data.partition(b"\r\n\r\n")
        lines = self.head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split()[1]) if data else None
        self.headers = [(k, v.strip()) for k, _, v in (line.partition(":") for line in lines[1:])]

    def header(self, name):
        values = [v for k, v in self.headers if k.lower() == name.lower()]
        assert len(values) <= 1, values
        return values[0] if values else None

    @property
    def names(self):
        """Of the headers; that of the fault is no part of it."""
        return [name for name, _ in self.headers if name != "x-quern-fault"]

    @property
    def length(self):
        text = self.header("Content-Length")
        return None if text is None else int(text)

    @property
    def fault(self):
        """The rule that touched it."""
        return self.header("x-quern-fault")

    def reply(self):
        return wire.Reply(self.status, self.headers, self.body)

    def __repr__(self):
        return "%s after %d bytes: %r" % (self.end, len(self.data), self.data[:300])


class Exchange:
    """One call over a socket of its own."""

    def __init__(self, scene, action, members):
        self.scene = scene
        self.action = action
        self.socket = scene.server.connect(NOBODY_S)
        scene.open.callback(self.socket.close)
        self.data = b""
        self.socket.sendall(self.request(members))

    def request(self, members):
        if self.scene.protocol == "json":
            request = wire.json_request(self.action, members)
        else:
            request = wire.query_request(wire.to_pairs(self.action, members))
        lines = ["%s %s HTTP/1.1" % (request.method, request.path), "Host: 127.0.0.1:%d" % self.scene.server.port]
        lines += ["%s: %s" % pair for pair in request.headers.items()] + ["Content-Length: %d" % len(request.body)]
        return ("\r\n".join(lines) + "\r\n\r\n").encode() + request.body

    def again(self, **members):
        """The next call on the same connection."""
        self.data = b""
        self.socket.sendall(self.request(members))
        return self

    def more(self, most=65536):
        """The next bytes; None when there are none any more, and `how` says why."""
        try:
            data = self.socket.recv(most)
        except ConnectionResetError:
            self.how = "reset"
            return None
        if not data:
            self.how = "end"
            return None
        self.data += data
        return data

    def is_whole(self):
        head, found, body = self.data.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
        return bool(found) and length is not None and len(body) >= int(length[1])

    def seen(self):
        """The answer, to its end or to that of the connection."""
        while not self.is_whole():
            if self.more() is None:
                return Seen(self.data, self.how)
        return Seen(self.data, "whole")

    def end(self):
        """How the connection ends, behind all that is still to come."""
        while self.more() is not None:
            pass
        return self.how

    def has_nothing(self):
        """No answer has come, and the connection is open."""
        return select.select([self.socket], [], [], 0)[0] == []


class Scene:
    """What a row has to work with: a server, a queue, a point, a protocol."""

    def __init__(self, row, point, protocol):
        self.row = row
        self.point = point
        self.protocol = protocol
        self.open = contextlib.ExitStack()
        self.servers = []
        self.folder = self.open.enter_context(tempfile.TemporaryDirectory())
        self.server = self.start()
        self.client = exchange_client.Client(self.server)
        self.open.callback(lambda: self.client.close())
        self.name = "q"
        self.url = self.make(self.name)
        self.is_armed = False
        self.trace()  # from now on with every detail

    def start(self):
        server = process.Server("--fault-header", *(o.format(folder=self.folder) for o in self.row.options))
        self.servers.append(server)
        self.open.callback(server.stop if self.row.survives else server.kill)
        return server

    def restart(self):
        """The same server again, after it has ended."""
        assert not self.row.survives
        self.server.process.wait(NOBODY_S)
        self.client.close()
        self.server = self.start()
        self.client = exchange_client.Client(self.server)

    def close(self):
        self.open.close()

    # What is done

    def make(self, name, **attributes):
        """A queue; its URL."""
        if name.endswith(".fifo"):
            attributes["FifoQueue"] = "true"
        return self.client.call("json", "CreateQueue", {"QueueName": name, "Attributes": attributes}).members["QueueUrl"]

    def call(self, action, **members):
        """A call in the protocol of the scene: the checked answer."""
        return self.client.call(self.protocol, action, members)

    def send(self, *bodies, **members):
        for body in bodies or ("x",):
            assert self.call("SendMessage", **{"QueueUrl": self.url, "MessageBody": body, **members}).status == 200

    def receive(self, count=1, **members):
        """Messages, with their receive counts."""
        asked = {"QueueUrl": self.url, "MaxNumberOfMessages": count, "AttributeNames": ["All"], **members}
        return self.call("ReceiveMessage", **asked).members.get("Messages", [])

    def arm(self, **words):
        """Adds the rule of the row."""
        text = self.row.rule.format(point=self.point, **words)
        status, answer = self.server.control("POST", "/_quern/rules", {"rule": text})
        assert status == 200, answer
        self.is_armed = True
        return self

    def exchange(self, action, **members):
        """A call on a socket of its own, on which nothing is hidden."""
        return Exchange(self, action, members)

    def release(self):
        assert self.server.control("POST", "/_quern/rules/fault/release")[0] == 200

    # What is found

    def done(self, before, after):
        """What is to be expected when the request was not executed, and when it was."""
        return before if self.point in ("arrive", "pre-commit") else after

    def counts(self, name=None):
        status, queue = self.server.control("GET", "/_quern/queues/" + (name or self.name))
        assert status == 200, queue
        return queue["visible"], queue["in_flight"]

    def listed(self):
        (rule,) = [r for r in self.server.control("GET", "/_quern/rules")[1]["rules"] if r["name"] == "fault"]
        return rule

    def until_fired(self):
        deadline = time.monotonic() + NOBODY_S
        while self.listed()["fired"] == 0:
            assert time.monotonic() < deadline, "the rule never fired"

    def events(self, kind):
        return [e for e in map(json.loads, self.trace().splitlines()) if e["kind"] == kind]

    def trace(self):
        with self.server.connect() as connection:
            connection.sendall(b"GET /_quern/trace?since=0 HTTP/1.0\r\nHost: x\r\n\r\n")
            parts = iter(lambda: connection.recv(65536), b"")
            return b"".join(parts).partition(b"\r\n\r\n")[2]

    # What holds for every fault

    def check(self):
        assert self.is_armed, "the row never armed its rule"
        log = "".join(server.log() for server in self.servers)
        lines = [line for line in log.splitlines() if line.startswith("info chaos: fired rule=fault ")]
        assert len(lines) == self.row.fired and all(" do=" in line for line in lines), log
        faults = [e for e in self.events("fault") if e.get("rule") == "fault"]
        assert [e["code"] for e in faults] == [self.row.code] * self.row.fired, faults
        assert all(e["match"] >= 1 for e in faults)
        if self.row.survives:
            assert self.listed()["fired"] == self.row.hits
            self.server.assert_sound()
