"""Faults that answer in place of the action, or let it do less."""
import json
import re
import time
import xml.etree.ElementTree as ElementTree

import pytest
from exchange import wire
from fault_rows import row


def refuses(status, code):
    def refuse(scene):
        scene.arm()
        answer = scene.call("SendMessage", QueueUrl=scene.url, MessageBody="x")
        assert (answer.status, answer.code) == (status, code)
        assert scene.counts() == scene.done((0, 0), (1, 0))
        scene.send()
        assert scene.counts() == scene.done((1, 0), (2, 0))

    return refuse


for word, text, status, code in [
    ("error", "error QueueDoesNotExist http 418", 418, "AWS.SimpleQueueService.NonExistentQueue"),
    ("throttle", "throttle", 400, "ThrottlingException"),
    ("overlimit", "overlimit", 403, "OverLimit"),
    ("5xx", "5xx 502", 502, "InternalFailure"),
    ("403", "403", 403, "AccessDenied"),
]:
    row(word, "on SendMessage once at {point} do %s as fault" % text, code="error")(refuses(status, code))


@row("fail-entries", "on SendMessageBatch once at {point} do fail-entries 2 InternalError as fault")
def fail_entries(scene):
    scene.arm()
    entries = [{"Id": i, "MessageBody": i} for i in "abc"]
    answer = scene.call("SendMessageBatch", QueueUrl=scene.url, Entries=entries).members
    assert [(e["Id"], e["Code"], e["SenderFault"]) for e in answer["Failed"]] == [
        ("a", "InternalFailure", False), ("b", "InternalFailure", False)]
    assert [e["Id"] for e in answer["Successful"]] == ["c"]
    assert [m["Body"] for m in scene.receive(10)] == ["c"]


@row("fake-success", "on DeleteMessage once at {point} do fake-success as fault")
def fake_success(scene):
    scene.send()
    (message,) = scene.receive()
    scene.arm()
    for left in (1, 0):
        delete = scene.call("DeleteMessage", QueueUrl=scene.url, ReceiptHandle=message["ReceiptHandle"])
        assert (delete.status, scene.counts()) == (200, (0, left))


@row("false-empty", "on ReceiveMessage once at {point} do false-empty as fault")
def false_empty(scene):
    scene.send()
    scene.arm()
    assert scene.receive(WaitTimeSeconds=20) == [] and scene.counts() == (1, 0)
    assert len(scene.receive()) == 1


@row("short", "on ReceiveMessage once at {point} do short 2 as fault")
def short(scene):
    scene.send(*"abcd")
    scene.arm()
    assert len(scene.receive(10)) == 2 and scene.counts() == (2, 2)
    assert len(scene.receive(10)) == 2


# Time


@row("delay", "on SendMessage once at {point} do delay 300ms jitter 50ms as fault")
def delay(scene):
    scene.arm()
    started = time.monotonic()
    late = scene.exchange("SendMessage", QueueUrl=scene.url, MessageBody="x")
    scene.until_fired()
    assert late.has_nothing() or time.monotonic() - started > 0.25
    assert scene.counts() == scene.done((0, 0), (1, 0)) or time.monotonic() - started > 0.25
    assert late.seen().status == 200 and time.monotonic() - started >= 0.25
    assert scene.counts() == (1, 0)


@row("delay", "on SendMessage once at {point} do delay 50ms then delay 50ms then throttle as fault")
def delay_then_throttle(scene):
    scene.arm()
    started = time.monotonic()
    answer = scene.call("SendMessage", QueueUrl=scene.url, MessageBody="x")
    assert (answer.status, answer.code) == (400, "ThrottlingException") and time.monotonic() - started >= 0.09
    assert scene.counts() == scene.done((0, 0), (1, 0))


@row("hang", "on SendMessage once at {point} do hang as fault")
def hang(scene):
    scene.arm()
    silent = scene.exchange("SendMessage", QueueUrl=scene.url, MessageBody="x")
    scene.until_fired()
    if scene.point == "mid-response":
        while b"\r\n\r\n" not in silent.data or silent.data.endswith(b"\r\n\r\n"):
            silent.more()
        assert not silent.is_whole()
    scene.send("other")
    assert silent.has_nothing()
    assert scene.counts() == scene.done((1, 0), (2, 0))


@row("hold", "on SendMessage once at {point} do hold as fault")
def hold(scene):
    scene.arm()
    held = scene.exchange("SendMessage", QueueUrl=scene.url, MessageBody="x")
    scene.until_fired()
    assert held.has_nothing() and scene.counts() == scene.done((0, 0), (1, 0))
    scene.release()
    assert held.seen().status == 200 and scene.counts() == (1, 0)


@row("after", "on SendMessage once at {point} do hold then after 5s as fault", points=("arrive", "pre-commit", "post-commit"),
     code="hold")
def after(scene):
    scene.arm()
    held = scene.exchange("SendMessage", QueueUrl=scene.url, MessageBody="x")
    scene.until_fired()
    scene.server.advance_ms(4999)
    assert held.has_nothing() and scene.counts() == scene.done((0, 0), (1, 0))
    scene.server.advance_ms(1)
    assert held.seen().status == 200 and scene.counts() == (1, 0)


@row("mark", "on SendMessage once at {point} do mark here as fault")
def mark(scene):
    scene.arm().send()
    assert [e["reason"] for e in scene.events("mark")] == ["here"]
    assert scene.counts() == (1, 0)


# Digests and noise


DIGESTS = {"json": re.compile(r'"(MD5Of\w+)":"([^"]*)"'), "query": re.compile(r"<(MD5Of\w+)>([^<]*)</")}
ATTRIBUTES = {"MessageAttributes": {"kind": {"DataType": "String", "StringValue": '<MD5OfBody>0</MD5OfBody>"MD5OfBody":"0"'}}}
TRACED = {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1-5759e988-bd862e3fe1be46a994272793"}}
BODY = '{"MD5OfMessageBody":"00000000000000000000000000000000"}<MD5OfBody>0</MD5OfBody>'
READERS = {"json": wire.read_json, "query": wire.read_xml}
MESSAGE = {"MessageBody": BODY, "MessageSystemAttributes": TRACED, **ATTRIBUTES}
SENT = ["MD5OfMessageBody", "MD5OfMessageAttributes", "MD5OfMessageSystemAttributes"]


def right_and_wrong(scene, action, **members):
    """The digests of the answer without the fault, in their order, and of the one with it."""
    found = []
    for _ in range(2):
        seen = scene.exchange(action, QueueUrl=scene.url, **members).seen()
        assert (seen.status, seen.end) == (200, "whole")
        READERS[scene.protocol](action, seen.reply())
        found.append(DIGESTS[scene.protocol].findall(seen.body.decode()))
    return found


def spoilt(scene, is_spoilt):
    """On a send with all digests."""
    scene.arm()
    right, wrong = right_and_wrong(scene, "SendMessage", **MESSAGE)
    assert [name for name, _ in right] == SENT
    is_spoilt(right, wrong)
    assert scene.counts() == (2, 0)
    assert [m["Body"] for m in scene.receive(10)] == [BODY, BODY]


def all_wrong(right, wrong):
    assert [name for name, _ in wrong] == [name for name, _ in right]
    for (_, was), (_, value) in zip(right, wrong):
        assert re.fullmatch("[0-9a-f]{32}", value) and not any(a == b for a, b in zip(was, value))


def all_gone(right, wrong):
    assert right and not wrong


@row("bad-md5", "on SendMessage nth 2 at {point} do bad-md5 as fault")
def bad_md5(scene):
    spoilt(scene, all_wrong)


@row("no-md5", "on SendMessage nth 2 at {point} do no-md5 as fault")
def no_md5(scene):
    spoilt(scene, all_gone)


# A batch of which the third entry is refused, and the rule is for the second and the third.
BATCH = [{"Id": i, "DelaySeconds": 901 if i == "c" else 0, **MESSAGE, "MessageBody": '{"tag":"%s"}' % i} for i in "abcd"]


def spoilt_in_part(scene):
    scene.arm()
    right, wrong = right_and_wrong(scene, "SendMessageBatch", Entries=BATCH)
    assert [name for name, _ in right] == 3 * SENT
    assert wrong[:3] == right[:3] and wrong[-3:] == right[-3:]
    return right[3:6], wrong[3:-3]


@row("bad-md5", "on SendMessageBatch where tag in (b, c) nth 3,4 at {point} do bad-md5 as fault", hits=2)
def bad_md5_of_some(scene):
    all_wrong(*spoilt_in_part(scene))


@row("no-md5", "on SendMessageBatch where tag in (b, c) nth 3,4 at {point} do no-md5 as fault", hits=2)
def no_md5_of_some(scene):
    all_gone(*spoilt_in_part(scene))


def spoilt_received(scene):
    scene.send(*('{"tag":"%s"}' % i for i in "abc"), **ATTRIBUTES)
    scene.arm()
    asked = {"MaxNumberOfMessages": 10, "MessageAttributeNames": ["All"], "VisibilityTimeout": 0}
    right, found = right_and_wrong(scene, "ReceiveMessage", **asked)
    assert [name for name, _ in right] == 3 * ["MD5OfBody", "MD5OfMessageAttributes"]
    assert found[:2] == right[:2] and found[-2:] == right[-2:]
    return right[2:4], found[2:-2]


@row("bad-md5", "on ReceiveMessage where tag = b nth 2 at {point} do bad-md5 as fault")
def bad_md5_received(scene):
    all_wrong(*spoilt_received(scene))


@row("no-md5", "on ReceiveMessage where tag = b nth 2 at {point} do no-md5 as fault")
def no_md5_received(scene):
    all_gone(*spoilt_received(scene))


def no_language(body):
    with pytest.raises(ValueError):
        json.loads(body)
    with pytest.raises(ElementTree.ParseError):
        ElementTree.fromstring(body)


@row("garbage", "on SendMessage nth 2 at {point} do garbage as fault")
def garbage(scene):
    scene.arm()
    right, wrong = (scene.exchange("SendMessage", QueueUrl=scene.url, MessageBody="x").seen() for _ in range(2))
    assert wrong.names == right.names and (wrong.fault, right.fault) == ("fault", None)
    assert (wrong.status, wrong.end, len(wrong.body)) == (200, "whole", len(right.body))
    no_language(wrong.body)
    assert scene.counts() == (2, 0)


@row("garbage", "on DeleteMessage once at {point} do garbage as fault")
def garbage_in_place_of_nothing(scene):
    scene.send()
    (message,) = scene.receive()
    scene.arm()
    seen = scene.exchange("DeleteMessage", QueueUrl=scene.url, ReceiptHandle=message["ReceiptHandle"]).seen()
    assert (seen.status, seen.end) == (200, "whole") and len(seen.body) == seen.length >= 32
    no_language(seen.body)
    assert scene.counts() == (0, 0)


@row("html", "on ReceiveMessage once at {point} do html as fault")
def html_as_a_proxy_answers(scene):
    scene.arm()
    seen = scene.exchange("ReceiveMessage", QueueUrl=scene.url).seen()
    assert (seen.status, seen.end, seen.fault) == (200, "whole", "fault")
    assert ("Content-Type", "text/html") in seen.headers and b"<h1>200 OK</h1>" in seen.body
