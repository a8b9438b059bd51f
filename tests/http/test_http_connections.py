"""How SQS clients use a connection: kept alive, pipelined, old, slow, or gone."""
import concurrent.futures
import json
import time

import pytest

from exchange import wire
from exchange.client import Client
from raw import Raw


def members(reply):
    assert reply.status == 200, str(reply)
    return json.loads(reply.body or b"{}")


def test_keep_alive_serves_call_after_call(server, queue):
    with Raw(server) as raw:
        for n in range(20):
            raw.send(raw.json("SendMessage", {"QueueUrl": queue, "MessageBody": "m%d" % n}))
            assert "MessageId" in members(raw.read())


def test_keep_alive_lasts_across_an_error(server, name):
    with Raw(server) as raw:
        raw.send(raw.json("GetQueueUrl", {"QueueName": name}))
        assert raw.read().status == 400
        raw.send(raw.json("ListQueues", {"QueueNamePrefix": name}))
        assert members(raw.read()) == {}


def test_connection_close_is_honoured(server, name):
    with Raw(server) as raw:
        raw.send(raw.json("ListQueues", {"QueueNamePrefix": name}, extra=[("Connection", "close")]))
        assert members(raw.read()) == {}
        assert raw.is_closed()


def test_pipelined_calls_are_answered_in_order(server, queue, name):
    with Raw(server) as raw:
        raw.send(
            raw.json("SendMessage", {"QueueUrl": queue, "MessageBody": "x"})
            + raw.form("Action=GetQueueUrl&QueueName=" + name)
            + raw.json("ReceiveMessage", {"QueueUrl": queue})
        )
        assert "MessageId" in members(raw.read())
        assert wire.read_xml("GetQueueUrl", raw.read()).members["QueueUrl"] == queue
        assert members(raw.read())["Messages"][0]["Body"] == "x"


def test_pipelined_calls_wait_behind_a_parked_poll(server, client, queue, name):
    with Raw(server) as raw:
        raw.send(
            raw.json("ReceiveMessage", {"QueueUrl": queue, "WaitTimeSeconds": 20})
            + raw.json("GetQueueUrl", {"QueueName": name})
            + raw.json("ListQueues", {"QueueNamePrefix": name})
        )
        time.sleep(0.2)
        client.call("json", "SendMessage", {"QueueUrl": queue, "MessageBody": "late"})
        assert members(raw.read())["Messages"][0]["Body"] == "late"
        assert members(raw.read()) == {"QueueUrl": queue}
        assert members(raw.read()) == {"QueueUrls": [queue]}


def test_request_may_come_byte_by_byte(server, name):
    with Raw(server) as raw:
        for byte in raw.json("ListQueues", {"QueueNamePrefix": name}):
            raw.send(bytes([byte]))
        assert members(raw.read()) == {}


def test_http_1_0_is_closed_after_the_answer(server, name):
    with Raw(server) as raw:
        raw.send(raw.json("ListQueues", {"QueueNamePrefix": name}, version="1.0"))
        assert members(raw.read()) == {}
        assert raw.is_closed()


def test_http_1_0_with_keep_alive_stays_open(server, name):
    with Raw(server) as raw:
        for _ in range(3):
            keep = [("Connection", "Keep-Alive")]
            raw.send(raw.json("ListQueues", {"QueueNamePrefix": name}, version="1.0", extra=keep))
            assert members(raw.read()) == {}


def test_http_1_0_without_host_gets_an_answer(server, name):
    body = json.dumps({"QueueNamePrefix": name})
    with Raw(server) as raw:
        raw.send(
            (
                "POST / HTTP/1.0\r\nContent-Type: application/x-amz-json-1.0\r\n"
                "X-Amz-Target: AmazonSQS.ListQueues\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
            ).encode()
        )
        assert members(raw.read()) == {}


def test_expect_100_continue_is_answered_before_the_body(server, queue):
    body = json.dumps({"QueueUrl": queue, "MessageBody": "x" * 5000}).encode()
    with Raw(server) as raw:
        request = raw.json("SendMessage", body, extra=[("Expect", "100-continue")])
        raw.send(request[: -len(body)])
        assert raw.read().status == 100
        raw.send(body)
        assert "MessageId" in members(raw.read())


def test_body_may_follow_expect_without_waiting(server, queue):
    with Raw(server) as raw:
        sent = {"QueueUrl": queue, "MessageBody": "x"}
        raw.send(raw.json("SendMessage", sent, extra=[("Expect", "100-continue")]))
        reply = raw.read()
        if reply.status == 100:
            reply = raw.read()
        assert "MessageId" in members(reply)


@pytest.mark.parametrize("pieces", [1, 3, 1000], ids=["bytes", "triples", "whole"])
def test_chunked_body_with_extensions_and_trailer(server, queue, pieces):
    body = json.dumps({"QueueUrl": queue, "MessageBody": "chunked"}).encode()
    chunks = b""
    for start in range(0, len(body), pieces):
        part = body[start : start + pieces]
        chunks += b"%x;name=value;flag\r\n%s\r\n" % (len(part), part)
    chunks += b"0;last\r\nX-Trailer: yes\r\n\r\n"
    with Raw(server) as raw:
        head = raw.json("SendMessage", b"", extra=[("Transfer-Encoding", "chunked")], length=False)
        raw.send(head + chunks)
        assert "MessageId" in members(raw.read())
        raw.send(raw.json("ReceiveMessage", {"QueueUrl": queue}))
        assert members(raw.read())["Messages"][0]["Body"] == "chunked"


def test_chunked_form(server, name):
    part = b"Action=ListQueues&QueueNamePrefix=" + name.encode()
    with Raw(server) as raw:
        extra = [("Content-Type", wire.FORM_TYPE), ("Transfer-Encoding", "chunked")]
        raw.send(raw.head(headers=extra) + b"%X\r\n%s\r\n0\r\n\r\n" % (len(part), part))
        assert wire.read_xml("ListQueues", raw.read()).members == {}


@pytest.mark.parametrize(
    "chunk", [b"zz\r\nabc\r\n0\r\n\r\n", b"-1\r\nabc\r\n0\r\n\r\n"], ids=["no_number", "negative"]
)
def test_broken_chunks_are_refused_without_harm(server, chunk):
    with Raw(server) as raw:
        raw.send(raw.json("ListQueues", b"", extra=[("Transfer-Encoding", "chunked")], length=False) + chunk)
        try:
            assert 400 <= raw.read().status < 500
        except (EOFError, ConnectionError):
            pass  # refused by closing


def test_two_different_content_lengths_are_refused(server, queue):
    with Raw(server) as raw:
        body = json.dumps({"QueueUrl": queue, "MessageBody": "x"}).encode()
        raw.send(raw.json("SendMessage", body, extra=[("Content-Length", len(body) + 1)]) + b" ")
        assert 400 <= raw.read().status < 500
    with Raw(server) as raw:
        raw.send(raw.json("ReceiveMessage", {"QueueUrl": queue}))
        assert members(raw.read()) == {}


@pytest.mark.parametrize("length", ["-1", "abc", "99999999999999999999999"])
def test_bad_content_length_is_refused(server, length):
    with Raw(server) as raw:
        raw.send(raw.json("ListQueues", b"", extra=[("Content-Length", length)], length=False))
        try:
            assert 400 <= raw.read().status < 500
        except (EOFError, ConnectionError):
            pass  # refused by closing


@pytest.mark.parametrize(
    "garbage", [b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"HELLO\r\n\r\n", b"\r\n\r\n", b"\0" * 64]
)
def test_what_is_no_http_does_no_harm(server, garbage, name):
    with Raw(server) as raw:
        raw.send(garbage)
    with Raw(server) as raw:
        raw.send(raw.json("ListQueues", {"QueueNamePrefix": name}))
        assert members(raw.read()) == {}


@pytest.mark.parametrize("behind", ["", "pipelined"])
def test_poll_whose_client_has_gone_consumes_nothing_RCV_6(server, client, queue, behind):
    with Raw(server) as raw:
        raw.send(raw.json("ReceiveMessage", {"QueueUrl": queue, "WaitTimeSeconds": 20}))
        if behind:
            raw.send(raw.json("ReceiveMessage", {"QueueUrl": queue, "WaitTimeSeconds": 20}))
        time.sleep(0.2)
    client.call("json", "SendMessage", {"QueueUrl": queue, "MessageBody": "kept"})
    asked = {"QueueUrl": queue, "MessageSystemAttributeNames": ["ApproximateReceiveCount"]}
    (message,) = client.call("json", "ReceiveMessage", asked).members["Messages"]
    assert message["Body"] == "kept"
    assert message["Attributes"] == {"ApproximateReceiveCount": "1"}


def test_waiting_polls_are_served_in_their_order_RCV_5(server, client, queue):
    with Raw(server) as first, Raw(server) as gone, Raw(server) as second:
        for raw in (first, gone, second):
            raw.send(raw.json("ReceiveMessage", {"QueueUrl": queue, "WaitTimeSeconds": 20}))
            time.sleep(0.1)
        gone.socket.close()
        for body in ("one", "two"):
            client.call("json", "SendMessage", {"QueueUrl": queue, "MessageBody": body})
        assert members(first.read())["Messages"][0]["Body"] == "one"
        assert members(second.read())["Messages"][0]["Body"] == "two"


@pytest.mark.parametrize("wait_s", [0, 1])
def test_each_message_goes_to_one_of_several_receivers(server, client, queue, wait_s):
    for batch in range(6):
        entries = [{"Id": str(n), "MessageBody": "%d-%d" % (batch, n)} for n in range(10)]
        client.call("json", "SendMessageBatch", {"QueueUrl": queue, "Entries": entries})

    def drain(_):
        connection = Client(server)
        found = []
        try:
            while True:
                asked = {"QueueUrl": queue, "MaxNumberOfMessages": 3, "WaitTimeSeconds": wait_s}
                messages = connection.call("json", "ReceiveMessage", asked).members.get("Messages", [])
                found += [m["Body"] for m in messages]
                if not messages:
                    return found
        finally:
            connection.close()

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        bodies = sum(pool.map(drain, range(8)), [])
    assert sorted(bodies) == sorted("%d-%d" % (batch, n) for batch in range(6) for n in range(10))


def test_deleting_a_queue_ends_its_polls(server, client, name):
    url = client.call("json", "CreateQueue", {"QueueName": name}).members["QueueUrl"]
    with Raw(server) as raw:
        raw.send(raw.json("ReceiveMessage", {"QueueUrl": url, "WaitTimeSeconds": 20}))
        time.sleep(0.2)
        client.call("json", "DeleteQueue", {"QueueUrl": url})
        answer = wire.read_json("ReceiveMessage", raw.read())
        assert (answer.status, answer.code) == (400, "AWS.SimpleQueueService.NonExistentQueue")


def test_slow_clients_do_not_hold_up_others(server, client, name):
    slow = [Raw(server) for _ in range(30)]
    try:
        for n, raw in enumerate(slow):
            request = raw.json("ListQueues", {"QueueNamePrefix": name})
            raw.send(request[: 1 + n * (len(request) - 2) // len(slow)])
        started = time.monotonic()
        for _ in range(20):
            assert client.call("json", "ListQueues", {"QueueNamePrefix": name}).members == {}
        assert time.monotonic() - started < 5
    finally:
        for raw in slow:
            raw.socket.close()


def test_slow_client_is_given_up_after_the_time_out(servers):
    server = servers.get("--client-timeout", "1")
    with Raw(server) as raw:
        raw.send(raw.json("ListQueues", {})[:40])
        started = time.monotonic()
        raw.socket.settimeout(15)
        try:
            while raw.socket.recv(65536):
                pass
        except ConnectionError:
            pass
        assert time.monotonic() - started < 12
    server.assert_sound()


def test_many_connections_open_and_close(server, name):
    for _ in range(300):
        with Raw(server) as raw:
            raw.send(raw.json("ListQueues", {"QueueNamePrefix": name}))
            assert raw.read().status == 200
