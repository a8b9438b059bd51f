import itertools
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cases"), str(HERE.parent / "http")]

from exchange import client as exchange_client  # noqa: E402
from exchange import process  # noqa: E402

_serial = itertools.count(1)


@pytest.fixture
def start():
    """Starts servers with the given options; all of them must end cleanly."""
    with process.starting(may_be_killed=True) as started:
        yield started


@pytest.fixture
def server(start):
    """A server of this test's own, on a virtual clock."""
    return start()


@pytest.fixture
def call(server):
    """Calls of SQS that may fail: call("SendMessage", QueueUrl=..., ...) gives the whole answer."""
    connection = exchange_client.Client(server)
    yield lambda action, **members: connection.call("json", action, members)
    connection.close()


@pytest.fixture
def sqs(call):
    """Calls that must succeed: the members of the answer."""

    def succeed(action, **members):
        answer = call(action, **members)
        assert answer.status == 200, answer
        return answer.members

    return succeed


@pytest.fixture
def name():
    return "c%d" % next(_serial)


@pytest.fixture
def queue(sqs, name):
    return sqs("CreateQueue", QueueName=name)["QueueUrl"]
