"""The world that reference.py changes, as an Account sees it."""
import http.server
import json
import threading


class Sink(http.server.ThreadingHTTPServer):
    """Each effect that is posted is told to the account, once."""

    daemon_threads = True

    def __init__(self, account):
        super().__init__(("127.0.0.1", 0), Handler)
        self.account = account
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return "http://127.0.0.1:%d" % self.server_address[1]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        document = json.loads(body)
        if self.path != "/v1/effects":
            self.server.account.wrong("a message of ours was put into quarantine: %s", body)
        else:
            self.server.account.effect(document["payload"]["queue"], body)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass
