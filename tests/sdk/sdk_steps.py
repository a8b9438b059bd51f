"""Runs one behaviour of behaviours/*.json through one client.

A behaviour is a list of steps on a server of its own:

    {"given": ACTION, "with": MEMBERS}      prepares something, by plain HTTP
    {"call": ACTION, "with": MEMBERS, ...}  the client makes the call
    {"start": ACTION, "with": ..., "as": N} the client makes the call; nobody waits for it yet
    {"finish": N, "within_s": S, ...}       now the answer of a started call is wanted
    {"until_called": ACTION, "times": N}    waits until the server has seen the call (N times)
    {"advance_ms": N}                       moves the server's clock

and those of a consumer, which sdk_consuming.py describes.

    "expect": {PATH: VALUE}   "save": {NAME: PATH}   "error": NAME of errors.json   "message": REGEX

A path is a.b[0].c; [*] takes a field of all. Text may hold ${NAME} (saved), ${url:QUEUE},
${arn:QUEUE} and ${endpoint}. Values: {"$bytes": BASE64}, {"$repeat": [TEXT, N]}, {"$text": JSON}
(as one string), and in expectations {"$absent"|"$present": true}, {"$len": N}, {"$match": REGEX},
{"$not": VALUE}, {"$greater": NUMBER}, {"$plus": [NUMBER, N]}, {"$json": JSON} (the string holds at
least this).

Beside what a behaviour expects, the digests in every answer are compared with what was sent or
came.
"""

import base64
import concurrent.futures
import hashlib
import json
import re
import struct
import time

import sdk_consuming
from sdk_consuming import Lacking

ACCOUNT = "000000000000"
VARIABLE = re.compile(r"\$\{([^}]*)\}")
WORDS = ("given", "call", "start", "finish", "until_called", "advance_ms")
WORDS += sdk_consuming.WORDS
MISSING = object()
CALL_S = 60


def look(value, path):
    """The value at a path, or MISSING."""
    if path == "":
        return value
    if path.startswith("[*]"):
        if value is MISSING:
            return []
        found = [look(item, path[3:].lstrip(".")) for item in value]
        return [None if item is MISSING else item for item in found]
    index = re.match(r"\[(\d+)\]\.?(.*)$", path)
    if index:
        at = int(index.group(1))
        if not isinstance(value, list) or at >= len(value):
            return MISSING
        return look(value[at], index.group(2))
    name, rest = re.match(r"([^.\[]+)\.?(.*)$", path).groups()
    if not isinstance(value, dict) or name not in value:
        # What a client leaves out, and what it gives as empty, is the same to its user.
        return look(MISSING, rest) if rest.startswith("[*]") else MISSING
    return look(value[name], rest)


def md5(data):
    return hashlib.md5(data).hexdigest()


def attributes_md5(attributes):
    """The digest of message attributes, from its description in the SQS guide."""
    whole = b""
    for name in sorted(attributes, key=lambda text: text.encode()):
        attribute = attributes[name]
        binary = attribute["DataType"].split(".")[0] == "Binary"
        if binary:
            data = base64.b64decode(attribute["BinaryValue"]["$bytes"])
        else:
            data = attribute["StringValue"].encode()
        for part in (name.encode(), attribute["DataType"].encode()):
            whole += struct.pack(">I", len(part)) + part
        whole += (b"\x02" if binary else b"\x01") + struct.pack(">I", len(data)) + data
    return md5(whole)


def check_digests_of_send(sent, answer):
    assert answer.get("MD5OfMessageBody") == md5(sent["MessageBody"].encode()), "digest of the body"
    given = sent.get("MessageAttributes")
    wanted = attributes_md5(given) if given else None
    assert answer.get("MD5OfMessageAttributes") == wanted, "digest of the message attributes"


def check_digests(action, members, output):
    if action == "SendMessage":
        check_digests_of_send(members, output)
    elif action == "SendMessageBatch":
        entries = {entry["Id"]: entry for entry in members["Entries"]}
        for answer in output.get("Successful") or []:
            check_digests_of_send(entries[answer["Id"]], answer)
    elif action == "ReceiveMessage":
        for message in output.get("Messages") or []:
            assert message.get("MD5OfBody") == md5(message["Body"].encode()), "digest of the body"
            came = message.get("MessageAttributes")
            wanted = attributes_md5(came) if came else None
            assert message.get("MD5OfMessageAttributes") == wanted, "digest of what was returned"


class Behaviour:
    def __init__(self, client, server, errors):
        self.client = client
        self.server = server
        self.errors = errors
        self.saved = {}
        self.started = {}
        self.consumers = {}

    # Values

    def variable(self, name):
        if name == "endpoint":
            return self.server.endpoint
        if name.startswith("url:"):
            return "%s/%s/%s" % (self.server.endpoint, ACCOUNT, name[4:])
        if name.startswith("arn:"):
            return "arn:aws:sqs:us-east-1:%s:%s" % (ACCOUNT, name[4:])
        return self.saved[name]

    def fill(self, value):
        if isinstance(value, str):
            return VARIABLE.sub(lambda found: str(self.variable(found.group(1))), value)
        if isinstance(value, list):
            return [self.fill(item) for item in value]
        if not isinstance(value, dict):
            return value
        if "$repeat" in value:
            text, times = value["$repeat"]
            return text * times
        if "$text" in value:
            return json.dumps(self.fill(value["$text"]))
        return {self.fill(k): self.fill(v) for k, v in value.items()}

    # Expectations

    def matches(self, got, want):
        """Whether a value is as wanted; `want` is filled in already."""
        if isinstance(want, dict) and len(want) == 1:
            ((word, detail),) = want.items()
            if word == "$absent":
                return got is MISSING or got in ("", [], {}, None)
            if word == "$present":
                return got is not MISSING and got not in ("", [], {}, None)
            if word == "$len":
                return len([] if got is MISSING or got is None else got) == detail
            if got is MISSING:
                return False
            if word == "$match":
                return re.search(detail, got) is not None
            if word == "$not":
                return got != detail
            if word == "$greater":
                return int(got) > int(detail)
            if word == "$plus":
                return int(got) == int(detail[0]) + detail[1]
            if word == "$json":
                return self.holds(json.loads(got), detail)
        if isinstance(want, dict):
            return isinstance(got, dict) and set(got) == set(want) and all(
                self.matches(got[key], want[key]) for key in want
            )
        return got == want

    def holds(self, got, want):
        """Whether JSON `got` has all that is in `want`, and perhaps more."""
        if isinstance(want, dict):
            return isinstance(got, dict) and all(
                key in got and self.holds(got[key], want[key]) for key in want
            )
        if isinstance(want, list):
            same_length = isinstance(got, list) and len(got) == len(want)
            return same_length and all(map(self.holds, got, want))
        return got == want

    def judge(self, step, action, members, reply):
        if "lacks" in reply:
            raise Lacking(reply["lacks"])
        assert "broken" not in reply, "the client itself failed: %s" % reply.get("broken")
        if "error" in step:
            assert "error" in reply, "wanted %s, but the call succeeded" % step["error"]
            self.client.check_error(self.errors, step["error"], reply["error"])
            if "message" in step and self.client.tells_message(reply["error"]):
                text = reply["error"].get("message") or ""
                assert re.search(step["message"], text), "message was %r" % text
            return
        assert "error" not in reply, "refused: %s" % reply.get("error")
        output = reply["output"]
        for path, want in step.get("expect", {}).items():
            got = look(output, path)
            want = self.fill(want)
            assert self.matches(got, want), "%s: wanted %s, got %s" % (
                path,
                short(want),
                "nothing" if got is MISSING else short(got),
            )
        check_digests(action, members, output)
        for name, path in step.get("save", {}).items():
            value = look(output, path)
            assert value is not MISSING, "%s is not in the answer" % path
            self.saved[name] = value

    # Steps

    def run_step(self, step):
        members = self.fill(step.get("with", {}))
        if "given" in step:
            self.server.give(step["given"], members)
        elif "advance_ms" in step:
            self.server.advance(step["advance_ms"])
        elif "until_called" in step:
            times = step.get("times", 1)
            self.server.wait_until_called(step["until_called"], times, self.check_what_is_under_way)
        elif "start" in step:
            reply = self.client.call(self.server.endpoint, step["start"], members)
            self.started[step["as"]] = (step["start"], members, reply)
        elif "finish" in step:
            action, sent, reply = self.started.pop(step["finish"])
            self.judge(step, action, sent, wait(reply, step["within_s"]))
        elif "call" not in step:
            sdk_consuming.run_step(self, step, members)
        else:
            reply = self.client.call(self.server.endpoint, step["call"], members)
            self.judge(step, step["call"], members, wait(reply, CALL_S))

    def check_what_is_under_way(self):
        """A call that is awaited will not come if the client lacks it."""
        for _, _, reply in self.started.values():
            if reply.done() and "lacks" in reply.result():
                raise Lacking(reply.result()["lacks"])
        for consumer in self.consumers.values():
            consumer.seen()

    def run(self, steps):
        for number, step in enumerate(steps, 1):
            try:
                self.run_step(step)
            except AssertionError as error:
                raise AssertionError("step %d, %s: %s" % (number, what(step), error)) from error

    def close(self):
        for consumer in self.consumers.values():
            consumer.stop()


def wait(reply, limit_s):
    begun = time.monotonic()
    try:
        return reply.result(limit_s)
    except concurrent.futures.TimeoutError as error:
        taken = time.monotonic() - begun
        raise AssertionError("no answer within %.1f s" % taken) from error


def what(step):
    word = next(word for word in WORDS if word in step)
    return "%s %s" % (word, step[word])


def short(value):
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 300 else text[:300] + "... (%d characters)" % len(text)
