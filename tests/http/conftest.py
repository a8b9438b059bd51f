import itertools
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cases")]

for file in HERE.glob("fault*.py"):
    pytest.register_assert_rewrite(file.stem)

from exchange.fixtures import clients, servers  # noqa: E402, F401
from faulty import Party, Rules  # noqa: E402

_serial = itertools.count(1)


@pytest.fixture
def server(servers):  # noqa: F811
    """The server with default options. It must survive every test."""
    shared = servers.get()
    yield shared
    try:
        shared.assert_sound()
    except AssertionError:
        servers.forget(shared)
        raise


@pytest.fixture
def client(server, clients):  # noqa: F811
    return clients(server)


@pytest.fixture
def name():
    """A queue name of this test's own."""
    return "h%d" % next(_serial)


@pytest.fixture
def queue(client, name):
    """The URL of a queue of this test's own, deleted afterwards."""
    url = client.call("json", "CreateQueue", {"QueueName": name}).members["QueueUrl"]
    yield url
    client.call("json", "DeleteQueue", {"QueueUrl": url})


@pytest.fixture
def rules(server):
    """Fault rules, gone behind the test."""
    kept = Rules(server)
    yield kept
    kept.remove()


@pytest.fixture(params=["json", "query"])
def party(request, server):
    """A client of each protocol."""
    opened = Party(server, request.param)
    yield opened
    opened.client.close()
