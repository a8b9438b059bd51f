"""Consumers that nothing is changed about: their own bodies, queue and store, and a command that
tells what is in the store."""
import json
import pathlib
import re
import sys

import pytest
from commands import refused, run
from exchange import process

WORKER = pathlib.Path(__file__).resolve().parent / "own/worker.py"
SCENARIOS = ("base.drain-and-profile", "std.delete-lost", "std.crash-after-receive", "std.duplicate-while-inflight",
             "std.crash-after-effect-before-delete")
# About messages that always fail, and judged by the queues alone.
POISON = {"id": "own.poison", "title": "two always fail", "profiles": ["standard"], "severity": "must",
          "needs": ["none"], "tier": 1, "queue": {"name": "q", "visibility": "V", "dlq": "q-dlq", "max_receive": 2},
          "load": ["perm count=2", "ok count=4"], "end": {"drained_within": "4*V+10s"},
          "must": ["DLQ-EXACT", "DRAINED"], "why": "-", "fix": "-"}
COUNT = ("import os, sqlite3\n"
         "for row in sqlite3.connect(os.environ['STORE']).execute('SELECT number, COUNT(*) FROM done GROUP BY 1'):\n"
         "    print(*row, sep='\\t')\n")


@pytest.fixture
def shop(tmp_path):
    (tmp_path / "good.json").write_text('{"number": "{{id}}", "line": {{n}}}\n')
    (tmp_path / "bad.json").write_text('{"no number": {{n}}}')
    (tmp_path / "count.py").write_text(COUNT)
    (tmp_path / "quern.json").write_text(json.dumps({
        "command": [sys.executable, str(WORKER)], "queue_name": "orders", "bodies": {"good": "good.json"},
        "env": {"STORE": str(tmp_path / "store.db")}, "effects_cmd": sys.executable + " count.py"}))
    return tmp_path


def check(shop, *words, only=SCENARIOS, code=0, command=()):
    names = [word for name in only for word in ("--only", name)]
    answer = run("check", *names, *words, "--json", "report.json", "--keep", "kept", *command, cwd=shop, timeout_s=200)
    assert answer.returncode == code, answer.stdout + answer.stderr
    return {one["id"]: one for one in json.loads((shop / "report.json").read_text())["scenarios"]}, answer.stdout


def results(scenario):
    return {one["name"]: one["result"] for one in scenario["invariants"]}


def test_a_consumer_with_a_store_of_its_own_passes(shop):
    seen, text = check(shop, "-j", "4")
    # The store is the same for all scenarios, and each sees its own messages in it.
    assert {name: one["verdict"] for name, one in seen.items()} == dict.fromkeys(SCENARIOS, "PASS"), text
    assert results(seen["std.delete-lost"])["ONCE"] == "pass"
    assert re.search(r"^ messages \d+ sent / \d+ deleted       effects \d+ applied / 0 duplicated / 0 lost$", text, re.M), text
    card = text.split("  learned: ")[1].splitlines()
    assert "sdk=Boto3/" in card[0]
    assert [line.split("  ")[2] for line in card[1:5]] == ["lease", "stop", "work", "long polling"], card
    events = [json.loads(line) for line in (shop / "kept/std.delete-lost.jsonl").read_text().splitlines()]
    counts = {event["k"]: event["count"] for event in events if event["kind"] == "effect.count"}
    assert counts == {"k-%03d" % n: 1 for n in range(10)}


def test_a_body_may_have_an_idempotency_key_of_its_own(shop):
    (shop / "good.json").write_text('{"number": "{{id}}", "idempotencyKey": "{{id}}"}')
    seen, text = check(shop, only=["std.delete-lost"])
    assert seen["std.delete-lost"]["verdict"] == "PASS", text


def test_an_effect_that_is_there_twice_is_a_failure(shop):
    seen, text = check(shop, only=["std.delete-lost"], code=1, command=["--", sys.executable, str(WORKER), "--naive"])
    for one in seen.values():
        assert one["verdict"] == "FAIL", text
        assert results(one)["ONCE"] == "fail"
        assert "2 times by the effects command" in one["text"]


def test_a_fault_reaches_a_consumer_that_is_done_within_milliseconds(shop):
    """A copy that came too late for it would let one without idempotency pass."""
    name = "std.duplicate-while-inflight"
    seen, text = check(shop, only=[name], code=1, command=["--", sys.executable, str(WORKER), "--naive"])
    assert seen[name]["verdict"] == "FAIL" and results(seen[name])["ONCE"] == "fail", text


def without_the_command(shop):
    config = json.loads((shop / "quern.json").read_text())
    del config["effects_cmd"]
    (shop / "quern.json").write_text(json.dumps(config))


def test_the_newest_handle_is_asked_for_without_the_sink(shop):
    without_the_command(shop)
    seen, text = check(shop, only=["lease.newest-handle"])
    assert seen["lease.newest-handle"]["verdict"] == "PASS", text
    events = [json.loads(line) for line in (shop / "kept/lease.newest-handle.jsonl").read_text().splitlines()]
    received = [event["mid"] for event in events if event["kind"] == "lease.grant"]
    assert len(received) > len(set(received)) == 4


def test_a_scenario_about_a_message_that_always_fails_needs_such_a_body(shop):
    (shop / "poison.json").write_text(json.dumps(POISON))
    seen, _ = check(shop, "--scenario", "poison.json", only=["own.poison"], code=3)
    assert (seen["own.poison"]["verdict"], seen["own.poison"]["reason"]) == (
        "SKIP", "needs a body on which the handler always fails (--body poison=FILE)")
    seen, text = check(shop, "--scenario", "poison.json", "--body", "poison=bad.json", only=["own.poison"])
    assert seen["own.poison"]["verdict"] == "PASS", text
    assert results(seen["own.poison"])["DLQ-EXACT"] == "pass"


def test_what_only_the_sink_can_do_is_left_out(shop):
    seen, _ = check(shop, only=["base.ack-after-effect", "payload.reference", "poison.crashes-consumer"], code=3)
    assert "needs the effect sink" in seen["base.ack-after-effect"]["reason"]
    assert {one["verdict"] for one in seen.values()} == {"SKIP"}
    assert re.fullmatch("needs the effect sink, where the work on a message that kills never ends, and this consumer was "
                        "done with it after [01] of 4 kills", seen["poison.crashes-consumer"]["reason"])


def test_without_the_command_effects_are_not_seen(shop):
    without_the_command(shop)
    seen, _ = check(shop, only=SCENARIOS[:2])
    assert seen["base.drain-and-profile"]["verdict"] == "PASS"
    assert seen["std.delete-lost"]["reason"].startswith("needs the effect sink or --effects-cmd")


@pytest.mark.parametrize("command, words", [
    ("printf 'a\\t1\\nb 2\\n'", 'line 2: a key, a tab and a number are expected, not "b 2"'),
    ("printf 'a\\tmany\\n'", 'line 1: a key, a tab and a number are expected, not "a\tmany"'),
    ("printf 'a\\t1\\na\\t1\\n'", "line 2: a is there twice"),
    ("echo no such table >&2; exit 3", "--effects-cmd ended with exit code 3: no such table"),
])
def test_what_the_command_does_wrong_is_told(shop, command, words):
    seen, text = check(shop, "--effects-cmd", command, only=["base.drain-and-profile"], code=4)
    (one,) = seen.values()
    assert one["verdict"] == "ERROR" and words in one["reason"].replace("\\t", "\t")
    assert "| info " not in text and " messages 0 sent / 0 deleted\n" in text, text


def test_mistakes_are_told_before_the_run(shop):
    (shop / "plain.json").write_text("{}")
    (shop / "empty").touch()
    (shop / "bytes").write_bytes(b"\xff\x00")
    words = ("check", "--config", "quern.json")

    def complaint(*options):
        return refused(*words, *options, cwd=shop)

    assert "good=FILE, poison=FILE or slow=FILE" in complaint("--body", "fine=good.json")
    assert "--body poison: none.json: No such file" in complaint("--body", "poison=none.json")
    assert "empty is empty" in complaint("--body", "slow=empty")
    assert "takes UTF-8" in complaint("--body", "slow=bytes")
    assert "needs {{id}}" in complaint("--body", "good=plain.json")
    assert "--queue-name takes" in complaint("--queue-name", "my queue")


def write_from_guide(folder, *names):
    guide = (pathlib.Path(__file__).resolve().parents[2] / "chaos/check/declarations.md").read_text()
    for name in names:
        (block,) = re.findall("```sh\n(# %s:.*?)```" % re.escape(name), guide, re.DOTALL)
        (folder / name).write_text(block)


def test_the_quarantine_of_the_guide_is_right(tmp_path):
    write_from_guide(tmp_path, "put-aside.sh")
    kinds = {"poison.reaches-dlq-exactly", "poison.invalid-not-retried", "poison.unknown-schema", "poison.crashes-consumer"}
    answer = run("check", "-j", "4", "--poison", "dlq", "--json", "report.json", *(word for name in sorted(kinds)
                 for word in ("--only", name)), "--", process.program(), "consume", "{queue_url}", "--quarantine",
                 "{dlq_url}", "--wait-for-queue", "--", "sh", "put-aside.sh", cwd=tmp_path, timeout_s=300)
    seen = {one["id"]: one["verdict"] for one in json.loads((tmp_path / "report.json").read_text())["scenarios"]}
    assert seen == dict.fromkeys(kinds, "PASS"), answer.stdout
    assert answer.returncode == 0 and "observed semantics: effectively-once\n" in answer.stdout


def test_the_shell_script_of_the_guide_is_right(tmp_path):
    write_from_guide(tmp_path, "work.sh", "effects.sh")
    answer = run("check", "-j", "3", "--effects-cmd", "sh effects.sh", "--json", "report.json",
                 *(word for name in (*SCENARIOS, "poison.crashes-consumer") for word in ("--only", name)),
                 "--", process.program(), "consume", "{queue_url}", "--", "sh", "work.sh", cwd=tmp_path, timeout_s=300)
    seen = {one["id"]: one["verdict"] for one in json.loads((tmp_path / "report.json").read_text())["scenarios"]}
    assert seen == {**dict.fromkeys(SCENARIOS, "PASS"), "poison.crashes-consumer": "SKIP"}, answer.stdout
    assert answer.returncode == 0 and "observed semantics: effectively-once\n" in answer.stdout
