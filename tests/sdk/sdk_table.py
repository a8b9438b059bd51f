"""The table of clients in the README: from a run to table.json, from table.json to the README."""

import json
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
README = HERE.parents[1] / "README.md"
RESULTS = HERE / "table.json"
MARKED = re.compile(r"(<!-- begin clients[^\n]*-->\n)(.*)(<!-- end clients -->)", re.S)
PROTOCOLS = {"json": "JSON", "query": "query"}


class Run:
    """What came of a run: for each client the word ("ok", "n/a", "FAIL") of each behaviour."""

    def __init__(self, outcomes, versions):
        self.outcomes = outcomes
        self.versions = versions

    def row(self, client, behaviours):
        """The client's row, or None if not all its behaviours ran or it could not be had."""
        words = list(self.outcomes.get(client.name, {}).values())
        if len(words) < behaviours or self.versions.get(client.name, "?") == "?":
            return None
        return {
            "name": client.name,
            "label": client.label,
            "language": client.language,
            "version": self.versions[client.name].split()[-1],
            "protocol": client.protocol,
            "kind": client.kind,
            "passed": words.count("ok"),
            "offered": len(words) - words.count("n/a"),
            "of": len(words),
            "lacks": sorted(client.lacks),
        }


def matrix(chosen, outcomes, versions):
    """Lines for the end of a test run: one per behaviour, one column per client."""
    clients = list(chosen)
    rows = list(dict.fromkeys(row for client in clients for row in chosen[client]))
    width = max(map(len, rows))
    lines = ["%-*s  %s" % (width, "behaviour", "  ".join(clients))]
    for row in rows:
        words = [outcomes.get(client, {}).get(row, "-") for client in clients]
        cells = ["%-*s" % (len(client), word) for client, word in zip(clients, words)]
        lines.append(("%-*s  %s" % (width, row, "  ".join(cells))).rstrip())
    good = [list(outcomes.get(client, {}).values()).count("ok") for client in clients]
    totals = ["%-*s" % (len(c), "%d/%d" % (n, len(chosen[c]))) for c, n in zip(clients, good)]
    lines.append(("%-*s  %s" % (width, "", "  ".join(totals))).rstrip())
    return lines + ["%s is %s" % (client, versions.get(client, "?")) for client in clients]


def load():
    return json.loads(RESULTS.read_text()) if RESULTS.is_file() else []


def save(rows):
    lines = ",\n".join("  " + json.dumps(row, ensure_ascii=False) for row in rows)
    RESULTS.write_text("[\n%s\n]\n" % lines)
    README.write_text(MARKED.sub(lambda m: m[1] + "".join(markdown(rows)) + m[3], README.read_text()))


def markdown(rows):
    yield "| client | language | version | protocol | behaviours passed |\n"
    yield "| --- | --- | --- | --- | --- |\n"
    for row in sorted(rows, key=lambda row: (row["kind"], row["language"], row["label"].lower())):
        cells = (row["label"], row["language"], row["version"], PROTOCOLS[row["protocol"]])
        yield "| %s | %s | %s | %s | " % cells + "%(passed)d of %(offered)d |\n" % row


def in_readme():
    return MARKED.search(README.read_text()).group(2)
