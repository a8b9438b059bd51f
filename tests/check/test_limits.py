"""How long a consumer has for a scenario."""
import json
import os
import pathlib
import sys

from commands import run

WORKER = [sys.executable, str(pathlib.Path(__file__).parent.parent / "consumers" / "reference.py")]


def scenario(**over):
    return {
        "id": "my.redrive", "title": "dead letters come back late", "profiles": ["standard"],
        "severity": "must", "needs": ["sink"],
        "queue": {"name": "q", "visibility": "V", "dlq": "q-dlq", "max_receive": 1},
        "load": ["ok count=1 work=20ms", "flaky count=1 fails=always work=2s"],
        "end": {"drained_within": "5s"},
        "must": ["NO-LOSS", "ONCE", "DRAINED"],
        **over,
    }


def verdict(folder, *options, **over):
    (folder / "own.json").write_text(json.dumps(scenario(**over)))
    answer = run("check", "--scenario", "own.json", "--only", "my.redrive", "--json", "report.json", "--seed", "7", *options,
                 "--", *WORKER, cwd=folder, timeout_s=120)
    told = [one for one in json.loads((folder / "report.json").read_text())["scenarios"] if one["id"] == "my.redrive"]
    return told[0]["verdict"], answer.stdout + answer.stderr


def test_who_gets_dead_letters_back_has_the_time_again(tmp_path):
    fix = "on msg.dlq once do outcome ok for key=k-001 then jump 100s then redrive of {dlq} as fix"
    told, text = verdict(tmp_path, faults=[fix])
    assert told == "PASS", text


def test_the_time_is_over_all_the_same_without_them(tmp_path):
    told, text = verdict(tmp_path, faults=["on sink.work.begin where key=k-000 once do jump 100s force as late"],
                         load=["ok count=1 work=3s"])
    assert told == "FAIL" and "DRAINED" in text, text


def test_the_clock_of_the_sink_goes_with_the_one_that_a_rule_moves(tmp_path):
    """Half of the work before, half behind: its end is not seen a hundred seconds too early."""
    verdict(tmp_path, "--keep", "kept", faults=["on sink.work.begin where key=k-000 once do jump 100s force as late"],
            load=["ok count=1 work=1s"])
    events = [json.loads(line) for line in (tmp_path / "kept/my.redrive.jsonl").read_text().splitlines()[1:]]
    (begun,) = [event for event in events if event["kind"] == "work.begin"]
    (done,) = [event for event in events if event["kind"] == "work.commit"]
    assert done["vt"] - begun["vt"] >= 100990  # by two clocks, which agree to some milliseconds


def test_what_a_busy_machine_takes_is_in_the_trace(tmp_path):
    """Two that share a processor wait for each other."""
    spin = "taskset -c %d sh -c 'while :; do :; done' & " % min(os.sched_getaffinity(0))
    (tmp_path / "own.json").write_text(json.dumps(scenario(load=["ok count=2 work=500ms"])))
    answer = run("check", "--scenario", "own.json", "--only", "my.redrive", "--keep", "kept", "--", "sh", "-c",
                 spin + spin + 'exec "$@"', "sh", *WORKER, cwd=tmp_path, timeout_s=120)
    assert answer.returncode == 0, answer.stdout
    events = [json.loads(line) for line in (tmp_path / "kept/my.redrive.jsonl").read_text().splitlines()[1:]]
    assert sum(event["n"] for event in events if event["kind"] == "busy") >= 50
