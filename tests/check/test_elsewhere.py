"""Consumers that run elsewhere, as in a container: started, stopped and killed by commands, with the
environment from a file, and the server under another name."""
import json
import pathlib
import re
import sys

import pytest
from commands import refused, run

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKER = ROOT / "tests/consumers/reference.py"
THERE = "127.0.0.2"  # not where a server of its own address would be
# Stands for a container engine: the consumer is no child of the harness, and in no group of its.
ENGINE = """
import os, pathlib, subprocess, sys, time
action, name, *rest = sys.argv[1:]
pid_file = pathlib.Path(__file__).with_name(name + ".pid")
if action == "run":
    env = dict(line.split("=", 1) for line in pathlib.Path(rest[0]).read_text().splitlines())
    assert not [key for key in os.environ if key == "LEFT_HERE"] or "LEFT_HERE" not in env
    child = subprocess.Popen(rest[1:], env=env, start_new_session=True)
    pid_file.write_text(str(child.pid))
    code = child.wait()
    sys.exit(code if code >= 0 else 128 - code)
if action == "kill":
    os.kill(int(pid_file.read_text()), int(rest[0]))
    print("killed", name, "with", rest[0])
"""
NAMES = [word for name in ("base.ack-after-effect", "std.crash-after-effect-before-delete")
         for word in ("--only", name)]


@pytest.fixture
def engine(tmp_path):
    file = tmp_path / "engine.py"
    file.write_text(ENGINE)
    return "%s %s" % (sys.executable, file)


def elsewhere(engine, stop="{engine} kill w-{{instance}} 15", kill="{engine} kill w-{{instance}} 9"):
    return ["--endpoint-host", THERE, "--start-cmd",
            "exec %s run w-{instance} {env_file} %s %s" % (engine, sys.executable, WORKER),
            "--stop-cmd", stop.format(engine=engine), "--kill-cmd", kill.format(engine=engine)]


def test_a_consumer_elsewhere_is_killed_where_it_is(tmp_path, engine):
    report, kept = tmp_path / "report.json", tmp_path / "kept"
    answer = run("check", *NAMES, *elsewhere(engine), "--json", str(report), "--keep", str(kept), timeout_s=120)
    assert answer.returncode == 0, answer.stdout
    crash = [json.loads(line) for line in
             (kept / "std.crash-after-effect-before-delete.jsonl").read_text().splitlines()]
    exits = [event for event in crash if event["kind"] == "proc" and event["what"] == "exit"]
    # The engine's word for SIGKILL, twice; in the end it stops by itself.
    assert [event.get("exit") for event in exits] == [137, 137, 0]
    assert all(THERE in one["rerun"] and " -- " not in one["rerun"] for one in json.loads(report.read_text())["scenarios"])


def test_a_kill_that_does_not_kill_is_told(tmp_path, engine):
    answer = run("check", "--only", NAMES[3], *elsewhere(engine, kill="echo no such container w-{{instance}}; exit 1"),
                 "--grace", "2s", timeout_s=120)
    assert answer.returncode == 4
    assert re.search(r"ERR .*--kill-cmd \(exit code 1\) did not end the consumer: no such container w-1", answer.stdout)


def test_a_stop_that_does_not_stop_ends_in_a_kill(tmp_path, engine):
    answer = run("check", "--only", NAMES[1], *elsewhere(engine, stop="true"), "--grace", "1s", timeout_s=120)
    assert answer.returncode == 0, answer.stdout


def test_a_stop_that_fails_is_told(tmp_path, engine):
    answer = run("check", "--only", NAMES[1], *elsewhere(engine, stop="echo no such container w-{{instance}}; exit 1"),
                 "--grace", "1s", timeout_s=120)
    assert answer.returncode == 4
    assert "--stop-cmd failed (exit code 1), and the consumer went on: no such container w-1" in answer.stdout, answer.stdout


def test_without_another_name_nothing_listens_there(engine):
    words = [word if word != THERE else "127.0.0.1" for word in elsewhere(engine)]
    answer = run("check", "--only", NAMES[1], *words, "--bind", "127.0.0.1", "--env", "AWS_ENDPOINT_URL_SQS=http://" +
                 THERE + ":{port}", "--startup-timeout", "3s", "--grace", "1s", timeout_s=120)
    assert answer.returncode == 3, answer.stdout


def test_mistakes_are_told():
    assert "--bind takes an address" in refused("check", "--bind", "docker0", "--", "x")
    assert "give one of the two" in refused("check", "--start-cmd", "docker run w", "--", "x")
    assert "no consumer given" in refused("check", "--stop-cmd", "docker stop w")
