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


ATTRIBUTES = {"a": {"DataType": "String", "StringValue": "v"}}


def delete_under_the_rule(scene, body):
    """Sends, receives, and deletes when the rule is there: the message as it was received."""
    scene.send(body, MessageAttributes=ATTRIBUTES)
    (message,) = scene.receive(MessageAttributeNames=["All"])
    scene.arm()
    deleted = scene.call("DeleteMessage", QueueUrl=scene.url, ReceiptHandle=message["ReceiptHandle"])
    assert deleted.status == 200 and scene.counts() == (1, 0)
    return message


@row("dup-send", "on DeleteMessage once at {point} do dup-send as fault")
def dup_send(scene):
    first = delete_under_the_rule(scene, "x")
    (second,) = scene.receive(MessageAttributeNames=["All"])
    assert first["MessageId"] != second["MessageId"] and counts_of([second]) == [1]
    assert [second[part] for part in ("Body", "MessageAttributes")] == [first[part] for part in ("Body", "MessageAttributes")]


@row("poison-body", "on DeleteMessage once at {point} do poison-body as fault")
def poison_body(scene):
    first = delete_under_the_rule(scene, '{"key":1}')
    (second,) = scene.receive(MessageAttributeNames=["All"])
    assert first["MessageId"] != second["MessageId"] and counts_of([second]) == [1]
    assert second["Body"] == '{"key' and second["MessageAttributes"] == first["MessageAttributes"]


def send_under_the_rule(scene):
    scene.arm()
    return scene.call("SendMessage", QueueUrl=scene.url, MessageBody="x")


@row("send", 'on SendMessage once at {point} do send "other" as fault')
def send(scene):
    assert send_under_the_rule(scene).status == 200
    bodies = [message["Body"] for message in scene.receive(10)]
    assert bodies == scene.done(["other", "x"], ["x", "other"])


@row("purge", "on SendMessage once at {point} do purge as fault")
def purge(scene):
    scene.send()
    assert send_under_the_rule(scene).status == 200
    assert scene.counts() == scene.done((1, 0), (0, 0))
    assert [e["count"] for e in scene.events("msg.purge")] == scene.done([1], [2])


@row("delete-queue", "on SendMessage once at {point} do delete-queue as fault")
def delete_queue(scene):
    answer = send_under_the_rule(scene)
    assert answer.status == scene.done(400, 200)
    assert scene.call("GetQueueUrl", QueueName=scene.name).status == 400


@row("create-queue", "on SendMessage once at {point} do create-queue other.fifo as fault")
def create_queue(scene):
    assert send_under_the_rule(scene).status == 200
    url = scene.call("GetQueueUrl", QueueName="other.fifo").members["QueueUrl"]
    asked = scene.call("GetQueueAttributes", QueueUrl=url, AttributeNames=["All"]).members["Attributes"]
    assert asked["FifoQueue"] == "true" and asked["VisibilityTimeout"] == "30"


@row("set-attr", "on SendMessage once at {point} do set-attr DelaySeconds=5 as fault")
def set_attr(scene):
    assert send_under_the_rule(scene).status == 200
    assert scene.counts() == scene.done((0, 0), (1, 0))
    asked = {"QueueUrl": scene.url, "AttributeNames": ["DelaySeconds"]}
    assert scene.call("GetQueueAttributes", **asked).members["Attributes"] == {"DelaySeconds": "5"}


@row("redrive", "on SendMessage once at {point} do redrive of dead as fault")
def redrive(scene):
    dead = scene.make("dead")
    arn = scene.call("GetQueueAttributes", QueueUrl=dead, AttributeNames=["QueueArn"]).members["Attributes"]["QueueArn"]
    policy = '{"deadLetterTargetArn":"%s","maxReceiveCount":1}' % arn
    scene.call("SetQueueAttributes", QueueUrl=scene.url, Attributes={"RedrivePolicy": policy})
    scene.send("dead")
    scene.receive(VisibilityTimeout=0)
    assert scene.receive() == [] and scene.counts("dead") == (1, 0)
    assert send_under_the_rule(scene).status == 200
    assert scene.counts("dead") == (0, 0) and scene.counts() == (2, 0)
