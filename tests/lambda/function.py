"""A Lambda function with a runtime client of its own: one that starts fast and misbehaves on demand.

What it does is said by the bodies of the messages, JSON objects: {"do": WORD}. It notes each event in the
file that SEEN names.
"""
import http.client
import json
import os
import re
import sys
import time

BASE = "/2018-06-01/runtime/"


def call(method, path, document=None):
    connection = http.client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])
    body = document if isinstance(document, (bytes, type(None))) else json.dumps(document)
    connection.request(method, BASE + path, body)
    reply = connection.getresponse()
    return reply.status, reply.headers, reply.read()


def note(**what):
    with open(os.environ["SEEN"], "a", encoding="utf-8") as seen:
        seen.write(json.dumps({**what, "pid": os.getpid()}) + "\n")


def handle(event, headers):
    """The answer; None: it was given already, or never will be."""
    failures = []
    for record in event["Records"]:
        order = json.loads(record["body"]) if record["body"].startswith("{") else {}
        word = order.get("do")
        first = record["attributes"]["ApproximateReceiveCount"] == "1"
        if word == "fail-once" and first or word == "fail":
            failures.append({"itemIdentifier": record["messageId"]})
        elif word == "raise" and (first or not order.get("once")):
            raise ValueError("no such order")
        elif word == "exit" and first:
            sys.exit(3)
        elif word == "hang" and first:
            time.sleep(600)
        elif word == "slow":
            again = int(record["attributes"]["ApproximateReceiveCount"]) - 1
            time.sleep(order["s"] + order.get("longer_again", 0) * again)
        elif word == "answer":
            return order["text"].encode()
        elif word == "twice":
            call("POST", "invocation/%s/response" % headers["Lambda-Runtime-Aws-Request-Id"], {})
            status, _, text = call("POST", "invocation/%s/response" % headers["Lambda-Runtime-Aws-Request-Id"], {})
            note(second=status, text=text.decode())
            return None
        elif word == "huge":
            return b'"' + b"x" * 6291556 + b'"'
    return {"batchItemFailures": failures}


def starts():
    """As one that takes long to start, and as one whose first two environments do not get so far."""
    if os.environ.get("INIT") == "fail-twice":
        for number in (1, 2):
            try:
                os.close(os.open("%s.start-%d" % (os.environ["SEEN"], number), os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                continue
            sys.exit(1)
    time.sleep(0.3)
    note(ready=time.time())


def main():
    if os.environ.get("INIT") in ("slow", "fail-twice"):
        starts()
    if os.environ.get("INIT") == "error":
        call("POST", "init/error", {"errorType": "Runtime.ImportModuleError", "errorMessage": "no module app"})
        sys.exit(1)
    while True:
        _, headers, body = call("GET", "invocation/next")
        begun = time.time()
        event = json.loads(body)
        note(
            event=event,
            bytes=len(body),
            headers={name: value for name, value in headers.items() if name.startswith("Lambda-")},
            environment={name: value for name, value in os.environ.items() if re.search("LAMBDA|REGION|_HANDLER", name)},
            begun=begun,
        )
        path = "invocation/%s/" % headers["Lambda-Runtime-Aws-Request-Id"]
        try:
            answer = handle(event, headers)
        except ValueError as problem:
            call("POST", path + "error", {"errorType": "ValueError", "errorMessage": str(problem)})
            continue
        if answer is not None:
            call("POST", path + "response", answer)


main()
