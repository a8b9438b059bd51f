"""Consumers that misbehave as processes: nothing hangs, and nothing that was started is left."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("QUERN_PROGRAM", str(ROOT / "build" / "release" / "quern"))
LIMIT_S = 100


def environment(mark):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "QUERN_"))}
    return {**clean, "MARK_OF_THIS_TEST": mark}


def left_behind(mark):
    """Processes that have the mark in their environment: everything that the run started."""
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and mark.encode() in (folder / "environ").read_bytes():
                found.append((folder.name, (folder / "cmdline").read_bytes()))
        except OSError:
            pass
    return found


class Ended:
    def __init__(self, folder, command, *options, interrupt_after_s=None):
        self.mark = "mark-%d-%s" % (os.getpid(), folder.name)
        begin = time.monotonic()
        process = subprocess.Popen(
            [PROGRAM, "check", "--only", "base.drain-and-profile", "--grace", "1s", "--startup-timeout", "4s", *options,
             "--", *command],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", stdin=subprocess.DEVNULL,
            cwd=folder, env=environment(self.mark),
        )
        if interrupt_after_s is not None:
            time.sleep(interrupt_after_s)
            process.send_signal(signal.SIGINT)
        self.printed = process.communicate(timeout=LIMIT_S)[0]
        self.code = process.returncode
        self.took_s = time.monotonic() - begin

    def leaves_nothing(self):
        until = time.monotonic() + 5
        while left_behind(self.mark) and time.monotonic() < until:
            time.sleep(0.05)
        assert left_behind(self.mark) == [], self.printed
        return self


@pytest.fixture
def check(tmp_path):
    return lambda command, *options, **how: Ended(tmp_path, command, *options, **how).leaves_nothing()


def shell(text):
    return ["/bin/sh", "-c", text]


def test_command_that_does_not_exist(check):
    done = check(["/nowhere/at/all"])
    assert done.code == 2 and "cannot start /nowhere/at/all: No such file" in done.printed


@pytest.mark.parametrize("name, said", [
    ("folder", "Permission denied (it is a folder)"),
    ("plain", "Permission denied (chmod +x makes it a program)"),
    ("script", "its first line names /no/such/shell: No such file or directory"),
])
def test_command_that_is_no_program(check, tmp_path, name, said):
    (tmp_path / "folder").mkdir()
    (tmp_path / "plain").write_text("")
    (tmp_path / "script").write_text("#!/no/such/shell\n")
    (tmp_path / "script").chmod(0o755)
    done = check([str(tmp_path / name)])
    assert done.code == 2 and f"cannot start {tmp_path / name}: {said}\n" in done.printed, done.printed


def test_command_without_a_name(check):
    done = check([""])
    assert done.code == 2 and "quern check: the command is empty" in done.printed, done.printed


@pytest.mark.parametrize("text", ["exit 3", "kill -9 $$"])
def test_command_that_ends_at_once(check, text):
    done = check(shell(text))
    assert done.code == 3 and "before its first ReceiveMessage" in done.printed, done.printed


def test_command_that_never_becomes_ready(check):
    done = check(shell("sleep 1000"))
    assert done.code == 3 and "never became ready" in done.printed and done.took_s < 60, done.printed


def test_command_that_does_not_hear_sigterm_and_leaves_children(check):
    done = check([sys.executable, "-c", "import signal, subprocess, time\n"
                  "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                  "subprocess.Popen(['sleep', '1000'])\nsubprocess.Popen(['sleep', '1000'], start_new_session=True)\n"
                  "time.sleep(1000)"])
    assert done.code == 3, done.printed


def test_command_that_forks_away(check):
    done = check([sys.executable, "-c", "import os, time\n"
                  "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(1000)\n    os._exit(0)\n"
                  "os.wait()"])
    assert done.code == 3, done.printed


def test_command_that_becomes_a_daemon(check):
    done = check(shell("setsid sleep 1000 & exit 0"))
    assert done.code == 3, done.printed
    assert re.search(r"the consumer ended( \d times)? before its first ReceiveMessage \(exit code 0\)", done.printed), done.printed


def test_command_that_prints_without_end(check, tmp_path):
    done = check(["yes", "x" * 1000], "--keep", str(tmp_path / "kept"))
    assert done.code == 3, done.printed
    assert sum(f.stat().st_size for f in (tmp_path / "kept").iterdir()) < 64 * 1024 * 1024


def test_a_scenario_that_does_not_come_to_its_end_is_cut_off(check, tmp_path):
    """It takes a message and holds it for ever; the scenario's own limit is 22 s."""
    done = check([sys.executable, "-c", "import json, os, time, urllib.request\n"
                  "call = urllib.request.Request(os.environ['AWS_ENDPOINT_URL'],"
                  " json.dumps({'QueueUrl': os.environ['QUEUE_URL'], 'VisibilityTimeout': 600}).encode(),"
                  " {'Content-Type': 'application/x-amz-json-1.0', 'X-Amz-Target': 'AmazonSQS.ReceiveMessage',"
                  " 'Authorization': 'AWS4-HMAC-SHA256 Credential=QUERN0001/20260101/us-east-1/sqs/aws4_request'})\n"
                  "urllib.request.urlopen(call).read()\ntime.sleep(1000)"], "--scenario-timeout", "4s")
    assert done.code == 3, done.printed
    assert "not at its end after 4 s, which --scenario-timeout sets" in done.printed, done.printed
    assert done.took_s < 60, done.printed


def test_command_that_deletes_its_working_directory(tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    done = Ended(folder, shell("rm -rf '%s'; sleep 1000" % folder)).leaves_nothing()
    assert done.code == 3, done.printed


def test_interrupted_run_leaves_nothing(check):
    done = check(shell("trap '' TERM INT; sleep 1000 & setsid sleep 1000 & wait; sleep 1000"), interrupt_after_s=2)
    assert done.code != 0 and done.took_s < 30, done.printed


def test_shell_that_does_not_forward_sigterm_is_told_apart(tmp_path):
    sys.path.insert(0, str(ROOT / "tests" / "sdk"))
    from sdk_install import debian

    debian("python3-boto3")
    worker = "/usr/bin/python3 %s" % (ROOT / "tests" / "consumers" / "reference.py")
    told = {}
    for name, text in (("behind", worker + "; true"), ("exec", "exec " + worker)):
        done = subprocess.run([PROGRAM, "check", "--only", "shutdown.sigterm-drains", "--", *shell(text)], text=True,
                              capture_output=True, timeout=LIMIT_S, cwd=tmp_path, env=environment(name))
        told[name] = "start the consumer with exec" in done.stdout
    assert told == {"behind": True, "exec": False}
