"""Every case file, in each protocol, against a real server process."""
import pathlib

import pytest

from exchange.case import PROTOCOLS, Case, Player

FOLDER = pathlib.Path(__file__).resolve().parent
CASES = [Case(path, FOLDER) for path in sorted(FOLDER.glob("*/*.json"))]


@pytest.mark.parametrize(
    "case, protocol",
    [pytest.param(c, p, id=c.test_id(p)) for c in CASES for p in PROTOCOLS if p in c.protocols],
)
def test_exchange(case, protocol, servers, clients):
    server = servers.get(*case.options)
    player = Player(case, protocol, server, clients(server))
    try:
        player.play()
    finally:
        player.clean_up()
        try:
            server.assert_sound()
        except AssertionError:
            servers.forget(server)
            raise
