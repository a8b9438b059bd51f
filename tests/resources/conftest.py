import os
import pathlib
import sys
import tempfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cases"), str(HERE.parent / "http"), str(HERE.parent / "crash")]

from exchange.process import Server, program  # noqa: E402


@pytest.fixture
def folder():
    with tempfile.TemporaryDirectory(prefix="quern-resources-") as path:
        yield pathlib.Path(path)


@pytest.fixture
def start(folder):
    """Starts servers, if asked with a limit of open files; each must end in order."""
    started = []

    def run(*options, files=None):
        named = os.environ.get("QUERN_PROGRAM")
        if files is not None:
            limited = folder / "limited"
            limited.write_text('#!/bin/sh\nulimit -n %d\nexec %s "$@"\n' % (files, program()))
            limited.chmod(0o755)
            os.environ["QUERN_PROGRAM"] = str(limited)
        try:
            started.append(Server(*options, clock="real"))
        finally:
            if files is not None:
                os.environ.pop("QUERN_PROGRAM")
                if named is not None:
                    os.environ["QUERN_PROGRAM"] = named
        return started[-1]

    yield run
    for server in started:
        server.stop()
