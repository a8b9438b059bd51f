"""client/checklists.md: the three checklists for a person, each row with the scenarios that prove it. It is made from the lists of the
report and the scenarios of the program: `python3 tests/check/test_checklists_page.py >client/checklists.md`."""
import fnmatch
import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "client" / "checklists.md"
LISTS = json.loads((ROOT / "chaos/check/report/html/checklists.json").read_text())
SCENARIOS = {path.stem: json.loads(path.read_text()) for path in (ROOT / "chaos/check/scenarios").glob("*.json")}
# Rules that many scenarios judge: the ones to begin with.
FIRST = {
    "ACK-AFTER-EFFECT": ["base.ack-after-effect", "shutdown.sigterm-drains"],
    "NO-LOSS": ["std.crash-mid-work", "std.crash-after-receive"],
    "ONCE": ["std.duplicate-producer", "std.duplicate-two-workers", "std.delete-lost"],
    "DLQ-EXACT": ["poison.reaches-dlq-exactly"],
    "BOUNDED": ["backpressure.bounded-inflight"],
    "BACKOFF": ["error.backoff-on-throttle", "error.backoff-on-5xx"],
    "NO-GAP-ACK": ["fifo.contiguous-ack"],
}
HEAD = """# Three checklists

What to go through before a consumer meets real traffic, for somebody who thinks in commits and offsets, and in the review of a design. Each
row names what proves it: scenarios of `quern check`, and the rules that these judge. Read the page behind a name (`quern explain NAME`
prints it), or run the scenario (`quern check --only NAME -- CMD`). `quern check --checklist -- CMD` prints the lists filled in with what was
seen of your consumer, and so does the HTML report. What the [runtime](README.md) does of it by itself is in its
[rules](README.md#the-rules-and-what-proves-them).
"""


def link(name):
    return f"[{name}](../chaos/check/explain/{name}.md)"


def proofs(item):
    if "outside" in item:
        return f"cannot be seen from outside: {item['outside']}"
    rules = item.get("invariants", [])
    fitting = [name for pattern in item.get("scenarios", []) for name in sorted(fnmatch.filter(SCENARIOS, pattern))
               if not name.startswith("lambda.")]
    names = fitting or [name for rule in rules for name in FIRST[rule]]
    return ", ".join(link(name) for name in [*rules, *dict.fromkeys(names)])


def made():
    text = HEAD
    for one in LISTS:
        text += f"\n## {one['title']}\n\n{one['intro']}\n\n| | proved by |\n| --- | --- |\n"
        text += "".join(f"| {item['text']} | {proofs(item)} |\n" for item in one["items"])
    return text


def test_the_page_is_what_the_lists_of_the_report_say():
    assert PAGE.read_text() == made()


def test_each_row_leads_to_pages_that_are_there():
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ") and "---" not in line and "proved by" not in line]
    assert len(rows) == sum(len(one["items"]) for one in LISTS)
    for row in rows:
        links = re.findall(r"\]\(([^)#]+)\)", row)
        assert links or "cannot be seen from outside" in row, row
        assert [one for one in links if not (PAGE.parent / one).is_file()] == [], row


def test_the_scenarios_to_begin_with_judge_their_rule():
    assert [(rule, name) for rule, names in FIRST.items() for name in names
            if not any(re.search(rf"\b{rule}\b", text) for text in SCENARIOS[name]["must"])] == []


if __name__ == "__main__":
    print(made(), end="")
