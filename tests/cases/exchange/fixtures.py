"""Fixtures of both folders that use this package."""
import pytest

from . import client, process


@pytest.fixture(scope="session")
def servers():
    """Real servers, one for each set of options, ended in an orderly way after the last test."""
    shared = process.Servers()
    yield shared
    shared.stop()


@pytest.fixture(scope="session")
def clients():
    """A kept-alive connection for each server."""
    opened = {}

    def of(server):
        if server not in opened:
            opened[server] = client.Client(server)
        return opened[server]

    yield of
    for connection in opened.values():
        connection.close()
