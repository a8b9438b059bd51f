"""A soak that fails is run again with fewer of its rules, until the smallest set is found."""
import json
import pathlib
import re
import shlex
import subprocess
import time
import xml.etree.ElementTree

import pytest
from commands import environment
from exchange import process

WORKER = [str(pathlib.Path(process.program()).parent / "tests" / "consumers" / "worker" / "worker")]
MUTANT = [*WORKER, "--bug", "no-idempotency"]
SCENARIO = {
    "id": "mine.soak", "title": "one of the rules brings a message back", "profiles": ["standard"], "severity": "must",
    "shrinks": True, "queue": {"name": "q", "visibility": "V", "dlq": "q-dlq", "max_receive": 50},
    "load": ["ok count=8 work=10ms"], "end": {"drained_within": "5*V+10s", "settle": "300ms"},
    "faults": [
        "optional on ReceiveMessage every 5 do false-empty as nothing",
        "optional on Delete* prob 0.2 do delay 20ms as late",
        "on msg.delete where key=k-003 once do after 100ms resurrect as copy",
        "optional on SendMessage* prob 0.5 do delay 10ms as slow",
        "optional on sink.work.begin prob 0.1 do delay 20ms as heavy",
    ],
    "must": ["NO-LOSS", "ONCE", "DRAINED"], "why": "w", "fix": "f",
}


def check(folder, *options, consumer=None, timeout_s=120):
    (folder / "mine.json").write_text(json.dumps(SCENARIO))
    return subprocess.run([process.program(), "check", "--scenario", str(folder / "mine.json"), "--seed", "7", *options,
                           "--", *(consumer or MUTANT)], cwd=folder, env=environment(), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=timeout_s)


@pytest.fixture(scope="module")
def failed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("failed")
    forms = [word for form in ("json", "junit", "html", "tap") for word in ("--" + form, form)]
    done = check(folder, "--only", "mine.soak", "--keep", "kept", *forms)
    return folder, done


def test_the_smallest_set_is_the_rule_that_it_takes(failed):
    folder, done = failed
    assert done.returncode == 1 and done.stderr == "", done.stdout + done.stderr
    (scenario,) = json.loads((folder / "json").read_text())["scenarios"]
    assert (scenario["verdict"], [fault["rule"] for fault in scenario["faults"]]) == ("FAIL", ["copy"])
    shrunk = scenario["shrunk"]
    assert shrunk["rules"] == ["on msg.delete where key=k-003 once do after 100ms resurrect as copy"]
    assert shrunk["of"] == 5 and shrunk["complete"] is True and 2 <= shrunk["runs"] <= 10
    assert (folder / "kept" / "mine.soak.jsonl").is_file() and (folder / "kept" / "mine.soak.first.jsonl").is_file()


def test_every_form_tells_it_and_the_command(failed):
    folder, done = failed
    case = next(xml.etree.ElementTree.parse(folder / "junit").iter("failure"))
    for text in (done.stdout, case.text, (folder / "html").read_text(), (folder / "tap").read_text()):
        assert re.search(r"it still fails with 1 of its 5 rules \(\d+ more runs\): on msg\.delete where key=k-003", text), text
        assert "--faults copy --seed 7" in text


def test_the_command_that_it_gives_fails_in_the_same_way(failed):
    folder, _ = failed
    (scenario,) = json.loads((folder / "json").read_text())["scenarios"]
    words = shlex.split(scenario["rerun"])
    again = subprocess.run([process.program(), *words[1:]], cwd=folder, env=environment(), capture_output=True, text=True,
                           stdin=subprocess.DEVNULL, timeout=60)
    assert again.returncode == 1 and "ONCE: k-003 applied 2 times" in again.stdout, again.stdout + again.stderr


def test_without_the_rule_that_it_takes_it_passes(tmp_path):
    done = check(tmp_path, "--only", "mine.soak", "--faults", "nothing,late,slow,heavy")
    assert done.returncode == 0 and "PASS  mine.soak" in done.stdout, done.stdout


def test_chaos_soak_finds_its_mutant_and_keeps_to_its_time(tmp_path):
    began = time.monotonic()
    done = check(tmp_path, "--only", "chaos.soak", "--minutes", "0.1", "--shrink", "4s", timeout_s=60)
    assert time.monotonic() - began < 45
    assert done.returncode == 1 and re.search(r"FAIL  chaos\.soak .*ONCE: ", done.stdout), done.stdout
    assert "smallest failing set: " in done.stdout and "--minutes 0.1" in done.stdout


def test_what_faults_names_is_checked_before_the_run(tmp_path):
    assert check(tmp_path, "--only", "mine.soak", "--faults", "cpoy").stderr == (
        "quern check: mine.soak has no rule \"cpoy\"; did you mean copy? (quern scenarios show mine.soak has their names)\n")
    refused = check(tmp_path, "--only", "*.soak", "--faults", "copy")
    assert refused.returncode == 2 and "2 are chosen: name it with --only ID" in refused.stderr
