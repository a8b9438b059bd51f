"""What `quern check` says of the consumers among the examples, and what else the examples promise."""
import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("QUERN_PROGRAM", str(ROOT / "build" / "release" / "quern"))).resolve()
EXAMPLES = PROGRAM.parent / "client" / "examples"
CHECK_S = 280
CLEAN = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "QUERN_"))}

# An example: how it is started, options of the suite, the scenarios.
RUNS = {
    "inbox_worker": (
        ["inbox_worker", "{scenario}.db"],
        ["--effects-cmd", f"{EXAMPLES}/inbox_worker {{scenario}}.db --effects"],
        ["std.delete-lost", "std.duplicate-producer", "std.duplicate-two-workers", "std.crash-after-receive"]),
}


@pytest.mark.parametrize("name", RUNS)
def test_the_suite_finds_nothing_in_it(name, tmp_path):
    (program, *arguments), options, scenarios = RUNS[name]
    report = tmp_path / "report.json"
    done = subprocess.run(
        [PROGRAM, "check", "-j", "2", "--json", report, *options,
         *[word for scenario in scenarios for word in ("--only", scenario)], "--", EXAMPLES / program, *arguments],
        capture_output=True, text=True, errors="replace", timeout=CHECK_S, stdin=subprocess.DEVNULL, cwd=tmp_path,
        env=CLEAN, check=False)
    assert report.is_file(), done.stdout + done.stderr
    found = json.loads(report.read_text())["scenarios"]
    assert {one["id"]: one["verdict"] for one in found} == {one["id"]: "PASS" for one in found}, done.stdout
    assert {one["id"].split("+")[0] for one in found} == {name.split("+")[0] for name in scenarios}, done.stdout
