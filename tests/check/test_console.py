"""What `quern check` shows while it runs: on a terminal, and in a pipe."""
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from fcntl import ioctl

import junit
import pytest
from commands import environment, run
from exchange import process
from traces_made import Trace

# Never asks for a message: each scenario ends after --startup-timeout.
IDLE = [sys.executable, "-c", "import time; time.sleep(60)"]
WORDS = ["check", "--only", "base.ack-after-effect", "--startup-timeout", "700ms", "--grace", "100ms",
         "--seed", "7", "--", *IDLE]
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def on_terminal(columns=120, terminal="xterm", limit_s=60, words=WORDS, **variables):
    """The bytes that a terminal of that width is sent."""
    ours, its = pty.openpty()
    ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    child = subprocess.Popen([process.program(), *words], stdin=its, stdout=its, stderr=subprocess.PIPE,
                             env=environment(TERM=terminal, **variables))
    os.close(its)
    seen, end = b"", time.monotonic() + limit_s
    while time.monotonic() < end:
        if select.select([ours], [], [], 0.1)[0]:
            try:
                seen += os.read(ours, 65536)
            except OSError:  # nobody holds the other end any more
                break
    os.close(ours)
    assert child.wait(limit_s) == 3
    assert child.stderr.read() == b""
    return seen.decode().replace("\r\n", "\n")


def drawn(text):
    """What is left to see: a return and an erase make room for what follows."""
    return "\n".join(line.split("\r\x1b[K")[-1] for line in text.split("\n"))


def timeless(text):
    return re.sub(r"\d+\.\ds", "_s", text)


@pytest.fixture(scope="module")
def piped():
    answer = run(*WORDS)
    assert (answer.returncode, answer.stderr) == (3, "")
    return answer.stdout


def test_a_pipe_gets_a_plain_line_for_each_scenario(piped):
    assert "\x1b" not in piped and "\r" not in piped
    lines = piped.splitlines()
    assert re.fullmatch(r" INCO  base\.ack-after-effect +\d\.\ds   the consumer never became ready "
                        r"\(--keep DIR keeps its log\)", lines[1])
    assert lines[-2].startswith(" 1 scenario: 0 pass, ")


def test_trouble_ends_with_the_command_that_runs_it_again(piped):
    (line,) = [line for line in piped.splitlines() if "rerun" in line]
    assert line == ("       | rerun: quern check --only base.ack-after-effect --startup-timeout 700ms --grace 100ms "
                    "--seed 7 -- " + sys.executable + " -c 'import time; time.sleep(60)'")


def test_without_a_verdict_no_invariant_is_blamed(piped):
    told = piped.split("\n\n")[0].splitlines()[2:]
    assert len(told) == 2 and "rerun" in told[1]
    assert told[0].endswith("| more: quern explain base.ack-after-effect, quern explain INCONCLUSIVE")


def test_a_terminal_shows_progress_and_keeps_what_a_pipe_gets(piped):
    text = on_terminal()
    spins = re.findall(r"\r\x1b\[K ([|/\\-])     base\.ack-after-effect +\d\.\ds   0 of 12 messages done, "
                       r"0 faults, scenario 1 of 1", text)
    assert len(spins) >= 3 and len(set(spins)) >= 3
    assert COLOUR.search(text)
    assert timeless(COLOUR.sub("", drawn(text))) == timeless(piped)


def test_a_narrow_terminal_is_never_made_to_wrap_the_progress():
    frames = re.findall(r"\r\x1b\[K([^\r\n\x1b]+)", on_terminal(columns=50))
    assert len(frames) >= 3
    assert max(len(frame) for frame in frames[:-1]) == 49


def test_no_colour_without_colours(piped):
    text = on_terminal(NO_COLOR="1")
    assert not COLOUR.search(text)
    assert timeless(drawn(text)) == timeless(piped)


def test_a_dumb_terminal_is_like_a_pipe(piped):
    text = on_terminal(terminal="dumb")
    assert "\x1b" not in text and "\r" not in text
    assert timeless(text) == timeless(piped)


def test_a_terminal_tells_of_all_that_run(tmp_path):
    text = on_terminal(words=["check", "-j", "3", "--only", "std.*", "--scenario-timeout", "1500ms",
                              "--grace", "100ms", "--seed", "7", "--", *IDLE], columns=160)
    spins = re.findall(r" [|/\\-]     1 of (\d+) scenarios done, 3 running: (\S+) \ds, (\S+) \ds, (\S+) \ds", text)
    assert spins and len(set(spins[0])) == 4


def lines_of(*words):
    return run("check", *words, "--startup-timeout", "700ms", "--grace", "100ms", "--seed", "7", "--",
               *IDLE).stdout.splitlines()


def test_a_family_that_is_skipped_for_one_reason_is_one_line(tmp_path):
    report = tmp_path / "report.json"
    lines = lines_of("--only", "base.ack-after-effect", "--only", "lambda.*", "--json", str(report))
    (skip,) = [line for line in lines if line.startswith(" SKIP")]
    told = re.fullmatch(r" SKIP  lambda\.\* {44}profile standard \((\d+) scenarios\)", skip)
    assert int(told[1]) > 5
    listed = [one["id"] for one in json.loads(report.read_text())["scenarios"] if one["verdict"] == "SKIP"]
    assert len(listed) == int(told[1]) and all(one.startswith("lambda.") for one in listed)
    assert f", {told[1]} skip " in lines[-3]


def test_a_family_that_is_skipped_for_several_reasons_is_told_one_by_one():
    lines = lines_of("--only", "base.ack-after-effect", "--only", "std.delete-lost", "--only", "std.delete-error",
                     "--only", "fifo.order", "--waive", "std.delete-lost=one", "--waive", "std.delete-error=two")
    assert sorted(re.split(" {2,}", line.strip())[1:] for line in lines if line.startswith(" SKIP")) == [
        ["fifo.order", "profile standard"], ["std.delete-error", "waived: two"], ["std.delete-lost", "waived: one"]]


def test_counts_of_nothing_are_left_out(piped):
    assert piped.splitlines()[-2] == (" 1 scenario: 0 pass, 0 fail, 1 inconclusive"
                                      "       observed semantics: not observable")


def test_advice_is_wrapped_and_the_command_is_not(tmp_path):
    trace = Trace(again="quern check --only std.made -- " + "python3 " * 20)
    trace.lines[0]["scenario"].update(why="because " * 40, fix="mend it")
    trace.send("k-000")
    trace.work("k-000")
    trace.work("k-000")
    written = tmp_path / "report.xml"
    run("judge", "--junit", str(written), str(trace.end().write(tmp_path / "t.jsonl")))
    lines = junit.read(written.read_text()).find(".//failure").text.splitlines()
    why = lines.index("| why it matters:" + " because" * 10)
    assert lines[why + 1] == "|  " + " because" * 12 and lines[why + 4] == "| fix: mend it"
    assert lines[-1] == "| rerun: quern check --only std.made -- " + ("python3 " * 20)
