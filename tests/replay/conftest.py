import itertools
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), *(str(HERE.parent / folder) for folder in ("cases", "control", "cli", "http"))]

from exchange import client as exchange_client  # noqa: E402
from exchange import process  # noqa: E402

_serial = itertools.count(1)


@pytest.fixture
def start():
    """Starts servers with the given options; all of them must end cleanly."""
    with process.starting(may_be_killed=True) as started:
        yield started


@pytest.fixture
def connect():
    """Connections of clients: connect(server) gives one whose calls may fail."""
    opened = []

    def connected(server):
        connection = exchange_client.Client(server)
        opened.append(connection)
        return lambda action, protocol="json", how=None, **members: connection.call(
            protocol, action, members, **(how or {}))

    yield connected
    for connection in opened:
        connection.close()


@pytest.fixture
def name():
    return "r%d" % next(_serial)
