"""The least of an SQS that a load generator needs, and nothing of Quern's own pages: standard queues
in memory, JSON protocol."""
import collections
import http.server
import json
import threading
import uuid


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    queues = collections.defaultdict(collections.deque)

    def log_message(self, *_):
        pass

    def answer(self, status, document):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/x-amz-json-1.0")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(404, {})

    def do_POST(self):
        text = self.rfile.read(int(self.headers["Content-Length"]))
        action = self.headers.get("X-Amz-Target", "").removeprefix("AmazonSQS.")
        if self.path != "/" or not hasattr(self, action):
            self.answer(400, {"__type": "com.amazonaws.sqs#InvalidAction", "message": action})
            return
        self.answer(200, getattr(self, action)(json.loads(text)))

    def CreateQueue(self, wanted):
        return {"QueueUrl": "http://other/1/" + wanted["QueueName"]}

    def DeleteQueue(self, wanted):
        self.queues.pop(wanted["QueueUrl"], None)
        return {}

    def SendMessage(self, wanted):
        self.queues[wanted["QueueUrl"]].append(wanted["MessageBody"])
        return {"MessageId": str(uuid.uuid4()), "MD5OfMessageBody": "0" * 32}

    def SendMessageBatch(self, wanted):
        self.queues[wanted["QueueUrl"]].extend(entry["MessageBody"] for entry in wanted["Entries"])
        return {"Successful": [{"Id": entry["Id"]} for entry in wanted["Entries"]], "Failed": []}

    def ReceiveMessage(self, wanted):
        queue = self.queues[wanted["QueueUrl"]]
        bodies = [queue.popleft() for _ in range(min(len(queue), wanted["MaxNumberOfMessages"]))]
        return {"Messages": [{"Body": body, "ReceiptHandle": "h%d" % i} for i, body in enumerate(bodies)]}

    def DeleteMessageBatch(self, wanted):
        return {"Successful": [{"Id": entry["Id"]} for entry in wanted["Entries"]]}


def serve():
    """A server on a free port; its shutdown() and server_close() end it."""
    http.server.ThreadingHTTPServer.request_queue_size = 256
    http.server.ThreadingHTTPServer.daemon_threads = True
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
