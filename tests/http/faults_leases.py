"""Faults of leases and messages: what the store holds behind them, and when."""
from fault_rows import row


def change(scene, visibility_s):
    """A message that is leased, and a call that moves the end of the lease."""
    scene.send()
    (message,) = scene.receive(VisibilityTimeout=60)
    scene.arm()
    changed = {"ReceiptHandle": message["ReceiptHandle"], "VisibilityTimeout": visibility_s}
    assert scene.call("ChangeMessageVisibility", QueueUrl=scene.url, **changed).status == 200


def lasts(scene, seconds):
    scene.server.advance_ms(1000 * seconds - 1)
    held = scene.counts()
    scene.server.advance_ms(1)
    return (held, scene.counts()) == ((0, 1), (1, 0))


@row("expire-lease", "on ChangeMessageVisibility once at {point} do expire-lease as fault")
def expire_lease(scene):
    """Before the call, which begins a new lease then, or behind it."""
    change(scene, 600)
    assert scene.counts() == scene.done((0, 1), (1, 0))
    assert [e["reason"] for e in scene.events("lease.expire")] == ["fault"]


@row("shorten-lease", "on ChangeMessageVisibility once at {point} do shorten-lease 5s as fault")
def shorten_lease(scene):
    change(scene, 600)
    assert lasts(scene, scene.done(600, 5))


@row("extend-lease", "on ChangeMessageVisibility once at {point} do extend-lease 5s as fault")
def extend_lease(scene):
    change(scene, 600)
    assert lasts(scene, scene.done(600, 605))


@row("resurrect", "on msg.delete once do after 500ms resurrect as fault", points=())
def resurrect(scene):
    scene.send("back")
    (message,) = scene.receive()
    scene.arm()
    deleted = scene.call("DeleteMessage", QueueUrl=scene.url, ReceiptHandle=message["ReceiptHandle"])
    assert deleted.status == 200 and scene.counts() == (0, 0)
    scene.server.advance_ms(500)
    (again,) = scene.receive()
    assert (again["MessageId"], again["Attributes"]["ApproximateReceiveCount"]) == (message["MessageId"], "2")
