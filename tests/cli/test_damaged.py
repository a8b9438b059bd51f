"""Messages and answers that are not what their MD5 says: told with the id, never with what is in them."""
import json
import pathlib
import subprocess
import sys
import time

import boto3
import pytest

from commands import environment, run
from exchange import process

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "replay"))

from other_sqs import OtherSqs  # noqa: E402

LIMIT_S = 20


@pytest.fixture
def server(start):
    return start("--queue", "orders", "--queue", "other", "--queue", "jobs.fifo")


@pytest.fixture
def sqs(server):
    return boto3.client("sqs", endpoint_url=server.endpoint, region_name="us-east-1",
                        aws_access_key_id="test", aws_secret_access_key="test")


def damage(server, rule):
    status, answer = server.control("POST", "/_quern/rules", {"rule": rule})
    assert status < 300, answer


def until(holds):
    deadline = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_damaged_answer_to_an_import_is_a_failure_of_its_line(server, quern, tmp_path):
    damage(server, 'on SendMessageBatch where body."n" = 2 at post-commit do bad-md5')
    lines = tmp_path / "lines"
    lines.write_text("".join(json.dumps({"Body": json.dumps({"n": n, "is": "secret"})}) + "\n" for n in range(1, 4)))
    answer = quern("import", str(lines), "--to", "orders")
    assert answer.returncode == 1 and answer.stdout == "imported 2 messages into orders\n"
    (line,) = answer.stderr.splitlines()
    assert line.startswith("line 2: ChecksumMismatch: stored as ") and "its body has another MD5" in line
    assert "secret" not in line
    assert server.control("GET", "/_quern/queues/orders")[1]["visible"] == 3  # nothing was sent again


def test_a_receive_names_what_it_left_out(server, quern):
    for n in (1, 2):
        quern("send", "orders", json.dumps({"n": n, "is": "secret-%d" % n}))
    damage(server, 'on ReceiveMessage where body."n" = 1 at post-commit do bad-md5')
    answer = quern("receive", "orders")
    assert answer.returncode == 0 and "secret-2" in answer.stdout and "secret-1" not in answer.stdout
    (line,) = answer.stderr.splitlines()
    assert line.startswith("quern receive: message ") and "arrived damaged" in line


def test_a_move_names_what_stays_behind_and_moves_the_rest(server, quern):
    for n in (1, 2):
        quern("send", "orders", json.dumps({"n": n, "is": "secret-%d" % n}))
    damage(server, 'on ReceiveMessage where body."n" = 1 at post-commit do bad-md5')
    answer = quern("move", "orders", "other")
    assert (answer.returncode, answer.stdout) == (0, "moved 1 message from orders to other\n"), answer
    line, left = answer.stderr.splitlines()
    assert line.startswith("quern move: message ") and "arrived damaged" in line and "secret" not in line
    assert left.startswith("about 1 more ")
    assert server.control("GET", "/_quern/queues/orders")[1]["in_flight"] == 1


def test_an_export_by_receiving_names_what_is_not_in_it(server, quern, tmp_path):
    for n in (1, 2):
        quern("send", "orders", json.dumps({"n": n, "is": "secret-%d" % n}))
    damage(server, 'on ReceiveMessage where body."n" = 1 at post-commit do bad-md5')
    other = OtherSqs(server, lambda action, document: document, set())
    try:
        answer = run("export", "orders", AWS_ENDPOINT_URL=other.endpoint, AWS_MAX_ATTEMPTS="1")
    finally:
        other.stop()
    assert "secret-2" in answer.stdout and "secret-1" not in answer.stdout
    (line,) = [line for line in answer.stderr.splitlines() if "damaged" in line]
    assert line.startswith("quern export: message ") and "secret" not in line


def test_a_message_is_named_also_when_there_is_no_other(server, quern):
    quern("send", "orders", "{\"n\": 1}")
    damage(server, "on ReceiveMessage at post-commit do bad-md5")
    answer = run("receive", "orders", "--visibility", "0", AWS_ENDPOINT_URL=server.endpoint, AWS_MAX_ATTEMPTS="1")
    line, refusal = answer.stderr.splitlines()
    assert answer.returncode == 1 and "arrived damaged" in line and "ChecksumMismatch" in refusal


def test_a_consumer_counts_what_is_damaged_and_begins_nothing_behind_it_in_its_group(server, quern, sqs, tmp_path):
    url = sqs.get_queue_url(QueueName="jobs.fifo")["QueueUrl"]
    ids = [sqs.send_message(QueueUrl=url, MessageBody=json.dumps({"n": n}), MessageGroupId=group,
                            MessageDeduplicationId=str(n))["MessageId"]
           for n, group in enumerate("aab")]
    damage(server, 'on ReceiveMessage where body."n" = 0 once at post-commit do bad-md5')
    with open(tmp_path / "log", "wb") as log:
        consumer = subprocess.Popen(
            [process.program(), "consume", "jobs.fifo", "--", "sh", "-c", 'printf "%s\\n" "$(cat)" >>"$0"', str(tmp_path / "done")],
            stdin=subprocess.DEVNULL, stderr=log, env=environment(AWS_ENDPOINT_URL=server.endpoint))

    def done():
        path = tmp_path / "done"
        return [json.loads(line)["n"] for line in path.read_text().splitlines() if line] if path.exists() else []

    try:
        until(lambda: len(done()) > 0)
        server.advance_ms(31000)
        until(lambda: len(done()) == 3)
    finally:
        consumer.terminate()
        assert consumer.wait(LIMIT_S) == 0
    assert [n for n in done() if n != 2] == [0, 1]
    told = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [line["message_id"] for line in told if line["event"] == "message.damaged"] == [ids[0]]
    assert [line for line in told if line["event"] == "counters"][-1]["damaged"] == 1
