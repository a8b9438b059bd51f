"""Scenarios side by side: each in a process of its own, and nothing left of any of them."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest
from commands import environment, run
from exchange import process

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKER = [sys.executable, str(ROOT / "tests/consumers/reference.py")]
# Never asks for a message, and leaves a child behind that asks for nothing either.
IDLE = ["sh", "-c", "sleep 300 & exec sleep 300"]
LINE = re.compile(r" (PASS|WARN|INFO|FAIL|SKIP|INCO|ERR )  (\S+)")


def left_of(folder):
    """Processes whose environment names the folder, which all of a check inherit as TMPDIR."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and str(folder).encode() in (entry / "environ").read_bytes():
                found.append((int(entry.name), (entry / "cmdline").read_bytes()))
        except OSError:
            continue  # it has just ended, or is another's
    return found


def wait_until(condition, limit_s=30):
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


class Idle:
    """A check of an idle consumer, until it is told to end."""

    def __init__(self, folder, *options):
        self.folder = folder
        words = ["check", "--grace", "300ms", "--startup-timeout", "60s", *options, "--", *IDLE]
        self.child = subprocess.Popen([process.program(), *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      text=True, env=environment(TMPDIR=str(folder)))

    def running(self):
        """The processes that scenarios run in."""
        return [pid for pid, words in left_of(self.folder)
                if b"\0check\0" in words and pid != self.child.pid]

    def consumers(self):
        return [pid for pid, words in left_of(self.folder) if words.startswith(b"sleep")]

    def end(self):
        text, _ = self.child.communicate(timeout=60)
        return self.child.returncode, text


SOME = ("--only", "base.*", "--only", "std.*")  # all of them are for tests/consumers


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    report = tmp_path_factory.mktemp("together") / "report.json"
    answer = run("check", "-j8", *SOME, "--json", str(report), "--seed", "5", "--", *WORKER, timeout_s=240)
    assert answer.stderr == ""
    return answer, json.loads(report.read_text())


def test_side_by_side_each_scenario_has_its_verdict_and_its_line(together):
    answer, report = together
    assert answer.returncode == 0, answer.stdout
    lines = LINE.findall(answer.stdout)
    assert sorted(name for _, name in lines) == sorted(one["id"] for one in report["scenarios"])
    assert {word for word, _ in lines} <= {"PASS", "SKIP"}
    assert lines[0] == ("PASS", "base.drain-and-profile")  # alone, as it teaches the others


def test_a_report_keeps_the_order_of_the_scenarios(together):
    _, report = together
    listed = [line.split()[0] for line in run("check", "--list", *SOME).stdout.splitlines()]
    assert [one["id"] for one in report["scenarios"]] == listed


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
def test_an_interrupt_ends_all_of_them(tmp_path, number):
    # The first one runs alone, and is over soon. That it is cut off says nothing of the others.
    idle = Idle(tmp_path, "-j", "3", "--scenario-timeout", "2s")
    wait_until(lambda: len(idle.running()) == 3 and len(idle.consumers()) >= 6)
    idle.child.send_signal(number)
    began = time.monotonic()
    code, text = idle.end()
    assert time.monotonic() - began < 15
    assert code == 4 and "interrupted" in text, text
    assert left_of(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_a_killed_check_leaves_nothing_behind(tmp_path):
    idle = Idle(tmp_path, "--only", "base.ack-after-effect")
    wait_until(lambda: len(idle.consumers()) >= 2)
    idle.child.kill()
    wait_until(lambda: left_of(tmp_path) == [])
    idle.end()


def test_what_a_killed_check_left_is_swept_by_the_next_one(tmp_path):
    killed, alive = Idle(tmp_path, "--only", "base.ack-after-effect"), Idle(tmp_path, "--only", "base.ack-after-effect")
    wait_until(lambda: len(killed.consumers()) >= 4)
    folders = set(tmp_path.iterdir())
    assert len(folders) == 2
    killed.child.kill()
    killed.end()
    (tmp_path / "quern-check-of-mine").mkdir()
    wait_until(lambda: len(killed.consumers()) == 2)
    run("check", "--only", "base.ack-after-effect", "--startup-timeout", "300ms", "--grace", "100ms", "--", "sleep", "300",
        TMPDIR=str(tmp_path))
    left = set(tmp_path.iterdir())
    assert len(left & folders) == 1 and tmp_path / "quern-check-of-mine" in left and len(left) == 2
    alive.child.send_signal(signal.SIGTERM)
    assert alive.end()[0] == 4
    assert [path.name for path in tmp_path.iterdir()] == ["quern-check-of-mine"]


def test_a_hangup_is_nothing_to_who_asked_to_hear_none(tmp_path):
    child = subprocess.Popen(["nohup", process.program(), "check", "--only", "base.ack-after-effect", "--startup-timeout",
                              "1500ms", "--grace", "100ms", "--", *IDLE], stdout=subprocess.PIPE, text=True,
                             stderr=subprocess.DEVNULL, env=environment(TMPDIR=str(tmp_path)))
    wait_until(lambda: list(tmp_path.glob("quern-check-*/run-*")))
    child.send_signal(signal.SIGHUP)
    text, _ = child.communicate(timeout=60)
    assert child.returncode == 3 and "never became ready" in text


def test_a_scenario_whose_process_dies_is_an_error_and_the_next_one_runs(tmp_path):
    idle = Idle(tmp_path, "--only", "base.*", "--startup-timeout", "3s")
    victims = []
    for _ in range(2):  # an error of the harness is looked at twice
        wait_until(lambda: len(idle.consumers()) >= 2 and set(idle.running()) - set(victims))
        victims += set(idle.running()) - set(victims)
        os.kill(victims[-1], signal.SIGKILL)
    code, text = idle.end()
    assert code == 4
    assert re.search(r"ERR   base\.drain-and-profile .*ended by itself \(signal 9\)", text), text
    assert "INCO  base.ack-after-effect" in text
    assert left_of(tmp_path) == []


def test_a_consumer_that_forks_away_is_gone_in_the_end(tmp_path):
    words = ["sh", "-c", "setsid sh -c 'setsid sleep 300 & sleep 300' & exec sleep 300"]
    answer = run("check", "--only", "base.ack-after-effect", "--startup-timeout", "1s", "--grace", "200ms", "--", *words,
                 TMPDIR=str(tmp_path))
    assert answer.returncode == 3, answer.stdout
    assert left_of(tmp_path) == []


def test_fail_fast_ends_at_the_first_failure():
    early = [sys.executable, str(ROOT / "tests/consumers/mutants.py"), "--bug", "early-ack"]
    answer = run("check", "--fail-fast", "-j", "2", "--", *early, timeout_s=240)
    assert answer.returncode == 1
    assert [word for word, _ in LINE.findall(answer.stdout)].count("FAIL") == 1
    left = re.search(r"ended at the first failure: (\d+) scenarios? (?:was|were) not run", answer.stdout)
    assert left and int(left[1]) >= 1


def test_how_many_is_a_number():
    assert "-j takes a number from 1 to 64" in run("check", "-j", "0", "--", "x").stderr
    assert "-j takes a number from 1 to 64" in run("check", "-jmany", "--", "x").stderr
