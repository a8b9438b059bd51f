"""Faults of the connection: what really happens on the wire."""
import socket
import time

from fault_rows import row


def cut(scene, end):
    """Before the answer none of its bytes come; amid it a part of the body; behind it all."""
    scene.send("x" * 1000)
    scene.arm()
    seen = scene.exchange("ReceiveMessage", QueueUrl=scene.url)
    answer = seen.seen()
    if scene.point == "mid-response":
        assert answer.end == end and len(answer.body) == answer.length // 2 > 500
    elif scene.point == "post-response":
        assert answer.end in ("whole", end) and b"x" * 1000 in answer.body and len(answer.body) == answer.length
        assert seen.end() == end
    else:
        assert (answer.data, answer.end) == (b"", end)
    assert scene.counts() == scene.done((1, 0), (0, 1))


@row("reset", "on ReceiveMessage once at {point} do reset as fault")
def reset(scene):
    cut(scene, "reset")


@row("close", "on ReceiveMessage once at {point} do close as fault")
def close(scene):
    cut(scene, "end")


@row("crash", "on SendMessage once at {point} do crash server as fault", survives=False,
     options=("--db", "{folder}/q.db", "--trace", "{folder}/trace"))
def crash(scene):
    answer = scene.arm().exchange("SendMessage", QueueUrl=scene.url, MessageBody="x").seen()
    assert answer.end in ("end", "reset", "whole")
    assert scene.server.process.wait(20) == -9
    if scene.point == "mid-response":
        assert 0 < len(answer.body) < answer.length
    elif scene.point == "post-response":
        assert len(answer.body) == answer.length
    else:
        assert answer.data == b""
    scene.restart()
    assert scene.counts() == scene.done((0, 0), (1, 0))


@row("truncate", "on ReceiveMessage once at {point} do truncate 30% as fault")
def truncate(scene):
    """Its length and its head are those of the whole answer."""
    scene.send("x" * 1000)
    scene.arm()
    cut, whole = (scene.exchange("ReceiveMessage", QueueUrl=scene.url, VisibilityTimeout=0).seen() for _ in range(2))
    assert (cut.status, cut.end, whole.end) == (200, "end", "whole")
    assert cut.names == whole.names and (cut.fault, whole.fault) == ("fault", None)
    assert len(whole.body) == whole.length and abs(cut.length - whole.length) < 10
    assert len(cut.body) == int(cut.length * 0.3)


@row("truncate", "on ReceiveMessage once at {point} do truncate 1000000B as fault")
def truncate_by_one(scene):
    """Something is always missing."""
    scene.arm()
    seen = scene.exchange("ReceiveMessage", QueueUrl=scene.url).seen()
    assert seen.end == "end" and len(seen.body) == seen.length - 1


@row("truncate", "on any once at {point} do truncate 0 as fault")
def truncate_all(scene):
    scene.arm()
    seen = scene.exchange("SendMessage", QueueUrl=scene.url, MessageBody="x").seen()
    assert seen.end == "end" and seen.body == b"" and seen.length > 50
    assert scene.counts() == (1, 0)


@row("truncate", "on DeleteMessage once at {point} do truncate as fault")
def truncate_nothing(scene):
    """An answer without a body, which JSON has for a delete, is cut before its head."""
    scene.send()
    (message,) = scene.receive()
    scene.arm()
    seen = scene.exchange("DeleteMessage", QueueUrl=scene.url, ReceiptHandle=message["ReceiptHandle"]).seen()
    assert seen.end == "end" and (seen.data == b"") == (scene.protocol == "json")
    assert scene.counts() == (0, 0)


@row("bandwidth", "on ReceiveMessage once at {point} do bandwidth 10KB/s as fault")
def bandwidth(scene):
    """At its speed, not in one burst behind a pause; and others do not wait meanwhile."""
    scene.send("x" * 4000)
    scene.arm()
    slow = scene.exchange("ReceiveMessage", QueueUrl=scene.url)
    reads = []
    started = time.monotonic()
    while not slow.is_whole():
        reads.append(len(slow.more()))
        scene.call("ListQueues")
    took = time.monotonic() - started
    answer = slow.seen()
    assert answer.end == "whole" and len(answer.body) == answer.length > 4000
    body_reads = [n for n in reads if n < 3500]
    share = 0.5 if scene.point == "mid-response" else 1
    assert took >= 0.9 * share * answer.length / 10_000
    assert len(body_reads) >= 3 and (share < 1 or max(reads) < answer.length / 2)
    assert slow.again(QueueUrl=scene.url).seen().status == 200


@row("delay", "on SendMessage once at {point} do delay 50ms then reset as fault")
def delay_then_reset(scene):
    answer = scene.arm().exchange("SendMessage", QueueUrl=scene.url, MessageBody="x").seen()
    assert (answer.data, answer.end) == (b"", "reset") and scene.counts() == scene.done((0, 0), (1, 0))


@row("slow-close", "on DeleteMessage once at {point} do slow-close 1h as fault")
def slow_close_and_a_client_that_goes_first(scene):
    """Who says that nothing more will come gets his end, and no reset; also behind an answer without a body."""
    scene.send()
    (message,) = scene.receive()
    scene.arm()
    late = scene.exchange("DeleteMessage", QueueUrl=scene.url, ReceiptHandle=message["ReceiptHandle"])
    answer = late.seen()
    assert (answer.status, answer.end, len(answer.body)) == (200, "whole", answer.length)
    assert late.has_nothing() and scene.counts() == (0, 0)
    late.socket.shutdown(socket.SHUT_WR)
    assert late.end() == "end"


@row("slow-close", "on SendMessage once at {point} do slow-close 500ms as fault")
def slow_close(scene):
    scene.arm()
    late = scene.exchange("SendMessage", QueueUrl=scene.url, MessageBody="x")
    answer = late.seen()
    got_at = time.monotonic()
    assert (answer.status, answer.end, answer.header("Connection")) == (200, "whole", "close")
    assert len(answer.body) == answer.length and answer.header("Transfer-Encoding") is None
    assert late.has_nothing() or time.monotonic() - got_at > 0.4
    assert late.end() == "end" and time.monotonic() - got_at >= 0.4
    assert late.data == answer.data and scene.counts() == (1, 0)
