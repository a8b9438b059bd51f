"""top: all queues at a glance, once and live on a terminal of 80 columns."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import pytest

from commands import environment, refused, run
from exchange import process
from exchange.client import Client

HEAD = ["QUEUE", "VISIBLE", "FLIGHT", "DELAYED", "OLDEST", "SENT/s", "RECV/s", "DEL/s", "DEAD"]
LONG = "a-queue-with-a-name-that-is-far-too-long-for-a-terminal-of-eighty-columns"
QUEUES = [word for name in ("dead", "orders", LONG) for word in ("--queue", name)]


@pytest.fixture
def server(start):
    server = start(*QUEUES)
    call = Client(server).call
    policy = '{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead","maxReceiveCount":1}'
    url = server.endpoint + "/000000000000/"
    call("json", "SetQueueAttributes", {"QueueUrl": url + "orders", "Attributes": {"RedrivePolicy": policy}})
    call("json", "SendMessage", {"QueueUrl": url + "dead", "MessageBody": "x"})
    for delay in (0, 0, 0, 900):
        call("json", "SendMessage", {"QueueUrl": url + "orders", "MessageBody": "x", "DelaySeconds": delay})
    call("json", "ReceiveMessage", {"QueueUrl": url + "orders"})
    server.advance_ms(20000)
    return server


def top(server, *words):
    answer = run("top", *words, AWS_ENDPOINT_URL=server.endpoint)
    assert answer.returncode == 0 and answer.stderr == "", answer
    return answer.stdout


def test_once_is_a_plain_table(server):
    for words in ([], ["--once"]):
        lines = [line.split() for line in top(server, "--interval", "100", *words).splitlines()]
        assert lines == [
            HEAD,
            [LONG, "0", "0", "0", "-", "0.0", "0.0", "0.0", "-"],
            ["dead", "1", "0", "0", "20s", "0.0", "0.0", "0.0", "DLQ"],
            ["orders", "2", "1", "1", "20s", "0.0", "0.0", "0.0", "1"],
        ]


def test_rates_are_those_between_two_looks(server):
    words = [process.program(), "top", "--json", "--interval", "2000"]
    looking = subprocess.Popen(words, env=environment(AWS_ENDPOINT_URL=server.endpoint), stdout=subprocess.PIPE, text=True)
    until = time.monotonic() + 30
    while looking.poll() is None and time.monotonic() < until:
        run("send", "dead", "x", AWS_ENDPOINT_URL=server.endpoint)
    rows = {row["name"]: row for row in json.loads(looking.communicate(timeout=30)[0])["queues"]}
    assert rows["dead"]["sent_per_second"] > 0 and rows["dead"]["is_dead_letter_queue"]
    assert rows["orders"]["sent_per_second"] == rows["dead"]["received_per_second"] == 0
    assert (rows["orders"]["dead"], rows["dead"]["dead"], rows[LONG]["oldest_age_s"]) == (rows["dead"]["visible"], None, None)


@pytest.mark.parametrize("column, first", [("name", LONG), ("visible", "orders"), ("dead", "orders")])
def test_rows_are_sorted(server, column, first):
    assert top(server, "--interval", "100", "--sort", column).splitlines()[1].split()[0] == first


class Terminal:
    """What a terminal of this size would get."""

    def __init__(self, server, *words, lines=24, columns=80, **variables):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.kept = termios.tcgetattr(slave)
        self.slave = slave
        self.text = ""
        self.process = subprocess.Popen(
            [process.program(), "top", "--interval", "100", *words], stdin=slave, stdout=slave, stderr=slave,
            env=environment(**{"AWS_ENDPOINT_URL": server.endpoint, "TERM": "xterm", **variables}), start_new_session=True)

    def frame(self, wanted=""):
        """The next whole frame with this text in it."""
        until = time.monotonic() + 60
        while time.monotonic() < until:
            frames = re.findall(r"\x1b\[H(.*?)\x1b\[J", self.text, re.S)
            found = [frame for frame in frames if wanted in frame]
            if found:
                self.text = ""
                return found[-1].replace("\x1b[K", "").splitlines()
            if select.select([self.master], [], [], 1)[0]:
                self.text += os.read(self.master, 65536).decode()
        raise AssertionError(self.text)

    def ends(self):
        code = self.process.wait(timeout=60)
        while select.select([self.master], [], [], 0)[0]:
            self.text += os.read(self.master, 65536).decode()
        same = termios.tcgetattr(self.slave) == self.kept
        os.close(self.slave)
        os.close(self.master)
        return code == 0 and same and self.text.endswith("\x1b[?25h\x1b[?1049l")


def test_a_dumb_terminal_gets_plain_text(server):
    terminal = Terminal(server, TERM="dumb")
    assert terminal.process.wait(timeout=60) == 0
    text = os.read(terminal.master, 65536).decode()
    assert "QUEUE" in text.upper() and "\x1b" not in text
    os.close(terminal.slave)
    os.close(terminal.master)


def without_colours(line):
    return re.sub(r"\x1b\[\d*m", "", line)


def test_live_it_fits_eighty_columns_and_follows(server):
    terminal = Terminal(server)
    lines = terminal.frame()
    assert server.endpoint in lines[0] and all(len(without_colours(line)) <= 80 for line in lines)
    assert without_colours(lines[1]).split() == HEAD
    assert without_colours(lines[2]).startswith("a-queue-with-a-name-th") and "~ " in lines[2]
    assert "\x1b[31m" not in lines[2] and "\x1b[31m" in lines[3] and lines[4].rstrip().endswith("\x1b[0m")
    run("send", LONG, "x", AWS_ENDPOINT_URL=server.endpoint)
    while terminal.frame()[2].split()[1] != "1":
        pass
    os.write(terminal.master, b"xq")
    assert terminal.ends()


def test_live_on_a_small_terminal_without_colours(server):
    terminal = Terminal(server, lines=5, columns=40, NO_COLOR="1")
    lines = terminal.frame()
    assert len(lines) <= 4 and all(len(line) <= 40 and "\x1b" not in line for line in lines)
    assert lines[-1].startswith("and 2 more")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.ends()


def test_live_it_goes_on_when_the_server_is_gone(server):
    terminal = Terminal(server)
    terminal.frame("orders")
    server.stop()
    assert "orders" in "".join(terminal.frame("127.0.0.1:%d: " % server.port)[1:])
    os.write(terminal.master, b"q")
    assert terminal.ends()


def test_without_a_server():
    answer = run("top", "--endpoint", "http://127.0.0.1:9")
    assert answer.returncode == 1 and answer.stdout == "" and answer.stderr.count("\n") == 1


@pytest.mark.parametrize("words", [["extra"], ["--interval", "99"], ["--sort", "size"]])
def test_top_misused(words):
    refused("top", *words)
