#!/usr/bin/env python3
"""Puts a server under mixed load from several threads and fails when it, or ThreadSanitizer in it,
complains.

The program to run is QUERN_PROGRAM (a TSan build). It serves twice on the same file, first with
--sync normal, then with --sync full, so that the loop, the writer and the sync thread all work, and
the second start finds what the first left. Exit code 0: no report, no 5xx answer, clean stops.
"""
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

THREADS = 8
ROUND_S = 6
START_S = 60
STOP_S = 60


class Client:
    """One connection that speaks AWS JSON. Remembers server errors; others belong to the mix."""

    def __init__(self, port, complaints):
        self.port = port
        self.complaints = complaints
        self.calls = 0
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def request(self, method, path, body, headers):
        self.connection.request(method, path, body, headers)
        answer = self.connection.getresponse()
        text = answer.read()
        self.calls += 1
        if answer.status >= 500:
            self.complaints.append(f"{method} {path} {headers}: {answer.status} {text[:200]!r}")
        return answer.status, text

    def call(self, action, **parameters):
        status, text = self.request("POST", "/", json.dumps(parameters), {
            "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": f"AmazonSQS.{action}"})
        return json.loads(text) if status == 200 and text else {}

    def query(self, **parameters):
        form = "&".join(f"{name}={value}" for name, value in parameters.items())
        return self.request("POST", "/", form,
                            {"Content-Type": "application/x-www-form-urlencoded"})

    def go_away(self, action, **parameters):
        """Asks and leaves without waiting for the answer."""
        body = json.dumps(parameters).encode()
        head = (f"POST / HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nContent-Length: {len(body)}\r\n"
                f"Content-Type: application/x-amz-json-1.0\r\nX-Amz-Target: AmazonSQS.{action}\r\n\r\n")
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as raw:
            raw.sendall(head.encode() + body[: random.choice((1, len(body)))])


def batch(chance, count, fifo):
    entries = []
    for i in range(count):
        entry = {"Id": str(i), "MessageBody": "x" * chance.choice((1, 100, 3000))}
        if fifo:
            entry["MessageGroupId"] = str(chance.randrange(5))
        else:
            entry["DelaySeconds"] = chance.choice((0, 0, 0, 1))
        entries.append(entry)
    return entries


def mix(client, chance, queues, until):
    while time.monotonic() < until:
        url, fifo = chance.choice(queues)
        client.call("SendMessageBatch", QueueUrl=url, Entries=batch(chance, chance.randint(1, 10), fifo))
        got = client.call("ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=10,
                          WaitTimeSeconds=chance.choice((0, 0, 1)), MessageSystemAttributeNames=["All"])
        messages = got.get("Messages", [])
        kept = messages[: len(messages) // 3]
        for message in kept[:2]:
            client.call("ChangeMessageVisibility", QueueUrl=url, ReceiptHandle=message["ReceiptHandle"],
                        VisibilityTimeout=chance.choice((0, 1, 30)))
        gone = [{"Id": str(i), "ReceiptHandle": message["ReceiptHandle"]}
                for i, message in enumerate(messages[len(kept):])]
        if gone:
            client.call("DeleteMessageBatch", QueueUrl=url, Entries=gone)
        now_and_then(client, chance, url)


def now_and_then(client, chance, url):
    roll = chance.randrange(40)
    if roll == 0:
        client.call("PurgeQueue", QueueUrl=url)
    elif roll == 1:
        client.call("GetQueueAttributes", QueueUrl=url, AttributeNames=["All"])
    elif roll == 2:
        client.query(Action="ListQueues", Version="2012-11-05")
    elif roll == 3:
        client.call("SetQueueAttributes", QueueUrl=url,
                    Attributes={"VisibilityTimeout": str(chance.randint(0, 30))})
    elif roll == 4:
        client.go_away("ReceiveMessage", QueueUrl=url, WaitTimeSeconds=5)
    elif roll == 5:
        client.request("GET", "/_quern/queues", None, {})
    elif roll == 6:
        name = f"brief-{chance.randrange(4)}"
        made = client.call("CreateQueue", QueueName=name)
        client.call("SendMessage", QueueUrl=made.get("QueueUrl", ""), MessageBody="x")
        client.call("DeleteQueue", QueueUrl=made.get("QueueUrl", ""))
    elif roll == 7:
        client.request("POST", "/", "{broken", {"Content-Type": "application/x-amz-json-1.0",
                                                "X-Amz-Target": "AmazonSQS.SendMessage"})


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_it_answers(server, port):
    until = time.monotonic() + START_S
    while time.monotonic() < until and server.poll() is None:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/_quern/health")
            if connection.getresponse().status == 200:
                return True
        except OSError:
            time.sleep(0.1)
    return False


def load(port, seed, complaints):
    first = Client(port, complaints)
    queues = [(first.call("CreateQueue", QueueName=f"load-{i}").get("QueueUrl"), False)
              for i in range(3)]
    queues.append((first.call("CreateQueue", QueueName="load.fifo", Attributes={
        "FifoQueue": "true", "ContentBasedDeduplication": "true"}).get("QueueUrl"), True))
    if not all(url for url, _ in queues):
        complaints.append("CreateQueue gave no queue URL")
        return 0
    clients = [Client(port, complaints) for _ in range(THREADS)]
    until = time.monotonic() + ROUND_S

    def work(number):
        try:
            mix(clients[number], random.Random(seed * 100 + number), queues, until)
        except (OSError, http.client.HTTPException, ValueError, KeyError) as problem:
            complaints.append(f"thread {number}: {type(problem).__name__}: {problem}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(client.calls for client in clients)


def serve_and_load(program, folder, sync, seed, complaints):
    port = free_port()
    log = folder / f"server-{sync}.log"
    with open(log, "wb") as out:
        server = subprocess.Popen(
            [program, "serve", "--bind", "127.0.0.1", "--port", str(port), "--sync", sync,
             "--db", str(folder / "load.db"), "--seed", str(seed)],
            stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        try:
            if wait_until_it_answers(server, port):
                calls = load(port, seed, complaints)
                print(f"sync {sync}: {calls} calls")
                if calls == 0:
                    complaints.append("nothing was called")
            else:
                complaints.append("the server did not start")
            server.send_signal(signal.SIGTERM)
            code = server.wait(STOP_S)
            if code != 0:
                complaints.append(f"the server ended with {code}")
        except subprocess.TimeoutExpired:
            complaints.append(f"the server did not stop within {STOP_S} s of SIGTERM")
        finally:
            server.kill()
            server.wait()
    text = log.read_text(errors="replace")
    if "Sanitizer" in text:
        complaints.append("a sanitizer reported")
    if complaints:
        print(text[-4000:])


def main():
    complaints = []
    with tempfile.TemporaryDirectory(prefix="quern-load-") as folder:
        for seed, sync in enumerate(("normal", "full"), 1):
            serve_and_load(os.environ["QUERN_PROGRAM"], Path(folder), sync, seed, complaints)
    for complaint in complaints[:20]:
        print(f"complaint: {complaint}")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
