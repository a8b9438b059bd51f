"""A verdict names what is really wrong with a consumer, and nobody waits for what cannot come."""
import json
import re
import sys
import xml.etree.ElementTree as ElementTree

import pytest
from commands import run

FUNCTION = ["--profile", "lambda", "--only", "lambda.duplicate-batch", "--only", "lambda.partial-batch"]
CRASHES = [sys.executable, "-c", "print('about to import', flush=True)\nimport no_such_module\n"]
MODULE_MISSING = "ModuleNotFoundError: No module named 'no_such_module'"


def check(folder, *options, command, timeout_s=120):
    """How it ended, and its scenarios by id."""
    report = folder / "report.json"
    answer = run("check", "--seed", "7", "--json", str(report), *options, "--", *command, timeout_s=timeout_s)
    assert report.exists(), answer.stdout + answer.stderr
    return answer, {one["id"]: one for one in json.loads(report.read_text())["scenarios"]}



def test_a_function_that_crashes_at_its_start_is_no_function_that_loses_messages(tmp_path):
    kept, junit = tmp_path / "kept", tmp_path / "junit.xml"
    answer, scenarios = check(tmp_path, *FUNCTION, "--keep", str(kept), "--junit", str(junit), command=CRASHES)
    crashed = scenarios["lambda.duplicate-batch"]
    assert crashed["verdict"] == "INCONCLUSIVE" and answer.returncode == 3, answer.stdout
    assert crashed["text"].startswith("the function never asked for an event: it left with status 1; "), crashed["text"]
    assert MODULE_MISSING in crashed["text"]
    log = kept / "lambda.duplicate-batch.instance-1.log"
    assert f"(its log: {log})" in crashed["text"] and MODULE_MISSING in log.read_text()
    assert re.search(r" INCO  lambda\.duplicate-batch .* the function never asked for an event", answer.stdout)
    said = ElementTree.parse(junit).find(".//testcase[@name='duplicate-batch']/error").get("message")
    assert said == crashed["text"]
    assert scenarios["lambda.partial-batch"]["text"] == "not run: the consumer never got going in lambda.duplicate-batch"
    # The same from the trace alone.
    judged = run("judge", str(kept / "lambda.duplicate-batch.jsonl"))
    assert "the function never asked for an event: it left with status 1" in judged.stdout, judged.stdout


def test_a_function_that_never_asks_for_its_first_event_is_told_when_the_time_for_its_start_is_over(tmp_path):
    kept = tmp_path / "kept"
    answer, scenarios = check(tmp_path, *FUNCTION[:4], "--keep", str(kept), command=["sleep", "600"])
    silent = scenarios["lambda.duplicate-batch"]
    assert (answer.returncode, silent["verdict"]) == (3, "INCONCLUSIVE"), answer.stdout
    assert "the function never asked for an event: it did not ask for an event within 10 s of its start" in silent["text"]
    trace = (kept / "lambda.duplicate-batch.jsonl").read_text().splitlines()
    assert sum(json.loads(line)["kind"] == "lambda.not_started" for line in trace) == 2  # one time each


def test_a_worker_that_crashes_at_its_start_has_its_log_named(tmp_path):
    only = ["--only", "std.delete-lost"]
    _, scenarios = check(tmp_path, *only, "--keep", str(tmp_path / "kept"), command=CRASHES)
    log = tmp_path / "kept" / "std.delete-lost.instance-1.log"
    text = scenarios["std.delete-lost"]["text"]
    assert "before its first ReceiveMessage (exit code 1)" in text and text.endswith(f"(its log: {log})"), text
    assert MODULE_MISSING in log.read_text()
    _, scenarios = check(tmp_path, *only, command=CRASHES)
    assert scenarios["std.delete-lost"]["text"].endswith("(--keep DIR keeps its log)"), scenarios


def test_a_function_that_says_that_it_cannot_start_is_quoted(tmp_path):
    says = ("import http.client, json, os\n"
            "http.client.HTTPConnection(os.environ['AWS_LAMBDA_RUNTIME_API']).request('POST',\n"
            "    '/2018-06-01/runtime/init/error', json.dumps({'errorType': 'Runtime.Import', 'errorMessage': 'no app'}))\n"
            "import time; time.sleep(60)\n")
    answer, scenarios = check(tmp_path, *FUNCTION[:4], command=[sys.executable, "-c", says])
    assert answer.returncode == 3
    assert "the function never asked for an event: Runtime.Import: no app" in scenarios["lambda.duplicate-batch"]["text"]


@pytest.mark.parametrize("command", [["sh", "-c", "exit 3"], ["sleep", "300"]], ids=["ends-at-once", "never-asks"])
@pytest.mark.parametrize("jobs", ["1", "4"])
def test_what_never_gets_going_is_tried_once(tmp_path, command, jobs):
    answer, scenarios = check(tmp_path, "-j", jobs, "--only", "base.*", "--only", "std.delete-*", "--startup-timeout", "1s",
                              "--grace", "300ms", command=command)
    assert answer.returncode == 3, answer.stdout
    assert scenarios.pop("base.drain-and-profile")["verdict"] == "INCONCLUSIVE"
    assert len(scenarios) >= 4
    assert {(one["verdict"], one["reason"]) for one in scenarios.values()} == {
        ("SKIP", "not run: the consumer never got going in base.drain-and-profile")}


def test_what_was_not_run_is_a_skip_that_no_skip_fails(tmp_path):
    answer, _ = check(tmp_path, "--no-skip", "--only", "base.*", command=["sh", "-c", "exit 3"])
    assert answer.returncode == 1, answer.stdout


def test_who_ends_because_the_queue_is_missing_is_asked_again(tmp_path):
    """error.queue-missing makes its queue later: who gives up before has another chance in the next scenario."""
    _, scenarios = check(tmp_path, "--only", "error.queue-missing", "--only", "payload.reference", "--only",
                         "server.crash-and-restart", "--startup-timeout", "1s", "--grace", "300ms",
                         command=["sh", "-c", "exit 3"])
    assert "not run" not in scenarios["server.crash-and-restart"]["text"]


# One message at a time. It would keep its lease, but asks for more than SQS takes.
WRONG_HEARTBEAT = """
import json, os, threading, urllib.error, urllib.request

def sqs(action, **fields):
    key = os.environ["AWS_ACCESS_KEY_ID"]
    request = urllib.request.Request(os.environ["AWS_ENDPOINT_URL"], json.dumps({"QueueUrl": os.environ["QUEUE_URL"], **fields}).encode(), {
        "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS." + action,
        "Authorization": "AWS4-HMAC-SHA256 Credential=%s/20260101/us-east-1/sqs/aws4_request, SignedHeaders=host, Signature=00" % key})
    try:
        return json.load(urllib.request.urlopen(request))
    except urllib.error.HTTPError as error:
        print(error.read().decode(), flush=True)
        return {}
    except ValueError:
        return {}

def extend(handle, done):
    while not done.wait(1):
        sqs("ChangeMessageVisibility", ReceiptHandle=handle, VisibilityTimeout=99999)

while True:
    for message in sqs("ReceiveMessage", WaitTimeSeconds=2).get("Messages", []):
        done = threading.Event()
        threading.Thread(target=extend, args=(message["ReceiptHandle"], done), daemon=True).start()
        body = message["Body"]
        post = urllib.request.Request(os.environ["QUERN_SINK_URL"] + "/v1/effects", body.encode(), {
            "Idempotency-Key": json.loads(body).get("idempotencyKey", message["MessageId"]), "X-Quern-Message-Id": message["MessageId"]})
        try:
            urllib.request.urlopen(post)
            sqs("DeleteMessage", ReceiptHandle=message["ReceiptHandle"])
        except urllib.error.HTTPError:
            pass
        done.set()
"""


def test_a_heartbeat_that_sqs_refuses_is_judged_as_one_and_the_refusal_is_told(tmp_path):
    page, junit = tmp_path / "page.html", tmp_path / "junit.xml"
    answer, scenarios = check(tmp_path, "--only", "lease.heartbeat-extends", "--html", str(page), "--junit", str(junit),
                              command=[sys.executable, "-c", WRONG_HEARTBEAT])
    seen = scenarios["lease.heartbeat-extends"]
    assert seen["verdict"] == "FAIL" and answer.returncode == 1, answer.stdout
    (refused,) = seen["refused"]
    assert refused["count"] >= 2 and refused["action"] == "ChangeMessageVisibility"
    assert refused["code"] == "InvalidParameterValue" and "99999 for parameter VisibilityTimeout" in refused["message"]
    line = f"{refused['count']} ChangeMessageVisibility calls were refused: InvalidParameterValue: {refused['message']}"
    assert f"       | {line}\n" in answer.stdout, answer.stdout
    assert line in page.read_text() and line in ElementTree.parse(junit).find(".//failure").text


# Waits a second for the sink, and then no longer; the message comes again.
IMPATIENT = WRONG_HEARTBEAT.replace("urlopen(post)", "urlopen(post, timeout=1)").replace(
    "except urllib.error.HTTPError:\n            pass", "except OSError:\n            pass").replace("done.wait(1)", "done.wait(600)")


def test_a_call_of_the_sink_that_the_consumer_gives_up_stands_in_the_trace(tmp_path):
    kept = tmp_path / "kept"
    check(tmp_path, "--only", "lease.hung-handler-released", "--keep", str(kept), command=[sys.executable, "-c", IMPATIENT])
    events = [json.loads(line) for line in (kept / "lease.hung-handler-released.jsonl").read_text().splitlines()]
    left = [event for event in events if event["kind"] == "work.left"]
    assert left and all(re.fullmatch(r"after 1\.\d s", event["reason"]) for event in left), left
