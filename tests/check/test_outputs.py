"""What `quern check` gives beside the console: TAP while it runs, the badge, the checklists."""
import json
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest
import tap
from commands import environment, refused, run
from exchange import process

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKER = [sys.executable, str(ROOT / "tests/consumers/reference.py")]
EARLY = [sys.executable, str(ROOT / "tests/consumers/mutants.py"), "--bug", "early-ack"]
TRACES = ROOT / "tests/check/traces"
IDLE = ["sleep", "60"]
TWO = ["--only", "base.ack-after-effect", "--only", "std.delete-lost"]


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    folder = tmp_path_factory.mktemp("good")
    words = ["check", *TWO, "--waive", "std.delete-lost=later", "--checklist", "--badge", str(folder / "b.svg"),
             "--json", str(folder / "r.json"), "--", *WORKER]
    answer = run(*words)
    assert (answer.returncode, answer.stderr) == (0, "")
    return answer.stdout, (folder / "b.svg").read_text(), json.loads((folder / "r.json").read_text())


def test_tap_on_stdout_is_told_while_it_runs():
    child = subprocess.Popen([process.program(), "check", *TWO, "--scenario-timeout", "1s", "--tap", "-", "--", *IDLE],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment())
    lines = []
    for line in child.stdout:
        lines.append(line)
        if line.startswith("not ok 1"):
            assert child.poll() is None  # the second one is still to come
    assert child.wait(30) == 3
    assert lines[:2] == ["TAP version 14\n", "1..2\n"]
    tests, bail = tap.read("".join(lines))
    assert [(test["ok"], test["block"]["verdict"]) for test in tests] == [("not ok", "INCONCLUSIVE")] * 2
    assert bail is None


def test_what_says_nothing_has_a_page_on_what_to_do():
    answer = run("check", "--only", "poll.false-empty", "--scenario-timeout", "1s", "--", *IDLE, timeout_s=60)
    assert answer.returncode == 3
    assert "| more: quern explain poll.false-empty, quern explain INCONCLUSIVE\n" in answer.stdout + answer.stderr, answer.stdout


def test_tap_says_when_the_run_is_cut_short():
    answer = run("check", *TWO, "--fail-fast", "--tap", "-", "--", *EARLY, timeout_s=120)
    assert answer.returncode == 1
    assert answer.stdout.splitlines()[1] == "1..2"
    assert answer.stdout.splitlines()[-1] == "Bail out! a failure"
    assert "ended at the first failure" in answer.stderr


def test_the_badge_says_level_counts_and_version(good):
    _, text, report = good
    root = ElementTree.fromstring(text)
    left, right = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert left == "quern %s standard" % report["tool"]
    total = sum("standard" in line.split()[2] for line in run("check", "--list").stdout.splitlines())
    assert right == "partial: 1 of %d pass, 1 waived" % total
    assert root.get("aria-label") == left + ", " + right
    assert report["summary"]["level"] == "partial"


def test_a_failure_is_on_the_badge_and_at_the_head_of_the_page(tmp_path):
    badge, page = tmp_path / "b.svg", tmp_path / "b.html"
    run("check", "--only", "base.ack-after-effect", "--badge", str(badge), "--html", str(page), "--", *EARLY)
    assert re.search(r"failed: 0 of \d+ pass, 1 fail<", badge.read_text())
    assert re.search(r"<dt>Level</dt><dd>failed: 0 of \d+ pass, 1 fail \(", page.read_text())


def test_what_cannot_be_written_is_refused_before_the_run(tmp_path):
    path = str(tmp_path / "no" / "b.svg")
    assert "--badge " + path in refused("check", "--badge", path, "--", "x")
    assert "--keep " + __file__ + ": Not a directory" in refused("check", "--keep", __file__, "--", "x")
    same = str(tmp_path / "same")
    assert "both name" in refused("check", "--json", same, "--badge", same, "--", "x")


def test_a_consumer_that_overruns_what_is_downstream_is_told(tmp_path):
    words = ["check", "--only", "base.ack-after-effect", "--sink-capacity", "1", "--json", str(tmp_path / "r.json"), "--",
             *WORKER, "--workers", "3"]
    answer = run(*words)
    accounting = json.loads((tmp_path / "r.json").read_text())["scenarios"][0]["accounting"]
    refusals = accounting["sink_refused"]["over_capacity"]
    assert refusals > 0
    assert f"| the sink refused {refusals} of the calls (429): more were open than it takes\n" in answer.stdout
    assert f"\n the sink refused {refusals} calls: {refusals} beyond its capacity (429)\n" in answer.stdout
    assert re.search(r"^ messages 12 sent / 12 deleted       effects 12 applied / 0 duplicated / 0 lost$", answer.stdout, re.M)
    assert accounting["deleted"] == accounting["applied"] == 12


def test_the_checklists_are_on_the_console(good):
    text, _, _ = good
    lists = json.loads((ROOT / "chaos/check/report/html/checklists.json").read_text())
    for one in lists:
        assert "\n " + one["title"] + "\n" in text
        for item in one["items"]:
            (line,) = [line for line in text.splitlines() if line[12:].startswith(item["text"])][:1]
            assert line.split("  ")[1] in ("held", "not seen", "-"), line
    assert re.search(r"^  held  ", text, re.M) and re.search(r"^  not seen  ", text, re.M)


def test_a_broken_item_names_its_scenarios():
    answer = run("judge", "--checklist", str(TRACES / "once-broken.jsonl"))
    assert answer.returncode == 1
    assert re.search(r"^  broken    .*: test", answer.stdout, re.M), answer.stdout


def test_an_item_that_was_not_seen_names_the_scenarios_that_would_show_it(tmp_path):
    page = tmp_path / "page.html"
    answer = run("judge", "--checklist", "--html", str(page), str(TRACES / "once-broken.jsonl"))
    rows = dict(re.findall(r"^  not seen  (.*): to be seen in (.*)$", answer.stdout, re.M))
    assert rows["Load with duplicates and crashes at once has been survived"] == "chaos.soak"
    assert rows["Polls are long, and an idle consumer costs little"] == "poll.idle-cost, poll.long-polling-used"
    assert rows["A message is deleted only after its effect is durable"].startswith("base.ack-after-effect, ")
    assert rows["Offsets: in a FIFO group nothing is acknowledged past a gap"].endswith(" (--profile fifo)")
    assert rows["Errors of the API are answered by waiting, longer each time"].startswith("error.backoff-on-5xx, ")
    assert answer.stdout.count("\n  not seen") == len(rows)
    assert "<td>to be seen in chaos.soak</td>" in page.read_text()


@pytest.mark.parametrize("trace, word", [("lapsed", "open"), ("unneeded", "open"), ("kept", "held")])
def test_what_was_noticed_for_information_alone_is_not_called_held(tmp_path, trace, word):
    """A lease that lapsed under a consumer that never said that it extends any is no point that held."""
    text = (TRACES / f"verdict-heartbeat-{trace}.jsonl").read_text()
    seen = tmp_path / "seen.jsonl"
    seen.write_text(text.replace('"id":"test"', '"id":"lease.heartbeat-extends"', 1))
    answer = run("judge", "--checklist", str(seen))
    assert re.search(rf"^  {word}\s+Extension: long work extends its lease", answer.stdout, re.M), answer.stdout
