"""Consumers that put what they cannot read into the dead-letter queue themselves, and then delete it."""
import json
import sys

import pytest
from commands import run

CONSUMER = '''
import json, os, signal, sys, urllib.request
import boto3

shape = sys.argv[1]
stopped = []
signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
sqs = boto3.client("sqs")
source, dead = os.environ["QUEUE_URL"], os.environ["QUERN_DLQ_URL"]

def work(body):
    order = json.loads(body)
    if not isinstance(order, dict) or order["schemaVersion"] != 1:
        raise ValueError("not ours")
    call = urllib.request.Request(os.environ["QUERN_SINK_URL"] + "/v1/effects", body.encode(),
                                  {"Idempotency-Key": order["idempotencyKey"]})
    urllib.request.urlopen(call).read()

def put_aside(message):
    body = message["Body"]
    if shape == "as-it-came":
        sqs.send_message(QueueUrl=dead, MessageBody=body)
    elif shape == "in-an-envelope":
        sqs.send_message(QueueUrl=dead, MessageBody=json.dumps({"error": {"reason": "unreadable", "body": body}}))
    elif shape == "by-its-id":
        told = {"DataType": "String", "StringValue": message["MessageId"]}
        sqs.send_message(QueueUrl=dead, MessageBody="see the archive", MessageAttributes={"OriginalMessageId": told})
    elif shape == "something-else":
        sqs.send_message(QueueUrl=dead, MessageBody="a message was unreadable")

while not stopped:
    answer = sqs.receive_message(QueueUrl=source, WaitTimeSeconds=1, MaxNumberOfMessages=10)
    for message in answer.get("Messages", []):
        try:
            work(message["Body"])
        except ValueError:
            if shape == "left-to-the-queue":
                continue
            put_aside(message)
        sqs.delete_message(QueueUrl=source, ReceiptHandle=message["ReceiptHandle"])
'''
NAMES = ("base.strange-bodies", "poison.invalid-not-retried", "poison.unknown-schema")


def check(folder, shape, *options, only=NAMES):
    (folder / "consumer.py").write_text(CONSUMER)
    names = [word for name in only for word in ("--only", name)]
    answer = run("check", *names, "-j", "3", "--json", "report.json", "--keep", "kept", *options, "--", sys.executable,
                 "consumer.py", shape, cwd=folder, timeout_s=120)
    scenarios = json.loads((folder / "report.json").read_text())["scenarios"]
    return {one["id"]: one["verdict"] for one in scenarios}, answer.stdout + answer.stderr


@pytest.mark.parametrize("shape, options", [("as-it-came", ("--poison", "dlq")), ("in-an-envelope", ("--poison", "dlq")),
                                            ("by-its-id", ())])
def test_a_letter_that_the_consumer_sent_itself_is_no_loss(tmp_path, shape, options):
    verdicts, printed = check(tmp_path, shape, *options)
    assert verdicts == dict.fromkeys(NAMES, "PASS"), printed


def test_messages_with_the_same_body_have_a_letter_each(tmp_path):
    (tmp_path / "good.json").write_text('{"schemaVersion": 1, "idempotencyKey": "{{id}}"}')
    (tmp_path / "bad.txt").write_text("no JSON, and the same each time")
    verdicts, printed = check(tmp_path, "as-it-came", "--poison", "dlq", "--body", "good=good.json", "--body",
                              "poison=bad.txt", only=NAMES[1:2])
    assert verdicts == {NAMES[1]: "PASS"}, printed


def test_a_letter_that_says_nothing_of_the_message_is_none(tmp_path):
    verdicts, printed = check(tmp_path, "something-else", only=NAMES[:2])
    assert verdicts == dict.fromkeys(NAMES[:2], "FAIL"), printed


def test_the_reports_show_what_lies_in_the_dead_letter_queue(tmp_path):
    """Those that the queue moved there, and those that the consumer sent."""
    check(tmp_path, "left-to-the-queue", "--poison", "dlq", only=NAMES[2:])
    moved = json.loads((tmp_path / "report.json").read_text())["scenarios"][0]["dead_letters"]
    assert sorted(one["key"] for one in moved) == ["k-000", "k-001"]
    for one in moved:
        assert one["receives"] >= 2 and one["reason"].startswith(f"received {one['receives']} times")
        assert one["first_sent_at_ms"] > 0 and "schemaVersion" in one["body"] and len(one["body"]) <= 160
    check(tmp_path, "in-an-envelope", "--poison", "dlq", only=NAMES[2:])
    own = json.loads((tmp_path / "report.json").read_text())["scenarios"][0]["dead_letters"]
    assert own and all(one["reason"].startswith("the consumer put it there") and "unreadable" in one["body"] for one in own)
