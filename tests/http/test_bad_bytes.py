"""Good requests with a few bytes changed by a seeded generator, and bytes that are no text at all."""
import hashlib
import json
import os
import random
import re
import xml.etree.ElementTree as ElementTree

import pytest

from exchange import wire
from raw import Raw

import bad_input

ROUNDS = int(os.environ.get("QUERN_BAD_BYTES_ROUNDS", "90"))  # for each action and protocol
ACTIONS = sorted(bad_input.MEMBERS)
TOKENS = [
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b",",
    b"\\",
    b"\\u",
    b"\\ud83d",
    b"null",
    b"true",
    b"1e9",
    b"-",
    b"&",
    b"=",
    b"%",
    b"%00",
    b"%ff",
    b"+",
    b".",
    b"\0",
    b"\xff",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\r\n",
    b"<",
    b"]]>",
]
ALLOWED = re.compile("[\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]+")


def mutated(rng, body):
    data = bytearray(body)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(7)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1 and at < len(data):
            data[at] = rng.randrange(256)
        elif kind == 2:
            data[at:at] = rng.choice(TOKENS)
        elif kind == 3:
            del data[at : at + rng.choice((1, 2, 5, 30))]
        elif kind == 4:
            start = rng.randrange(len(data) + 1)
            data[at:at] = data[start : start + rng.randrange(40)]
        elif kind == 5:
            del data[at:]
        else:
            data[at : at + 1] = bytes([rng.randrange(256)]) * rng.choice((1, 3, 400))
    return bytes(data)


def well_formed(protocol, action, reply):
    """Any clean answer. A changed form may name another action, which the answer then tells."""
    assert reply.status == 200 or 400 <= reply.status < 500, str(reply)
    if protocol == "json":
        return wire.read_json(action, reply)
    if reply.status == 200:
        action = ElementTree.fromstring(reply.body).tag.removeprefix(wire.NAMESPACE).removesuffix("Response")
        assert action in ACTIONS, str(reply)
    return wire.read_xml(action, reply)


@pytest.mark.parametrize("protocol", ["json", "query"])
@pytest.mark.parametrize("action", ACTIONS)
def test_mutated_requests(client, name, action, protocol):
    rng = random.Random("%s %s" % (action, protocol))
    made = bad_input.fixtures(client, name)
    members = bad_input.good(action, made)
    members.pop("WaitTimeSeconds", None)  # a changed digit must not make the test wait
    if protocol == "json":
        body = json.dumps(members).encode()
    else:
        body = wire.to_form(wire.to_pairs(action, members)).encode()
    for _ in range(ROUNDS):
        changed = mutated(rng, body)
        request = wire.json_request(action, changed) if protocol == "json" else wire.query_request(changed)
        reply = client.send(request)
        try:
            well_formed(protocol, action, reply)
        except Exception as problem:
            pytest.fail("%r: %s\n%s" % (changed, problem, reply))
    check_what_is_stored(client)
    for listed in client.call("json", "ListQueues", {}).members.get("QueueUrls", []):
        client.call("json", "DeleteQueue", {"QueueUrl": listed})


def check_what_is_stored(client):
    """Whatever came through is legal: names, bodies and their digests."""
    client.server.advance_ms(900_000)  # delayed messages come into sight
    for url in client.call("json", "ListQueues", {}).members.get("QueueUrls", []):
        assert re.fullmatch(r"[A-Za-z0-9_-]{1,80}", url.rsplit("/", 1)[1]), url
        asked = {"QueueUrl": url, "MaxNumberOfMessages": 10, "VisibilityTimeout": 600}
        while True:
            messages = client.call("json", "ReceiveMessage", {**asked, "WaitTimeSeconds": 0}).members.get(
                "Messages", []
            )
            if not messages:
                break
            for message in messages:
                assert ALLOWED.fullmatch(message["Body"]), ascii(message["Body"])
                assert hashlib.md5(message["Body"].encode()).hexdigest() == message["MD5OfBody"]


@pytest.mark.parametrize("seed", range(20))
def test_mutated_heads(server, name, seed):
    """Here libmicrohttpd may answer for us, or close; the server goes on."""
    rng = random.Random(seed)
    for _ in range(15):
        with Raw(server, timeout_s=10) as raw:
            request = raw.json("ListQueues", {"QueueNamePrefix": name})
            head, separator, body = request.partition(b"\r\n\r\n")
            raw.send(mutated(rng, head) + separator + body)
            raw.socket.shutdown(1)
            try:
                status = raw.read().status
            except (EOFError, ConnectionError):
                continue
            assert status not in (500, 503)
    with Raw(server) as raw:
        raw.send(raw.json("ListQueues", {"QueueNamePrefix": name}))
        assert raw.read().status == 200


BROKEN_UTF_8 = {
    "continuation_alone": b"\x80",
    "lead_alone": b"\xc3",
    "overlong_slash": b"\xc0\xaf",
    "overlong_nul": b"\xc0\x80",
    "overlong_three": b"\xe0\x80\x80",
    "surrogate": b"\xed\xa0\x80",
    "beyond_unicode": b"\xf4\x90\x80\x80",
    "five_bytes": b"\xf8\x88\x80\x80\x80",
    "ff": b"\xff",
    "cut_in_the_middle": b"\xf0\x9f\x98",
}


@pytest.mark.parametrize("broken", BROKEN_UTF_8.values(), ids=BROKEN_UTF_8.keys())
def test_broken_utf_8_MSG_7(client, queue, broken):
    for place in (
        b'"MessageBody":"a%sb"',
        b'"MessageBody":"x","%s":1',
        b'"MessageBody":"x","Ignored":["%s"]',
    ):
        body = b'{"QueueUrl":"%s",%s}' % (queue.encode(), place % broken)
        answer = wire.read_json("SendMessage", client.send(wire.json_request("SendMessage", body)))
        assert answer.type == "com.amazon.coral.service#SerializationException", place
        assert (answer.status, answer.code) == (400, None)
    escaped = "".join("%%%02X" % b for b in broken).encode()
    for spelled in (broken, escaped):
        for form in (b"MessageBody=a%sb" % spelled, b"MessageBody=x&%s=1" % spelled):
            body = b"Action=SendMessage&QueueUrl=%s&%s" % (queue.encode(), form)
            answer = wire.read_xml("SendMessage", client.send(wire.query_request(body)))
            assert (answer.status, answer.code) == (400, "MalformedInput"), form
    assert client.call("json", "ReceiveMessage", {"QueueUrl": queue}).members == {}


BROKEN_JSON = [
    b"",
    b"\xef\xbb\xbf{}",
    b"{",
    b"}",
    b"{}{}",
    b"{},",
    b'{"a"}',
    b'{"a":}',
    b'{"a":1,}',
    b'{,"a":1}',
    b'{"a":1 "b":2}',
    b'{"a":[1,]}',
    b'{"a":[,1]}',
    b'{"a":[1}',
    b'{"a":{]}',
    b'{"a":01}',
    b'{"a":+1}',
    b'{"a":.5}',
    b'{"a":1.}',
    b'{"a":1e}',
    b'{"a":0x10}',
    b'{"a":Infinity}',
    b'{"a":tru}',
    b'{"a":nulll}',
    b'{"a":"\\q"}',
    b'{"a":"\\u12g4"}',
    b'{"a":"\\"}',
    b'{"a":"unterminated',
    b'{"a":"line\nend"}',
    b"{'a':'b'}",
    b"{a:1}",
    b'{"a":1/*c*/}',
    b'{"a":1}\0',
    b"\0",
    b"\xff\xfe{\0}\0",
    b'"text"',
    b"[]",
    b"null",
    b"7",
]


@pytest.mark.parametrize("body", BROKEN_JSON[1:], ids=lambda b: repr(b)[2:-1])
def test_broken_json_is_a_serialization_error(client, body):
    for action in ("ListQueues", "SendMessage"):
        answer = wire.read_json(action, client.send(wire.json_request(action, body)))
        assert answer.type == "com.amazon.coral.service#SerializationException"
        assert (answer.status, answer.code) == (400, None)


BROKEN_FORMS = [
    "%",
    "%4",
    "%zz",
    "%%",
    "%u0041",
    "a%0",
    "Action=%",
    "=%41=%",
    "&&&&",
    "====",
    "&=&=",
    "Action",
    "Action=",
    "Action=&Action=",
    "\0",
    "Action=ListQueues%00",
    "Action=ListQueues&Action=CreateQueue",
    "Version=1",
    "Action=ListQueues;Version=1",
    "Action=ListQueues&QueueNamePrefix=%e",
]


@pytest.mark.parametrize("form", BROKEN_FORMS)
def test_broken_forms_are_refused(client, form):
    """Nothing of this may be taken for a change; whether it is read as an empty list is our own affair."""
    reply = client.send(wire.query_request(form))
    answer = well_formed("query", "ListQueues", reply)
    if "ListQueues" not in form:
        assert answer.status in (400, 404), answer


@pytest.mark.parametrize(
    "text",
    [
        "</MessageBody>",
        "]]>",
        "&lt;&amp;",
        "<![CDATA[x]]>",
        "<?xml?>",
        "\r\n\r",
        "&#0;",
        "'\"<>&",
        "\u2028\u0085",
        "<!--",
        "--",
        "\U0010ffff",
    ],
)
def test_xml_hostile_text_comes_back_in_answers_and_errors(client, queue, text):
    """In bodies, attributes, tags, ids of a batch, and in the messages of errors."""
    attribute = {"DataType": "String.c", "StringValue": text}
    sent = {"QueueUrl": queue, "MessageBody": text, "MessageAttributes": {"k": attribute}}
    assert client.call("query", "SendMessage", sent).status == 200
    for protocol in ("query", "json"):
        asked = {"QueueUrl": queue, "MessageAttributeNames": ["All"], "VisibilityTimeout": 0}
        (message,) = client.call(protocol, "ReceiveMessage", asked).members["Messages"]
        assert message["Body"] == text and message["MessageAttributes"] == {"k": attribute}
        refused = client.call(protocol, "DeleteMessage", {"QueueUrl": queue, "ReceiptHandle": text})
        assert refused.status == 404
        assert refused.message == 'The input receipt handle "%s" is not a valid receipt handle.' % text
        refused = client.call(protocol, "GetQueueAttributes", {"QueueUrl": queue, "AttributeNames": [text]})
        assert refused.message == "Unknown Attribute %s." % text


@pytest.mark.parametrize("text", ["\0", "\x01", "\x1f", "\ufffe", "\uffff"])
@pytest.mark.parametrize("protocol", ["json", "query"])
def test_characters_that_xml_cannot_hold_never_break_an_error(client, queue, protocol, text):
    """An error that repeats the caller's text is still well-formed."""
    for action, members in (
        ("DeleteMessage", {"QueueUrl": queue, "ReceiptHandle": "a%sb" % text}),
        ("GetQueueAttributes", {"QueueUrl": queue, "AttributeNames": ["a%sb" % text]}),
        ("GetQueueUrl", {"QueueName": "a%sb" % text}),
        ("SendMessage", {"QueueUrl": "http://x/a%sb" % text, "MessageBody": "x"}),
        ("SendMessage", {"QueueUrl": queue, "MessageBody": "x", "MessageGroupId": "a%sb" % text}),
        ("SendMessageBatch", {"QueueUrl": queue, "Entries": [{"Id": "a%sb" % text, "MessageBody": "x"}]}),
        ("SetQueueAttributes", {"QueueUrl": queue, "Attributes": {"RedrivePolicy": "a%sb" % text}}),
        (
            "AddPermission",
            {"QueueUrl": queue, "Label": "l", "AWSAccountIds": ["a%sb" % text], "Actions": ["a%sb" % text]},
        ),
        ("Act%son" % text if protocol == "query" else "ListQueues", {"QueueNamePrefix": "a%sb" % text}),
    ):
        answer = client.call(protocol, action, members)
        assert 200 <= answer.status < 500, answer
    assert client.call("json", "ReceiveMessage", {"QueueUrl": queue}).members == {}
