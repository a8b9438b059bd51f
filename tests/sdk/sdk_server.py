"""A real server process of its own for one behaviour, on a fresh port and a virtual clock."""

import collections
import itertools
import json
import os
import pathlib
import queue
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("QUERN_PROGRAM", str(ROOT / "build" / "release" / "quern"))
LISTENING = re.compile(r"listening on (http://127\.0\.0\.1:[0-9]+)")
START_S = 20
STOP_S = 20


def free_ports():
    """Ports below those that the kernel gives away, so that nobody takes one in between."""
    for port in itertools.cycle(range(20000 + os.getpid() % 10000, 32000)):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        yield port


PORTS = free_ports()
PORTS_LOCK = threading.Lock()


class Server:
    """With `public`, the queue URLs do not depend on the Host header of the client."""

    def __init__(self, options=(), public=False):
        address = "127.0.0.1:0"
        if public:
            with PORTS_LOCK:
                address = "127.0.0.1:%d" % next(PORTS)
            options = [*options, "--public-url", "http://" + address]
        command = [PROGRAM, "serve", "--bind", address, "--clock", "virtual", "--seed", "7"]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("QUERN_")}
        self.process = subprocess.Popen(
            command + list(options),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=environment,
        )
        self.log = collections.deque(maxlen=40)
        self.found = queue.Queue()
        self.reader = threading.Thread(target=self.read_log, daemon=True)
        self.reader.start()
        try:
            self.endpoint = self.found.get(timeout=START_S)
        except queue.Empty:
            self.endpoint = None
        if self.endpoint is None:
            self.process.kill()
            self.process.wait()
            raise AssertionError("the server did not start: %s" % self.tail())

    def read_log(self):
        for line in self.process.stderr:
            self.log.append(line.rstrip())
            seen = LISTENING.search(line)
            if seen:
                self.found.put(seen.group(1))
        self.found.put(None)

    def tail(self):
        return " / ".join(list(self.log)[-12:]) or "(nothing on stderr)"

    def ask(self, path, body=None, headers=None):
        request = urllib.request.Request(
            self.endpoint + path,
            data=None if body is None else json.dumps(body).encode(),
            headers=dict({"Content-Type": "application/json"}, **(headers or {})),
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as reply:
                return reply.read()
        except urllib.error.HTTPError as error:
            text = error.read().decode(errors="replace")
            raise AssertionError("%s answered %d: %s" % (path, error.code, text)) from error

    def advance(self, by_ms):
        self.ask("/_quern/clock", {"advance_ms": by_ms})

    def run_the_clock(self):
        self.ask("/_quern/clock", {"rate": 1})

    def counts(self, queue):
        return json.loads(self.ask("/_quern/queues/" + queue))

    def give(self, action, members):
        """A call that only prepares what a client is to meet; plain HTTP, no SDK."""
        headers = {"Content-Type": "application/x-amz-json-1.0"}
        headers["X-Amz-Target"] = "AmazonSQS." + action
        text = self.ask("/", members, headers)
        return json.loads(text) if text else {}

    def wait_until_called(self, action, times, check):
        """Waits until the trace shows that so many calls of the action have arrived."""
        deadline = time.monotonic() + 30
        while self.calls_seen(action) < times:
            check()
            if time.monotonic() > deadline:
                raise AssertionError("the trace never showed %d x %s" % (times, action))
            time.sleep(0.02)

    def calls_seen(self, action):
        text = self.ask("/_quern/trace?since=0").decode()
        return sum(
            event.get("kind") == "api.in" and event.get("action") == action
            for event in map(json.loads, text.splitlines())
        )

    def stop(self):
        """Ends the server as a user would and says what was wrong with its end, if anything."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return "the server did not end %d s after SIGTERM: %s" % (STOP_S, self.tail())
        self.reader.join(5)
        return None if code == 0 else "the server ended with %d: %s" % (code, self.tail())
