"""Faults of messages: those that come twice, and those that others make."""
from exchange import wire

from fault_rows import row


def counts_of(messages):
    return [int(message["Attributes"]["ApproximateReceiveCount"]) for message in messages]


def delete_each(scene, messages):
    """Each copy is deleted by its own handle, and by no other."""
    assert len({message["MessageId"] for message in messages}) == 1
    for left in reversed(range(len(messages))):
        handle = messages[left]["ReceiptHandle"]
        assert scene.call("DeleteMessage", QueueUrl=scene.url, ReceiptHandle=handle).status == 200
        assert scene.counts() == (0, left)


@row("deliver-again", "on ChangeMessageVisibility once at {point} do deliver-again as fault")
def deliver_again(scene):
    scene.send()
    (first,) = scene.receive(VisibilityTimeout=60)
    scene.arm()
    changed = {"ReceiptHandle": first["ReceiptHandle"], "VisibilityTimeout": 600}
    assert scene.call("ChangeMessageVisibility", QueueUrl=scene.url, **changed).status == 200
    assert scene.counts() == (1, 1)
    second = scene.receive(10, VisibilityTimeout=600)
    assert scene.counts() == (0, 2) and counts_of([first, *second]) == [1, 2]
    delete_each(scene, [first, *second])


@row("dup-in-batch", "on ReceiveMessage once at {point} do dup-in-batch as fault")
def dup_in_batch(scene):
    scene.send()
    scene.arm()
    messages = scene.receive(10)
    assert counts_of(messages) == [1, 2] and scene.counts() == (0, 2)
    delete_each(scene, messages)


def messages_of(scene, exchange):
    """What an answer on a socket of its own brought."""
    read = wire.read_json if scene.protocol == "json" else wire.read_xml
    return read("ReceiveMessage", exchange.seen().reply()).members.get("Messages", [])


@row("deliver-to-both", "on ReceiveMessage once at {point} do deliver-to-both as fault")
def deliver_to_both(scene):
    scene.send()
    scene.arm()
    asked = {"QueueUrl": scene.url, "MaxNumberOfMessages": 10, "AttributeNames": ["All"]}
    first = scene.exchange("ReceiveMessage", **asked)
    scene.until_fired()
    assert first.has_nothing() and scene.counts() == (1, 0)
    second = scene.exchange("ReceiveMessage", **asked)
    messages = messages_of(scene, first) + messages_of(scene, second)
    assert counts_of(messages) == [1, 2] and scene.counts() == (0, 2)
    delete_each(scene, messages)


@row("reorder", "on ReceiveMessage once at {point} do reorder reverse as fault")
def reorder(scene):
    """Before the receive, which gets the last ones then, or behind it, of what it has left."""
    scene.send(*"abcd")
    scene.arm()
    bodies = [[message["Body"] for message in scene.receive(2)] for _ in range(2)]
    assert bodies == scene.done([["d", "c"], ["b", "a"]], [["a", "b"], ["d", "c"]])
