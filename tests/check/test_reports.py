"""The files of a report: JUnit XML, TAP 14 and JSON, of stored traces and of real runs."""
import json
import pathlib
import re
import sys

import jsonschema
import junit
import pytest
import tap
from commands import refused, run
from traces_made import Trace

HERE = pathlib.Path(__file__).resolve().parent
TRACES = HERE / "traces"
SCHEMA = json.loads((HERE.parents[1] / "chaos/check/report/report.schema.json").read_text())
# A trace for each verdict that a stored trace can have.
VERDICTS = {
    "FAIL": "once-broken",
    "PASS": "once-held",
    "WARN": "verdict-should",
    "SKIP": "verdict-needs-sink",
    "INCONCLUSIVE": "verdict-never-ready",
}
NASTY = "<b>&\"' \x1b[31mred\x1b[0m \x01\x07 \ufffe \U0001f4a9 ]]> # not a directive \\ --> CANARY-9f3a"


def stored(*names):
    return [str(TRACES / (name + ".jsonl")) for name in names]


def judge(tmp_path, *words):
    """Exit code, JUnit root, TAP tests and JSON report of the traces."""
    files = {form: tmp_path / ("report." + form) for form in ("junit", "tap", "json")}
    options = [word for form, file in files.items() for word in ("--" + form, str(file))]
    answer = run("judge", *options, *words)
    assert answer.stderr == ""
    report = json.loads(files["json"].read_text())
    jsonschema.validate(report, SCHEMA)
    tests, bail = tap.read(files["tap"].read_text())
    assert bail is None
    return answer.returncode, junit.read(files["junit"].read_text()), tests, report


@pytest.fixture(scope="module")
def all_verdicts(tmp_path_factory):
    return judge(tmp_path_factory.mktemp("all"), *stored(*VERDICTS.values()))


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_each_verdict_has_its_form_in_junit(all_verdicts):
    code, root, _, _ = all_verdicts
    assert code == 1
    fail, passed, warn, skip, inconclusive = root.iter("testcase")
    assert fail.find("failure").get("type") == "ONCE"
    assert "k-000" in fail.find("failure").get("message")
    assert re.search(r"^> \d+ effect k-000 committed", fail.find("failure").text, re.M)
    assert "| rerun: quern check --only test" in fail.find("failure").text
    assert [child.tag for child in passed] == ["properties"]
    assert warn.find("failure") is None and warn.find("system-out").text.startswith("WARN should: ")
    assert any(p.get("name") == "quern.warn" for p in warn.iter("property"))
    assert "effect sink" in skip.find("skipped").get("message")
    assert inconclusive.find("error").get("type") == "INCONCLUSIVE"


def test_each_verdict_has_its_form_in_tap(all_verdicts):
    _, _, (fail, passed, warn, skip, inconclusive), report = all_verdicts
    assert [test["ok"] for test in (fail, passed, warn, skip, inconclusive)] == [
        "not ok", "ok", "ok", "ok", "not ok"]
    assert fail["block"]["invariant"] == "ONCE"
    assert fail["block"]["witness"] == report["scenarios"][0]["invariants"][0]["witness"]
    assert set(passed["block"]) == {"sent", "deleted", "applied"} and passed["directive"] is None
    assert "block" not in skip
    assert warn["directive"] == "TODO" and warn["reason"].startswith("should: ")
    assert skip["directive"] == "SKIP" and "effect sink" in skip["reason"]
    assert inconclusive["block"]["message"] == "the consumer never became ready"


def test_each_verdict_is_counted_in_json(all_verdicts):
    _, _, _, report = all_verdicts
    assert [scenario["verdict"] for scenario in report["scenarios"]] == list(VERDICTS)
    for verdict in VERDICTS:
        assert report["summary"][verdict.lower()] == 1
    assert report["accounting"]["duplicated"] == ["test/k-000"]
    assert report["scenarios"][0]["accounting"]["duplicated"] == ["k-000"]


def test_strict_makes_a_failure_of_a_warning(tmp_path):
    code, root, (test,), _ = judge(tmp_path, "--strict", *stored(VERDICTS["WARN"]))
    assert code == 1
    assert root.find(".//failure").get("type").startswith("should:")
    assert (test["ok"], test["directive"]) == ("not ok", None)


def test_families_are_suites(tmp_path):
    names = ["std.one", "fifo.order", "std.two"]
    for name in names:
        Trace(scenario=name).end().write(tmp_path / (name + ".jsonl"))
    _, root, tests, _ = judge(tmp_path, *[str(tmp_path / (name + ".jsonl")) for name in names])
    assert [suite.get("name") for suite in root] == ["std", "fifo"]
    assert [(case.get("classname"), case.get("name")) for case in root.iter("testcase")] == [
        ("quern.std", "one"), ("quern.std", "two"), ("quern.fifo", "order")]
    assert [test["text"] for test in tests] == names


def test_texts_of_the_consumer_are_harmless_in_every_form(tmp_path):
    trace = Trace(command=["worker", NASTY], again="quern check -- " + NASTY)
    trace.send(NASTY)
    trace.work(NASTY)
    trace.work(NASTY)
    trace.log(NASTY)
    code, root, (test,), report = judge(tmp_path, str(trace.end().write(tmp_path / "t.jsonl")))
    assert code == 1
    shown = "<b>&\"' red \ufffd\ufffd \ufffd \U0001f4a9 ]]> # not a directive \\ --> CANARY-****"
    assert shown in root.find(".//failure").get("message")
    assert shown in root.find(".//system-out").text
    assert shown in test["block"]["message"] and shown in test["block"]["rerun"]
    assert report["consumer"]["argv"] == ["worker", shown]
    assert shown in report["scenarios"][0]["log"][0]


def test_one_report_may_go_to_stdout():
    answer = run("judge", "--tap", "-", *stored(VERDICTS["FAIL"]))
    ((test,), _) = tap.read(answer.stdout)
    assert test["ok"] == "not ok"
    assert answer.stderr.startswith("FAIL")


@pytest.mark.parametrize("option", ["--json", "--junit", "--tap", "--html"])
def test_a_report_that_cannot_be_written_is_found_out_before_the_run(option, tmp_path):
    mark = tmp_path / "was-started"
    for path, reason in ((tmp_path / "no" / "such", "No such file"), (tmp_path, "directory")):
        for words in (["check", option, str(path), "--", "/usr/bin/touch", str(mark)],
                      ["judge", option, str(path), *stored("once-held")]):
            told = refused(*words)
            assert option in told and str(path) in told and reason in told
    assert not mark.exists()


def test_two_reports_do_not_share_a_file(tmp_path):
    told = refused("judge", "--tap", str(tmp_path / "r"), "--json", str(tmp_path / "r"), *stored("once-held"))
    assert "--json and --tap" in told


def test_a_run_that_never_begins_leaves_no_file(tmp_path):
    refused("check", "--junit", str(tmp_path / "r"), "--json", str(tmp_path / "no" / "such"), "--", "true")
    assert list(tmp_path.iterdir()) == []


def test_a_report_that_was_not_written_is_not_listed(tmp_path):
    answer = run("check", "--only", "poll.idle-cost", "--json", "/dev/full", "--tap", str(tmp_path / "tap"), "--", "true")
    assert answer.returncode == 4
    assert "quern check: --json /dev/full: No space left on device\n" in answer.stderr
    assert re.findall(r"report: (.*)", answer.stdout) == [str(tmp_path / "tap")]


def test_a_full_disk_is_told_and_the_other_reports_are_written(tmp_path):
    answer = run("judge", "--json", "/dev/full", "--tap", str(tmp_path / "tap"), *stored("once-held"))
    assert answer.returncode == 4
    assert answer.stderr == "quern judge: --json /dev/full: No space left on device\n"
    tap.read((tmp_path / "tap").read_text())


SPEAKER = """
import os, sys, time, urllib.request
print("first words", flush=True)
sys.stdout.buffer.write(b"not \\xff UTF-8\\n")
sys.stdout.flush()
sys.stderr.write("last words without an end")
sys.exit(3)
"""


def test_what_a_consumer_prints_is_in_the_reports(tmp_path):
    files = {form: tmp_path / form for form in ("junit", "tap", "json")}
    options = [word for form, file in files.items() for word in ("--" + form, str(file))]
    answer = run("check", "--only", "base.ack-after-effect", "--seed", "7", "--keep", str(tmp_path / "kept"),
                 *options, "--", sys.executable, "-c", SPEAKER)
    assert answer.returncode == 3
    report = json.loads(files["json"].read_text())
    jsonschema.validate(report, SCHEMA)
    (scenario,) = report["scenarios"]
    assert scenario["log"][:3] == [
        "#1 prints: first words", "#1 prints: not ? UTF-8", "#1 prints: last words without an end"]
    ((test,), _) = tap.read(files["tap"].read_text())
    assert (test["ok"], test["block"]["verdict"]) == ("not ok", "INCONCLUSIVE")
    root = junit.read(files["junit"].read_text())
    assert "first words" in root.find(".//system-out").text
    again = scenario["rerun"]
    assert again.startswith("quern check --only base.ack-after-effect --seed 7 -- ")
    # The stored trace tells the same.
    (trace,) = (tmp_path / "kept").glob("*.jsonl")
    _, _, _, judged = judge(tmp_path, str(trace))
    for member in ("id", "verdict", "text", "invariants", "faults", "accounting", "log", "rerun"):
        if member != "text":  # the run knows the exit code, too
            assert judged["scenarios"][0][member] == scenario[member], member
    assert judged["consumer"]["argv"] == report["consumer"]["argv"]
    assert judged["seed"] == 7


def headlines(tmp_path, trace):
    """The head of the HTML report as text, and the name of the JUnit run."""
    stored_trace = trace.write(tmp_path / "trace.jsonl")
    page, cases = tmp_path / "page.html", tmp_path / "cases.xml"
    assert run("judge", "--html", str(page), "--junit", str(cases), str(stored_trace)).stderr == ""
    head = page.read_text().split("<header>")[1].split("</header>")[0]
    return head, re.search('<testsuites name="([^"]*)"', cases.read_text())[1]


def worked(work_steps=1, **run_head):
    """A message that is worked on for so many steps of 100 ms."""
    trace = Trace(step_ms=100, **run_head)
    trace.send("k-000")
    trace.lease("k-000")
    for _ in range(work_steps):
        trace.log("at work")
    trace.begin("k-000")
    trace.commit("k-000")
    trace.delete("k-000")
    return trace.end()


def test_at_most_once_stands_in_every_headline(tmp_path):
    head, name = headlines(tmp_path, worked(declared={"at_most_once": True}))
    assert "No scenario failed (declared at most once)</h1>" in head and name == "quern (declared at most once)"
    head, name = headlines(tmp_path, worked())
    assert "No scenario failed</h1>" in head and name == "quern"


def asking(**params):
    trace = Trace(step_ms=20)
    trace.add("api.in", action="ReceiveMessage", instance="QUERN0001", queue="q", req="r", invocation="i", attempt=1,
              agent="Boto3/1.40.0 ua/2.0 cfg/retry-mode#legacy", params=params)
    trace.send("k-000")
    trace.work("k-000")
    return trace.end()


def test_the_card_tells_what_was_seen_and_whether_it_fits(tmp_path):
    path = asking(AttributeNames=["SentTimestamp"], MessageAttributeNames=["kind"], MaxNumberOfMessages=10,
                  WaitTimeSeconds=0).write(tmp_path / "t.jsonl")
    page = tmp_path / "page.html"
    _, _, _, report = judge(tmp_path, "--html", str(page), str(path))
    learned = report["consumer"]["learned"]
    assert (learned["agent"], learned["retry_mode"], learned["attempts"]) == ("Boto3/1.40.0", "legacy", 1)
    assert learned["attributes"] == ["SentTimestamp", "*kind"]
    rows = {row["name"]: row for row in report["consumer"]["audit"]}
    assert rows["long polling"]["result"] == "misfit" and "20 s" in rows["long polling"]["text"]
    assert rows["attributes"]["result"] == "advice" and "ApproximateReceiveCount" in rows["attributes"]["text"]
    assert rows["program"] == {"name": "program", "seen": "Boto3/1.40.0, retries legacy", "result": "advice",
                               "text": "retry mode standard knows more errors, and stops when all calls fail"}
    assert rows["lease"]["result"] == rows["stop"]["result"] == "fits"
    card = page.read_text().split('<section id="consumer">')[1].split("</section>")[0]
    assert card.count("<tr>") == 1 + len(rows) and "Boto3/1.40.0, retries legacy" in card


def test_what_fits_is_said_to(tmp_path):
    path = asking(MessageSystemAttributeNames=["All"], MaxNumberOfMessages=1, WaitTimeSeconds=20).write(tmp_path / "t.jsonl")
    _, _, _, report = judge(tmp_path, str(path))
    rows = {row["name"]: row["result"] for row in report["consumer"]["audit"]}
    assert rows["long polling"] == rows["attributes"] == "fits"


def test_tenants_of_a_standard_queue_are_told_apart(tmp_path):
    trace = Trace(step_ms=100)
    for tenant, k in (("A", "k-000"), ("A", "k-001"), ("B", "k-002")):
        trace.add("load", k=k, mid="id-" + k, queue="q", code="OK", what="ok", tenant=tenant)
    for k in ("k-000", "k-002"):
        trace.work(k)
    path = trace.end().write(tmp_path / "t.jsonl")
    page = tmp_path / "page.html"
    _, _, _, report = judge(tmp_path, "--html", str(page), str(path))
    tenants = {one["tenant"]: one for one in report["scenarios"][0]["tenants"]}
    assert (tenants["A"]["sent"], tenants["A"]["done"], tenants["B"]["sent"], tenants["B"]["done"]) == (2, 1, 1, 1)
    assert 0 < tenants["A"]["p50_ms"] == tenants["A"]["p95_ms"] < tenants["B"]["p50_ms"]
    assert "<h3>Tenants</h3>" in page.read_text()
    alone = asking().write(tmp_path / "alone.jsonl")
    _, _, _, report = judge(tmp_path, "--html", str(page), str(alone))
    assert "tenants" not in report["scenarios"][0] and "<h3>Tenants</h3>" not in page.read_text()


@pytest.mark.parametrize("steps, grace_ms, said", [
    (1, 10000, "fits: handling p99 of {0} s in a lease of 4 s; fits: handling p99 of {0} s in the 10 s"),
    (40, 10000, "DOES NOT FIT: handling p99 of {0} s in a lease of 4 s, a longer lease"),
    (20, 1000, "DOES NOT FIT: handling p99 of {0} s in the 1 s that a stop leaves, work under way will be killed"),
])
def test_the_page_says_whether_the_durations_fit(tmp_path, steps, grace_ms, said):
    head, _ = headlines(tmp_path, worked(steps, grace_ms=grace_ms))
    seconds = re.search(r"handling p99 of ([\d.]+) s", head)[1]
    assert said.format(seconds) in head, head


def fallen(must, dies_first=True):
    """A message that needs two leases, and a process that ends by itself before or after that."""
    def falls():
        trace.log("Traceback (most recent call last):")
        trace.log("KeyError: 'total'")
        trace.proc("exit", pid=10, exit=1)
        trace.proc("spawn", pid=11)
        trace.log("hello again")

    trace = Trace(must=must)
    trace.send("k-000")
    trace.lease("k-000")
    if dies_first:
        falls()
    trace.work("k-000")
    if not dies_first:
        falls()
    trace.add("mark", reason="end", queue="q", visible=0, in_flight=0, delayed=0)
    return trace


def test_a_process_that_died_of_an_exception_is_told_first(tmp_path):
    trace = fallen(["ONE-LEASE: leases(k-000) == 1"]).write(tmp_path / "t.jsonl")
    code, root, (test,), report = judge(tmp_path, str(trace))
    (scenario,) = report["scenarios"]
    assert (code, scenario["verdict"]) == (1, "FAIL")
    assert scenario["text"] == "SURVIVES: QUERN0001 ended by itself (exit code 1)"
    assert scenario["fix"].startswith("catch what the handler raises, message by message")
    failure = root.find(".//failure")
    assert failure.get("type") == "SURVIVES"
    lines = failure.text.splitlines()
    told = [n for n, line in enumerate(lines) if line.startswith("| also ")]
    also = " ".join(line.lstrip("| ") for line in lines[told[0]:told[0] + 2])
    assert also.startswith("also ONE-LEASE: message k-000 was received 2 times; it should be exactly once")
    said = [line for line in lines if " prints: " in line]
    assert said == ["| #1 prints: Traceback (most recent call last):", "| #1 prints: KeyError: 'total'"]
    assert test["block"]["invariant"] == "SURVIVES" and test["block"]["fix"] == scenario["fix"]
    assert test["block"]["log"].splitlines()[:2] == [line[2:] for line in said]


def test_what_broke_before_the_process_died_is_told_first_all_the_same(tmp_path):
    trace = fallen(["ONE-LEASE: leases(k-000) == 1"], dies_first=False).write(tmp_path / "t.jsonl")
    _, _, _, report = judge(tmp_path, str(trace))
    assert report["scenarios"][0]["text"] == (
        "ONE-LEASE: message k-000 was received 2 times; it should be exactly once (leases(k-000) == 1)")
    assert report["scenarios"][0]["fix"] == "how it is fixed"


def test_a_double_effect_is_told_first_whoever_died(tmp_path):
    trace = fallen(["ONCE"])
    trace.begin("k-000")
    trace.commit("k-000")
    _, _, _, report = judge(tmp_path, str(trace.write(tmp_path / "t.jsonl")))
    assert report["scenarios"][0]["text"].startswith("ONCE: ")


@pytest.mark.parametrize("own_key, semantics", [("(no key)", "at-least-once"), (None, "no guarantee")])
def test_a_loss_counts_only_where_each_effect_has_a_key(tmp_path, own_key, semantics):
    trace = Trace(must=["NO-LOSS", "ONCE"])
    for k in ("k-000", "k-001"):
        trace.send(k)
        trace.lease(k)
    if own_key:
        trace.add("work.begin", k=own_key, run=100, attempt=1, instance="QUERN0001")
        trace.add("work.commit", k=own_key, run=100, instance="QUERN0001")
    trace.delete("k-000")
    for _ in range(2):
        trace.begin("k-001")
        trace.commit("k-001")
    trace.delete("k-001")
    _, _, _, report = judge(tmp_path, str(trace.end().write(tmp_path / "t.jsonl")))
    assert report["summary"]["semantics"] == semantics
    assert ("no effect has its key" in report["scenarios"][0]["text"]) == bool(own_key)


def test_a_folder_stands_for_the_traces_in_it(tmp_path):
    (tmp_path / "a.first.jsonl").write_text((TRACES / "once-broken.jsonl").read_text())
    for name in ("b", "a"):
        (tmp_path / (name + ".jsonl")).write_text((TRACES / "once-held.jsonl").read_text())
        (tmp_path / (name + ".log")).write_text("what the consumer printed\n")
    answer = run("judge", str(tmp_path))
    assert (answer.returncode, answer.stderr) == (0, "")
    heads = [line for line in answer.stdout.splitlines() if "PASS" in line]
    assert [line.split(": ")[0] for line in heads] == [str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")]
    log = str(tmp_path / "a.log")
    answer = run("judge", str(tmp_path / "a.jsonl"), log)
    assert answer.returncode == 2 and answer.stderr.startswith("quern judge: %s" % log), answer.stderr
    (tmp_path / "empty").mkdir()
    assert "empty has no traces (*.jsonl" in refused("judge", str(tmp_path / "empty"))


def test_what_is_only_information_says_what_was_seen(tmp_path):
    trace = Trace(must=["ONCE", "SECOND: leases(k-000) >= 1"])
    trace.lines[0]["scenario"]["severity"] = "info"
    trace.send("k-000")
    trace.work("k-000")
    _, _, _, report = judge(tmp_path, str(trace.end().write(tmp_path / "t.jsonl")))
    (scenario,) = report["scenarios"]
    assert (scenario["verdict"], scenario["text"]) == ("INFO", "held: ONCE, SECOND, NO-PHANTOM, SURVIVES")


def test_what_was_deleted_stands_beside_the_effects(tmp_path):
    trace = Trace(must=["NO-LOSS"])
    for k in ("k-000", "k-001"):
        trace.send(k)
    trace.work("k-000")
    trace.lease("k-001")
    trace.delete("k-001")  # and no effect
    page = tmp_path / "page.html"
    _, root, (test,), report = judge(tmp_path, "--html", str(page), str(trace.end().write(tmp_path / "t.jsonl")))
    assert [test["block"][name] for name in ("sent", "deleted", "applied")] == [2, 2, 1]
    assert "sink_refused" not in test["block"]
    for books in (report["accounting"], report["scenarios"][0]["accounting"]):
        assert (books["attempts"], books["deleted"], books["applied"]) == (2, 2, 1)
        assert "sink_refused" not in books
    properties = {one.get("name"): one.get("value") for one in root.iter("property")}
    assert (properties["quern.sent"], properties["quern.deleted"], properties["quern.applied"]) == ("2", "2", "1")
    assert page.read_text().count("2 messages sent, 2 deleted, 1 effect applied") == 2


@pytest.mark.parametrize("printed, told", [
    (["begins"] + 5 * ["curll: not found"] + ["ends"], ["| 5 times #1 prints: curll: not found"]),
    (["one", "two", "three", "four"], ["| #1 prints: two", "| #1 prints: three", "| #1 prints: four"]),
    ([], []),
])
def test_what_a_consumer_printed_that_got_nothing_done_is_told(tmp_path, printed, told):
    for is_deleted in (False, True):
        trace = Trace(must=["DLQ-EXACT"])
        for k in ("k-000", "k-001"):
            trace.send(k)
        for line in printed:
            trace.log(line)
        trace.lease("k-000")
        trace.state("msg.dlq", mid="id-k-000", k="k-000")
        if is_deleted:
            trace.lease("k-001")
            trace.work("k-001")
        _, root, _, _ = judge(tmp_path, str(trace.end().write(tmp_path / "t.jsonl")))
        text = "".join(root.itertext())
        assert "k-000 goes to the dead-letter queue" in text
        said = [line for line in text.splitlines() if line.startswith("| ") and " prints: " in line]
        assert said == ([] if is_deleted else told), text


def test_calls_that_the_sink_refused_are_counted(tmp_path):
    trace = Trace()
    trace.send("k-000")
    trace.lease("k-000")
    for status in (429, 429, 503):
        trace.begin("k-000")
        trace.add("work.abort", k="k-000", run=trace.runs, reason="over capacity", instance="QUERN0001")
        trace.add("work.reply", k="k-000", run=trace.runs, status=status, instance="QUERN0001")
    trace.add("refused", status=404, target="POST /effects", reason="no such call", instance="QUERN0001")
    page = tmp_path / "page.html"
    _, root, (test,), report = judge(tmp_path, "--html", str(page), str(trace.end().write(tmp_path / "t.jsonl")))
    counts = {"over_capacity": 2, "unavailable": 1, "not_taken": 1}
    assert test["block"]["sink_refused"] == counts
    for books in (report["accounting"], report["scenarios"][0]["accounting"]):
        assert books["sink_refused"] == counts
    properties = {one.get("name"): one.get("value") for one in root.iter("property")}
    assert [properties["quern.sink." + name] for name in ("over-capacity", "unavailable", "not-taken")] == ["2", "1", "1"]
    assert ("the sink refused 4 calls: 2 beyond its capacity (429), 1 by a fault (503), 1 that it could not take"
            in page.read_text())


def test_dead_letters_are_a_table(tmp_path):
    trace = Trace(must=["NO-LOSS"])
    trace.send("k-000")
    for _ in range(2):
        trace.lease("k-000")
        trace.begin("k-000")
        trace.add("work.abort", k="k-000", run=trace.runs, reason="permanent", instance="QUERN0001")
    trace.state("msg.dlq", mid="id-k-000", k="k-000")
    trace.add("letter", queue="q-dlq", mid="id-k-000", n=2, reason="{\"card\": \"CANARY-9f3a\", \"<b>\": 1}")
    trace.add("letter", queue="q-dlq", mid="its-own", n=0, reason="no key")
    page = tmp_path / "page.html"
    _, _, _, report = judge(tmp_path, "--html", str(page), str(trace.end().write(tmp_path / "t.jsonl")))
    moved, own = report["scenarios"][0]["dead_letters"]
    assert moved == {"message_id": "id-k-000", "key": "k-000", "receives": 2, "first_sent_at_ms": 1_000_030,
                     "reason": "received 2 times; last attempt: permanent", "body": "{\"card\": \"CANARY-****\", \"<b>\": 1}"}
    assert own == {"message_id": "its-own", "receives": 0, "reason": "the consumer put it there", "body": "no key"}
    table = page.read_text().split("<h3>In the dead-letter queue</h3>")[1].split("</table>")[0]
    assert table.count("<tr>") == 3 and "&lt;b&gt;" in table and "received 2 times; last attempt: permanent" in table


def test_a_group_that_stands_still_is_told(tmp_path):
    trace = Trace(step_ms=100, must=["NO-PHANTOM"])
    for n, (k, group) in enumerate((("k-000", "A"), ("k-001", "A"), ("k-002", "B"), ("k-003", "B"))):
        trace.send(k, grp=group, sn=str(n + 1))
    for _ in range(3):  # longer than a lease of 4 s, with k-001 behind it
        trace.lease("k-000")
        trace.jump(4000)
        trace.state("lease.expire", mid="id-k-000", k="k-000")
    for k in ("k-000", "k-001", "k-002"):
        trace.work(k)
    page = tmp_path / "page.html"
    path = str(trace.end().write(tmp_path / "t.jsonl"))
    _, _, _, report = judge(tmp_path, "--html", str(page), path)
    stuck, moving = report["scenarios"][0]["groups"]
    assert (stuck["group"], stuck["behind"], stuck["leases"], stuck["waiting"], stuck["stuck"]) == ("A", "k-000", 4, 1, True)
    assert 12_000 < stuck["held_ms"] < 14_000 and (stuck["sent"], stuck["done"]) == (2, 2)
    assert (moving["group"], moving["behind"], moving["stuck"], moving["sent"], moving["done"]) == ("B", "k-002", False, 2, 1)
    table = page.read_text().split("<h3>Groups, by how long they stood still</h3>")[1].split("</table>")[0]
    assert table.count("<tr>") == 3 and table.count("stuck") == 1
    _, _, _, report = judge(tmp_path, str(asking().write(tmp_path / "standard.jsonl")))
    assert "groups" not in report["scenarios"][0]


def test_the_margin_of_what_held_is_in_json(tmp_path):
    trace = Trace(must=["ACK-AFTER-EFFECT"])
    trace.send("k-000")
    trace.work("k-000")
    _, _, _, report = judge(tmp_path, str(trace.end().write(tmp_path / "t.jsonl")))
    (margin,) = [one for one in report["scenarios"][0]["invariants"] if one["name"] == "ACK-AFTER-EFFECT"]
    assert (margin["result"], margin["text"]) == ("pass", "1 delete, min gap effect->delete 10 ms")


def test_a_message_whose_key_nobody_knows_is_told_by_its_id(tmp_path):
    trace = Trace(must=["DRAINED"])
    trace.state("msg.send", instance="QUERN0001", mid="id-of-its-own")  # by the consumer, with no key in its body
    trace.state("lease.grant", mid="id-of-its-own", h="h", n=1, deadline=trace.now_ms() + 30000, instance="QUERN0001")
    trace.jump(30000)
    trace.state("lease.expire", mid="id-of-its-own", h="h")
    trace.add("mark", reason="end", queue="q", visible=1, in_flight=0, delayed=0)
    _, root, _, report = judge(tmp_path, str(trace.write(tmp_path / "t.jsonl")))
    assert "id-of-its-own (received 1 times)" in report["scenarios"][0]["text"]
    told = root.find(".//failure").text
    assert re.search(r"^\| \d+ lease 1 of id-of-its-own -> #1$", told, re.M), told
    assert re.search(r"^> \d+ lease of id-of-its-own lapses$", told, re.M), told


def test_a_fault_that_was_not_done_names_its_rule(tmp_path):
    trace = Trace(must=["ONCE"])
    trace.send("k-000")
    trace.work("k-000")
    trace.add("fault", code="proc", k="k-000", target="rule=server-crash", reason="not done: the server is down")
    trace.begin("k-000")
    trace.commit("k-000")
    _, root, _, _ = judge(tmp_path, str(trace.end().write(tmp_path / "t.jsonl")))
    assert "fault server-crash: not done: the server is down" in root.find(".//failure").text
