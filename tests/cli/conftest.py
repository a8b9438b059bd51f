import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cases")]

from exchange import process  # noqa: E402


@pytest.fixture
def start():
    """Starts servers with the given options; all of them must end cleanly."""
    running = []

    def started(*options, clock="virtual"):
        server = process.Server(*options, clock=clock)
        running.append(server)
        return server

    yield started
    for server in running:
        if server.process.poll() != 0:  # not stopped by the test itself
            server.stop()
