import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cases")]

from exchange import process  # noqa: E402


@pytest.fixture
def start():
    """Starts servers with the given options; all of them must end cleanly."""
    with process.starting() as started:
        yield started
