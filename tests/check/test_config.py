"""What is said of a consumer, in quern.json and by flags, and where it is found again."""
import json
import pathlib
import sys

import junit
import jsonschema
import pytest
import tap
from commands import refused, run

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "chaos/check/report/report.schema.json").read_text())
WORKER = [sys.executable, str(ROOT / "tests/consumers/reference.py")]
QUICK = "base.ack-after-effect"


def write(folder, **members):
    file = folder / "quern.json"
    file.write_text(json.dumps(members, indent=1))
    return str(file)


def declared(folder):
    header = json.loads((folder / (QUICK + ".jsonl")).read_text().splitlines()[0])
    return header["run"]["declared"]


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """A run with all declarations in the file of the working directory, and some by flag."""
    folder = tmp_path_factory.mktemp("declared")
    write(folder, **{
        "//": "explanations are members of this name", "//2": ["or", "begin", "so"],
        "command": WORKER, "profile": "standard", "concurrency": 4, "prefetch": 10, "grace": "7s",
        "work_max": 60, "heartbeat": "yes", "idempotency": "message-id", "poison": "quarantine",
        "fifo_on_failure": "skip", "retry_queue": None, "output_queue": "out", "expect_exit": [0, 3],
        "restart": "on-failure", "env": {"//": "too", "GREETING": "hello {instance}"},
        "waive": {"std.delete-lost": "no deletes here", "fifo.*": "a later week"},
    })
    files = {form: folder / ("report." + form) for form in ("json", "junit", "tap", "html")}
    options = [word for form, file in files.items() for word in ("--" + form, str(file))]
    answer = run("check", "--only", QUICK, "--only", "std.delete-lost", "--only", "fifo.order", "--prefetch", "2",
                 "--expect-exit", "9", "--keep", "kept", "--no-skip", *options, cwd=folder)
    assert answer.stderr == ""
    return answer, folder, {form: file.read_text() for form, file in files.items()}


def test_the_file_of_the_working_directory_starts_the_consumer_and_passes(everything):
    answer, _, _ = everything
    assert answer.returncode == 0, answer.stdout
    assert "declared in quern.json" in answer.stdout.splitlines()[0]
    assert " PASS  " + QUICK in answer.stdout


def test_declarations_stand_in_the_header_and_flags_win(everything):
    _, folder, _ = everything
    assert declared(folder / "kept") == {
        "concurrency": 4, "prefetch": 2, "work_max_ms": 60000, "grace_ms": 7000, "heartbeat": "yes",
        "idempotency": "message-id", "at_most_once": False, "poison": "quarantine", "fifo_on_failure": "skip",
        "output_queue": "out", "expect_exit": [9], "restart": "on-failure"}


def test_a_trace_that_is_judged_again_says_what_was_declared(everything):
    _, folder, texts = everything
    answer = run("judge", "--json", "-", str(folder / "kept" / (QUICK + ".jsonl")))
    assert json.loads(answer.stdout)["consumer"]["declared"] == json.loads(texts["json"])["consumer"]["declared"]


def test_a_waiver_is_seen_in_every_report(everything):
    answer, _, texts = everything
    assert "SKIP  std.delete-lost" in answer.stdout
    assert "waived: no deletes here" in answer.stdout
    assert "2 skip (1 waived)" in answer.stdout  # fifo.order is not of the profile
    report = json.loads(texts["json"])
    jsonschema.validate(report, SCHEMA)
    assert report["consumer"]["declared"]["poison"] == "quarantine"
    (waived,) = [one for one in report["scenarios"] if "waived" in one]
    assert (waived["id"], waived["verdict"], waived["waived"]) == ("std.delete-lost", "SKIP", "no deletes here")
    (case,) = [case for case in junit.read(texts["junit"]).iter("testcase") if case.get("name") == "delete-lost"]
    assert case.find("skipped").get("message") == "waived: no deletes here"
    tests, _ = tap.read(texts["tap"])
    assert [(test["directive"], test["reason"]) for test in tests][1] == ("SKIP", "waived: no deletes here")
    assert "waived: no deletes here" in texts["html"]


def test_the_command_that_runs_it_again_repeats_the_declarations(everything):
    _, _, texts = everything
    (again,) = [one["rerun"] for one in json.loads(texts["json"])["scenarios"] if one["id"] == QUICK]
    for words in ("--heartbeat yes", "--work-max 60000ms", "--prefetch 2", "--env 'GREETING=hello {instance}'",
                  "--expect-exit 9"):
        assert words in again


def test_a_waived_skip_is_no_failure_with_no_skip_and_another_is(tmp_path):
    config = write(tmp_path, waive={QUICK: "later"})
    words = ["check", "--config", config, "--no-skip", "--only", QUICK]
    assert run(*words, "--", *WORKER).returncode == 0
    answer = run("check", "--only", "std.delete-lost", "--only", QUICK, "--visibility", "1", "--startup-timeout", "20s",
                 "--no-skip", "--", sys.executable, "-c", "import boto3, os\nwhile True: boto3.client('sqs').receive_message("
                 "QueueUrl=os.environ['QUEUE_URL'], WaitTimeSeconds=1)")
    assert answer.returncode == 1, answer.stdout


def test_a_word_after_two_dashes_wins_over_the_command(tmp_path):
    config = write(tmp_path, command=["no-such-program"])
    assert "cannot start no-such-program" in run("check", "--config", config, "--only", QUICK).stderr
    assert "cannot start another" in run("check", "--config", config, "--only", QUICK, "--", "another").stderr


def test_at_most_once_stands_in_the_headline(tmp_path):
    config = write(tmp_path, at_most_once=True, waive={"*": "only the headline"})
    answer = run("check", "--config", config, "--only", QUICK, "--", "x")
    assert "declared at most once" in answer.stdout.splitlines()[1]


@pytest.mark.parametrize("text, line, words", [
    ('{\n "heartbaet": "yes"\n}', 2, 'no member "heartbaet": did you mean "heartbeat"?'),
    ('{\n\n "zzzzzz": 1}', 3, 'no member "zzzzzz"'),
    ('{"concurrency": "four"}', 1, 'concurrency takes a number from 1 to 10000, not "four"'),
    ('{"concurrency": 0}', 1, 'not "0"'),
    ('{"concurrency": 1.5}', 1, "concurrency is a whole number"),
    ('{"heartbeat": true}', 1, "heartbeat is a text"),
    ('{"heartbeat": 7}', 1, "heartbeat is a text, in quotes"),
    ('{"poison": "dql"}', 1, 'poison is one of either, dlq, quarantine, discard, not "dql"'),
    ('{"grace": []}', 1, 'grace is a time such as "10s"'),
    ('{"expect_exit": [0, 256]}', 1, "from 0 to 255"),
    ('{"expect_exit": 0}', 1, "expect_exit is a list"),
    ('{"command": "python worker.py"}', 1, "command is a list of words"),
    ('{"waive": ["std.delete-lost"]}', 1, "waive is an object"),
    ('{"env": {"A": 1}}', 1, 'env: "A" is a text'),
    ('{"env": {"A=B": "1"}}', 1, 'env: "A=B" is no name'),
    ('{"at_most_once": "yes"}', 1, "at_most_once is true or false"),
    ('{"prefetch": 1,\n "prefetch": 2}', 2, '"prefetch" is there twice'),
    ('{\n // grace\n "grace": "1s"}', 2, "JSON has no comments"),
    ("[]", 1, "an object"),
    ("", 1, ""),
])
def test_a_mistake_is_told_with_its_line(tmp_path, text, line, words):
    config = tmp_path / "quern.json"
    config.write_text(text)
    said = refused("check", "--config", str(config), "--", "x")
    assert said.startswith("quern check: %s, line %d: " % (config, line)), said
    assert words in said


def test_all_mistakes_of_a_file_are_told_at_once(tmp_path):
    config = tmp_path / "quern.json"
    config.write_text('{\n "heartbaet": "yes",\n "grace": "soon",\n "waive": {"x": 1},\n "prefetch": -1\n}')
    answer = run("check", "--config", str(config), "--", "x")
    assert (answer.returncode, answer.stdout) == (2, "")
    first, *rest = answer.stderr.splitlines()
    assert first == "quern check: %s has 4 mistakes:" % config
    assert [line.split(":")[0] for line in rest] == ["  line 2", "  line 3", "  line 4", "  line 5"]


def test_names_and_files_are_mistakes_like_others(tmp_path):
    config = tmp_path / "quern.json"
    config.write_text('{\n "heartbaet": "yes",\n "bodies": {"good": "nofile.json",\n "bda": "x"},\n "waive": {\n'
                      '  "base.*": "later",\n  "std.delete-lots": "typing",\n  "mine": "of the command line"},\n'
                      ' "queue_name": "my queue",\n "ready_log": "(",\n "bind": "docker0",\n'
                      ' "scenario": ["gone.json"]\n}')
    mine = json.loads(run("scenarios", "show", QUICK).stdout)
    (tmp_path / "mine.json").write_text(json.dumps({**mine, "id": "mine"}))
    answer = run("check", "--config", str(config), "--scenario", str(tmp_path / "mine.json"), "--", "x", cwd=tmp_path)
    assert (answer.returncode, answer.stdout) == (2, "")
    first, *rest = answer.stderr.splitlines()
    assert first == "quern check: %s has 8 mistakes:" % config, answer.stderr
    said = dict(line.split(": ", 1) for line in rest)
    assert list(said) == ["  line %d" % line for line in (2, 3, 4, 9, 10, 11, 12, 7)], answer.stderr
    assert "nofile.json: No such file" in said["  line 3"] and "std.delete-lots" in said["  line 7"]
    assert "queue_name takes" in said["  line 9"] and "bind takes" in said["  line 11"]
    assert said["  line 12"] == "scenario: gone.json: No such file or directory"


def test_what_is_waived_must_exist(tmp_path):
    config = write(tmp_path, waive={"std.delete-lots": "typing"})
    assert "waive: no scenario is called std.delete-lots" in refused("check", "--config", config, "--", "x")


@pytest.mark.parametrize("reason", ["", " ", "\t\n"])
def test_a_waiver_says_why(tmp_path, reason):
    said = refused("check", "--waive", "std.delete-lost=" + reason, "--", "x", cwd=tmp_path)
    assert said.startswith("quern check: --waive: std.delete-lost has no reason; every report shows it"), said
    config = write(tmp_path, waive={"base.*": "later", "std.delete-lost": reason})
    said = refused("check", "--config", config, "--", "x")
    assert "quern.json, line 4: waive: std.delete-lost has no reason" in said, said
    assert "--waive takes ID=REASON" in refused("check", "--waive", "std.delete-lost", "--", "x")


def test_a_file_that_is_asked_for_must_be_there(tmp_path):
    assert "--config no.json: No such file" in refused("check", "--config", "no.json", "--", "x", cwd=tmp_path)
    assert "quern.json" not in run("check", "--list", cwd=tmp_path).stderr
    (tmp_path / "quern.json").mkdir()
    assert "quern.json" in refused("check", "--", "x", cwd=tmp_path)
