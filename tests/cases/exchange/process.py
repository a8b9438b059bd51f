"""A `quern serve` of its own on a free port, for black-box tests.

The program is named by QUERN_PROGRAM; without it the sanitizer build is taken if there is one, else the release build.
"""
import atexit
import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
LISTENING = re.compile(r"listening on http://127\.0\.0\.1:(\d+)")
SANITIZER = re.compile(r"AddressSanitizer|LeakSanitizer|ThreadSanitizer|runtime error:|UndefinedBehavior")
START_S = 30


def program():
    named = os.environ.get("QUERN_PROGRAM")
    candidates = [named] if named else [ROOT / "build/asan/quern", ROOT / "build/release/quern"]
    for candidate in candidates:
        if os.access(candidate, os.X_OK):
            return str(pathlib.Path(candidate).resolve())
    raise FileNotFoundError(
        "no program to test: build a preset or set QUERN_PROGRAM (looked for %s)"
        % ", ".join(str(c) for c in candidates)
    )


class Server:
    """One server process. Its diagnostics go to a file, which is searched for sanitizer reports."""

    def __init__(self, *options, clock="virtual", seed=7):
        self.options = options
        self.log_file = tempfile.NamedTemporaryFile(prefix="quern-log-", delete=False)
        environment = dict(os.environ)
        environment.setdefault("ASAN_OPTIONS", "abort_on_error=1:detect_leaks=1")
        environment.setdefault("UBSAN_OPTIONS", "print_stacktrace=1:halt_on_error=1")
        for name in [n for n in environment if n.startswith("QUERN_")]:
            del environment[name]
        self.process = subprocess.Popen(
            [program(), "serve", "--bind", "127.0.0.1:0", "--clock", clock, "--seed", str(seed), *options],
            stdin=subprocess.DEVNULL,
            stdout=self.log_file,
            stderr=self.log_file,
            env=environment,
        )
        atexit.register(self.kill)
        self.port = self._wait_for_port()
        self._wait_for_health()

    @property
    def endpoint(self):
        return "http://127.0.0.1:%d" % self.port

    def log(self):
        return pathlib.Path(self.log_file.name).read_text(errors="replace")

    def _wait_for_port(self):
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            found = LISTENING.search(self.log())
            if found:
                return int(found.group(1))
            self._assert_started()
            time.sleep(0.02)
        self.kill()
        raise RuntimeError("server did not say where it listens:\n" + self.log())

    def _wait_for_health(self):
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            try:
                if self.control("GET", "/_quern/health")[0] == 200:
                    return
            except OSError:
                self._assert_started()
            time.sleep(0.02)
        self.kill()
        raise RuntimeError("server is not healthy:\n" + self.log())

    def _assert_started(self):
        if self.process.poll() is not None:
            raise RuntimeError(
                "server ended with %s at start:\n%s" % (self.process.returncode, self.log())
            )

    def control(self, method, path, document=None, timeout_s=60):
        """One call of the control API: (status, decoded body or None)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout_s)
        try:
            body = None if document is None else json.dumps(document)
            headers = {} if body is None else {"Content-Type": "application/json"}
            connection.request(method, path, body, headers)
            reply = connection.getresponse()
            text = reply.read()
            try:
                return reply.status, json.loads(text)
            except ValueError:
                return reply.status, None
        finally:
            connection.close()

    def advance_ms(self, ms):
        status, answer = self.control("POST", "/_quern/clock", {"advance_ms": ms})
        assert status == 200, "clock refused to move by %d ms: %s %s" % (ms, status, answer)

    def connect(self, timeout_s=20):
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=timeout_s)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def assert_sound(self):
        """Still running, still answering, and nothing for a sanitizer to say."""
        log = self.log()
        report = SANITIZER.search(log)
        assert report is None, "sanitizer report:\n" + log[-8000:]
        assert self.process.poll() is None, "server ended with %s:\n%s" % (
            self.process.returncode,
            log[-8000:],
        )

    def stop(self):
        """Ends it as an operator would; the exit status and the log must be clean."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.kill()
                raise AssertionError("server did not end on SIGTERM:\n" + self.log()[-8000:])
        log = self.log()
        assert SANITIZER.search(log) is None, "sanitizer report at the end:\n" + log[-8000:]
        assert self.process.returncode == 0, "exit status %s:\n%s" % (self.process.returncode, log[-8000:])
        os.unlink(self.log_file.name)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


@contextlib.contextmanager
def starting(may_be_killed=False):
    """A function that starts servers with the given options; at the end all of them must end cleanly, but for
    those that the test itself killed, if that is allowed."""
    running = []
    ended = (0, -signal.SIGKILL) if may_be_killed else (0,)

    def started(*options, clock="virtual", seed=7):
        server = Server(*map(str, options), clock=clock, seed=seed)
        running.append(server)
        return server

    yield started
    for server in running:
        if server.process.poll() not in ended:
            server.stop()


class Servers:
    """Servers by their options, started when first asked for and shared from then on."""

    def __init__(self):
        self.running = {}

    def get(self, *options, clock="virtual"):
        key = (clock, *options)
        if key not in self.running:
            self.running[key] = Server(*options, clock=clock)
        return self.running[key]

    def forget(self, server):
        """A server that died is replaced, so that one crash does not fail every later test."""
        self.running = {k: s for k, s in self.running.items() if s is not server}

    def stop(self):
        servers, self.running = self.running, {}
        for server in servers.values():
            server.stop()
