"""A mixed load that goes on for as long as one likes and leaves the server as it found it: whatever
is sent is deleted, purged, or goes with its queue.

Each actor is a thread with one connection (the stranger makes new ones) and a pace, so that the
load is the same on a fast and on a slow machine.
"""
import http.client
import json
import random
import socket
import threading
import time
import urllib.parse

FIFO = {"FifoQueue": "true", "ContentBasedDeduplication": "true"}
GROUPS = 20
BODIES = (1, 100, 300, 300, 3000)
BATCH_PAUSE_S = 0.06
PURGE_EVERY = 60  # turns of a worker
FILL_ROUNDS = 2400


class Client:
    """Calls by AWS JSON. A refusal belongs to the mix; a server error is remembered."""

    def __init__(self, port, complaints):
        self.port = port
        self.complaints = complaints
        self.calls = 0
        self.http = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def request(self, method, path, body, headers):
        self.http.request(method, path, body, headers)
        answer = self.http.getresponse()
        text = answer.read()
        self.calls += 1
        if answer.status >= 500:
            self.complaints.append("%s %s: %d %r" % (method, headers, answer.status, text[:200]))
        return answer.status, text

    def call(self, action, **members):
        status, text = self.request("POST", "/", json.dumps(members).encode(), {
            "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS." + action})
        return json.loads(text) if status == 200 and text else {}

    def query(self, **members):
        return self.request("POST", "/", urllib.parse.urlencode(members).encode(),
                            {"Content-Type": "application/x-www-form-urlencoded"})

    def go_away(self, action, **members):
        """Asks on a connection of its own, whole or not, and leaves without the answer."""
        body = json.dumps(members).encode()
        head = ("POST / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: %d\r\nContent-Type: "
                "application/x-amz-json-1.0\r\nX-Amz-Target: AmazonSQS.%s\r\n\r\n"
                % (self.port, len(body), action)).encode()
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as raw:
            raw.sendall(head + body[: random.choice((1, len(body)))])

    def close(self):
        self.http.close()


class Actor(threading.Thread):
    """Does its turn again and again until the load is over."""

    pause_s = BATCH_PAUSE_S

    def __init__(self, load, number):
        super().__init__(daemon=True, name="%s %d" % (type(self).__name__, number))
        self.load = load
        self.random = random.Random(self.name)
        self.client = Client(load.port, load.complaints)
        self.turns = 0

    def run(self):
        try:
            self.prepare()
            while not self.load.over.wait(self.pause_s):
                self.turns += 1
                self.turn()
        except Exception as problem:  # told by the test, whose thread is another
            if not self.load.over.is_set():
                self.load.complaints.append("%s: %s: %s" % (self.name, type(problem).__name__, problem))
        finally:
            self.client.close()

    def prepare(self):
        pass

    def turn(self):
        raise NotImplementedError

    def create(self, name, **attributes):
        url = self.client.call("CreateQueue", QueueName=name, Attributes=attributes).get("QueueUrl")
        if url is None:
            raise RuntimeError("no queue " + name)
        return url

    def body(self):
        return "x" * self.random.choice(BODIES)

    def receive(self, url, **members):
        got = self.client.call("ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=10,
                               MessageSystemAttributeNames=["All"], **members)
        return [message["ReceiptHandle"] for message in got.get("Messages", [])]

    def delete(self, url, handles):
        entries = [{"Id": str(i), "ReceiptHandle": handle} for i, handle in enumerate(handles)]
        if len(handles) == 1:
            self.client.call("DeleteMessage", QueueUrl=url, ReceiptHandle=handles[0])
        elif handles:
            self.client.call("DeleteMessageBatch", QueueUrl=url, Entries=entries)


class Worker(Actor):
    """Sends alone and in batches, receives, lengthens and ends leases, deletes; purges at times."""

    def prepare(self):
        self.url = self.create("work-%d" % self.random.randrange(2), VisibilityTimeout="5")

    def turn(self):
        self.client.call("SendMessage", QueueUrl=self.url, MessageBody=self.body(), MessageAttributes={
            "kind": {"DataType": "String", "StringValue": "soak"}})
        self.client.call("SendMessageBatch", QueueUrl=self.url, Entries=[
            {"Id": str(i), "MessageBody": self.body(), "DelaySeconds": self.random.choice((0, 0, 2))}
            for i in range(self.random.randint(1, 10))])
        for _ in range(2):
            handles = self.receive(self.url)
            for handle in handles[8:]:
                self.client.call("ChangeMessageVisibility", QueueUrl=self.url, ReceiptHandle=handle,
                                 VisibilityTimeout=self.random.choice((0, 3)))
            self.delete(self.url, handles[:8])
        if self.turns % PURGE_EVERY == 0:
            self.client.call("PurgeQueue", QueueUrl=self.url)


class FifoWorker(Actor):
    def prepare(self):
        self.url = self.create("work.fifo", VisibilityTimeout="5", **FIFO)

    def turn(self):
        self.client.call("SendMessageBatch", QueueUrl=self.url, Entries=[
            {"Id": str(i), "MessageBody": "%d %s" % (self.random.randrange(1 << 30), self.body()),
             "MessageGroupId": str(self.random.randrange(GROUPS))} for i in range(4)])
        attempt = str(self.random.randrange(1 << 30))
        handles = self.receive(self.url, ReceiveRequestAttemptId=attempt)
        if self.turns % 4 == 0:
            handles = self.receive(self.url, ReceiveRequestAttemptId=attempt)
        self.delete(self.url, handles)
        if self.turns % PURGE_EVERY == 0:
            self.client.call("PurgeQueue", QueueUrl=self.url)


class Redriver(Actor):
    """Messages go to the dead-letter queue and come back by a move task."""

    pause_s = 0.5

    def prepare(self):
        self.dead = self.create("dead")
        self.dead_arn = self.client.call("GetQueueAttributes", QueueUrl=self.dead, AttributeNames=[
            "QueueArn"])["Attributes"]["QueueArn"]
        self.url = self.create("poison", VisibilityTimeout="0", RedrivePolicy=json.dumps(
            {"deadLetterTargetArn": self.dead_arn, "maxReceiveCount": "2"}))

    def turn(self):
        for _ in range(3):
            self.client.call("SendMessage", QueueUrl=self.url, MessageBody=self.body())
        for _ in range(3):
            self.receive(self.url)
        started = self.client.call("StartMessageMoveTask", SourceArn=self.dead_arn,
                                   **({"MaxNumberOfMessagesPerSecond": 1} if self.turns % 3 == 0 else {}))
        self.client.call("ListMessageMoveTasks", SourceArn=self.dead_arn, MaxResults=10)
        if self.turns % 3 == 0 and "TaskHandle" in started:
            self.client.call("CancelMessageMoveTask", TaskHandle=started["TaskHandle"])
        self.delete(self.url, self.receive(self.url, VisibilityTimeout=5))
        if self.turns % 10 == 0:
            self.client.call("PurgeQueue", QueueUrl=self.url)
            self.client.call("PurgeQueue", QueueUrl=self.dead)


class Founder(Actor):
    """Queues come and go, with what is in them."""

    pause_s = 0.3

    def turn(self):
        fifo = self.turns % 2 == 0
        url = self.create("brief-%d%s" % (self.turns % 50, ".fifo" if fifo else ""), **(FIFO if fifo else {}))
        self.client.call("TagQueue", QueueUrl=url, Tags={"team": "soak", "turn": str(self.turns)})
        group = {"MessageGroupId": "a"} if fifo else {}
        for _ in range(3):
            self.client.call("SendMessage", QueueUrl=url, MessageBody=self.body(), **group)
        self.receive(url)
        self.client.call("SetQueueAttributes", QueueUrl=url, Attributes={"VisibilityTimeout": "7"})
        self.client.call("GetQueueAttributes", QueueUrl=url, AttributeNames=["All"])
        self.client.call("DeleteQueue", QueueUrl=url)


class Waiter(Actor):
    """Waits for what is sent only now and then; its polls are parked."""

    pause_s = 0

    def prepare(self):
        self.url = self.create("quiet")

    def turn(self):
        self.delete(self.url, self.receive(self.url, WaitTimeSeconds=20))


class Caller(Actor):
    """Sends what the waiters wait for."""

    pause_s = 0.4

    def prepare(self):
        self.url = self.create("quiet")

    def turn(self):
        self.client.call("SendMessage", QueueUrl=self.url, MessageBody=self.body())


class Stranger(Actor):
    """New connections: some leave a long poll, some half a request, some speak the other protocol
    or nonsense."""

    pause_s = 0.3

    def prepare(self):
        self.url = self.create("lonely")

    def turn(self):
        visitor = Client(self.load.port, self.load.complaints)
        visitor.query(Action="ListQueues", Version="2012-11-05")
        visitor.query(Action="ReceiveMessage", QueueUrl=self.url)
        visitor.request("POST", "/", b"{broken", {"Content-Type": "application/x-amz-json-1.0",
                                                 "X-Amz-Target": "AmazonSQS.SendMessage"})
        visitor.request("GET", "/_quern/queues", None, {})
        visitor.close()
        self.client.calls += visitor.calls
        self.client.go_away("ReceiveMessage", QueueUrl=self.url, WaitTimeSeconds=20)


class Hoarder(Actor):
    """A stock that nobody asks for: it goes by retention."""

    pause_s = 0.1

    def prepare(self):
        self.url = self.create("stock", MessageRetentionPeriod="300")

    def turn(self):
        self.client.call("SendMessageBatch", QueueUrl=self.url, Entries=[
            {"Id": str(i), "MessageBody": self.body()} for i in range(10)])
        self.client.call("GetQueueAttributes", QueueUrl=self.url, AttributeNames=["All"])


ACTORS = (Worker, Worker, Worker, FifoWorker, Redriver, Founder, Waiter, Waiter, Caller, Stranger, Hoarder)


def fill(port, complaints):
    """Once round the ring and once through the memory of the trace: both come into RSS page by page
    as they are first written, and are no part of what could leak. A trace that was read once tells
    of every message."""
    client = Client(port, complaints)
    client.request("GET", "/_quern/trace?since=0", None, {})
    url = client.call("CreateQueue", QueueName="fill")["QueueUrl"]
    entries = [{"Id": str(i), "MessageBody": "x" * 3000} for i in range(10)]
    for _ in range(FILL_ROUNDS):
        client.call("SendMessageBatch", QueueUrl=url, Entries=entries)
        got = client.call("ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
        client.call("DeleteMessageBatch", QueueUrl=url, Entries=[
            {"Id": str(i), "ReceiptHandle": message["ReceiptHandle"]} for i, message in enumerate(got)])
    client.call("DeleteQueue", QueueUrl=url)
    client.close()


class Load:
    def __init__(self, port):
        self.port = port
        self.over = threading.Event()
        self.complaints = []
        self.actors = [kind(self, number) for number, kind in enumerate(ACTORS)]

    def start(self):
        for actor in self.actors:
            actor.start()

    def stop(self):
        self.over.set()
        until = time.monotonic() + 60
        for actor in self.actors:
            actor.join(max(0, until - time.monotonic()))
            if actor.is_alive():
                self.complaints.append(actor.name + " does not end")

    def turns(self):
        return {actor.name: actor.turns for actor in self.actors}

    def calls(self):
        return sum(actor.client.calls for actor in self.actors)
