#!/usr/bin/env python3
"""Plays a session with something of everything against a server with session.rules, and records it: what stands in
session.jsonl. Run by hand when the rules or the session are changed."""
import http.client
import json
import pathlib
import random
import shutil
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "cases"), str(HERE.parent / "control")]

from exchange import process, wire  # noqa: E402
from parties import until  # noqa: E402

ARN = "arn:aws:sqs:us-east-1:000000000000:"
BYTES = {"b": {"DataType": "Binary", "BinaryValue": "AAECAw=="}, "n": {"DataType": "Number", "StringValue": "1"}}


class Party:
    """A client with a connection of its own, which takes what comes: errors, damage, a connection that ends."""

    def __init__(self, server, number):
        self.server, self.number = server, number
        self.connection = None
        self.held = {}  # handles by queue

    def open(self):
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
            self.connection.connect()
        return self.connection

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def send(self, action, protocol="json", **members):
        if protocol == "json":
            request = wire.json_request(action, members, access_key="AKIA%04d" % self.number)
        else:
            request = wire.query_request(wire.to_pairs(action, members), access_key="AKIA%04d" % self.number)
        self.open().request(request.method, request.path, request.body, request.headers)

    def read(self, protocol="json"):
        try:
            answer = self.connection.getresponse()
            body = answer.read()
            if answer.will_close:
                self.close()
            return json.loads(body or b"{}") if answer.status == 200 and protocol == "json" else {}
        except (OSError, http.client.HTTPException, ValueError):
            self.close()
            return {}

    def call(self, action, protocol="json", **members):
        self.send(action, protocol, **members)
        return self.read(protocol)


class Session:
    def __init__(self, server):
        self.server = server
        self.random = random.Random(4)
        self.parties = [Party(server, number) for number in range(1, 5)]
        self.urls = {}
        self.sent = 0

    def any(self):
        return self.random.choice(self.parties)

    def waiting(self):
        return self.server.control("GET", "/_quern/info")[1]["waiting"]

    def begin(self):
        first = self.parties[0]
        for name, attributes in {
            "dlq": {}, "plain": {"RedrivePolicy": json.dumps({"deadLetterTargetArn": ARN + "dlq", "maxReceiveCount": 3}),
                                 "VisibilityTimeout": "6"},
            "ordered.fifo": {"FifoQueue": "true", "ContentBasedDeduplication": "true", "VisibilityTimeout": "8"},
        }.items():
            self.urls[name] = first.call("CreateQueue", QueueName=name, Attributes=attributes)["QueueUrl"]

    def body(self):
        self.sent += 1
        return json.dumps({"kind": self.random.choice(["normal", "odd"]), "idempotencyKey": "k-%d" % self.sent})

    def send(self, party):
        queue = self.random.choice(["plain", "plain", "ordered.fifo"])
        more = {"MessageGroupId": self.random.choice("ABC")} if queue.endswith(".fifo") else {}
        if queue == "plain" and self.random.random() < 0.2:
            more["DelaySeconds"] = 3
        if self.random.random() < 0.3:
            more["MessageAttributes"] = BYTES
        if self.random.random() < 0.3:
            entries = [{"Id": str(n), "MessageBody": self.body(), **more} for n in range(self.random.randint(1, 6))]
            party.call("SendMessageBatch", QueueUrl=self.urls[queue], Entries=entries)
        else:
            protocol = self.random.choice(["json", "query"])
            before = self.waiting()["held"]
            party.send("SendMessage", protocol, QueueUrl=self.urls[queue], MessageBody=self.body(), **more)
            self.read_or_move(party, protocol, before)

    def read_or_move(self, party, protocol, held_before):
        """The answer; of a request that a rule holds, when the clock has come so far."""
        reader = threading.Thread(target=party.read, args=(protocol,))
        reader.start()
        until(lambda: not reader.is_alive() or self.waiting()["held"] > held_before)
        if reader.is_alive():
            self.server.advance_ms(1000)
        reader.join(20)
        assert not reader.is_alive()

    def receive(self, party):
        queue = self.random.choice(["plain", "plain", "ordered.fifo", "dlq"])
        members = {"MaxNumberOfMessages": self.random.randint(1, 10), "MessageSystemAttributeNames": ["All"]}
        if self.random.random() < 0.2:
            members["VisibilityTimeout"] = self.random.choice([0, 2, 20])
        if queue.endswith(".fifo") and self.random.random() < 0.3:
            members["ReceiveRequestAttemptId"] = "attempt-%d" % self.random.randint(1, 3)
        for message in party.call("ReceiveMessage", QueueUrl=self.urls[queue], **members).get("Messages", []):
            party.held.setdefault(queue, []).append(message["ReceiptHandle"])

    def take_handle(self, party):
        queues = sorted(queue for queue, handles in party.held.items() if handles)
        if not queues:
            return None, None
        queue = self.random.choice(queues)
        handles = party.held[queue]
        return self.urls[queue], handles.pop(self.random.randrange(len(handles)))

    def delete(self, party):
        url, handle = self.take_handle(party)
        if url is None:
            return
        if self.random.random() < 0.5:
            party.call("DeleteMessage", QueueUrl=url, ReceiptHandle=handle)
            return
        entries = [{"Id": "a", "ReceiptHandle": handle}, {"Id": "b", "ReceiptHandle": "nonsense"}]
        party.call("DeleteMessageBatch", QueueUrl=url, Entries=entries)

    def change(self, party):
        url, handle = self.take_handle(party)
        if url is not None:
            timeout = 50000 if self.random.random() < 0.1 else self.random.choice([0, 5, 30])
            party.call("ChangeMessageVisibility", QueueUrl=url, ReceiptHandle=handle, VisibilityTimeout=timeout)

    def look(self, party):
        name = self.random.choice(["plain", "ordered.fifo", "dlq", "missing"])
        self.random.choice([
            lambda: party.call("GetQueueUrl", QueueName=name),
            lambda: party.call("GetQueueAttributes", QueueUrl=self.urls.get(name, "http://x/000000000000/missing"), AttributeNames=["All"]),
            lambda: party.call("ListQueues", MaxResults=2),
            lambda: party.call("ListDeadLetterSourceQueues", QueueUrl=self.urls["dlq"]),
            lambda: party.call("ListMessageMoveTasks", SourceArn=ARN + "dlq"),
        ])()

    def poll(self, party):
        """A long poll that a send of somebody else ends, or the clock, or its own client."""
        queue = self.random.choice(["plain", "dlq", "ordered.fifo"])
        before = self.waiting()["parked"]
        party.send("ReceiveMessage", QueueUrl=self.urls[queue], WaitTimeSeconds=self.random.choice([4, 20]))
        others = [other for other in self.parties if other is not party]
        reader = threading.Thread(target=party.read)
        if self.random.random() < 0.2:
            until(lambda: self.waiting()["parked"] > before or self.answered(party))
            party.close()
            until(lambda: self.waiting()["parked"] == before)
            return
        reader.start()
        until(lambda: not reader.is_alive() or self.waiting()["parked"] > before)
        for _ in range(3):
            if reader.is_alive():
                self.send(self.random.choice(others))
        if reader.is_alive():
            self.server.advance_ms(21000)
        reader.join(20)
        assert not reader.is_alive()

    @staticmethod
    def answered(party):
        import select

        return bool(select.select([party.connection.sock], [], [], 0)[0])

    def move_back(self, party):
        party.call("StartMessageMoveTask", SourceArn=ARN + "dlq", DestinationArn=ARN + "plain")

    def hang(self):
        """The second one gets no answer."""
        party = self.any()
        for expected in (0, 1):
            party.send("ListQueueTags", QueueUrl=self.urls["dlq"])
            if expected == 1:
                until(lambda: self.waiting()["hanging"] == 1)
                party.close()
                until(lambda: self.waiting()["hanging"] == 0)
            else:
                party.read()

    def play(self):
        self.begin()
        steps = [self.send] * 8 + [self.receive] * 7 + [self.delete] * 7 + [self.change] * 2 + [self.look] * 3 + [self.poll, self.move_back]
        for number in range(320):
            self.random.choice(steps)(self.any())
            if self.random.random() < 0.12:
                self.server.advance_ms(self.random.choice([500, 3000, 7000, 30000]))
            if number == 150:
                self.hang()
        self.parties[1].call("SetQueueAttributes", QueueUrl=self.urls["plain"], Attributes={"MessageRetentionPeriod": "60"})
        self.server.advance_ms(61000)
        self.parties[2].call("PurgeQueue", QueueUrl=self.urls["dlq"])
        self.parties[3].call("DeleteQueue", QueueUrl=self.urls["ordered.fifo"])
        for party in self.parties:
            party.close()


def main():
    with tempfile.TemporaryDirectory() as folder:
        record = pathlib.Path(folder) / "session.jsonl"
        options = ["--chaos", str(HERE / "session.rules"), "--public-url", "http://localhost:9324", "--record", str(record)]
        server = process.Server(*options)
        try:
            Session(server).play()
        finally:
            server.stop()
        shutil.copy(record, HERE / "session.jsonl")
        print("%d lines" % len(record.read_text().splitlines()))


if __name__ == "__main__":
    main()
