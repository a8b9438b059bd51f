"""The table in the README is what table.json says, and table.json is what the clients did just now.

With QUERN_SDK_TABLE=write (`./dev test clients`) both are written first, from what ran.
"""

import os

import pytest

import sdk_table
from sdk_clients import CLIENTS, found
from test_clients import behaviours_of


@pytest.fixture(scope="module")
def rows(what_ran):
    """The rows of all clients, as kept, or as they are now if the table is to be written."""
    known = {row["name"]: row for row in sdk_table.load()}
    if os.environ.get("QUERN_SDK_TABLE") == "write":
        for client in CLIENTS:
            known[client.name] = what_ran.row(client, len(behaviours_of(client)))
        kept = [known[client.name] for client in found() if known.get(client.name)]
        sdk_table.save(kept)
        known = {row["name"]: row for row in kept}
    return known


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_row_is_what_ran(rows, what_ran, client):
    ran = what_ran.row(client, len(behaviours_of(client)))
    assert ran is not None, "%s did not run" % client.name
    kept = dict(rows[client.name])
    if "Debian" in client.label:
        kept["version"] = ran["version"]  # moves with Debian's point releases
    assert kept == ran, "run ./dev test clients to write the table anew"


def test_readme_shows_the_rows(rows):
    assert sdk_table.in_readme() == "".join(sdk_table.markdown(rows.values()))


def test_each_client_has_a_row(rows):
    assert set(rows) == {client.name for client in found()}
