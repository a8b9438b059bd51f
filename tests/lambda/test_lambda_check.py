"""`quern check --profile lambda`: a function that is right passes, and each mistake is named.

The expectations are typed by hand from the specification of the suite; nothing of the suite reads them.
"""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

import pytest
from exchange import process

HERE = pathlib.Path(__file__).resolve().parent
FUNCTION = HERE.parent / "consumers/lambda/lambda_fn"
LIMIT_S = 300
AT_ONCE = 3

# bug, scenario, invariant, level: F for FAIL, W for WARN
MUTANTS = [
    ("lambda-throw", "lambda.bad-record-does-not-throw", "ONE-LEASE", "F"),
    ("lambda-throw", "lambda.partial-batch", "ONE-LEASE", "F"),
    ("lambda-throw", "lambda.poison-to-dlq", "ONE-LEASE", "F"),
    ("lambda-swallow", "lambda.partial-batch", "NO-LOSS", "F"),
    ("lambda-swallow", "lambda.poison-to-dlq", "NO-LOSS", "F"),
    ("lambda-wrong-id", "lambda.response-shape", "IDS-IN-BATCH", "F"),
    ("lambda-wrong-id", "lambda.partial-batch", "IDS-IN-BATCH", "F"),
    ("lambda-wrong-key", "lambda.response-shape", "SHAPE", "F"),
    ("lambda-fifo-skips", "lambda.fifo-stop-and-return-rest", "GROUP-ORDER", "F"),
    ("lambda-ignores-deadline", "lambda.timeout", "REST-RETURNED", "W"),
    ("no-idempotency", "lambda.timeout", "ONCE", "F"),
    ("no-idempotency", "lambda.duplicate-batch", "ONCE", "F"),
    ("memory-only-dedupe", "lambda.duplicate-batch", "ONCE", "F"),
]
RULES = {
    "id": "mine.rules", "title": "what Lambda itself may do", "profiles": ["lambda"], "severity": "must", "needs": ["none"],
    "tier": 1, "queue": {"name": "q", "visibility": "V", "dlq": "q-dlq", "max_receive": 5},
    "lambda": {"batch_size": 1, "concurrency": 2}, "load": ["ok count=6 work=20ms"],
    "faults": ["on invoke nth 2 do status 429 as burnt", "on response nth 3 do status 500 as lost",
               "on invoke nth 4 do status 502 as refused", "on init nth 1 do delay 300ms as cold",
               "on lambda.response nth 5 do hold then kill instance as gone"],
    "end": {"drained_within": "5*V+20s"},
    "must": ["NO-LOSS", "ONCE", "DRAINED", "NO-PHANTOM", "BURNT: count(lambda.throttled) == 1",
             "AGAIN: leases(all) >= 9", "RETURNS: count(lambda.return) >= 6"],
    "why": "", "fix": ""}


def check(folder, name, only, *arguments, options=(), jobs=1):
    report = folder / (name + ".json")
    only = [word for one in only for word in ("--only", one)]
    ended = subprocess.run(
        [process.program(), "check", "--profile", "lambda", "--seed", "7", "-j", str(jobs), "--json", str(report),
         *only, *options, "--", sys.executable, str(FUNCTION), *arguments],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S, check=False,
        env={k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "QUERN_"))})
    assert report.exists(), ended.stdout + ended.stderr
    return json.loads(report.read_text())["scenarios"], ended


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """All of them side by side: they mostly wait."""
    folder = tmp_path_factory.mktemp("lambda")
    (folder / "rules.json").write_text(json.dumps(RULES))
    wanted = {}
    for bug, scenario, _, _ in MUTANTS:
        wanted.setdefault(bug, []).append(scenario)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        made = {
            "right": pool.submit(check, folder, "right", (), jobs=3),
            "all at first": pool.submit(check, folder, "all", ["lambda.fifo-*"], "--all-at-first-failure"),
            **{bug: pool.submit(check, folder, bug, only, "--bug", bug, jobs=2) for bug, only in wanted.items()},
            "rules": pool.submit(check, folder, "rules", ["mine.rules"],
                                 options=("--scenario", str(folder / "rules.json"))),
            **{"mapping " + name: pool.submit(check, folder, "mapping-" + name, ["lambda.config-audit"],
                                 options=("--esm", str(FUNCTION.parent / (name + ".json"))))
               for name in ("right", "misconfigured")},
        }
    return {name: one.result() for name, one in made.items()}


def verdicts(scenarios):
    return {one["id"]: one["verdict"] for one in scenarios if one["verdict"] != "SKIP"}


def broken(scenarios, scenario):
    (one,) = [one for one in scenarios if one["id"] == scenario]
    names = {part["name"] for part in one["invariants"] if part["result"] == "fail"}
    return one["verdict"], names


def test_a_right_function_passes_all(runs):
    found = verdicts(runs["right"][0])
    others = {name: verdict for name, verdict in found.items() if verdict != "PASS"}
    assert others == {"lambda.throttle-burn": "INFO", "lambda.filter": "INFO"}, runs["right"][1].stdout
    assert len([name for name in found if name.startswith("lambda.")]) == 11


def test_what_is_told_costs_nothing_and_is_told(runs):
    assert broken(runs["right"][0], "lambda.throttle-burn") == ("INFO", {"BURNT", "ONE-LEASE"})
    assert broken(runs["right"][0], "lambda.filter") == ("INFO", {"FILTERED"})


def test_rules_make_lambda_throttle_refuse_and_lose_answers(runs):
    (one,) = runs["rules"][0]
    assert (one["id"], one["verdict"]) == ("mine.rules", "PASS"), (one, runs["rules"][1].stdout)


def test_to_stop_the_whole_batch_is_right_too(runs):
    assert verdicts(runs["all at first"][0]) == {"lambda.fifo-stop-and-return-rest": "PASS"}


@pytest.mark.parametrize("bug, scenario, invariant, level", MUTANTS)
def test_a_mistake_is_named(runs, bug, scenario, invariant, level):
    verdict, names = broken(runs[bug][0], scenario)
    assert invariant in names and (verdict == "FAIL" or level == "W"), (verdict, names)
    assert level == "F" or verdict == "WARN", (verdict, names)


def test_settings_that_fit_pass_the_audit_and_others_are_warned_of(runs):
    assert verdicts(runs["mapping right"][0]) == {"lambda.config-audit": "PASS"}
    verdict, names = broken(runs["mapping misconfigured"][0], "lambda.config-audit")
    assert (verdict, names) == ("WARN", {"AUDIT"})
    assert "visibility timeout 30 s: set it to 180 s" in runs["mapping misconfigured"][1].stdout
