"""Both protocols of SQS as a client sees them: members to a request, an answer to members.

Written from the description of the protocols and independent of the server's own codecs.
"""
import json
import uuid
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from urllib.parse import quote_plus

NAMESPACE = "{http://queue.amazonaws.com/doc/2012-11-05/}"
JSON_TYPE = "application/x-amz-json-1.0"
FORM_TYPE = "application/x-www-form-urlencoded"

ACTIONS_WITHOUT_OUTPUT = {
    "AddPermission",
    "ChangeMessageVisibility",
    "DeleteMessage",
    "DeleteQueue",
    "PurgeQueue",
    "RemovePermission",
    "SetQueueAttributes",
    "TagQueue",
    "UntagQueue",
}

# Query names of the members that are lists or maps. Everything else is its own name.
_LISTS = {
    "AttributeNames": "AttributeName",
    "MessageSystemAttributeNames": "AttributeName",
    "MessageAttributeNames": "MessageAttributeName",
    "AWSAccountIds": "AWSAccountId",
    "Actions": "ActionName",
    "TagKeys": "TagKey",
    "StringListValues": "StringListValue",
    "BinaryListValues": "BinaryListValue",
}
_MAPS = {
    "Attributes": ("Attribute", "Name"),
    "MessageAttributes": ("MessageAttribute", "Name"),
    "MessageSystemAttributes": ("MessageSystemAttribute", "Name"),
    "tags": ("Tag", "Key"),
    "Tags": ("Tag", "Key"),
}
_ENTRIES = {
    "SendMessageBatch": "SendMessageBatchRequestEntry",
    "DeleteMessageBatch": "DeleteMessageBatchRequestEntry",
    "ChangeMessageVisibilityBatch": "ChangeMessageVisibilityBatchRequestEntry",
}


def _scalar(value):
    if value is True:
        return "true"
    if value is False:
        return "false"
    return str(value)


def _flatten(action, prefix, members, pairs):
    for name, value in members.items():
        if value is None:
            continue
        if name == "Entries" and isinstance(value, list):
            for n, entry in enumerate(value, 1):
                _flatten(action, "%s%s.%d." % (prefix, _ENTRIES[action], n), entry, pairs)
        elif name in _LISTS and isinstance(value, list):
            start = 1 + sum(1 for key, _ in pairs if key.startswith(prefix + _LISTS[name] + "."))
            for n, item in enumerate(value, start):
                pairs.append(("%s%s.%d" % (prefix, _LISTS[name], n), _scalar(item)))
        elif name in _MAPS and isinstance(value, dict):
            element, key_name = _MAPS[name]
            for n, (key, item) in enumerate(value.items(), 1):
                here = "%s%s.%d." % (prefix, element, n)
                pairs.append((here + key_name, key))
                if isinstance(item, dict):
                    _flatten(action, here + "Value.", item, pairs)
                else:
                    pairs.append((here + "Value", _scalar(item)))
        else:
            pairs.append((prefix + name, _scalar(value)))


def to_pairs(action, members):
    """The query form of a request as (key, value) pairs, not yet percent-encoded."""
    pairs = [("Action", action), ("Version", "2012-11-05")]
    _flatten(action, "", members, pairs)
    return pairs


def to_form(pairs):
    return "&".join("%s=%s" % (quote_plus(k), quote_plus(v)) for k, v in pairs)


def authorization(region="us-east-1", access_key="test"):
    return "AWS4-HMAC-SHA256 Credential=%s/20260101/%s/sqs/aws4_request, SignedHeaders=host, Signature=%s" % (
        access_key,
        region,
        "0" * 64,
    )


@dataclass
class Request:
    """What goes over the wire; `path` and `headers` are complete but for Host and Content-Length."""

    body: bytes | None
    headers: dict = field(default_factory=dict)
    method: str = "POST"
    path: str = "/"


def _with(usual, headers):
    """The usual headers and those of a case, of which null takes one away."""
    return {k: v for k, v in {**usual, **(headers or {})}.items() if v is not None}


def json_request(action, body, region="us-east-1", access_key="test", headers=None):
    if not isinstance(body, bytes):
        body = (body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)).encode()
    sent = {
        "Content-Type": JSON_TYPE,
        "X-Amz-Target": "AmazonSQS." + action,
        "x-amzn-query-mode": "true",
        "Authorization": authorization(region, access_key),
    }
    return Request(body, _with(sent, headers))


def query_request(form, region="us-east-1", access_key="test", headers=None, path="/", method="POST"):
    """The form as a body, or with GET as the query of the URL."""
    if not isinstance(form, bytes):
        form = (form if isinstance(form, str) else to_form(form)).encode()
    sent = {
        "Content-Type": FORM_TYPE + "; charset=utf-8",
        "Authorization": authorization(region, access_key),
    }
    if method == "GET":
        del sent["Content-Type"]
        return Request(None, _with(sent, headers), "GET", path + "?" + form.decode())
    return Request(form, _with(sent, headers), "POST", path)


@dataclass
class Reply:
    status: int
    headers: list
    body: bytes

    def header(self, name):
        """The value of a header, or None. More than one of a name is a mistake of the server."""
        values = [v for k, v in self.headers if k.lower() == name.lower()]
        assert len(values) <= 1, "header %s is there %d times" % (name, len(values))
        return values[0] if values else None

    def __str__(self):
        return "%d %r %r" % (self.status, self.headers, self.body[:2000])


@dataclass
class Answer:
    """An answer after its form was found right: members of a success, or the parts of an error."""

    status: int
    members: dict = None
    type: str = None
    code: str = None
    fault: str = None
    message: str = None


def _is_uuid(text):
    try:
        return text is not None and str(uuid.UUID(text)) == text
    except ValueError:
        return False


def _check_common(reply):
    length = reply.header("Content-Length")
    assert length is not None and int(length) == len(reply.body), "Content-Length %s: %s" % (length, reply)
    assert _is_uuid(reply.header("x-amzn-RequestId")), "x-amzn-RequestId: %s" % reply


def read_json(action, reply):
    """Checks the form of an AWS JSON 1.0 answer and takes it apart."""
    _check_common(reply)
    assert reply.header("Content-Type") == JSON_TYPE, "content type: %s" % reply
    query_error = reply.header("x-amzn-query-error")
    text = reply.body.decode("utf-8")
    if reply.status == 200:
        assert query_error is None, "a success with x-amzn-query-error: %s" % reply
        if action in ACTIONS_WITHOUT_OUTPUT:
            assert text == "", "an action without output has an empty body: %s" % reply
            return Answer(200, {})
        members = json.loads(text)
        assert isinstance(members, dict) and "__type" not in members, str(reply)
        if "\\" not in text:
            compact = json.dumps(members, separators=(",", ":"), ensure_ascii=False)
            assert text == compact, "the body is not compact: %r" % text[:2000]
        assert "null" not in text or None not in _values(members), "null member: %r" % text[:2000]
        return Answer(200, members)

    members = json.loads(text)
    assert set(members) <= {"__type", "message"} and "__type" in members, "error members: %s" % reply
    answer = Answer(reply.status, type=members["__type"], message=members.get("message"))
    if query_error is not None:
        answer.code, separator, answer.fault = query_error.partition(";")
        assert separator == ";", "x-amzn-query-error: %r" % query_error
    return answer


def _values(value):
    if isinstance(value, dict):
        for item in value.values():
            yield from _values(item)
    elif isinstance(value, list):
        for item in value:
            yield from _values(item)
    else:
        yield value


_INTEGERS = {
    "MaxNumberOfMessagesPerSecond",
    "ApproximateNumberOfMessagesMoved",
    "ApproximateNumberOfMessagesToMove",
    "StartedTimestamp",
}


def _text(element):
    assert len(element) == 0 and not element.attrib, "element %s has parts" % element.tag
    return element.text or ""


def _structure(element, lists=(), maps=(), structures=()):
    """An element as members. lists: tag -> (member, reader); maps: tag -> (member, key tag, reader)."""
    lists, maps = dict(lists), dict(maps)
    members = {}
    assert not (element.text or "").strip(), "text between elements of %s" % element.tag
    for child in element:
        tag = child.tag.removeprefix(NAMESPACE)
        if tag in lists:
            member, reader = lists[tag]
            members.setdefault(member, []).append(reader(child))
        elif tag in maps:
            member, key_tag, reader = maps[tag]
            parts = [c.tag.removeprefix(NAMESPACE) for c in child]
            assert parts == [key_tag, "Value"], "map entry %s holds %s" % (tag, parts)
            key = _text(child[0])
            assert key not in members.setdefault(member, {}), "key %r is there twice" % key
            members[member][key] = reader(child[1])
        else:
            assert tag not in members, "element %s is there twice" % tag
            value = _text(child)
            if tag in _INTEGERS:
                value = int(value)
            elif tag == "SenderFault":
                assert value in ("true", "false"), "SenderFault %r" % value
                value = value == "true"
            members[tag] = value
    return members


def _message(element):
    return _structure(
        element,
        maps={
            "Attribute": ("Attributes", "Name", _text),
            "MessageAttribute": ("MessageAttributes", "Name", _structure),
        },
    )


def _batch(entry):
    return {"lists": {entry: ("Successful", _structure), "BatchResultErrorEntry": ("Failed", _structure)}}


_RESULTS = {
    "ListQueues": {"lists": {"QueueUrl": ("QueueUrls", _text)}},
    "ListDeadLetterSourceQueues": {"lists": {"QueueUrl": ("queueUrls", _text)}},
    "GetQueueAttributes": {"maps": {"Attribute": ("Attributes", "Name", _text)}},
    "ListQueueTags": {"maps": {"Tag": ("Tags", "Key", _text)}},
    "ReceiveMessage": {"lists": {"Message": ("Messages", _message)}},
    "SendMessageBatch": _batch("SendMessageBatchResultEntry"),
    "DeleteMessageBatch": _batch("DeleteMessageBatchResultEntry"),
    "ChangeMessageVisibilityBatch": _batch("ChangeMessageVisibilityBatchResultEntry"),
    "ListMessageMoveTasks": {"lists": {"ListMessageMoveTasksResultEntry": ("Results", _structure)}},
}


def read_xml(action, reply):
    """Checks the form of a query answer and takes it apart."""
    _check_common(reply)
    assert reply.header("Content-Type") == "text/xml", "content type: %s" % reply
    assert reply.body.startswith(b'<?xml version="1.0"?><'), "declaration: %s" % reply
    root = ElementTree.fromstring(reply.body)
    if reply.status == 200:
        assert reply.header("x-amzn-query-error") is None, str(reply)
        return _read_xml_success(action, reply, root)

    assert root.tag == NAMESPACE + "ErrorResponse", str(reply)
    assert [c.tag for c in root] == [NAMESPACE + "Error", NAMESPACE + "RequestId"], str(reply)
    assert _text(root[1]) == reply.header("x-amzn-RequestId"), "request ids differ: %s" % reply
    error = root[0]
    parts = [c.tag.removeprefix(NAMESPACE) for c in error]
    assert parts == ["Type", "Code", "Message", "Detail"], "error holds %s" % parts
    assert b"<Detail/>" in reply.body, "Detail is empty and there: %s" % reply
    raw_message = reply.body.partition(b"<Message>")[2].partition(b"</Message>")[0]
    assert b'"' not in raw_message, "quotes in a message are escaped: %s" % reply
    return Answer(reply.status, fault=_text(error[0]), code=_text(error[1]), message=_text(error[2]))


def _read_xml_success(action, reply, root):
    assert root.tag == "%s%sResponse" % (NAMESPACE, action), str(reply)
    tags = [child.tag.removeprefix(NAMESPACE) for child in root]
    if action in ACTIONS_WITHOUT_OUTPUT:
        assert tags == ["ResponseMetadata"], "an action without output has no Result: %s" % reply
        members = {}
    else:
        assert tags == [action + "Result", "ResponseMetadata"], str(reply)
        members = _structure(root[0], **_RESULTS.get(action, {}))
        if action == "ListDeadLetterSourceQueues":
            members.setdefault("queueUrls", [])
    metadata = root[-1]
    assert [c.tag for c in metadata] == [NAMESPACE + "RequestId"], str(reply)
    assert _text(metadata[0]) == reply.header("x-amzn-RequestId"), "request ids differ: %s" % reply
    return Answer(200, members)
