"""What `quern check` says of consumers that are right, of three that are wrong, and of a published
package that knows nothing of it."""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PROGRAM = os.environ.get("QUERN_PROGRAM", str(ROOT / "build" / "release" / "quern"))
sys.path.insert(0, str(ROOT / "tests" / "sdk"))

from sdk_install import Unavailable, debian, node_folder, venv  # noqa: E402

CHECK_S = 900
AT_ONCE = 4
STANDARD = [
    "base.drain-and-profile",
    "base.ack-after-effect",
    "std.duplicate-after-delete",
    "std.delete-lost",
    "std.crash-after-effect-before-delete",
    "server.crash-and-restart",
    "poll.response-lost",
    "lease.newest-handle",
    "retry.transient-then-success",
    "poison.reaches-dlq-exactly",
    "std.crash-mid-work",
    "poison.invalid-not-retried",
    "shutdown.stops-polling",
]
FIFO = ["fifo.order", "fifo.crash-mid-group", "fifo.stop-after-first-failure"]


def debian_python():
    debian("python3-boto3")
    return "/usr/bin/python3"


def reference(*options):
    return [debian_python(), str(HERE / "reference.py"), *options]


def reference_with_current_boto3(*options):
    return [str(venv() / "python"), str(HERE / "reference.py"), *options]


def mutant(bug):
    return [debian_python(), str(HERE / "mutants.py"), "--bug", bug]


def sqs_consumer():
    """The package, installed as its lock file says, beside the few lines that start it."""
    return ["node", node_folder("sqs-consumer", HERE / "sqs_consumer", "index.mjs")]


# What is checked: a name, how to start it, the options of `quern check`.
RUNS = {
    "reference": (reference, [], []),
    "reference-fifo": (reference, [], ["--profile", "fifo"]),
    "reference-workers": (reference_with_current_boto3, ["--workers", "3"], []),
    "reference-workers-fifo": (
        reference_with_current_boto3,
        ["--workers", "3"],
        ["--profile", "fifo"],
    ),
    "no-idempotency": (mutant, ["no-idempotency"], []),
    "early-ack": (mutant, ["early-ack"], []),
    "skip-without-delete": (mutant, ["skip-without-delete"], []),
    "sqs-consumer": (sqs_consumer, [], []),
    "sqs-consumer-fifo": (sqs_consumer, [], ["--profile", "fifo"]),
}


class Check:
    """One run of `quern check`: its exit code, its report, and what it printed."""

    def __init__(self, name, folder):
        make, arguments, options = RUNS[name]
        report = folder / (name + ".json")
        self.kept = folder / name
        only = [word for scenario in STANDARD + FIFO for word in ("--only", scenario)]
        command = [PROGRAM, "check", "--json", str(report), "--keep", str(self.kept), *only, *options,
                   "--", *make(*arguments)]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=CHECK_S,
            stdin=subprocess.DEVNULL,
            cwd=folder,
            env={k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "QUERN_"))},
        )
        self.code = done.returncode
        self.printed = done.stdout + done.stderr
        assert report.is_file(), "no report; exit %d\n%s" % (self.code, self.printed[-3000:])
        self.report = json.loads(report.read_text())
        self.scenarios = {scenario["id"]: scenario for scenario in self.report["scenarios"]}

    def verdict(self, name):
        return self.scenarios[name]["verdict"] if name in self.scenarios else "absent"

    def broken(self, name):
        invariants = self.scenarios.get(name, {}).get("invariants", [])
        return {one["name"] for one in invariants if one["result"] == "fail"}


@pytest.fixture(scope="module")
def checks(request, tmp_path_factory):
    """The checks that the selected tests need, a few at a time; each is made once."""
    folder = tmp_path_factory.mktemp("verdicts")
    ours = [item for item in request.session.items if item.module is request.module]
    wanted = dict.fromkeys(item.callspec.params["name"] for item in ours)
    with concurrent.futures.ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        running = {name: pool.submit(Check, name, folder) for name in wanted}

        def of(name):
            try:
                return running[name].result(CHECK_S * len(RUNS))
            except Unavailable as error:
                pytest.fail("consumer not available: %s" % error, pytrace=False)

        yield of


@pytest.mark.parametrize("name", ["reference", "reference-workers"])
def test_right_consumer_passes_every_standard_scenario(checks, name):
    check = checks(name)
    verdicts = {scenario: check.verdict(scenario) for scenario in STANDARD}
    assert verdicts == dict.fromkeys(STANDARD, "PASS"), check.printed
    assert check.code == 0, check.printed


@pytest.mark.parametrize("name", ["reference-fifo", "reference-workers-fifo"])
def test_right_consumer_keeps_the_order_of_a_fifo_queue(checks, name):
    check = checks(name)
    verdicts = {scenario: check.verdict(scenario) for scenario in FIFO}
    assert verdicts == dict.fromkeys(FIFO, "PASS"), check.printed
    assert check.code == 0, check.printed


@pytest.mark.parametrize(
    "name, scenario, invariants",
    [
        ("no-idempotency", "std.duplicate-after-delete", {"ONCE"}),
        ("no-idempotency", "std.delete-lost", {"ONCE"}),
        ("no-idempotency", "std.crash-after-effect-before-delete", {"ONCE"}),
        ("early-ack", "base.ack-after-effect", {"ACK-AFTER-EFFECT"}),
        ("early-ack", "retry.transient-then-success", {"NO-LOSS"}),
        ("early-ack", "std.crash-mid-work", {"NO-LOSS"}),
        ("skip-without-delete", "std.duplicate-after-delete", {"DRAINED", "DLQ-EXACT"}),
        ("skip-without-delete", "std.delete-lost", {"DRAINED", "DLQ-EXACT"}),
    ],
)
def test_wrong_consumer_fails_with_the_invariant_of_its_mistake(
    checks, name, scenario, invariants
):
    check = checks(name)
    assert check.verdict(scenario) == "FAIL", check.printed
    assert check.broken(scenario), check.printed
    assert check.broken(scenario) & invariants, check.printed
    assert check.code == 1, check.printed


@pytest.mark.parametrize("name", ["no-idempotency", "skip-without-delete"])
def test_wrong_consumer_passes_where_its_mistake_does_not_show(checks, name):
    check = checks(name)
    assert check.verdict("base.drain-and-profile") == "PASS", check.printed
    assert check.verdict("base.ack-after-effect") == "PASS", check.printed


@pytest.mark.parametrize(
    "name",
    [
        "reference",
        "reference-workers",
        "reference-fifo",
        "reference-workers-fifo",
        "sqs-consumer",
        "sqs-consumer-fifo",
    ],
)
def test_right_consumer_relies_on_nothing_that_aws_does_not_promise(checks, name):
    """Also not while things are broken around it."""
    traces = sorted(checks(name).kept.glob("*.jsonl"))
    assert traces, checks(name).printed
    for trace in traces:
        answer = subprocess.run([PROGRAM, "assumptions", str(trace)], capture_output=True, text=True)
        assert answer.returncode == 0, "%s: %s" % (trace.name, answer.stdout + answer.stderr)


@pytest.mark.parametrize("name", ["sqs-consumer", "sqs-consumer-fifo"])
def test_published_package_goes_through_without_any_change(checks, name):
    """Nothing of ours is in it, so its effects are not seen: the rest is judged, with reasons."""
    check = checks(name)
    shown = {scenario: check.verdict(scenario) for scenario in check.scenarios}
    print("%s: %s" % (name, json.dumps(shown, indent=2)))
    assert set(STANDARD + FIFO) <= set(shown), check.printed
    assert set(shown.values()) <= {"PASS", "WARN", "SKIP", "FAIL"}, check.printed
    assert check.verdict("base.drain-and-profile") in ("PASS", "WARN"), check.printed
    assert check.verdict("base.ack-after-effect") == "SKIP", check.printed
    for scenario in check.scenarios.values():
        if scenario["verdict"] == "SKIP":
            assert scenario.get("reason"), scenario
        elif scenario["verdict"] == "FAIL":
            assert check.broken(scenario["id"]), scenario
    assert check.code in (0, 1), check.printed
