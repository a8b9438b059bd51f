import pathlib
import sys
import tempfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cases")]

from durable import Store  # noqa: E402


@pytest.fixture
def folder():
    """A folder that goes with its test: a ring is large, and pytest's own folders stay."""
    with tempfile.TemporaryDirectory(prefix="quern-crash-") as path:
        yield pathlib.Path(path)


@pytest.fixture(params=["stop", "kill"])
def store(request, folder):
    """A running server on a file of its own, on a virtual clock; restarts end it in either way."""
    opened = Store(folder, ends_by=request.param)
    opened.start()
    yield opened
    opened.end()
