"""An SQS that is no Quern: passes everything on to one but the control API, which it does not have.

`change(action, document)` gives what is answered in place of the document, and `unknown` names actions that it does not have."""
import http.client
import http.server
import json
import threading


class OtherSqs:
    def __init__(self, server, change=lambda action, document: document, unknown=()):
        target = server.port

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self.answer(404, [("Content-Type", "text/html")], b"<h1>nothing here</h1>")

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                action = self.headers.get("X-Amz-Target", "").removeprefix("AmazonSQS.")
                if not action or action in unknown:
                    self.answer(500, [("Content-Type", "text/html")], b"<h1>Internal Server Error</h1>")
                    return
                connection = http.client.HTTPConnection("127.0.0.1", target, timeout=60)
                connection.request("POST", self.path, body, dict(self.headers))
                answer = connection.getresponse()
                headers = [pair for pair in answer.getheaders() if pair[0] not in ("Content-Length", "Date")]
                said = answer.read()
                if answer.status == 200 and said:
                    said = json.dumps(change(action, json.loads(said))).encode()
                self.answer(answer.status, headers, said)
                connection.close()

            def answer(self, status, headers, body):
                self.send_response(status)
                for pair in [*headers, ("Content-Length", str(len(body)))]:
                    self.send_header(*pair)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.endpoint = "http://127.0.0.1:%d" % self.http.server_address[1]
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def stop(self):
        self.http.shutdown()
        self.http.server_close()
