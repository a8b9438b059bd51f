"""These tests wait most of the time, so tests/run has several at once (pytest-xdist)."""
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cli"), str(HERE.parent / "cases"), str(HERE.parent / "sdk")]

from sdk_install import debian  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "xdist_group(name): run by one worker, in their order")
    if not hasattr(config, "workerinput"):  # before there are several
        debian("python3-boto3")


def pytest_collection_modifyitems(items):
    """Tests that share a fixture stay together, so that it is made once."""
    for item in items:
        made = item._fixtureinfo.name2fixturedefs.items()
        shared = [name for name, definitions in made if definitions[-1].scope == "module"]
        if shared:
            item.add_marker(pytest.mark.xdist_group(f"{item.module.__name__}.{shared[0]}"))
