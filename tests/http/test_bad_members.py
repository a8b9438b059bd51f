"""Every member of every action: absent, null, of another type, out of range, oversized, hostile."""
from urllib.parse import quote_from_bytes, quote_plus

import pytest

from exchange import wire

import bad_input

ACTIONS = sorted(bad_input.MEMBERS)
COUNTS = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)


@pytest.fixture
def made(client, name):
    things = bad_input.fixtures(client, name)
    yield things
    bad_input.remove(client, things)


def stored(client, made):
    """What a refused request must leave as it was."""
    state = [client.call("json", "ListQueues", {}).members]
    for label in ("-q", "-dlq"):
        asked = {"QueueUrl": made[label], "AttributeNames": ["All"]}
        state.append(client.call("json", "GetQueueAttributes", asked).members)
        state.append(client.call("json", "ListQueueTags", {"QueueUrl": made[label]}).members)
    return state


def restore(client, action, made):
    """After a success the good request must still be one."""
    if action == "DeleteQueue":
        client.call("json", "CreateQueue", {"QueueName": made["name"] + "-q"})
    elif action == "CreateQueue":
        client.call("json", "DeleteQueue", {"QueueUrl": made["-q"][:-1] + "new"})
    elif action.startswith("SendMessage"):
        client.call("json", "PurgeQueue", {"QueueUrl": made["-q"]})
    elif action == "StartMessageMoveTask":
        client.server.advance_ms(1000)
    elif action == "AddPermission":
        client.call("json", "RemovePermission", {"QueueUrl": made["-q"], "Label": "l"})
    elif action == "TagQueue":
        tags = client.call("json", "ListQueueTags", {"QueueUrl": made["-q"]}).members.get("Tags")
        if tags:
            client.call("json", "UntagQueue", {"QueueUrl": made["-q"], "TagKeys": list(tags)})


@pytest.mark.parametrize("action", ACTIONS)
def test_good_requests_are_good(client, made, action):
    """Otherwise the mutations would show little."""
    allowed = {"CancelMessageMoveTask": 404, "RemovePermission": 400}
    for protocol in ("json", "query"):
        answer = client.call(protocol, action, bad_input.good(action, made))
        assert answer.status in (200, allowed.get(action, 200)), answer
        restore(client, action, made)


@pytest.mark.parametrize("action", ACTIONS)
def test_bad_members_in_json(client, made, action):
    before = stored(client, made)
    for what, members, expectation in bad_input.mutations(action, made):
        request = wire.json_request(action, bad_input.body_of(members))
        try:
            answer = bad_input.read("json", action, client.send(request))
            if expectation == bad_input.WRONG:
                assert answer.type == "com.amazon.coral.service#SerializationException", answer
                assert answer.status == 400 and answer.code is None, answer
            if answer.status == 200:
                restore(client, action, made)
                before = stored(client, made)
            else:
                assert stored(client, made) == before, "a refused request changed something"
        except AssertionError as problem:
            pytest.fail("%s with %s: %s" % (action, what, problem))


def form_of(pairs):
    """A form in which lone surrogates become the bytes of a careless encoder."""

    def encode(text):
        return quote_from_bytes(text.encode("utf-8", "surrogatepass"), safe="")

    return "&".join("%s=%s" % (encode(k), encode(v)) for k, v in pairs)


@pytest.mark.parametrize("action", ACTIONS)
def test_bad_members_in_query(client, made, action):
    before = stored(client, made)
    for what, members, _ in bad_input.mutations(action, made):
        try:
            pairs = wire.to_pairs(action, members)
        except (TypeError, AttributeError):
            continue  # not to be spelled in a form
        try:
            answer = bad_input.read("query", action, client.send(wire.query_request(form_of(pairs))))
            if answer.status == 200:
                restore(client, action, made)
                before = stored(client, made)
            else:
                assert stored(client, made) == before, "a refused request changed something"
        except AssertionError as problem:
            pytest.fail("%s with %s: %s" % (action, what, problem))


STRANGE_KEYS = [
    "{0}.0.{1}",
    "{0}.-1.{1}",
    "{0}.1",
    "{0}.",
    "{0}",
    ".{0}.1.{1}",
    "{0}.1.{1}.",
    "{0}.1.{1}.1",
    "{0}..{1}",
    "{0}.one.{1}",
    "{0}.1.{1}Extra",
    "{0}.01.{1}",
    "{0}.+1.{1}",
    "{0}.1e0.{1}",
    "{0}.2147483648.{1}",
    "{0}.4294967297.{1}",
    "{0}.18446744073709551617.{1}",
    "{0}.99999999999999999999999999.{1}",
    "{0}.1.Value.StringListValue.1",
    "{0}.1.Value.BinaryListValue.99999999999",
    "{0}.member.1.{1}",
    "{0}.entry.1.{1}",
    "{0}.1.MessageAttribute.1.Value.Value.Value",
]
FAMILIES = [
    ("CreateQueue", "Attribute", "Name"),
    ("CreateQueue", "Tag", "Key"),
    ("SetQueueAttributes", "Attribute", "Value"),
    ("GetQueueAttributes", "AttributeName", ""),
    ("ReceiveMessage", "MessageAttributeName", ""),
    ("AddPermission", "AWSAccountId", ""),
    ("AddPermission", "ActionName", ""),
    ("TagQueue", "Tag", "Key"),
    ("TagQueue", "Tag", "Value"),
    ("UntagQueue", "TagKey", ""),
    ("SendMessage", "MessageAttribute", "Name"),
    ("SendMessage", "MessageAttribute", "Value.DataType"),
    ("SendMessage", "MessageSystemAttribute", "Value.StringValue"),
    ("SendMessageBatch", "SendMessageBatchRequestEntry", "Id"),
    ("SendMessageBatch", "SendMessageBatchRequestEntry", "MessageAttribute.1.Name"),
    ("DeleteMessageBatch", "DeleteMessageBatchRequestEntry", "ReceiptHandle"),
    ("ChangeMessageVisibilityBatch", "ChangeMessageVisibilityBatchRequestEntry", "VisibilityTimeout"),
]


@pytest.mark.parametrize("beside", [True, False], ids=["beside_good_ones", "alone"])
@pytest.mark.parametrize("action, family, part", FAMILIES, ids=["-".join(f) for f in FAMILIES])
def test_strange_indexes(client, made, action, family, part, beside):
    """Indexes and segments that no client would send, alone and beside a good request."""
    good = wire.to_pairs(action, bad_input.good(action, made))
    if not beside:
        good = [(k, v) for k, v in good if not k.startswith(family + ".")]
    for key in STRANGE_KEYS:
        for value in ("x", "1", ""):
            form = wire.to_form(good) + "&%s=%s" % (quote_plus(key.format(family, part)), value)
            try:
                answer = bad_input.read("query", action, client.send(wire.query_request(form)))
            except AssertionError as problem:
                pytest.fail("%s with %s=%s: %s" % (action, key.format(family, part), value, problem))
            if answer.status == 200:
                restore(client, action, made)


@pytest.mark.parametrize("index", [10**6, 10**9, 2**31 - 1])
def test_a_high_index_costs_no_memory(client, made, index):
    form = "Action=TagQueue&QueueUrl=%s&Tag.%d.Key=k&Tag.%d.Value=v" % (quote_plus(made["-q"]), index, index)
    assert wire.read_xml("TagQueue", client.send(wire.query_request(form))).status == 200


@pytest.mark.parametrize(
    "number", [str(n) for n in bad_input.BEYOND_64_BITS] + ["1e400", "-1e400", "1.5", "1e-1"]
)
@pytest.mark.parametrize(
    "action, member",
    [("SendMessage", "DelaySeconds"), ("ReceiveMessage", "WaitTimeSeconds"), ("ListQueues", "MaxResults")],
)
def test_unreadable_numbers_are_serialization_errors(client, made, action, member, number):
    members = bad_input.good(action, made)
    members.pop(member, None)
    body = bad_input.body_of(members)[:-1] + ',"%s":%s}' % (member, number)
    answer = wire.read_json(action, client.send(wire.json_request(action, body)))
    assert answer.type == "com.amazon.coral.service#SerializationException"
    assert (answer.status, answer.code) == (400, None)


@pytest.mark.parametrize("action", ["SendMessage", "SendMessageBatch"])
def test_the_last_of_duplicate_keys_wins(client, made, action):
    body = bad_input.body_of(bad_input.good(action, made)).replace(
        '"MessageBody": "x"', '"MessageBody": 5, "MessageBody": "y"'
    )
    first = wire.read_json(action, client.send(wire.json_request(action, body)))
    # A value that is thrown away may still be judged by its type; if it is not, the last one counts.
    if first.status == 200:
        sent = first.members.get("Successful", [first.members])[0]
        assert sent["MD5OfMessageBody"] == "415290769594460e2e485922904f345d"
    body = body.replace('"MessageBody": 5', '"MessageBody": "first"')
    second = wire.read_json(action, client.send(wire.json_request(action, body)))
    sent = second.members.get("Successful", [second.members])[0]
    assert sent["MD5OfMessageBody"] == "415290769594460e2e485922904f345d"
