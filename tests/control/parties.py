"""Clients that a test needs beside its own: one that waits for its answer, one that reads along."""
import http.client
import json
import threading
import time

from exchange import wire


class Waiting:
    """A call on a connection of its own whose answer comes later."""

    def __init__(self, server, action, timeout_s=30, **members):
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=timeout_s)
        self.outcome = None
        request = wire.json_request(action, members)
        self.connection.request(request.method, request.path, request.body, request.headers)
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        try:
            answer = self.connection.getresponse()
            text = answer.read()
            self.outcome = (answer.status, json.loads(text) if text else {})
        except (OSError, http.client.HTTPException) as problem:
            self.outcome = (None, problem)

    def is_waiting(self):
        return self.outcome is None

    def result(self, within_s=20):
        self.thread.join(within_s)
        assert self.outcome is not None, "no answer within %d s" % within_s
        return self.outcome

    def members(self, within_s=20):
        status, members = self.result(within_s)
        assert status == 200, (status, members)
        return members

    def hang_up(self):
        self.connection.sock.shutdown(2)
        self.connection.close()


def events(server, since=0, **parameters):
    """All events behind `since`."""
    query = "".join("&%s=%s" % pair for pair in parameters.items())
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        connection.request("GET", "/_quern/trace?since=%d%s" % (since, query))
        answer = connection.getresponse()
        assert answer.status == 200
        assert answer.getheader("Content-Type") == "application/x-ndjson"
        return [json.loads(line) for line in answer.read().splitlines()]
    finally:
        connection.close()


def until(condition, within_s=20):
    """Waits for another process to get there."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.01)


def parked(server):
    return server.control("GET", "/_quern/info")[1]["engine"]["parked"]
