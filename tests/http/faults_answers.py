"""Faults that answer in place of the action, or let it do less."""
import time

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
