"""Both ceilings of memory: what goes beyond them waits or is refused, everybody else is served."""
import json
import socket
import threading
import time

import pytest
from durable import Connection, Refused
from figures import MB, info, is_sanitized, rss_mb, wait_until
from raw import Raw

UNDER_WAY = 256 * MB
SMALL_PART = UNDER_WAY // 8
LARGEST_ANSWER = 11 * MB
KEPT_BY_SANITIZER_MB = 700  # freed blocks, and what pads the others


def allowed_mb(mb):
    return mb + (KEPT_BY_SANITIZER_MB if is_sanitized() else 0)


def expect_service(server, url):
    """Small requests, on old and new connections, without delay."""
    started = time.monotonic()
    for _ in range(3):
        connection = Connection(server.port)
        for n in range(10):
            connection.call("SendMessage", {"QueueUrl": url, "MessageBody": "small %d" % n})
            connection.call("GetQueueAttributes", {"QueueUrl": url, "AttributeNames": ["All"]})
        connection.close()
    assert time.monotonic() - started < 10, "others are not served"


# ---- messages ----


@pytest.mark.parametrize("batch", [False, True], ids=["single", "batch"])
def test_beyond_the_memory_for_messages_sends_are_refused_until_some_are_deleted(start, batch):
    server = start("--max-memory", "16M")
    client = Connection(server.port)
    url = client.call("CreateQueue", {"QueueName": "q"})["QueueUrl"]
    body = "x" * 250_000

    def send():
        if batch:
            entries = [{"Id": str(n), "MessageBody": body} for n in range(4)]
            return len(client.call("SendMessageBatch", {"QueueUrl": url, "Entries": entries})["Successful"])
        client.call("SendMessage", {"QueueUrl": url, "MessageBody": body})
        return 1

    sent = 0
    with pytest.raises(Refused) as refusal:
        while sent < 200:
            sent += send()
    assert (refusal.value.status, refusal.value.code) == (503, "ServiceUnavailable")
    assert 40 <= sent <= 68
    before = rss_mb(server)
    for _ in range(100):
        with pytest.raises(Refused):
            send()
    assert rss_mb(server) - before < allowed_mb(8)
    received = []
    while len(received) < sent:
        received += client.call("ReceiveMessage", {"QueueUrl": url, "MaxNumberOfMessages": 10})["Messages"]
    assert info(server)["engine"]["messages"] == sent
    for message in received[:8]:
        client.call("DeleteMessage", {"QueueUrl": url, "ReceiptHandle": message["ReceiptHandle"]})
    assert send() > 0
    for message in received[8:]:
        client.call("DeleteMessage", {"QueueUrl": url, "ReceiptHandle": message["ReceiptHandle"]})
    again = 0
    with pytest.raises(Refused):
        while again < 200:
            again += send()
    assert sent - 9 <= again <= sent, "what was deleted still counts"
    client.close()


# ---- requests under way ----


def large_send(raw, url):
    """The bytes of a send of 1 MiB in its longest spelling."""
    body = b'{"QueueUrl":"%s","MessageBody":"%s"}' % (url.encode(), b"\\u0078" * MB)
    return raw.json("SendMessage", body)


def test_bodies_that_are_announced_and_do_not_come_stop_nobody(start):
    """Slow writers: they hold what they have sent, not what they say they will send."""
    server = start()
    client = Connection(server.port)
    url = client.call("CreateQueue", {"QueueName": "q"})["QueueUrl"]
    slow = [Raw(server) for _ in range(200)]
    request = large_send(slow[0], url)
    for raw in slow:
        raw.send(request[: 64 * 1024])
    wait_until(lambda: info(server)["bytes_under_way"] >= 200 * 64 * 1024, "the bodies are not read")
    assert info(server)["bytes_under_way"] < 200 * 256 * 1024
    expect_service(server, url)
    slow[0].send(request[64 * 1024 :])
    assert slow[0].read().status == 200, "a large one is served as well"
    for raw in slow:
        raw.socket.close()
    wait_until(lambda: info(server)["bytes_under_way"] < MB, "what they held is not given back")
    client.close()


def test_beyond_the_ceiling_large_bodies_wait_and_small_ones_are_served(start):
    server = start("--max-memory", "1G")
    client = Connection(server.port)
    url = client.call("CreateQueue", {"QueueName": "q"})["QueueUrl"]
    go_on = threading.Event()
    answers = []

    def send_slowly():
        with Raw(server, timeout_s=120) as raw:
            request = large_send(raw, url)
            raw.send(request[:-1])
            go_on.wait(120)
            raw.send(request[-1:])
            answers.append(raw.read().status)

    threads = [threading.Thread(target=send_slowly, daemon=True) for _ in range(46)]
    for thread in threads:
        thread.start()
    wait_until(lambda: info(server)["bytes_under_way"] > UNDER_WAY - 8 * MB, "the ceiling is not reached")
    expect_service(server, url)
    assert info(server)["bytes_under_way"] <= UNDER_WAY + SMALL_PART
    assert rss_mb(server) < allowed_mb(256 + 32 + 60)
    go_on.set()
    for thread in threads:
        thread.join(120)
    assert answers == [200] * 46
    wait_until(lambda: info(server)["bytes_under_way"] < MB, "what they held is not given back")
    client.close()


# ---- answers under way ----


def slow_reader(server, url):
    """A client that asks for ten large messages and does not read the answer."""
    reader = socket.socket()
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    reader.settimeout(20)
    reader.connect(("127.0.0.1", server.port))
    body = json.dumps({"QueueUrl": url, "MaxNumberOfMessages": 10}).encode()
    head = (
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-amz-json-1.0\r\n"
        "X-Amz-Target: AmazonSQS.ReceiveMessage\r\nContent-Length: %d\r\n\r\n" % len(body)
    )
    reader.sendall(head.encode() + body)
    return reader


@pytest.mark.parametrize("durable", [False, True], ids=["memory", "store"])
def test_slow_readers_of_large_answers_stop_nobody(start, folder, durable):
    server = start(*(("--db", str(folder / "quern.db")) if durable else ()))
    client = Connection(server.port)
    url = client.call("CreateQueue", {"QueueName": "large", "Attributes": {"VisibilityTimeout": "0"}})["QueueUrl"]
    other = client.call("CreateQueue", {"QueueName": "other"})["QueueUrl"]
    for n in range(10):
        client.call("SendMessage", {"QueueUrl": url, "MessageBody": chr(97 + n) * MB})
    before = rss_mb(server)
    readers = [slow_reader(server, url) for _ in range(46)]
    wait_until(lambda: info(server)["bytes_under_way"] > UNDER_WAY, "the ceiling is not reached")
    wait_until(lambda: info(server)["requests"] >= 58, "not all have asked")
    expect_service(server, other)
    with pytest.raises(Refused) as refusal:
        client.call("ReceiveMessage", {"QueueUrl": other})
    assert (refusal.value.status, refusal.value.code) == (503, "ServiceUnavailable")
    assert info(server)["bytes_under_way"] <= UNDER_WAY + LARGEST_ANSWER + SMALL_PART
    assert rss_mb(server) - before < allowed_mb(256 + 32 + 60)

    slow_one = readers.pop()
    slow_one.settimeout(1)
    for reader in readers[:30]:
        reader.close()
    wait_until(lambda: info(server)["bytes_under_way"] < UNDER_WAY, "what they held is not given back")
    assert len(client.call("ReceiveMessage", {"QueueUrl": other})["Messages"]) == 1
    for reader in readers[30:] + [slow_one]:
        reader.close()
    wait_until(lambda: info(server)["bytes_under_way"] < MB, "what they held is not given back")
    (message, *_) = client.call("ReceiveMessage", {"QueueUrl": url})["Messages"]
    assert len(message["Body"]) == MB
    client.close()


def test_a_reader_byte_by_byte_gets_all_of_it_and_others_do_not_wait(start):
    server = start()
    client = Connection(server.port)
    url = client.call("CreateQueue", {"QueueName": "large", "Attributes": {"VisibilityTimeout": "0"}})["QueueUrl"]
    for n in range(10):
        client.call("SendMessage", {"QueueUrl": url, "MessageBody": chr(97 + n) * MB})
    reader = slow_reader(server, url)
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += reader.recv(1)
    (length,) = [int(line[16:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length: ")]
    for _ in range(1000):
        assert len(reader.recv(1)) == 1
        length -= 1
    expect_service(server, client.call("CreateQueue", {"QueueName": "other"})["QueueUrl"])
    while length > 0:
        length -= len(reader.recv(MB)) or length + 1
    assert length == 0, "the answer was cut short"
    reader.close()
    client.close()
