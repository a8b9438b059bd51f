"""`quern chaos` against a running server."""
import contextlib
import json
import pathlib
import queue
import re
import subprocess
import threading

import pytest

from commands import environment, refused, run, succeeds
from exchange import client, process

PROFILES = pathlib.Path(__file__).resolve().parents[2] / "chaos" / "profiles"
START = "2026-01-01T00:00:00.000Z"
ANSWER_S = 60


@pytest.fixture
def server(start):
    return start("--queue", "orders")


@pytest.fixture
def chaos(server):
    """quern chaos WORDS against that server."""
    return lambda *words, **how: run("chaos", *words, AWS_ENDPOINT_URL=server.endpoint, **how)


def table(text):
    """The rows of a table as dicts; and the lines below it that are notes."""
    lines = text.splitlines()
    starts = [found.start() for found in re.finditer(r"(?<!\S)(?<!\S )\S", lines[0])]
    cut = [[line[a:b].strip() for a, b in zip(starts, [*starts[1:], None])] for line in lines if not line.startswith("note: ")]
    return [dict(zip(cut[0], row)) for row in cut[1:]], [line for line in lines if line.startswith("note: ")]


def rules(server):
    return server.control("GET", "/_quern/rules")[1]["rules"]


def names(server):
    return [rule["name"] for rule in rules(server)]


@contextlib.contextmanager
def connection(server):
    opened = client.Client(server)
    yield lambda action, **members: opened.call("json", action, members)
    opened.close()


def send(server, count=1, queue_name="orders"):
    with connection(server) as call:
        return [call("SendMessage", QueueUrl=queue_name, MessageBody="x").status for _ in range(count)]


# ---- add ----


def test_added_rules_work_and_are_shown(server, chaos):
    shown, notes = table(succeeds(chaos("add", "on SendMessage nth 2 do 5xx 503 as second", "on Delete* do throttle")))
    assert [(row["NAME"], row["STATE"], row["FIRED"], row["LAST FIRED"]) for row in shown] == [
        ("second", "on", "0", "never"), ("rule-1", "on", "0", "never")]
    assert shown[0]["RULE"] == "on SendMessage nth 2 do 5xx 503 as second" and notes == []
    assert send(server, 3) == [200, 503, 200]


def test_only_new_rules_are_shown(chaos):
    succeeds(chaos("add", "on any nth 9 do throttle as old"))
    assert [row["NAME"] for row in table(succeeds(chaos("add", "on any nth 9 do hang as new")))[0]] == ["new"]


@pytest.mark.parametrize("source", ["file", "stdin"])
def test_a_file_of_rules(server, chaos, tmp_path, source):
    text = "# two rules\n\non any nth 8 do throttle as a\r\non any nth 9 do throttle as b # the second\n"
    (tmp_path / "my.rules").write_text(text)
    words = ["--file", "-" if source == "stdin" else str(tmp_path / "my.rules")]
    shown, _ = table(succeeds(chaos("add", *words, stdin=text)))
    assert [row["NAME"] for row in shown] == names(server) == ["a", "b"]


def test_a_profile(server, chaos):
    succeeds(chaos("add", "--profile", "outage"))
    assert names(server) == ["brown-out", "black-out", "nobody-listens"]


@pytest.mark.parametrize("wrong, meant", [("Delte*", "Delete*"), ("Recieve*", "Receive*"), ("SendMesageB*", "SendMessage*")])
def test_a_slip_before_a_wildcard_is_told_as_any_other(server, chaos, wrong, meant):
    answer = chaos("add", "on %s do throttle" % wrong)
    assert (answer.returncode, names(server)) == (2, [])
    assert answer.stderr.rstrip().endswith('found "%s"; did you mean "%s"?' % (wrong, meant))


def test_a_wrong_file_adds_nothing_and_lists_every_mistake(server, chaos, tmp_path):
    file = tmp_path / "wrong.rules"
    file.write_text("on any do throttle as fine\non SendMesage do throttle\n\non any do hagn\non any do hang as fine\n")
    answer = chaos("add", "--file", str(file))
    assert (answer.returncode, answer.stdout, names(server)) == (2, "", [])
    lines = answer.stderr.splitlines()
    assert [line.split(": ")[0] for line in lines] == ["%s:%s" % (file, place) for place in ("2:4", "4:11", "5:19")]
    assert lines[0].endswith('did you mean "SendMessage"?')


def test_wrong_rules_are_numbered_and_none_is_added(server, chaos):
    answer = chaos("add", "on any do throttle as fine", "on any do hagn", "on\nany do throtle")
    assert (answer.returncode, answer.stdout, names(server)) == (2, "", [])
    assert [line.split(": ")[0] for line in answer.stderr.splitlines()] == ["rule 2:1:11", "rule 3:2:8"]
    assert chaos("add", "on any do hagn").stderr.startswith("rule:1:11: ")


def test_unsound_rules_name_the_promise(chaos):
    answer = chaos("add", "on SendMessage do fake-success")
    assert answer.returncode == 2 and answer.stderr.startswith("rule:1:1") and "unsound" in answer.stderr


def test_very_many_mistakes_are_all_listed(chaos):
    lines = chaos("add", "--file", "-", stdin="nonsense\n" * 50).stderr.splitlines()
    assert len(lines) == 50 and lines[-1].startswith("stdin:50:1: ")


@pytest.mark.parametrize(
    "words, told",
    [
        ([], "say which rules"),
        (["on any do hang", "--profile", "slow"], "say which rules"),
        (["--file", "x", "--profile", "slow"], "say which rules"),
        (["--file", "/nonexistent/rules"], "cannot open /nonexistent/rules"),
        (["--profile", "throttle"], "did you mean throttled? The profiles are at-least-once, "),
        (["on any do hang as \udcff"], "UTF-8"),
    ],
    ids=lambda value: " ".join(value).encode("ascii", "replace").decode() if isinstance(value, list) else "",
)
def test_what_cannot_be_added_is_one_line(server, words, told):
    assert told in refused("chaos", "add", *words, AWS_ENDPOINT_URL=server.endpoint)
    assert names(server) == []


def test_bytes_that_are_no_text_are_refused(server, chaos, tmp_path):
    (tmp_path / "my.rules").write_bytes(b'on any where queue = "\xff" do hang as a\n')
    answer = chaos("add", "--file", str(tmp_path / "my.rules"))
    assert (answer.returncode, names(server)) == (2, []), answer


def test_added_as_json(chaos):
    answer = json.loads(succeeds(chaos("add", "on any nth 9 do hang as a", "--json")))
    assert answer["added"] == ["a"] and answer["rules"][0]["name"] == "a"


# ---- list ----


def test_counts_and_states(server, chaos):
    succeeds(chaos("add", "on SendMessage once do throttle as one", "on any do delay 1ms as all", "on any nth 9 do hang as no"))
    succeeds(chaos("disable", "no"))
    server.advance_ms(1500)
    assert send(server, 2)[0] == 400
    rows, _ = table(succeeds(chaos("list")))
    fields = ("NAME", "STATE", "MATCHED", "FIRED", "LAST FIRED")
    assert [tuple(row[field] for field in fields) for row in rows] == [
        ("one", "done", "2", "1", "2026-01-01T00:00:01.500Z"),
        ("all", "on", "2", "1", "2026-01-01T00:00:01.500Z"),
        ("no", "off", "0", "0", "never"),
    ]


def test_queues_that_are_not_there_are_noted(server, chaos):
    added = succeeds(chaos("add", "on any where queue = ordrs nth 9 do hang as a", 'on any where queue ~ "x*" nth 9 do hang as b',
                           "on any where queue = orders and not wait > 99 nth 9 do hang as c"))
    assert table(added)[1] == ["note: a: there is no queue ordrs (yet)", "note: b: there is no queue like x* (yet)"]
    with connection(server) as call:
        assert call("CreateQueue", QueueName="xyz").status == 200
    assert table(succeeds(chaos("list")))[1] == ["note: a: there is no queue ordrs (yet)"]


@pytest.mark.parametrize("command", ["release", "remove"])
def test_what_a_rule_holds_is_noted_and_let_go(server, chaos, command):
    succeeds(chaos("add", "on SendMessage do hold as gate"))
    thread = threading.Thread(target=send, args=(server,))
    thread.start()
    while not rules(server)[0]["held"]:
        pass
    assert "note: gate holds 1 request\n" in succeeds(chaos("list"))
    assert succeeds(chaos(command, "gate")) == ""
    thread.join(ANSWER_S)
    assert not thread.is_alive()


def test_list_as_json_is_the_page(server, chaos):
    succeeds(chaos("add", "on any nth 9 do hang"))
    assert json.loads(succeeds(chaos("list", "--json"))) == {"rules": rules(server)}


def test_no_rules(chaos):
    assert table(succeeds(chaos("list"))) == ([], [])


# ---- disable, enable, remove, clear ----


def test_switched_off_and_on_and_removed(server, chaos):
    succeeds(chaos("add", *("on any do throttle as %s" % name for name in "abc")))
    assert succeeds(chaos("disable", "a", "b", "c")) == "" and send(server) == [200]
    assert [rule["state"] for rule in rules(server)] == ["off"] * 3
    assert succeeds(chaos("enable", "c")) == "" and send(server) == [400]
    assert succeeds(chaos("remove", "a", "c")) == "" and names(server) == ["b"]
    assert json.loads(succeeds(chaos("enable", "b", "--json")))["rules"][0]["state"] == "on"
    assert succeeds(chaos("clear")) == "" and names(server) == []
    assert json.loads(succeeds(chaos("clear", "--json"))) == {"rules": []}


@pytest.mark.parametrize("command", ["disable", "enable", "release", "remove"])
def test_a_name_that_is_not_there_changes_nothing(server, chaos, command):
    succeeds(chaos("add", "disabled on any nth 9 do throttle as lost-delete", "on any nth 9 do throttle as other"))
    before = rules(server)
    answer = chaos(command, "other", "lost-delte", "nix", "lost-delete")
    assert (answer.returncode, answer.stdout, rules(server)) == (2, "", before)
    assert answer.stderr.splitlines() == [
        "quern chaos %s: there is no rule lost-delte; did you mean lost-delete? (quern chaos list shows all)" % command,
        "quern chaos %s: there is no rule nix (quern chaos list shows all)" % command,
    ]


@pytest.mark.parametrize("name", ["", "a/b", "a?name=b", "a b", "\n", "%61"])
def test_words_that_can_be_no_names_reach_no_rule(server, chaos, name):
    succeeds(chaos("add", "on any nth 9 do throttle as a", "on any nth 9 do throttle as b"))
    assert chaos("remove", name).returncode == 2 and names(server) == ["a", "b"]


# ---- log ----


def faults(text):
    return [(row["TIME"], row["RULE"], row["MATCH"], row["ACTION"], row["QUEUE"], row["TARGET"], row["DONE"])
            for row in table(text)[0]]


def test_log_shows_what_fired(server, chaos):
    succeeds(chaos("add", "on SendMessage nth 2 do 5xx 503 as second", "on SendMessage nth 2 do throttle as late"))
    send(server, 2)
    server.advance_ms(250)
    succeeds(chaos("add", "on tick 1s do mark x as tock"))
    server.advance_ms(1000)
    assert faults(succeeds(chaos("log"))) == [
        (START, "second", "2", "SendMessage", "orders", "request", "5xx 503"),
        ("2026-01-01T00:00:01.250Z", "tock", "1", "tick", "", "", "mark x"),
    ]


def test_log_shows_what_could_not_be_done(server, chaos):
    succeeds(chaos("add", "on SendMessage once do delete-queue then purge of orders as twice"))
    send(server)
    assert [(row[1], row[6].split(":")[0]) for row in faults(succeeds(chaos("log")))] == [
        ("twice", "delete-queue then purge of orders"), ("twice", "not done")]


def test_log_as_json_lines(server, chaos):
    succeeds(chaos("add", "on SendMessage do 5xx 503 as all"))
    send(server, 2)
    events = [json.loads(line) for line in succeeds(chaos("log", "--json")).splitlines()]
    assert [(event["kind"], event["rule"], event["match"]) for event in events] == [("fault", "all", 1), ("fault", "all", 2)]


def test_log_of_nothing(chaos):
    assert faults(succeeds(chaos("log"))) == []


@pytest.fixture
def following():
    """Starts quern chaos log --follow; gives a queue of its lines."""
    running = []

    def started(server):
        follower = subprocess.Popen([process.program(), "chaos", "log", "--follow", "--endpoint", server.endpoint],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
        running.append(follower)
        lines = queue.Queue()
        threading.Thread(target=lambda: [lines.put(line) for line in follower.stdout], daemon=True).start()
        return follower, lines

    yield started
    for follower in running:
        follower.kill()
        follower.wait()
        follower.stdout.close()
        follower.stderr.close()


def next_words(lines):
    return lines.get(timeout=ANSWER_S).split()


def test_follow_shows_faults_as_they_fire(server, chaos, following):
    succeeds(chaos("add", "on SendMessage do 5xx 503 as all"))
    send(server)
    _, lines = following(server)
    assert next_words(lines)[:2] == ["TIME", "RULE"]
    assert next_words(lines)[:3] == [START, "all", "1"]
    send(server)
    assert next_words(lines)[:3] == [START, "all", "2"]


def test_follow_outlives_a_crash(start, following, tmp_path):
    server = start("--supervise", "--restart-after", "300ms", "--db", str(tmp_path / "q.db"), "--queue", "orders",
                   "--fault", "on SendMessage nth 1 do crash server as crash", "--fault", "on SendMessage nth 2 do throttle as later")
    _, lines = following(server)
    assert next_words(lines)[0] == "TIME"
    with pytest.raises(OSError):
        send(server)
    assert next_words(lines)[1] == "crash"
    assert run("health", "--wait", "30", AWS_ENDPOINT_URL=server.endpoint).returncode == 0
    assert send(server) == [400]
    assert next_words(lines)[1:3] == ["later", "2"]


def test_follow_goes_over_to_a_server_that_was_started_anew(start, following):
    """Its trace begins at 1 again, and is shorter than what was read."""
    words = ("--queue", "orders", "--fault", "on SendMessage nth 3 do throttle as third", "--fault", "on any nth 9 do hang")
    first = start(*words)
    _, lines = following(first)
    assert next_words(lines)[0] == "TIME" and send(first, 3) == [200, 200, 400]
    assert next_words(lines)[1] == "third"
    first.stop()
    again = start("--bind", "127.0.0.1:%d" % first.port, "--queue", "orders", "--fault", "on SendMessage nth 1 do throttle as once-more")
    assert send(again) == [400]
    assert next_words(lines)[1] == "once-more"


def test_follow_of_nobody_ends_at_once(server):
    answer = run("chaos", "log", "--follow", "--endpoint", "http://127.0.0.1:1")
    assert answer.returncode == 1 and "ConnectionError" in answer.stderr


# ---- profiles ----


def test_profiles_are_listed_with_a_line_each():
    rows, _ = table(succeeds(run("chaos", "profiles")))
    assert [row["NAME"] for row in rows] == sorted(file.stem for file in PROFILES.glob("*.rules"))
    for row in rows:
        assert (PROFILES / (row["NAME"] + ".rules")).read_text().startswith("# %s: %s\n" % (row["NAME"], row["WHAT IT DOES"]))
    listed = json.loads(succeeds(run("chaos", "profiles", "--json")))
    assert [(row["NAME"], row["WHAT IT DOES"]) for row in rows] == [(each["name"], each["title"]) for each in listed]


@pytest.mark.parametrize("file", sorted(PROFILES.glob("*.rules")), ids=lambda file: file.stem)
def test_a_shown_profile_is_its_file(file):
    assert succeeds(run("chaos", "show", file.stem)) == file.read_text()


def test_a_shown_profile_can_be_added(server, chaos):
    succeeds(chaos("add", "--file", "-", stdin=succeeds(run("chaos", "show", "slow"))))
    assert "standstill" in names(server)


def test_unknown_profile():
    line = refused("chaos", "show", "sloww")
    assert "there is no profile sloww; did you mean slow? The profiles are " in line


# ---- words ----

COMMANDS = "add list log disable enable release remove clear profiles show".split()


@pytest.mark.parametrize("word", ["--help", "-h", "help"])
def test_help_lists_the_commands(word):
    text = succeeds(run("chaos", word))
    assert text.startswith("usage: quern chaos COMMAND")
    assert re.findall(r"^  (\w+) ", text, re.M) == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help(command):
    assert succeeds(run("chaos", command, "--help")).startswith("usage: quern chaos %s" % command)


@pytest.mark.parametrize(
    "words, told",
    [
        ([], "which command?"),
        (["lst"], "did you mean list?"),
        (["dance"], "quern chaos --help lists them"),
        (["list", "x"], "usage: quern chaos list"),
        (["clear", "x"], "usage: quern chaos clear"),
        (["remove"], "usage: quern chaos remove NAME..."),
        (["log", "--folow"], "did you mean --follow? (quern chaos log --help"),
        (["show"], "usage: quern chaos show PROFILE"),
        (["profiles", "x"], "usage: quern chaos profiles"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_misuse_is_one_line(words, told):
    assert told in refused("chaos", *words)


@pytest.mark.parametrize("words", [["add", "on any do hang"], ["list"], ["log"], ["clear"], ["remove", "a"], ["enable", "a"]], ids=" ".join)
def test_nobody_there(words):
    answer = run("chaos", *words, "--endpoint", "http://127.0.0.1:1")
    assert (answer.returncode, answer.stdout) == (1, "")
    assert re.fullmatch(r"quern chaos %s: ConnectionError: [^\n]+\n" % words[0], answer.stderr)
