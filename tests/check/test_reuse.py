"""--reuse: one process for several scenarios, and a new one wherever it would see a difference."""
import json
import pathlib
import re
import signal
import subprocess
import sys

import jsonschema
import pytest
from commands import environment, refused, run
from exchange import process
from test_jobs import left_of, wait_until

HERE = pathlib.Path(__file__).resolve().parent
SCHEMA = json.loads((HERE.parents[1] / "chaos/check/report/report.schema.json").read_text())
CONSUMER = [sys.executable, str(HERE / "one_by_one.py")]
PLAIN = {
    "title": "x", "profiles": ["standard", "fifo"], "severity": "must", "needs": ["sink"], "tier": 2,
    "queue": {"name": "q", "visibility": "V", "dlq": "q-dlq", "max_receive": 5},
    "instances": {"count": 1, "restart": "always", "delay": "200ms"},
    "load": ["ok count=3"], "faults": [], "end": {"drained_within": "3*V+10s"},
    "must": ["NO-LOSS", "ONCE", "DRAINED"], "why": "x", "fix": "x",
}
KILL = "on sink.work.commit once do kill instance as crash"
LOST = "on Delete* once at pre-commit do fake-success as lost"
SCENARIOS = {
    "mine.a": {}, "mine.b": {"faults": [LOST]}, "mine.c": {"load": ["ok count=5 work=10ms"]},
    "mine.killed": {"faults": [KILL]}, "mine.longer": {"queue": {**PLAIN["queue"], "visibility": "V+3s"}},
    "mine.several": {"instances": {**PLAIN["instances"], "count": 2}},
}
KEPT = ("mine.a", "mine.b", "mine.c")


def words_for(folder, names):
    """Their files, and that only they are run."""
    words = []
    for name in names:
        file = folder / f"{name}.json"
        file.write_text(json.dumps({"id": name, **PLAIN, **SCENARIOS[name]}))
        words += ["--scenario", str(file), "--only", name]
    return ["check", "--reuse", "--concurrency", "1", "--seed", "7", "--grace", "2s", *words]


def check(folder, names, *words, consumer=CONSUMER):
    report = folder / "report.json"
    temporary = folder / "tmp"
    temporary.mkdir()
    answer = run(*words_for(folder, names), "--json", str(report), *words, "--", *consumer, timeout_s=120,
                 TMPDIR=str(temporary))
    assert answer.stderr == ""
    assert left_of(temporary) == [] and list(temporary.iterdir()) == []
    told = json.loads(report.read_text())
    jsonschema.validate(told, SCHEMA)
    return answer, {one["id"]: one for one in told["scenarios"]}


def events(folder, scenario):
    lines = [json.loads(line) for line in (folder / f"{scenario}.jsonl").read_text().splitlines()]
    return lines[0], lines[1:]


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    answer, scenarios = check(folder, SCENARIOS, "--keep", str(folder / "traces"))
    assert answer.returncode == 0, answer.stdout
    return answer, scenarios, folder / "traces"


def test_scenarios_between_which_nothing_differs_have_one_process(kept):
    answer, scenarios, traces = kept
    assert scenarios[KEPT[0]]["process"] == {"started": "nothing was kept so far"}
    pids = [event["pid"] for event in events(traces, KEPT[0])[1] if event.get("what") == "spawn"]
    for name in KEPT[1:]:
        assert scenarios[name]["process"] == {"kept_from": KEPT[0]}
        header, trace = events(traces, name)
        assert header["run"]["process"] == {"kept_from": KEPT[0]}
        assert [event["pid"] for event in trace if event.get("what") in ("keep", "spawn")] == pids
        assert re.search(rf"PASS  {name} .*\(process of {KEPT[0]}\)", answer.stdout)


def test_what_a_process_cannot_be_kept_for_is_started_anew_and_said(kept):
    answer, scenarios, _ = kept
    said = {name: one["process"].get("started", "") for name, one in scenarios.items()}
    assert said["mine.killed"] == "a rule is about the process"
    assert "VisibilityTimeout=" in said["mine.longer"] or said["mine.longer"].startswith("after mine.killed: ")
    assert said["mine.several"].startswith("it would see instances: 2 in place of instances: 1")
    for text in (said["mine.killed"], said["mine.longer"], said["mine.several"]):
        assert f"(new process: {text})" in answer.stdout


def test_a_kept_process_begins_with_nothing_of_the_scenario_before(kept):
    _, scenarios, traces = kept
    for name in KEPT[1:]:
        _, trace = events(traces, name)
        own = {event["mid"] for event in trace if event["kind"] == "load"}
        assert {event["mid"] for event in trace if event["kind"] == "lease.grant"} == own
        kinds = [event["kind"] for event in trace]
        assert kinds.index("load") < kinds.index("lease.grant")
        assert [event["reason"] for event in trace if event["kind"] == "mark"] == ["ready", "end"]
        assert not [event for event in trace if event["kind"] == "log"]  # it said "up" long ago
        assert {rule["rule"]: rule["fired"] for rule in scenarios[name]["faults"]} == ({"lost": 1} if name == "mine.b" else {})
        replayed = [event["k"] for event in trace if event["kind"] == "work.commit" and event.get("replayed")]
        assert len(replayed) == (name == "mine.b")  # the lost delete; the ledger of before is gone


def test_a_fifo_queue_takes_no_message_for_a_copy_of_an_older_one(tmp_path):
    answer, scenarios = check(tmp_path, KEPT[:2], "--profile", "fifo")
    assert answer.returncode == 0, answer.stdout
    assert scenarios[KEPT[1]]["process"] == {"kept_from": KEPT[0]}


def test_a_variable_that_names_the_scenario_is_a_difference(tmp_path):
    _, scenarios = check(tmp_path, KEPT[:2], "--env", "NAME={scenario}")
    assert scenarios[KEPT[1]]["process"] == {"started": "it would see NAME=mine.b in place of NAME=mine.a"}


def test_who_carries_something_over_is_judged_by_a_process_of_its_own(tmp_path):
    answer, scenarios = check(tmp_path, KEPT, consumer=[*CONSUMER, "--remembers"])
    assert answer.returncode == 0, answer.stdout
    again, later = scenarios["mine.b"], scenarios["mine.c"]
    assert again["verdict"] == "PASS" and "in a process of its own; in one that was kept: FAIL" in again["text"]
    assert again["process"] == {"started": "its verdict in the one kept from mine.a was FAIL"}
    assert later["process"] == {"started": "none is kept since mine.b, which a kept one did not pass"}


def test_side_by_side_each_keeps_its_own(tmp_path):
    answer, scenarios = check(tmp_path, SCENARIOS, "-j", "2")
    assert {one["verdict"] for one in scenarios.values()} == {"PASS"}, answer.stdout
    assert sum("kept_from" in one["process"] for one in scenarios.values()) >= 1


def test_who_runs_elsewhere_is_never_kept(tmp_path):
    answer = run(*words_for(tmp_path, KEPT[:1]), "--start-cmd", "exec " + " ".join(CONSUMER))
    assert "(new process: it runs elsewhere (--start-cmd, --stop-cmd, --kill-cmd))" in answer.stdout, answer.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_end_in_the_middle_leaves_nothing_behind(tmp_path, number):
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    child = subprocess.Popen([process.program(), *words_for(tmp_path, KEPT), "--", *CONSUMER], stdout=subprocess.PIPE,
                             text=True, env=environment(TMPDIR=str(temporary)))
    line = "x"
    while line and "PASS  mine.a" not in line:
        line = child.stdout.readline()
    assert line
    child.send_signal(number)
    child.communicate(timeout=30)
    wait_until(lambda: left_of(temporary) == [])


def test_reuse_takes_no_argument():
    assert "--reuse" in refused("check", "--reuse=yes", "--", "true")
