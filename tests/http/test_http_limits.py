"""Sizes: what must be accepted in its longest spelling, and what is refused so that the client sees it."""
import json
from urllib.parse import quote_plus

import pytest

from exchange import wire
from raw import Raw

LIMIT = 1024 * 1024


def escaped(text):
    """JSON with every character as a \\u escape: six bytes each."""
    return "".join("\\u%04x" % ord(c) for c in text)


def percented(text):
    """A form value with every byte escaped: three bytes each."""
    return "".join("%%%02X" % b for b in text.encode())


def send_json(client, queue, spelled):
    body = '{"QueueUrl":"%s","MessageBody":"%s"}' % (queue, spelled)
    return wire.read_json("SendMessage", client.send(wire.json_request("SendMessage", body)))


def send_form(client, queue, spelled):
    form = "Action=SendMessage&QueueUrl=%s&MessageBody=%s" % (quote_plus(queue), spelled)
    return wire.read_xml("SendMessage", client.send(wire.query_request(form)))


def test_1_mib_as_unicode_escapes_MSG_5(client, queue):
    assert send_json(client, queue, escaped("x" * LIMIT)).status == 200
    (message,) = client.call("json", "ReceiveMessage", {"QueueUrl": queue}).members["Messages"]
    assert message["Body"] == "x" * LIMIT


def test_1_mib_and_1_byte_as_unicode_escapes_MSG_5(client, queue):
    answer = send_json(client, queue, escaped("x" * (LIMIT + 1)))
    assert answer.code == "InvalidParameterValue"
    assert (
        answer.message
        == "One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes."
    )


def test_1_mib_with_every_byte_escaped_in_a_form_MSG_5(client, queue):
    assert send_form(client, queue, percented("x" * LIMIT)).status == 200


def test_1_mib_and_1_byte_escaped_in_a_form_MSG_5(client, queue):
    answer = send_form(client, queue, percented("x" * (LIMIT + 1)))
    assert answer.code == "InvalidParameterValue"
    assert (
        answer.message
        == "One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes."
    )


@pytest.mark.parametrize("protocol", ["json", "query"])
def test_batch_of_1_mib_in_its_longest_spelling(client, queue, protocol):
    size = LIMIT // 10
    if protocol == "json":
        entries = ",".join('{"Id":"e%d","MessageBody":"%s"}' % (n, escaped("x" * size)) for n in range(10))
        body = '{"QueueUrl":"%s","Entries":[%s]}' % (queue, entries)
        answer = wire.read_json("SendMessageBatch", client.send(wire.json_request("SendMessageBatch", body)))
    else:
        form = "Action=SendMessageBatch&QueueUrl=" + quote_plus(queue)
        for n in range(1, 11):
            entry = "&SendMessageBatchRequestEntry.%d." % n
            form += "%sId=e%d%sMessageBody=%s" % (entry, n, entry, percented("x" * size))
        answer = wire.read_xml("SendMessageBatch", client.send(wire.query_request(form)))
    assert answer.status == 200 and len(answer.members["Successful"]) == 10 and "Failed" not in answer.members


def test_ten_large_messages_in_one_answer(client, queue):
    for n in range(10):
        client.call("json", "SendMessage", {"QueueUrl": queue, "MessageBody": chr(97 + n) * 700_000})
    for protocol in ("json", "query"):
        asked = {"QueueUrl": queue, "MaxNumberOfMessages": 10, "VisibilityTimeout": 0}
        messages = client.call(protocol, "ReceiveMessage", asked).members["Messages"]
        assert [(m["Body"][0], len(m["Body"])) for m in messages] == [
            (chr(97 + n), 700_000) for n in range(10)
        ]


@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
@pytest.mark.parametrize("mebibytes", [8, 10])
@pytest.mark.parametrize("protocol", ["json", "query"])
def test_oversized_body_gets_an_error_that_the_client_sees(server, queue, protocol, mebibytes, chunked):
    filling = b"x" * (mebibytes * LIMIT)
    with Raw(server, timeout_s=60) as raw:
        extra = [("Transfer-Encoding", "chunked")] if chunked else []
        if protocol == "json":
            body = b'{"QueueUrl":"%s","MessageBody":"%s"}' % (queue.encode(), filling)
            head = raw.json("SendMessage", b"", extra=extra or [("Content-Length", len(body))], length=False)
        else:
            body = b"Action=SendMessage&QueueUrl=%s&MessageBody=%s" % (quote_plus(queue).encode(), filling)
            kind = [("Content-Type", wire.FORM_TYPE)]
            head = raw.head(headers=kind + (extra or [("Content-Length", len(body))]))
        if chunked:
            body = b"".join(
                b"%x\r\n%s\r\n" % (len(p), p)
                for p in (body[i : i + LIMIT] for i in range(0, len(body), LIMIT))
            )
            body += b"0\r\n\r\n"
        raw.send(head + body)
        reply = raw.read()
    answer = (
        wire.read_json("SendMessage", reply) if protocol == "json" else wire.read_xml("SendMessage", reply)
    )
    assert answer.status in (400, 413), answer
    with Raw(server) as raw:
        raw.send(raw.json("ReceiveMessage", {"QueueUrl": queue}))
        assert raw.read().body == b"{}"


def test_oversized_body_behind_expect_is_refused_at_once(server, queue):
    with Raw(server) as raw:
        extra = [("Content-Length", 1 << 30), ("Expect", "100-continue")]
        raw.send(raw.json("SendMessage", b"", extra=extra, length=False))
        assert 400 <= raw.read().status < 500


def test_head_of_12_kib_with_a_field_of_8_kib(server, name):
    with Raw(server) as raw:
        extra = [("X-Amz-Security-Token", "t" * 8192)]
        request = raw.json("ListQueues", {"QueueNamePrefix": name}, extra=extra)
        extra += [("X-Filler", "f" * (12 * 1024 - request.index(b"\r\n\r\n") - 4 - len("X-Filler: \r\n")))]
        request = raw.json("ListQueues", {"QueueNamePrefix": name}, extra=extra)
        assert request.index(b"\r\n\r\n") + 4 == 12 * 1024
        for _ in range(3):
            raw.send(request)
            assert raw.read().status == 200


@pytest.mark.parametrize("kibibytes", [32, 256])
def test_head_far_too_large_is_refused(server, kibibytes, name):
    with Raw(server) as raw:
        try:
            raw.send(raw.json("ListQueues", {}, extra=[("X-Filler", "f" * kibibytes * 1024)]))
            assert 400 <= raw.read().status < 600
        except (EOFError, ConnectionError):
            pass  # refused by closing
    with Raw(server) as raw:
        raw.send(raw.json("ListQueues", {"QueueNamePrefix": name}))
        assert raw.read().status == 200


def test_get_of_6_kib(server, queue):
    path = "/" + queue.split("/", 3)[3]
    with Raw(server) as raw:
        raw.send(raw.head(method="GET", path=path + "?Action=SendMessage&MessageBody=" + "x" * 6000))
        assert wire.read_xml("SendMessage", raw.read()).status == 200


@pytest.mark.parametrize("depth", [100, 10_000, 500_000])
@pytest.mark.parametrize("opening, closing", [("[", "]"), ('{"a":', "}")], ids=["lists", "objects"])
def test_deep_nesting_is_answered(client, depth, opening, closing):
    inside = opening * depth + "1" + closing * depth
    for body in (inside, '{"QueueName":"q","Colour":%s}' % inside, '{"QueueName":%s}' % inside):
        answer = wire.read_json("GetQueueUrl", client.send(wire.json_request("GetQueueUrl", body)))
        assert answer.status == 400, answer


def test_very_many_parameters_are_answered(client, queue):
    form = "Action=SendMessage&MessageBody=x&QueueUrl=%s&" % quote_plus(queue) + "a=b&" * 300_000
    reply = client.send(wire.query_request(form))
    assert 200 <= wire.read_xml("SendMessage", reply).status < 500
    form = "Action=TagQueue&QueueUrl=%s" % quote_plus(queue)
    form += "".join("&Tag.%d.Key=k%d&Tag.%d.Value=v" % (n, n, n) for n in range(1, 50_001))
    assert wire.read_xml("TagQueue", client.send(wire.query_request(form))).status in (400, 413)


def test_very_many_members_are_answered(client, queue):
    members = {"QueueUrl": queue, "MessageBody": "x", **{"m%d" % n: n for n in range(100_000)}}
    body = json.dumps(members)
    assert wire.read_json("SendMessage", client.send(wire.json_request("SendMessage", body))).status == 200
