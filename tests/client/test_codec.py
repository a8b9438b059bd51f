"""The client's codec against the API model that botocore brings: each member of each request and each
answer has its place, its name and its kind."""
import base64
import hashlib
import http.server
import json
import os
import struct
import subprocess
import threading
from pathlib import Path

import botocore.session
import pytest

PROGRAM = Path(os.environ["QUERN_PROGRAM"]).parent / "tests/every_action"
MODEL = botocore.session.get_session().get_service_model("sqs")
NUMBERS = {"MaxResults": 21, "DelaySeconds": 22, "MaxNumberOfMessages": 23, "WaitTimeSeconds": 24,
           "VisibilityTimeout": 25, "MaxNumberOfMessagesPerSecond": 26, "ApproximateNumberOfMessagesMoved": 31,
           "ApproximateNumberOfMessagesToMove": 2**40, "StartedTimestamp": 1735787045123}
# Reserved in the API, or the old name of another member.
NEVER_SENT = {"StringListValues", "BinaryListValues", "ReceiveMessage.AttributeNames"}
# Looked at and then kept from the caller.
NOT_TOLD = ("MD5Of",)


def digest_of_attributes(attributes):
    parts = b""
    for name, value in sorted(attributes.items()):
        is_binary = value["DataType"].startswith("Binary")
        content = base64.b64decode(value["BinaryValue"]) if is_binary else value["StringValue"].encode()
        for part in (name.encode(), value["DataType"].encode()):
            parts += struct.pack(">I", len(part)) + part
        parts += bytes([2 if is_binary else 1]) + struct.pack(">I", len(content)) + content
    return hashlib.md5(parts).hexdigest()


def text_digest(text):
    return hashlib.md5(text.encode()).hexdigest()


def sums(sent):
    return {"MD5OfMessageBody": text_digest(sent["MessageBody"]),
            "MD5OfMessageAttributes": digest_of_attributes(sent["MessageAttributes"]),
            "MD5OfMessageSystemAttributes": digest_of_attributes(sent["MessageSystemAttributes"])}


def made_up(shape, name):
    """A value for each member there is."""
    if shape.type_name == "structure":
        return {key: made_up(member, key) for key, member in shape.members.items() if key not in NEVER_SENT}
    if shape.type_name == "list":
        return [made_up(shape.member, name)]
    if shape.type_name == "map":
        return {"out:key": made_up(shape.value, name)}
    if shape.type_name in ("integer", "long"):
        return NUMBERS[name]
    if shape.type_name == "boolean":
        return True
    if shape.type_name == "blob":
        return base64.b64encode(f"out:{name}".encode()).decode()
    return f"out:{name}"


def answer_to(action, request):
    shape = MODEL.operation_model(action).output_shape
    if shape is None:
        return None
    answer = made_up(shape, action)
    if action == "SendMessage":
        answer.update(sums(request))
    if "Batch" in action:
        answer["Successful"][0]["Id"] = "0"
        answer["Failed"][0]["Id"] = "1"
        if action == "SendMessageBatch":
            answer["Successful"][0].update(sums(request["Entries"][0]))
    if action == "ReceiveMessage":
        message = answer["Messages"][0]
        attributes = {"text": {"DataType": "String.x", "StringValue": "out:StringValue"},
                      "bytes": {"DataType": "Binary", "BinaryValue": base64.b64encode(b"out:bytes").decode()}}
        message.update(MessageAttributes=attributes, MD5OfBody=text_digest(message["Body"]),
                       MD5OfMessageAttributes=digest_of_attributes(attributes))
        answer["Messages"] += [{**message, name: "0" * 32} for name in ("MD5OfBody", "MD5OfMessageAttributes")]
    return answer


class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        action = self.headers["X-Amz-Target"].removeprefix("AmazonSQS.")
        assert self.headers["Content-Type"] == "application/x-amz-json-1.0" and self.path == "/"
        answer = answer_to(action, request)
        self.server.exchanges[action] = (request, answer)
        body = b"" if answer is None else json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module", name="calls")
def make_calls():
    """What was asked, answered and understood, by action."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
    server.exchanges = {}
    threading.Thread(target=server.serve_forever, daemon=True).start()
    done = subprocess.run([PROGRAM, f"http://127.0.0.1:{server.server_port}"], capture_output=True, text=True,
                          timeout=60, check=False)
    server.shutdown()
    server.server_close()
    assert done.returncode == 0, done.stderr
    told = {line["action"]: line["told"] for line in map(json.loads, done.stdout.splitlines())}
    return {action: (*exchange, told[action]) for action, exchange in server.exchanges.items()}


def wrong_in_request(shape, value, name, path):
    """Members that are missing, that the model does not know, or whose value is not what was given."""
    if shape.type_name == "structure":
        known = {key for key in shape.members if key not in NEVER_SENT and f"{path}.{key}" not in NEVER_SENT}
        if shape.name in ("MessageAttributeValue", "MessageSystemAttributeValue"):
            known = {"DataType", "BinaryValue" if "BinaryValue" in value else "StringValue"}
        if set(value) != known:
            yield f"{path}: {sorted(set(value) ^ known)}"
        for key in known & set(value):
            yield from wrong_in_request(shape.members[key], value[key], key, f"{path}.{key}")
    elif shape.type_name == "list":
        for one in value:
            yield from wrong_in_request(shape.member, one, name, path)
    elif shape.type_name == "map":
        for one in value.values():
            yield from wrong_in_request(shape.value, one, name, path)
    elif shape.type_name in ("integer", "long"):
        if value != NUMBERS[name] or isinstance(value, bool):
            yield f"{path}: {value}"
    elif shape.type_name == "blob":
        if base64.b64decode(value) != b"\0\xff\x80":
            yield f"{path}: {value}"
    elif name not in ("Id", "DataType") and value not in (
            f"in:{name}", "in:Names", "in:value", "in:AWSTraceHeader"):
        yield f"{path}: {value}"


def without_sums(value):
    if isinstance(value, dict):
        return {key: without_sums(one) for key, one in value.items() if not key.startswith(NOT_TOLD)}
    return [without_sums(one) for one in value] if isinstance(value, list) else value


def test_all_actions_of_the_model_are_there(calls):
    assert set(calls) == set(MODEL.operation_names)
    assert len(calls) == 23


@pytest.mark.parametrize("action", MODEL.operation_names)
def test_a_request_has_all_members_of_the_model(calls, action):
    request = calls[action][0]
    assert list(wrong_in_request(MODEL.operation_model(action).input_shape, request, action, action)) == []


@pytest.mark.parametrize("action", MODEL.operation_names)
def test_an_answer_is_understood_as_it_was_given(calls, action):
    _, answer, told = calls[action]
    expected = without_sums(answer or {})
    if action == "ReceiveMessage":
        del expected["Messages"][1:]  # they are damaged
        attribute = expected["Messages"][0]["MessageAttributes"]["bytes"]
        attribute["BinaryValue"] = base64.b64decode(attribute["BinaryValue"]).decode()
    assert told == expected
