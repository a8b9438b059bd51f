"""Keeps what came of every behaviour and client, and prints it as a table after the tests."""

import pytest

import sdk_table

OUTCOMES = {}
VERSIONS = {}
CHOSEN = {}


def pytest_collection_finish(session):
    """Only the behaviours that are left after -k and the like are run."""
    for item in session.items:
        params = getattr(getattr(item, "callspec", None), "params", {})
        if "client" in params and "behaviour" in params:
            CHOSEN.setdefault(params["client"], []).append(params["behaviour"])
    session.config.chosen_behaviours = CHOSEN
    session.config.client_versions = VERSIONS


@pytest.fixture(scope="session")
def record_outcome():
    def record(client, behaviour, outcome):
        word = "FAIL" if outcome.trouble else "n/a" if outcome.lacking else "ok"
        OUTCOMES.setdefault(client, {})[behaviour] = word

    return record


@pytest.fixture(scope="session")
def what_ran():
    return sdk_table.Run(OUTCOMES, VERSIONS)


def pytest_terminal_summary(terminalreporter):
    if CHOSEN:
        terminalreporter.section("real clients")
        for line in sdk_table.matrix(CHOSEN, OUTCOMES, VERSIONS):
            terminalreporter.write_line(line)
