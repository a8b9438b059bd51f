"""tail: looking at queues while they change."""
import json
import pathlib
import signal
import subprocess
import sys

import pytest

from commands import environment, refused, run, succeeds
from exchange import process

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "replay"))

from other_sqs import OtherSqs  # noqa: E402


@pytest.fixture
def server(start):
    return start("--queue", "orders", "--queue", "jobs.fifo")


@pytest.fixture
def other(server):
    proxy = OtherSqs(server)
    yield proxy
    proxy.stop()


@pytest.fixture
def background(server):
    """A command that goes on until it is told to end."""
    started = []

    def begin(*words):
        started.append(subprocess.Popen([process.program(), *words], env=environment(AWS_ENDPOINT_URL=server.endpoint),
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return started[-1]

    yield begin
    for one in started:
        one.kill()
        one.communicate()


# ---- tail ----


def test_tail_shows_the_last_ones_and_those_that_come(quern, background):
    for body in ("a", "b", "c"):
        succeeds(quern("send", "orders", body))
    tail = background("tail", "orders", "--last", "2")
    assert [tail.stdout.readline().split()[2] for _ in range(2)] == ["b", "c"]
    sent = succeeds(quern("send", "orders", "two\nlines")).strip()
    assert tail.stdout.readline().split()[1:] == [sent, "two", "lines"]
    tail.send_signal(signal.SIGINT)
    assert tail.communicate(timeout=30) == ("", "") and tail.returncode == 0


def test_tail_ends_after_so_many_and_receives_nothing(quern):
    for body in ("a", "b", "c"):
        succeeds(quern("send", "jobs.fifo", body, "--group", "g", "--deduplication", body))
    lines = succeeds(quern("tail", "jobs.fifo", "--count", "2")).splitlines()
    assert [line.split()[2:] for line in lines] == [["[g]", "a"], ["[g]", "b"]]
    message = json.loads(succeeds(quern("tail", "jobs.fifo", "--last", "1", "--count", "1", "--json")))
    assert (message["body"], message["receive_count"], message["state"]) == ("c", 0, "visible")


@pytest.mark.parametrize("command", ["tail", "peek"])
def test_elsewhere_there_is_no_looking(other, command):
    answer = run(command, "orders", "--endpoint", other.endpoint)
    assert (answer.returncode, answer.stdout) == (1, "") and "quern receive QUEUE --wait 20" in answer.stderr


@pytest.mark.parametrize("words", [[], ["a", "--last", "1001"], ["a", "--interval", "9"], ["a", "--count", "-1"]])
def test_tail_misused(words):
    refused("tail", *words)


def test_peek_by_url(quern, server):
    succeeds(quern("send", "orders", "x"))
    assert len(succeeds(quern("peek", server.endpoint + "/000000000000/orders")).splitlines()) == 2


# ---- queues ----


def test_queues_of_another_sqs_are_asked_one_by_one(quern, other):
    succeeds(quern("attributes", "orders", "DelaySeconds=900"))
    succeeds(quern("send", "orders", "x"))
    succeeds(quern("send", "orders", "x", "--delay", "0"))
    head, *lines = succeeds(run("queues", "--endpoint", other.endpoint)).splitlines()
    assert head.split() == "NAME ACCOUNT REGION VISIBLE IN FLIGHT DELAYED OLDEST s DEAD LETTERS TO".split()
    assert sorted(line.split() for line in lines) == [
        ["jobs.fifo", "000000000000", "us-east-1", "0", "0", "0", "-", "-"],
        ["orders", "000000000000", "us-east-1", "1", "0", "1", "-", "-"],
    ]
    (queue,) = [q for q in json.loads(succeeds(run("queues", "--json", "--endpoint", other.endpoint)))["queues"] if not q["fifo"]]
    assert queue["arn"] == "arn:aws:sqs:us-east-1:000000000000:orders"
    assert (queue["visible"], queue["delayed"], queue["oldest_age_s"]) == (1, 1, None)


def test_queues_say_where_dead_letters_go(start):
    server = start("--queue", "dead", "--queue", "orders")
    other = OtherSqs(server)
    policy = '{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead","maxReceiveCount":2}'
    succeeds(run("attributes", "orders", "RedrivePolicy=" + policy, AWS_ENDPOINT_URL=server.endpoint))
    for endpoint in (server.endpoint, other.endpoint):
        lines = succeeds(run("queues", "--endpoint", endpoint)).splitlines()[1:]
        assert sorted((line.split()[0], line.split()[-1]) for line in lines) == [("dead", "-"), ("orders", "dead")]
    other.stop()
