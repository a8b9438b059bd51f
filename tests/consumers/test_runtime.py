"""What `quern check` says of the consumer runtime: as a C library, and under a shell script."""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PROGRAM = pathlib.Path(os.environ.get("QUERN_PROGRAM", str(ROOT / "build" / "release" / "quern"))).resolve()
RUNTIME = PROGRAM.parent / "tests" / "consumers" / "runtime" / "runtime"
sys.path.insert(0, str(ROOT / "tests" / "sdk"))

from sdk_install import debian  # noqa: E402

CHECK_S = 280
BOTH = ["base.drain-and-profile", "std.crash-after-effect-before-delete", "std.delete-lost",
        "batch.partial-delete-failure-retried", "shutdown.sigterm-drains", "shutdown.receive-in-flight"]
STANDARD = [*BOTH, "lease.newest-handle", "retry.transient-then-success", "poison.invalid-not-retried",
            "std.duplicate-while-inflight"]
FIFO = [*BOTH, "fifo.order", "fifo.stop-after-first-failure", "fifo.crash-mid-group"]
SHELL = ["base.ack-after-effect", "std.crash-mid-work", "poison.invalid-not-retried",
         "shutdown.unfinished-work-released"]


def runtime():
    return [str(RUNTIME)]


def shell():
    debian("jq", "curl")
    return [str(PROGRAM), "consume", "{queue_url}", "--", "sh", str(HERE / "consume.sh")]


# A name: the consumer, its profile, the scenarios.
RUNS = {
    "library": (runtime, "standard", STANDARD),
    "library-fifo": (runtime, "fifo", FIFO),
    "shell": (shell, "standard", SHELL),
}


def check(name, folder):
    make, profile, scenarios = RUNS[name]
    report = folder / (name + ".json")
    done = subprocess.run(
        [PROGRAM, "check", "-j", "3", "--profile", profile, "--heartbeat", "yes", "--json", report,
         *[word for scenario in scenarios for word in ("--only", scenario)], "--", *make()],
        capture_output=True, text=True, errors="replace", timeout=CHECK_S, stdin=subprocess.DEVNULL,
        cwd=folder, env={k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "QUERN_"))})
    assert report.is_file(), done.stdout + done.stderr
    return json.loads(report.read_text())["scenarios"], done.stdout + done.stderr


@pytest.fixture(scope="module")
def checks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runtime")
    with concurrent.futures.ThreadPoolExecutor(max_workers=len(RUNS)) as pool:
        running = {name: pool.submit(check, name, folder) for name in RUNS}
        yield lambda name: running[name].result(CHECK_S)


@pytest.mark.parametrize("name", RUNS)
def test_the_suite_finds_nothing_in_it(checks, name):
    scenarios, printed = checks(name)
    verdicts = {scenario["id"].split("+")[0]: scenario["verdict"] for scenario in scenarios
                if scenario["verdict"] != "PASS"}
    assert verdicts == {}, printed
    assert {scenario["id"] for scenario in scenarios} >= set(RUNS[name][2]), printed
