"""Effects under keys of their own: sums over many messages."""
import json

import pytest
from commands import run

SUMS = """
import boto3, json, os, urllib.request
queue = os.environ['QUEUE_URL']
sqs = boto3.client('sqs', endpoint_url=os.environ['AWS_ENDPOINT_URL'])
while True:
    messages = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10, WaitTimeSeconds=2).get('Messages', [])
    keys = [json.loads(message['Body'])['idempotencyKey'] for message in messages]
    if keys:
        key = '+'.join(['sum'] + sorted(keys))
        body = json.dumps({'idempotencyKey': key, 'payload': {'id': key}}).encode()
        call = urllib.request.Request(os.environ['QUERN_SINK_URL'] + '/v1/effects', body, {'Idempotency-Key': key})
        urllib.request.urlopen(call).read()
    for message in messages:
        sqs.delete_message(QueueUrl=queue, ReceiptHandle=message['ReceiptHandle'])
"""
SPLIT = r"""awk -F+ '{ for (i = 2; i <= NF; i++) print $0 "\t" $i }'"""
SCENARIO = "base.ack-after-effect"


def check(folder, *options):
    (folder / "sums.py").write_text(SUMS)
    answer = run("check", "--only", SCENARIO, *options, "--json", "report.json", "--keep", "kept", "--",
                 "/usr/bin/python3", "sums.py", cwd=folder, timeout_s=120)
    (found,) = json.loads((folder / "report.json").read_text())["scenarios"]
    return answer, found


def test_sums_are_effects_of_the_messages_in_them(tmp_path):
    answer, found = check(tmp_path, "--key-map", SPLIT)
    assert (answer.returncode, found["verdict"]) == (0, "PASS"), answer.stdout
    assert found["accounting"]["applied"] == found["accounting"]["attempts"] == 12
    # The trace tells it too, so that it can be judged again without the command.
    answer = run("judge", str(tmp_path / "kept" / (SCENARIO + ".jsonl")))
    assert answer.returncode == 0, answer.stdout


def test_without_the_map_nobody_knows_what_a_sum_is(tmp_path):
    answer, found = check(tmp_path)
    assert (answer.returncode, found["verdict"]) == (1, "FAIL")
    broken = {one["name"] for one in found["invariants"] if one["result"] == "fail"}
    assert "ACK-AFTER-EFFECT" in broken


@pytest.mark.parametrize("command, told", [
    ("cat", 'line 1: the key of an effect, a tab and the key of a message are expected, not "sum+'),
    ("sed 's/$/\\tk-999/'", "line 1: no message has the key k-999"),
    ("echo broken >&2; exit 3", "--key-map ended with exit code 3: broken"),
])
def test_a_map_that_cannot_be_used_is_an_error(tmp_path, command, told):
    answer, found = check(tmp_path, "--key-map", command)
    assert (answer.returncode, found["verdict"]) == (4, "ERROR")
    assert told in found["text"], found["text"]
