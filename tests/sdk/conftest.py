"""Prints the table of behaviours and clients after the tests of test_clients.py."""

import os

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


def pytest_runtest_logreport(report):
    if report.when == "call" and "test_behaviour[" in report.nodeid:
        OUTCOMES[report.nodeid.split("[", 1)[1][:-1]] = report.outcome


def table():
    clients = list(CHOSEN)
    rows = list(dict.fromkeys(row for client in clients for row in CHOSEN[client]))
    width = max(map(len, rows))
    lines = ["%-*s  %s" % (width, "behaviour", "  ".join(clients))]
    words = {"passed": "ok", "failed": "FAIL"}
    for row in rows:
        outcomes = [(c, OUTCOMES.get("%s-%s" % (c, row))) for c in clients]
        cells = ["%-*s" % (len(client), words.get(outcome, "-")) for client, outcome in outcomes]
        lines.append(("%-*s  %s" % (width, row, "  ".join(cells))).rstrip())
    good = [sum(OUTCOMES.get("%s-%s" % (c, r)) == "passed" for r in rows) for c in clients]
    totals = ["%-*s" % (len(c), "%d/%d" % (n, len(rows))) for c, n in zip(clients, good)]
    lines.append(("%-*s  %s" % (width, "", "  ".join(totals))).rstrip())
    return lines + ["%s is %s" % (client, VERSIONS.get(client, "?")) for client in clients]


def pytest_terminal_summary(terminalreporter):
    if not CHOSEN:
        return
    lines = table()
    terminalreporter.section("real clients")
    for line in lines:
        terminalreporter.write_line(line)
    if "QUERN_SDK_TABLE" in os.environ:
        with open(os.environ["QUERN_SDK_TABLE"], "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
