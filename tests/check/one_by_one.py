"""A consumer without an SDK, which is up at once: one message after the other, the effect before the delete.

    one_by_one.py [--remembers]     takes a key that it has seen in its life for done, and forgets nothing
"""
import json
import os
import sys
import urllib.error
import urllib.request

ENDPOINT, QUEUE, SINK = (os.environ[name] for name in ("AWS_ENDPOINT_URL", "QUEUE_URL", "QUERN_SINK_URL"))
SEEN = set()


def post(url, body, **headers):
    request = urllib.request.Request(url, body, {name.replace("_", "-"): text for name, text in headers.items()})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read() or b"{}")


def sqs(action, **arguments):
    key = os.environ["AWS_ACCESS_KEY_ID"]
    return post(ENDPOINT, json.dumps({"QueueUrl": QUEUE, **arguments}).encode(),
                Content_Type="application/x-amz-json-1.0", X_Amz_Target=f"AmazonSQS.{action}",
                Authorization=f"AWS4-HMAC-SHA256 Credential={key}/20260101/us-east-1/sqs/aws4_request, "
                              "SignedHeaders=host, Signature=0")


def work(message):
    key = json.loads(message["Body"])["idempotencyKey"]
    if "--remembers" not in sys.argv or key not in SEEN:
        post(SINK + "/v1/effects", message["Body"].encode(), Idempotency_Key=key)
    SEEN.add(key)
    sqs("DeleteMessage", ReceiptHandle=message["ReceiptHandle"])


print("up", flush=True)
while True:
    try:
        for received in sqs("ReceiveMessage", WaitTimeSeconds=5, MaxNumberOfMessages=1).get("Messages", ()):
            work(received)
    except (OSError, ValueError, KeyError) as trouble:  # the message comes back by itself
        print("trouble", type(trouble).__name__, flush=True)
