"""HTTP by hand: bytes out, answers in, one connection."""
import json
import socket

from exchange.wire import FORM_TYPE, JSON_TYPE, Reply


class Raw:
    """A connection on which nothing is done that the test does not say."""

    def __init__(self, server, timeout_s=20):
        self.socket = server.connect(timeout_s)
        self.buffer = b""
        self.host = "127.0.0.1:%d" % server.port

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def _more(self):
        data = self.socket.recv(65536)
        self.buffer += data
        return len(data) > 0

    def _line(self):
        while b"\r\n" not in self.buffer:
            if not self._more():
                raise EOFError("connection closed, %r was left" % self.buffer[:200])
        line, _, self.buffer = self.buffer.partition(b"\r\n")
        return line.decode("latin-1")

    def _bytes(self, count):
        while len(self.buffer) < count:
            if not self._more():
                raise EOFError("connection closed amid a body")
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def _rest(self):
        while self._more():
            pass
        data, self.buffer = self.buffer, b""
        return data

    def read(self):
        """The next answer, also an interim one such as 100."""
        version, status, *_ = self._line().split(" ", 2)
        assert version in ("HTTP/1.1", "HTTP/1.0"), version
        headers = []
        while True:
            line = self._line()
            if not line:
                break
            key, _, value = line.partition(":")
            headers.append((key, value.strip()))
        reply = Reply(int(status), headers, b"")
        length = reply.header("Content-Length")
        if reply.status in (204, 304) or reply.status < 200:
            return reply
        reply.body = self._rest() if length is None else self._bytes(int(length))
        return reply

    def is_closed(self, within_s=5):
        """Whether the other side closes, with nothing more to read."""
        self.socket.settimeout(within_s)
        try:
            return self.buffer == b"" and self.socket.recv(1) == b""
        except ConnectionError:
            return True
        except socket.timeout:
            return False

    def head(self, method="POST", path="/", version="1.1", headers=()):
        lines = ["%s %s HTTP/%s" % (method, path, version)]
        if not any(k.lower() == "host" for k, _ in headers):
            lines.append("Host: " + self.host)
        lines += ["%s: %s" % pair for pair in headers]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    def json(self, action, members, version="1.1", extra=(), length=True):
        """The bytes of a JSON call."""
        body = members if isinstance(members, bytes) else json.dumps(members).encode()
        headers = [("Content-Type", JSON_TYPE), ("X-Amz-Target", "AmazonSQS." + action)]
        if length:
            headers.append(("Content-Length", len(body)))
        return self.head(version=version, headers=[*headers, *extra]) + body

    def form(self, body, path="/", extra=()):
        """The bytes of a query call."""
        body = body if isinstance(body, bytes) else body.encode()
        headers = [("Content-Type", FORM_TYPE), ("Content-Length", len(body))]
        return self.head(path=path, headers=[*headers, *extra]) + body
