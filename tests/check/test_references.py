"""Messages that point to their payload: late, gone, or with other bytes in its place."""
import json
import pathlib

import pytest
from commands import run

POINTING = ["/usr/bin/python3", str(pathlib.Path(__file__).resolve().parents[1] / "consumers/pointing.py")]
SCENARIO = "payload.reference"


def check(folder, *words, options=("--references",), command=POINTING, code=0):
    answer = run("check", "--only", SCENARIO, *options, "--json", "report.json", "--keep", "kept", "--", *command,
                 *words, cwd=folder, timeout_s=150)
    assert answer.returncode == code, answer.stdout + answer.stderr
    (found,) = json.loads((folder / "report.json").read_text())["scenarios"]
    return found, answer.stdout


def events(folder, kind):
    lines = (folder / "kept" / (SCENARIO + ".jsonl")).read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["kind"] == kind]


def results(found):
    return {one["name"]: one["result"] for one in found["invariants"]}


@pytest.mark.parametrize("profile", ["standard", "fifo"])
def test_who_compares_applies_what_was_sent_and_nothing_else(tmp_path, profile):
    found, text = check(tmp_path, options=["--references", "--profile", profile])
    assert found["verdict"] == "INFO", text  # as all of its severity
    assert results(found).items() >= {"VERIFIED": "pass", "NOT-MADE-UP": "pass", "ARRIVED": "pass"}.items()
    assert {event["k"] for event in events(tmp_path, "work.commit")} == {"k-000", "k-001", "k-002", "k-003"}
    fetched = [(event["k"], event["status"]) for event in events(tmp_path, "fetch")]
    assert fetched.count(("k-004", 200)) == 1, "other bytes are not asked for again"
    assert len([one for one in fetched if one == ("k-005", 404)]) > 1, "what is gone may only be late"
    assert ("k-001", 200) in fetched
    assert [event["k"] for event in events(tmp_path, "reject")] == ["k-004"]
    assert [event["rule"] for event in events(tmp_path, "fault")] == ["late"]
    dead = json.loads((tmp_path / "kept" / (SCENARIO + ".jsonl")).read_text().splitlines()[0])["run"]["dead"]
    assert dead == ["k-004", "k-005"]


def test_who_trusts_the_bytes_is_told_of(tmp_path):
    found, text = check(tmp_path, "--trust")
    assert found["verdict"] == "INFO", text
    assert results(found).items() >= {"VERIFIED": "fail", "NOT-MADE-UP": "fail", "ARRIVED": "pass"}.items()


def test_it_is_for_those_who_say_that_they_follow_references(tmp_path):
    found, _ = check(tmp_path, options=(), code=3)
    assert found["verdict"] == "SKIP"
    assert "(--references)" in found["text"]


def test_who_says_so_and_asks_for_nothing_has_no_verdict(tmp_path):
    found, _ = check(tmp_path, command=[POINTING[0], POINTING[1].replace("pointing", "reference")], code=3)
    assert found["verdict"] == "INCONCLUSIVE"
    assert "late" in found["text"]


def test_the_object_is_as_large_as_the_load_says_and_its_name_is_its_checksum(tmp_path):
    (tmp_path / "own.json").write_text(json.dumps({
        "id": SCENARIO + "-own", "title": "t", "profiles": ["standard"], "severity": "must", "needs": ["sink"],
        "tier": 2, "queue": {"name": "q", "visibility": "V", "dlq": "q-dlq", "max_receive": 5},
        "load": ["ok count=2 ref=stored size=100000"], "end": {"drained_within": "V+10s"},
        "must": ["DRAINED", "SEEN: count(fetch) == 2"], "why": "-", "fix": "-"}))
    answer = run("check", "--scenario", "own.json", "--only", SCENARIO + "-own", "--", *POINTING, cwd=tmp_path)
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_a_reference_of_another_kind_is_refused_with_what_there_is(tmp_path):
    (tmp_path / "own.json").write_text(json.dumps({
        "id": "own", "title": "t", "profiles": ["standard"], "severity": "must", "needs": ["sink"], "tier": 2,
        "queue": {"name": "q", "visibility": "V", "dlq": "q-dlq", "max_receive": 5}, "load": ["ok ref=lost"],
        "end": {"drained_within": "V"}, "must": ["DRAINED"], "why": "-", "fix": "-"}))
    answer = run("check", "--scenario", "own.json", "--", "true", cwd=tmp_path)
    assert answer.returncode == 2
    assert "ref=lost: what a message points to is stored, missing or changed" in answer.stderr
