"""A store on disk, the servers that open it one after the other, and JSON calls to them."""
import http.client
import json
import os
import subprocess
import tempfile

from exchange.process import SANITIZER, Server, program

START_MS = 1_767_225_600_000  # 2026-01-01T00:00:00Z


class Refused(Exception):
    """The server answered, with an error."""

    def __init__(self, status, code, message):
        super().__init__("%d %s: %s" % (status, code, message))
        self.status = status
        self.code = code
        self.message = message


class Connection:
    """One kept-alive connection to a server."""

    def __init__(self, port, region="us-east-1", access_key="test", timeout_s=60):
        self.http = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s)
        self.authorization = (
            "AWS4-HMAC-SHA256 Credential=%s/20260101/%s/sqs/aws4_request, SignedHeaders=host, Signature=%s"
            % (access_key, region, "0" * 64)
        )
        self.request_ids = []

    def call(self, action, members):
        """Members in, members out. Raises Refused for an error, OSError or HTTPException when the
        server does not answer; a request is never sent twice."""
        headers = {
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Target": "AmazonSQS." + action,
            "Authorization": self.authorization,
        }
        self.http.request("POST", "/", json.dumps(members).encode(), headers)
        answer = self.http.getresponse()
        body = answer.read()
        self.request_ids.append(answer.getheader("x-amzn-RequestId"))
        if answer.status == 200:
            return json.loads(body) if body else {}
        code = answer.getheader("x-amzn-query-error", "").split(";")[0]
        error = json.loads(body)
        raise Refused(answer.status, code or error["__type"].split("#")[-1], error.get("message", ""))

    def control(self, method, path, document):
        """A call of the control API on the same connection."""
        self.http.request(method, path, json.dumps(document).encode(), {"Content-Type": "application/json"})
        answer = self.http.getresponse()
        body = answer.read()
        assert answer.status == 200, body
        return json.loads(body)

    def close(self):
        self.http.close()


def end_killed(server):
    """Ends a server at any instruction, and looks at what it said until then."""
    server.kill()
    log = server.log()
    os.unlink(server.log_file.name)
    assert SANITIZER.search(log) is None, "sanitizer report:\n" + log[-8000:]
    return log


class Store:
    """One database file over the lives of its servers. Without a clock of its own each server gets
    a virtual one that stands at now_ms."""

    def __init__(self, folder, ends_by="stop", options=()):
        self.folder = folder
        self.path = folder / "quern.db"
        self.ends_by = ends_by
        self.options = tuple(options)
        self.now_ms = START_MS
        self.start_s = 0  # how long the latest start took, where a test measures it
        self.server = None
        self.connection = None

    def start(self, *options, clock=None):
        self.server = Server("--db", str(self.path), *self.options, *options, clock=clock or "virtual=%d" % self.now_ms)
        self.connection = Connection(self.server.port)

    def end(self, by=None):
        if self.server is None:
            return
        server, self.server = self.server, None
        self.connection.close()
        if (by or self.ends_by) == "kill":
            end_killed(server)
        else:
            server.stop()

    def restart(self, *options, pause_ms=0, clock=None, by=None):
        """The next server on the same file; the clock stood still meanwhile but for the pause."""
        self.end(by)
        self.now_ms += pause_ms
        self.start(*options, clock=clock)

    def start_and_kill(self, after_s, *options):
        """A server that is killed soon after its start, most often while it recovers the store."""
        command = [program(), "serve", "--bind", "127.0.0.1:0", "--clock", "virtual=%d" % self.now_ms]
        with tempfile.TemporaryFile() as log:
            process = subprocess.Popen(
                [*command, "--db", str(self.path), *self.options, *options], stdout=log, stderr=log
            )
            try:
                process.wait(after_s)
            except subprocess.TimeoutExpired:
                process.kill()
            code = process.wait()
            log.seek(0)
            said = log.read().decode(errors="replace")
        assert code == -9 and SANITIZER.search(said) is None, "ended with %d:\n%s" % (code, said[-8000:])

    def advance_ms(self, ms):
        self.server.advance_ms(ms)
        self.now_ms += ms

    def advance_s(self, seconds):
        self.advance_ms(seconds * 1000)

    def clock_ms(self):
        status, clock = self.server.control("GET", "/_quern/clock")
        assert status == 200
        return clock["now_ms"]

    def call(self, action, **members):
        return self.connection.call(action, members)

    def refusal(self, action, **members):
        """The error of a call that must be refused."""
        try:
            answer = self.connection.call(action, members)
        except Refused as refused:
            return refused
        raise AssertionError("%s was not refused: %r" % (action, answer))

    # ---- what most tests say ----

    def queue(self, name, **attributes):
        """The URL of a new queue; a name with .fifo is a FIFO queue."""
        if name.endswith(".fifo"):
            attributes = {"FifoQueue": "true", **attributes}
        texts = {k: v if isinstance(v, str) else str(v) for k, v in attributes.items()}
        return self.call("CreateQueue", QueueName=name, Attributes=texts)["QueueUrl"]

    def dead_letters(self, name, limit, **attributes):
        """A queue with a dead-letter queue of its own: both URLs."""
        fifo = ".fifo" if name.endswith(".fifo") else ""
        dlq = self.queue(name.removesuffix(".fifo") + "-dlq" + fifo)
        policy = json.dumps({"deadLetterTargetArn": self.arn(dlq), "maxReceiveCount": limit})
        return self.queue(name, RedrivePolicy=policy, **attributes), dlq

    def url(self, name):
        """A queue's URL at the server of now."""
        return self.call("GetQueueUrl", QueueName=name)["QueueUrl"]

    def attributes(self, url):
        return self.call("GetQueueAttributes", QueueUrl=url, AttributeNames=["All"])["Attributes"]

    def arn(self, url):
        return self.attributes(url)["QueueArn"]

    def counts(self, url):
        """Visible, in flight, delayed."""
        all_of_it = self.attributes(url)
        return tuple(int(all_of_it["ApproximateNumberOfMessages" + kind]) for kind in ("", "NotVisible", "Delayed"))

    def send(self, url, body, **members):
        return self.call("SendMessage", QueueUrl=url, MessageBody=body, **members)

    def send_fifo(self, url, body, group="g", key=None, **members):
        return self.send(url, body, MessageGroupId=group, MessageDeduplicationId=key or "key-of-" + body, **members)

    def receive(self, url, most=10, **members):
        members.setdefault("MessageSystemAttributeNames", ["All"])
        members.setdefault("MessageAttributeNames", ["All"])
        return self.call("ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=most, **members).get("Messages", [])

    def bodies(self, url, most=10, **members):
        return [message["Body"] for message in self.receive(url, most, **members)]

    def delete(self, url, message):
        return self.call("DeleteMessage", QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])

    def hide(self, url, message, seconds):
        return self.call(
            "ChangeMessageVisibility",
            QueueUrl=url,
            ReceiptHandle=message["ReceiptHandle"],
            VisibilityTimeout=seconds,
        )

    def peek(self, name):
        """All messages of a queue as the control API shows them, without receiving them."""
        return peek(self.server, name)


def peek(server, name):
    found, after = [], 0
    while after is not None:
        status, page = server.control("GET", "/_quern/queues/%s/messages?limit=1000&after=%d" % (name, after))
        assert status == 200, page
        found += page["messages"]
        after = page["next"]
    return found
