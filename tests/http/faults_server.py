"""Faults of the server as a whole: it does not listen, stands still, moves its clock, or is the one of before."""
import http.client
import json
import time

from exchange import client as exchange_client
from fault_rows import row

START_MS = 1767225600000  # of a virtual clock


def until(condition):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline


def comes_in(server):
    try:
        server.connect().close()
    except (ConnectionRefusedError, ConnectionResetError):  # the latter: it stopped listening meanwhile
        return False
    return True


def life(server):
    """How many servers the parent has started; None while there is none."""
    try:
        return server.control("GET", "/_quern/info")[1]["supervised"]["life"]
    except (OSError, http.client.HTTPException):
        return None


@row("refuse", "on SendMessage once at {point} do refuse 700ms as fault")
def refuse(scene):
    """Nobody new comes in; who is there goes on."""
    kept = scene.exchange("ListQueues")
    assert kept.seen().status == 200
    scene.arm()
    answer = scene.exchange("SendMessage", QueueUrl=scene.url, MessageBody="x")
    began = time.monotonic()
    assert (answer.seen().status, answer.seen().fault) == (200, "fault")
    until(lambda: not comes_in(scene.server))  # at once, but for post-response: the answer has been before
    assert kept.again().seen().status == 200
    until(lambda: comes_in(scene.server))
    assert time.monotonic() - began >= 0.6
    assert scene.counts() == (1, 0)


@row("freeze", "on ReceiveMessage once at {point} do freeze server 500ms as fault")
def freeze(scene):
    """For everybody, from its point on: before the answer, amid it, or behind it."""
    scene.send("x" * 1000)
    scene.arm()
    began = time.monotonic()
    frozen = scene.exchange("ReceiveMessage", QueueUrl=scene.url)
    frozen.more()
    first_at = time.monotonic() - began
    some = len(frozen.data)
    answer = frozen.seen()
    whole_at = time.monotonic() - began
    scene.call("ListQueues")
    assert time.monotonic() - began >= 0.45
    if scene.point == "mid-response":
        assert some < len(answer.data) - 400 and whole_at >= 0.45 > first_at
    elif scene.point == "post-response":
        assert whole_at < 0.45
    else:
        assert first_at >= 0.45
    assert answer.fault == "fault" and scene.counts() == (0, 1)


@row("jump", "on SendMessage once at {point} do jump 1h as fault")
def jump(scene):
    """The call itself is before it or behind it."""
    scene.arm().send()
    (message,) = scene.receive()
    assert int(message["Attributes"]["SentTimestamp"]) - START_MS == scene.done(3_600_000, 0)
    assert scene.server.control("GET", "/_quern/clock")[1]["now_ms"] - START_MS == 3_600_000
    assert [(e["to"] - e["from"]) for e in scene.events("clock")] == [3_600_000]


@row("jump", "on SendMessage once at {point} do jump 1h as fault")
def jump_over_a_lease(scene):
    """Is not done."""
    scene.send("leased")
    assert len(scene.receive(VisibilityTimeout=30)) == 1
    scene.arm().send()
    assert scene.counts() == (1, 1) and scene.events("clock") == []
    assert scene.server.control("GET", "/_quern/clock")[1]["now_ms"] == START_MS
    (told,) = [e for e in scene.events("fault") if e.get("target") == "rule=fault"]
    assert told["code"] == "jump" and told["reason"].startswith("not done: there are live leases")


@row("jump", "on SendMessage once at {point} do jump 1h force as fault")
def jump_over_a_lease_by_force(scene):
    """What falls due on the way has happened when the call goes on."""
    scene.send("leased")
    assert len(scene.receive(VisibilityTimeout=30)) == 1
    scene.arm().send()
    assert scene.counts() == (2, 0)
    kinds = [json.loads(line)["kind"] for line in scene.trace().splitlines()]
    expired, sent = kinds.index("lease.expire"), [i for i, kind in enumerate(kinds) if kind == "msg.send"][-1]
    assert (expired < sent) == scene.done(True, False)


@row("restore", "unsound on GetQueueUrl once at {point} do restore 10s as fault",
     options=("--supervise", "--restart-after", "1ms", "--db", "{folder}/q.db"))
def restore(scene):
    """The server goes at its point, and is back with the store of ten seconds before."""
    scene.send("kept")
    scene.arm()
    assert scene.server.control("POST", "/_quern/clock", {"advance_ms": 10_000})[0] == 200
    scene.send("lost")
    assert scene.counts() == (2, 0)
    seen = scene.exchange("GetQueueUrl", QueueName=scene.name).seen()
    assert (seen.status, seen.end == "whole") == ((200, True) if scene.point == "post-response" else (seen.status, False))
    assert (seen.status is None) == (scene.point not in ("mid-response", "post-response"))
    until(lambda: life(scene.server) == 2)
    scene.client.close()
    scene.client = exchange_client.Client(scene.server)
    (message,) = scene.receive(10)
    assert message["Body"] == "kept" and scene.counts() == (0, 1)
