"""Scenarios that count on the effect sink are run another way where nobody calls it: of a consumer
whose effects a command counts, they find the same mistakes."""
import json
import pathlib
import sys

import pytest
import traces_made
from commands import run

CONSUMER = pathlib.Path(__file__).resolve().parent / "own/faulty_inbox.py"
GOOD = '{"schemaVersion": 1, "idempotencyKey": "{{id}}", "payload": {"id": "{{id}}"}}'
BODIES = ["--body", "good=good.json", "--body", "poison=bad.json"]
NOTHING_TOLD = """import os, urllib.error, urllib.request
import boto3
queue = boto3.client("sqs")
url = os.environ["QUERN_QUEUE_URL"]
while True:
    for message in queue.receive_message(QueueUrl=url, WaitTimeSeconds=20).get("Messages", []):
        body = message["Body"].encode()
        try:
            urllib.request.urlopen(os.environ["QUERN_SINK_URL"] + "/effects", body)
        except urllib.error.HTTPError:
            pass
        queue.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
"""
FOUND = [
    ("std.crash-after-effect-before-delete", "adds-again", [], "ONCE"),
    ("lease.lost-mid-work", "adds-again", [], "ONCE"),
    ("scale.join-leave", "adds-again", [], "ONCE"),
    ("chaos.soak", "adds-again", ["--shrink", "0", "--minutes", "0.25"], "ONCE"),
    ("poison.reaches-dlq-exactly", "none", [*BODIES, "--poison", "dlq"], "DLQ-EXACT"),
    ("poison.crashes-consumer", "deletes-first", [], "NOT-DELETED"),
    ("shutdown.sigterm-drains", "ends-at-once", [], "DELETED-AT-EXIT"),
    ("shutdown.while-sqs-is-down", "deletes-for-ever", ["--grace", "3s"], "EXIT-IN-GRACE"),
    ("error.resets-and-truncation", "dies-of-errors", [], "SURVIVES"),
    ("batch.slow-message-does-not-block", "none", ["--concurrency", "2"], "PROGRESS"),
    ("lease.heartbeat-extends", "lets-leases-lapse", ["--heartbeat", "yes"], "ONE-LEASE"),
]


def check(folder, mistake, *words, counts=True):
    command = [sys.executable, str(CONSUMER)]
    words += ("--effects-cmd", "%s %s --effects" % tuple(command)) if counts else ()
    (folder / "good.json").write_text(GOOD)
    (folder / "bad.json").write_text('{"schemaVersion": 1}')
    answer = run("check", *words, "--env", "MISTAKE=" + mistake, "--json", "report.json", "--", *command,
                 cwd=folder, timeout_s=300)
    report = json.loads((folder / "report.json").read_text())
    text = answer.stdout + answer.stderr
    assert "observed semantics: %s\n" % report["summary"]["semantics"] in text
    return {one["id"]: one for one in report["scenarios"]}, text


def broken(scenario):
    return [one["name"] for one in scenario["invariants"] if one["result"] == "fail"]


@pytest.mark.parametrize("scenario, mistake, options, name", FOUND, ids=[row[0] for row in FOUND])
def test_the_mistake_is_found(tmp_path, scenario, mistake, options, name):
    seen, text = check(tmp_path, mistake, "--only", scenario, *options)
    assert seen[scenario]["verdict"] == "FAIL", text
    assert name in broken(seen[scenario]), text
    semantics = {"ONCE": "at-least-once", "NO-LOSS": "at-most-once"}.get(name)
    assert semantics is None or "observed semantics: %s\n" % semantics in text, text


def test_who_turns_out_not_to_call_the_sink_is_run_once_more(tmp_path):
    seen, text = check(tmp_path, "ends-at-once", "--only", "shutdown.sigterm-drains", counts=False)
    assert "DELETED-AT-EXIT" in broken(seen["shutdown.sigterm-drains"]), text
    assert "observed semantics: not observable" in text, text
    assert text.count("shutdown.sigterm-drains  ") == 1, text


def test_the_right_consumer_passes(tmp_path):
    names = {row[0] for row in FOUND} - {"chaos.soak", "batch.slow-message-does-not-block", "poison.reaches-dlq-exactly", "lease.heartbeat-extends"}
    seen, text = check(tmp_path, "none", "-j", "4",
                       *(word for name in ["base.drain-and-profile", *sorted(names)] for word in ("--only", name)))
    assert {name: one["verdict"] for name, one in seen.items()} == dict.fromkeys(names | {"base.drain-and-profile"}, "PASS"), text
    assert "observed semantics: effectively-once" in text, text


def test_who_tells_the_sink_only_what_it_cannot_take_is_judged_by_it(tmp_path):
    """Deleting is all that it does right: without the refusals nothing of it would be seen."""
    worker = tmp_path / "worker.py"
    worker.write_text(NOTHING_TOLD)
    answer = run("check", "--only", "std.crash-after-effect-before-delete", "--json", "report.json", "--",
                 sys.executable, str(worker), cwd=tmp_path, timeout_s=120)
    text = answer.stdout + answer.stderr
    seen = json.loads((tmp_path / "report.json").read_text())["scenarios"][0]
    assert (answer.returncode, seen["verdict"]) == (1, "FAIL"), text
    assert "NO-LOSS" in broken(seen), text
    count = seen["accounting"]["sink_refused"]["not_taken"]
    assert count > 0
    assert "| the sink could not take %d calls: 404 no such call (POST /effects)\n" % count in text, text


def test_a_loss_shows_the_end_of_who_had_deleted(tmp_path):
    lines = traces_made.Trace(must=["NO-LOSS"])
    lines.send("k-000")
    lines.lease("k-000")
    lines.begin("k-000")
    lines.delete("k-000")
    lines.proc("exit", pid=10, signal=9)
    lines.proc("spawn", pid=11)
    answer = run("judge", str(lines.end().write(tmp_path / "t.jsonl")))
    assert answer.returncode == 1
    assert "k-000 was deleted without any effect, and then its process died" in answer.stdout, answer.stdout
    assert "> 7 k-000 deleted, by #1\n" in answer.stdout and "> 8 #1 ends (signal 9)\n" in answer.stdout, answer.stdout


def test_a_command_that_told_of_nothing_is_named(tmp_path):
    lines = traces_made.Trace(must=["NO-LOSS"], level=1)
    lines.send("k-000")
    lines.lease("k-000")
    lines.delete("k-000")
    lines.add("effect.count", k="k-000", count=0)
    answer = run("judge", str(lines.end().write(tmp_path / "t.jsonl")))
    assert answer.returncode == 1
    assert "k-000 was deleted, and --effects-cmd told of no effect at all" in answer.stdout, answer.stdout


def test_counts_of_a_command_go_before_calls_that_the_sink_cannot_take(tmp_path):
    lines = traces_made.Trace(must=["NO-LOSS"], level=0)
    lines.send("k-000")
    lines.lease("k-000")
    lines.add("refused", status=404, target="POST /health", reason="no such call", instance="QUERN0001")
    lines.delete("k-000")
    lines.add("effect.count", k="k-000", count=1)
    answer = run("judge", str(lines.end().write(tmp_path / "t.jsonl")))
    assert answer.returncode == 0 and "NO-LOSS              held" in answer.stdout, answer.stdout


@pytest.mark.parametrize("end, declared, told", [
    ({"exit": 0}, None, None),
    ({"exit": 143}, None, None),
    ({"signal": 15}, None, None),
    ({"exit": 3}, [3], None),
    ({"exit": 3}, None, "  #1 ended with exit code 3 after SIGTERM (--expect-exit says which are proper)\n"),
    ({"exit": 0}, [3], "  #1 ended with exit code 0 after SIGTERM (--expect-exit says which are proper)\n"),
    ({"signal": 9}, None, "  #1 did not end after SIGTERM, and was killed\n"),
    ({"signal": 11}, None, "  #1 ended by signal 11 after SIGTERM\n"),
])
def test_an_end_that_is_not_proper_is_told_beside_the_verdict(tmp_path, end, declared, told):
    lines = traces_made.Trace(must=["NO-LOSS"], **({"declared": {"expect_exit": declared}} if declared else {}))
    lines.send("k-000")
    lines.lease("k-000")
    lines.begin("k-000")
    lines.commit("k-000")
    lines.delete("k-000")
    lines.add("mark", reason="end", queue="q", visible=0, in_flight=0, delayed=0)
    lines.proc("signal", pid=10, signal=15)
    lines.proc("exit", pid=10, **end)
    answer = run("judge", str(lines.write(tmp_path / "t.jsonl")))
    assert answer.returncode == 0, answer.stdout
    assert (told is None) == ("SIGTERM" not in answer.stdout) and (told or "") in answer.stdout, answer.stdout
