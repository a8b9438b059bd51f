"""Stands for your handler under `quern check`: the effect sink does the work, and says how it went.
Call handle(body) with the text of a message. It returns: delete the message. It raises: leave it."""
import json
import os
import urllib.error
import urllib.request


def handle(body):
    try:
        message = json.loads(body)
        key, name = message["idempotencyKey"], message["payload"]["id"]
    except (ValueError, KeyError, TypeError):  # can never succeed: do here what you do with such
        post("/v1/rejects", body.encode(), {})  # recorded before the message is deleted
        return
    if message["schemaVersion"] != 1:
        raise RuntimeError("a version that this build does not know")
    try:
        post("/v1/effects", body.encode(), {"Idempotency-Key": key})
    except urllib.error.HTTPError as error:
        if error.code != 422:  # 422: never; anything else may succeed later
            raise
        post("/v1/rejects", json.dumps({"id": name, "reason": error.read().decode()}).encode(), {})


def post(path, data, headers):
    url = os.environ["QUERN_SINK_URL"] + path
    headers = {"Content-Type": "application/json", **headers}
    with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=60) as answer:
        answer.read()
