"""What `quern check` shows while it runs: on a terminal, and in a pipe."""
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

import pytest
from commands import environment, run
from exchange import process

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
    assert re.fullmatch(r" INCO  base\.ack-after-effect +\d\.\ds   the consumer never became ready", lines[1])
    assert lines[-2].startswith(" 1 scenario: 0 pass, ")


def test_trouble_ends_with_the_command_that_runs_it_again(piped):
    (line,) = [line for line in piped.splitlines() if "rerun" in line]
    assert line == ("       | rerun: quern check --only base.ack-after-effect --startup-timeout 700ms --grace 100ms "
                    "--seed 7 -- " + sys.executable + " -c 'import time; time.sleep(60)'")


def test_without_a_verdict_no_invariant_is_blamed(piped):
    told = piped.split("\n\n")[0].splitlines()[2:]
    assert len(told) == 1 and "rerun" in told[0]


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
    text = on_terminal(words=["check", "-j", "3", "--only", "std.*", "--startup-timeout", "1500ms",
                              "--grace", "100ms", "--seed", "7", "--", *IDLE], columns=160)
    spins = re.findall(r" [|/\\-]     1 of (\d+) scenarios done, 3 running: (\S+) \ds, (\S+) \ds, (\S+) \ds", text)
    assert spins and len(set(spins[0])) == 4
