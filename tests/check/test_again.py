"""The command that a report gives to run a scenario again does the same once more."""
import json
import os
import subprocess
import sys

import pytest
from commands import environment, process, run

QUICK = "base.ack-after-effect"
IDLE = [sys.executable, "-c", "import time; time.sleep(60)"]
SOON = ["--startup-timeout", "300ms", "--grace", "100ms", "--seed", "7"]


@pytest.fixture
def folder(tmp_path):
    """With `quern` where a shell finds it."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/quern").symlink_to(process.program())
    return tmp_path


def scenario_of(folder):
    (scenario,) = json.loads((folder / "report.json").read_text())["scenarios"]
    return scenario


def again(folder, rerun):
    """As it is pasted into a shell."""
    paths = "%s:%s" % (folder / "bin", os.environ["PATH"])
    command = rerun.replace("quern check", "quern check --json report.json", 1)
    return subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, timeout=60, check=False,
                          env=environment(PATH=paths))


def first(folder, *words, command=IDLE):
    """A run that ends soon, and the command for the next one."""
    answer = run("check", "--only", QUICK, "--json", "report.json", *SOON, *words, *command, cwd=folder)
    assert answer.stderr == ""
    return scenario_of(folder)["rerun"]


def test_another_server_is_asked_again(folder):
    (folder / "the other").symlink_to(process.program())
    rerun = first(folder, "--server", "the other", "--")
    assert " --server 'the other' " in rerun
    assert again(folder, rerun).stderr == "" and scenario_of(folder)["rerun"] == rerun


def test_what_a_flag_took_back_from_the_file_stays_taken_back(folder):
    said = {"tempo": "real", "poison": "dlq", "expect_exit": [5], "tier": 2, "visibility": 9, "command": IDLE}
    (folder / "quern.json").write_text(json.dumps(said))
    rerun = first(folder, "--tempo", "fast", "--poison", "either", "--expect-exit", "0", "--expect-exit", "143",
                  "--tier", "1", command=[])
    for words in ("--tempo fast", "--poison either", "--expect-exit 0 --expect-exit 143", "--tier 1", "--visibility 9"):
        assert " %s " % words in rerun, rerun
    assert again(folder, rerun).stderr == "" and scenario_of(folder)["rerun"] == rerun


def test_a_file_of_another_name_is_read_again(folder):
    (folder / "quern.json").write_text(json.dumps({"poison": "dlq", "command": ["false"]}))
    (folder / "other one.json").write_text(json.dumps({"command": IDLE}))
    rerun = first(folder, "--config", "other one.json", command=[])
    assert " --config 'other one.json' " in rerun and "dlq" not in rerun
    assert again(folder, rerun).stderr == "" and scenario_of(folder)["rerun"] == rerun
