"""Faults of the connection: what really happens on the wire."""
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
