import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cases")]

from exchange import process  # noqa: E402
from world import World  # noqa: E402


@pytest.fixture
def world(tmp_path):
    with process.starting() as start:
        made = World(start(), tmp_path)
        yield made
        made.stop()
