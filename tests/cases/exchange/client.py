"""One kept-alive connection to a server, and calls over it in either protocol."""
import http.client
import time

from . import wire

IDLE_S = 5  # an older connection may have been given up by the server; a new one hides no refusal


class Client:
    def __init__(self, server, timeout_s=60):
        self.server = server
        self.timeout_s = timeout_s
        self.connection = None
        self.used_at = 0

    def send(self, request):
        """One request of wire.Request. Never sent twice: a connection that the server drops is a failure."""
        if time.monotonic() - self.used_at > IDLE_S:
            self.close()
        if self.connection is None:
            self.connection = http.client.HTTPConnection(
                "127.0.0.1", self.server.port, timeout=self.timeout_s
            )
        try:
            self.connection.request(request.method, request.path, request.body, request.headers)
            answer = self.connection.getresponse()
            reply = wire.Reply(answer.status, answer.getheaders(), answer.read())
            if answer.will_close:
                self.close()
            self.used_at = time.monotonic()
            return reply
        except Exception:
            self.close()
            raise

    def call(self, protocol, action, members, **how):
        """Members in, checked answer out."""
        if protocol == "json":
            return wire.read_json(action, self.send(wire.json_request(action, members, **how)))
        return wire.read_xml(action, self.send(wire.query_request(wire.to_pairs(action, members), **how)))

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None
