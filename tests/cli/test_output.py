"""What becomes of output that cannot be written: a full disk, a reader that has gone."""
import signal
import subprocess

import pytest

from commands import environment
from exchange import process


@pytest.fixture
def server(start):
    return start("--queue", "orders", clock="real")


@pytest.fixture
def full(server):
    """Exit code and stderr of a command whose stdout is a full disk."""
    def one(*words):
        with open("/dev/full", "w", encoding="utf-8") as disk:
            ended = subprocess.run([process.program(), *words], stdout=disk, stderr=subprocess.PIPE, text=True,
                                   env=environment(AWS_ENDPOINT_URL=server.endpoint), timeout=60, check=False)
        return ended.returncode, ended.stderr
    return one


def read_one_line(server, *words):
    """As `| head -1` does; how the command ended."""
    command = subprocess.Popen([process.program(), *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=environment(AWS_ENDPOINT_URL=server.endpoint))
    command.stdout.readline()
    command.stdout.close()
    said = command.stderr.read()
    return command.wait(timeout=30), said


LINES = ["queues", "queues --json", "peek orders", "attributes orders", "receive orders", "send orders more", "top --once",
         "scenarios", "explain std.crash-after-delete", "chaos list", "chaos log", "health", "version", "--help", "peek --help",
         "completion bash", "tail orders --last 1 --count 1"]


def test_a_full_disk_is_said_and_is_no_success(quern, full):
    quern("send", "orders", "m")
    for line in LINES:
        word = line.split()[0]
        code, said = full(*line.split())
        said = said.replace("part of it is lost", "No space left on device")  # it went on for a while
        assert (code, said) == (1, f"quern {word}: cannot write its output: No space left on device\n"), line


@pytest.mark.parametrize("size", [10, 100_000])  # beyond a buffer it fails before the end
def test_what_was_not_shown_is_not_deleted(server, quern, full, size):
    quern("send", "orders", stdin="x" * size)
    code, said = full("receive", "orders", "--delete")
    assert code == 1 and said.startswith("quern receive: cannot write its output: "), said
    assert server.control("GET", "/_quern/queues/orders")[1]["in_flight"] == 1


def test_a_full_disk_is_said_once_by_export(quern, full):
    quern("send", "orders", "m")
    assert full("export", "orders") == (1, "quern export: WriteError: cannot write: No space left on device\n")


def test_tail_ends_when_nobody_reads_it_any_more(server, quern):
    quern("send", "orders", "m")
    assert read_one_line(server, "tail", "orders", "--last", "1") == (-signal.SIGPIPE, "")


def test_the_log_of_faults_ends_when_nobody_reads_it_any_more(server):
    assert read_one_line(server, "chaos", "log", "--follow") == (-signal.SIGPIPE, "")


def test_export_behind_a_reader_that_goes_ends_as_any_command(server, quern):
    for _ in range(3):
        quern("send", "orders", stdin="x" * 100_000)
    assert read_one_line(server, "export", "orders") == (-signal.SIGPIPE, "")
