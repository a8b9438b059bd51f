import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cases")]

from commands import run  # noqa: E402
from exchange import process  # noqa: E402


@pytest.fixture
def start():
    """Starts servers with the given options; all of them must end cleanly."""
    with process.starting() as started:
        yield started


@pytest.fixture
def quern(server):
    """quern WORDS against the server of the file."""
    return lambda *words, **how: run(*words, AWS_ENDPOINT_URL=server.endpoint, **how)
