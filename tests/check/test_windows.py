"""Faults that last until the consumer has noticed them."""
import json
import pathlib

import pytest
from commands import run

REFERENCE = pathlib.Path(__file__).resolve().parents[1] / "consumers/reference.py"
SCENARIO = {
    "id": "own.windows", "title": "slower, twice", "profiles": ["standard"], "severity": "must", "needs": ["none"],
    "tier": 1, "queue": {"name": "q", "visibility": "V", "dlq": "q-dlq", "max_receive": 5},
    "load": ["ok count=12", "ok count=3 window=200ms"],
    "faults": [{"rule": "on ReceiveMessage at arrive do throttle as first", "window": "1s"},
               {"rule": "on ReceiveMessage at arrive do 5xx 503 as second", "window": "0s"}],
    "end": {"drained_within": "3*V+60s"}, "must": ["BACKOFF", "DRAINED", "NO-LOSS"], "why": "-", "fix": "-"}


@pytest.fixture
def checked(tmp_path):
    def check(*words, code=0):
        (tmp_path / "own.json").write_text(json.dumps(SCENARIO))
        answer = run("check", "--scenario", "own.json", "--only", "own.windows", "--keep", "kept", "--seed", "3",
                     *words, "--", "/usr/bin/python3", str(REFERENCE), cwd=tmp_path, timeout_s=200)
        assert answer.returncode == code, answer.stdout + answer.stderr
        lines = (tmp_path / "kept/own.windows.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines[1:]]  # behind the header
    return check


def test_each_lasts_until_an_invocation_was_given_up(checked):
    events = checked()
    calls = {one["req"]: one for one in events if one["kind"] == "api.in" and one["action"] == "ReceiveMessage"}
    hits = {rule: [one for one in events if one["kind"] == "fault" and one["rule"] == rule]
            for rule in ("first", "second")}
    for rule, least_ms in ("first", 1000), ("second", 0):
        of_it = [(calls[one["req"]]["invocation"], one["wt"]) for one in hits[rule]]
        given_up = next(at for invocation, at in of_it if invocation != of_it[0][0])
        # The SDK itself tries more than once, so the rule has outlasted that.
        assert len(of_it) > len({invocation for invocation, _ in of_it}), of_it
        went_through = next(one for one in events if one["seq"] > hits[rule][-1]["seq"] and one["kind"] == "api.out"
                            and one["req"] in calls and one["code"] == "OK")
        assert calls[went_through["req"]]["wt"] >= given_up + least_ms, of_it
        assert rule == "second" or went_through["seq"] < hits["second"][0]["seq"]
    late = [one["seq"] for one in events if one["kind"] == "load"][-3:]
    assert min(late) > hits["second"][0]["seq"]


def test_without_its_windows_the_load_comes_all_the_same(checked):
    events = checked("--faults", "none", code=3)  # BACKOFF was not put to the test
    assert len([one for one in events if one["kind"] == "load" and one["code"] == "OK"]) == 15
    assert not [one for one in events if one["kind"] == "fault"]
