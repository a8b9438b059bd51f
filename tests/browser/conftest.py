import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parent
sys.path[:0] = [str(HERE), str(TESTS / "check"), str(TESTS / "cli"), str(TESTS / "cases")]

from chromium import Browser  # noqa: E402


@pytest.fixture(scope="session")
def browser():
    with Browser() as running:
        yield running
