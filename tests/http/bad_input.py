"""Good requests for every action, and what can be wrong with each of their members."""
import copy
import json
import pathlib

from exchange import wire

MEMBERS = json.loads((pathlib.Path(__file__).parent / "members.json").read_text())

ATTRIBUTE = {"DataType": "String", "StringValue": "v"}
WRONG = "wrong JSON type"  # must be a SerializationException
ANY = "any clean answer"
UNLIKE_STRING = [5, -1.5, True, [], ["x"], {}, {"a": 1}]
UNLIKE_INTEGER = ["0", "", "x", True, [], [1], {}, 1.5]
UNLIKE_LIST = ["x", "", 5, True, {}, {"0": "x"}]
UNLIKE_MAP = ["x", "", 5, False, [], [{"Name": "a", "Value": "b"}]]
BEYOND_64_BITS = [9223372036854775808, -9223372036854775809, 10**30]
STRANGE_TEXTS = [
    "",
    " ",
    "\0",
    "a\0b",
    "\x01",
    "\ufffe",
    "\ud800",
    "\udc00\ud800",
    "é",
    "\U0001f600",
    "\r\n",
    "%s%n%x",
    "../../etc/passwd",
    "<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///'>]>&e;]]>",
    "'; DROP TABLE queue; --",
    "http://",
    "http:///",
    "arn:aws:sqs:::",
    "{}",
    "[[[[",
    "x" * 300,
    "é" * 2000,
    "x" * 70_000,
]
STRANGE_INTEGERS = [0, -1, -0.0, 2**31 - 1, 2**31, -(2**31) - 1, 2**63 - 1, -(2**63), 10**9]


class Deleted:
    """The member is not there at all."""


def fixtures(client, name):
    """What the good requests below need: queues, a message in flight, a move task that is over."""
    made = {"name": name}

    def create(label, **attributes):
        members = {"QueueName": name + label}
        if attributes:
            members["Attributes"] = attributes
        made[label] = client.call("json", "CreateQueue", members).members["QueueUrl"]
        return "arn:aws:sqs:us-east-1:000000000000:" + name + label

    dlq = create("-dlq")
    policy = json.dumps({"deadLetterTargetArn": dlq, "maxReceiveCount": 1})
    create("-q", RedrivePolicy=policy)
    made["dlq_arn"] = dlq
    started = client.call(
        "json", "StartMessageMoveTask", {"SourceArn": dlq, "MaxNumberOfMessagesPerSecond": 1}
    )
    made["task"] = started.members["TaskHandle"]
    client.server.advance_ms(1000)  # it had nothing to move, and is over
    client.call("json", "SendMessage", {"QueueUrl": made["-q"], "MessageBody": "held"})
    held = client.call("json", "ReceiveMessage", {"QueueUrl": made["-q"], "VisibilityTimeout": 43200})
    made["handle"] = held.members["Messages"][0]["ReceiptHandle"]
    return made


def remove(client, made):
    for label in ("-q", "-dlq", "-new"):
        url = made.get(label) or made["-q"][: -len("-q")] + label
        client.call("json", "DeleteQueue", {"QueueUrl": url})


def good(action, made):
    """Members of a request that is right in every part."""
    queue, handle = {"QueueUrl": made["-q"]}, made["handle"]
    source = {"SourceArn": made["dlq_arn"]}
    entry = {
        "Id": "a",
        "MessageBody": "x",
        "DelaySeconds": 1,
        "MessageAttributes": {"k": dict(ATTRIBUTE)},
        "MessageSystemAttributes": {"AWSTraceHeader": dict(ATTRIBUTE)},
        "MessageGroupId": "g",
    }
    message = {k: copy.deepcopy(v) for k, v in entry.items() if k != "Id"}
    return {
        "AddPermission": {
            **queue,
            "Label": "l",
            "AWSAccountIds": ["111122223333"],
            "Actions": ["SendMessage"],
        },
        "CancelMessageMoveTask": {"TaskHandle": made["task"]},
        "ChangeMessageVisibility": {**queue, "ReceiptHandle": handle, "VisibilityTimeout": 43200},
        "ChangeMessageVisibilityBatch": {
            **queue,
            "Entries": [{"Id": "a", "ReceiptHandle": handle, "VisibilityTimeout": 43200}],
        },
        "CreateQueue": {
            "QueueName": made["name"] + "-new",
            "Attributes": {"DelaySeconds": "5", "Policy": ""},
            "tags": {"k": "v"},
        },
        "DeleteMessage": {**queue, "ReceiptHandle": handle},
        "DeleteMessageBatch": {**queue, "Entries": [{"Id": "a", "ReceiptHandle": handle}]},
        "DeleteQueue": dict(queue),
        "GetQueueAttributes": {**queue, "AttributeNames": ["QueueArn", "DelaySeconds"]},
        "GetQueueUrl": {"QueueName": made["name"] + "-q", "QueueOwnerAWSAccountId": "000000000000"},
        "ListDeadLetterSourceQueues": {"QueueUrl": made["-dlq"], "MaxResults": 5},
        "ListMessageMoveTasks": {**source, "MaxResults": 5},
        "ListQueueTags": dict(queue),
        "ListQueues": {"QueueNamePrefix": made["name"], "MaxResults": 5},
        "PurgeQueue": dict(queue),
        "ReceiveMessage": {
            **queue,
            "AttributeNames": ["SentTimestamp"],
            "MessageSystemAttributeNames": ["All"],
            "MessageAttributeNames": ["k", "p.*"],
            "MaxNumberOfMessages": 2,
            "VisibilityTimeout": 0,
            "WaitTimeSeconds": 0,
        },
        "RemovePermission": {**queue, "Label": "l"},
        "SendMessage": {**queue, **message},
        "SendMessageBatch": {**queue, "Entries": [entry]},
        "SetQueueAttributes": {**queue, "Attributes": {"DelaySeconds": "5"}},
        "StartMessageMoveTask": {
            **source,
            "DestinationArn": made["dlq_arn"][:-3] + "q",
            "MaxNumberOfMessagesPerSecond": 5,
        },
        "TagQueue": {**queue, "Tags": {"k": "v"}},
        "UntagQueue": {**queue, "TagKeys": ["k"]},
    }[action]


def bad_values(kind):
    """(value, what must come of it) for a member of this kind. An absent and a null one are for all kinds."""
    yield Deleted, ANY
    yield None, ANY
    if kind in ("string", "blob"):
        yield from ((value, WRONG) for value in UNLIKE_STRING)
        yield from ((value, ANY) for value in STRANGE_TEXTS)
    elif kind == "integer":
        yield from ((value, WRONG) for value in UNLIKE_INTEGER + BEYOND_64_BITS)
        yield from ((value, ANY) for value in STRANGE_INTEGERS)
    elif isinstance(kind, dict):
        yield from ((value, WRONG) for value in UNLIKE_MAP)
        yield {}, ANY
        yield {"Unknown": {"a": [None]}}, ANY
    elif kind[0] == "list":
        yield from ((value, WRONG) for value in UNLIKE_LIST)
        yield from ((value, ANY) for value in ([], [None], [None, None]))
        wrong = [[[]], [5]] if kind[1] in ("string", "blob") else [["x"], [[]], [5]]
        yield from ((value, WRONG) for value in wrong)
        yield ["x" if kind[1] in ("string", "blob") else {}] * 1000, ANY
    else:
        yield from ((value, WRONG) for value in UNLIKE_MAP)
        yield from ((value, ANY) for value in ({}, {"k": None}, {"": None}))
        wrong = [{"k": 5}, {"k": []}, {"k": {}}] if kind[1] == "string" else [{"k": 5}, {"k": []}, {"k": "x"}]
        yield from ((value, WRONG) for value in wrong)
        item = "x" if kind[1] == "string" else dict(ATTRIBUTE)
        yield from (({key: item}, ANY) for key in STRANGE_TEXTS)
        yield {"k%d" % n: item for n in range(1000)}, ANY
        if kind[1] == "string":
            yield from (({"DelaySeconds": value, "k": value}, ANY) for value in STRANGE_TEXTS)


def places(kind, value, path=()):
    """Every member below a structure, with its kind, as far as the good request goes."""
    for name, member in kind.items():
        here = (*path, name)
        yield here, member
        inside = value.get(name) if isinstance(value, dict) else None
        if isinstance(member, list) and isinstance(member[1], dict):
            if member[0] == "list":
                yield from places(member[1], inside[0] if inside else {}, (*here, 0))
            else:
                key = next(iter(inside), "k") if inside else "k"
                yield from places(member[1], inside.get(key, {}) if inside else {}, (*here, key))


def with_value(members, path, value):
    """A copy of a request in which one member is another value, or None if its place is not there."""
    changed = copy.deepcopy(members)
    inside = changed
    for step in path[:-1]:
        if isinstance(inside, dict):
            inside = inside.setdefault(step, {})
        elif len(inside) > step:
            inside = inside[step]
        else:
            return None
        if not isinstance(inside, (dict, list)):
            return None
    if value is Deleted:
        inside.pop(path[-1], None)
    else:
        inside[path[-1]] = value
    return changed


def mutations(action, made):
    """(description, members, expectation) for everything above, one mistake at a time."""
    base = good(action, made)
    for path, kind in places(MEMBERS[action], base):
        for value, expectation in bad_values(kind):
            changed = with_value(base, path, value)
            if changed is not None:
                shown = "deleted" if value is Deleted else repr(value)[:60]
                yield "%s = %s" % (".".join(map(str, path)), shown), changed, expectation


def body_of(members):
    """JSON with lone surrogates as escapes and everything else as UTF-8."""
    text = json.dumps(members, ensure_ascii=False)
    return "".join("\\u%04x" % ord(c) if 0xD800 <= ord(c) < 0xE000 else c for c in text)


def read(protocol, action, reply):
    """A clean answer: a success or a refusal, in the form of its protocol. Never a 5xx."""
    assert reply.status == 200 or 400 <= reply.status < 500, str(reply)
    return wire.read_json(action, reply) if protocol == "json" else wire.read_xml(action, reply)
