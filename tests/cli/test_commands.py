"""Subcommands against a running server."""
import json
import re
import socket
import subprocess

import pytest

from commands import environment, refused, run, succeeds
from exchange import process


@pytest.fixture
def server(start):
    return start("--queue", "orders", "--queue", "jobs.fifo")


def test_no_command():
    assert "--help" in refused()


def test_unknown_command():
    assert "dance" in refused("dance")


def test_every_help_fits_a_screen():
    below = ["chaos " + word for word in re.findall(r"^  (\w+) ", run("chaos", "--help").stdout, re.M)]
    for command in ["", *re.findall(r"^  (\w+) ", run("--help").stdout, re.M), "check init", *below]:
        lines = run(*command.split(), "--help").stdout.splitlines()
        assert max(map(len, lines)) <= 80, command
        assert len(lines) <= {"": 31}.get(command, 24), command


@pytest.mark.parametrize("command", ["serve", "check", "lambda"])
def test_a_long_help_is_shown_in_full_when_all_is_asked_for(command):
    short, whole = succeeds(run(command, "--help")), succeeds(run(command, "--help", "all"))
    assert "--help all" in short
    assert set(re.findall(r"^  (--[\w-]+)", short, re.M)) < set(re.findall(r"^  (--[\w-]+)", whole, re.M))
    assert max(map(len, whole.splitlines())) <= 80


@pytest.mark.parametrize("word", ["--help", "-h", "help"])
def test_help_lists_the_commands(word):
    text = succeeds(run(word))
    for command in "serve check judge bench chaos assumptions queues top attributes send receive delete consume peek tail purge redrive move export import replay health completion version lambda".split():
        assert "\n  %s " % command in text


def test_version_is_the_servers(server):
    version = server.control("GET", "/_quern/info")[1]["version"]
    for word in ("version", "--version"):
        assert succeeds(run(word)) == "quern %s\n" % version


@pytest.mark.parametrize("command", "queues top attributes send receive delete consume peek tail purge redrive move export import replay health completion version serve check judge bench chaos assumptions lambda".split())
def test_each_command_has_help(command):
    assert succeeds(run(command, "--help")).startswith("usage: quern %s" % command)


@pytest.mark.parametrize(
    "words",
    [
        ["send"],
        ["receive"],
        ["peek"],
        ["purge"],
        ["queues", "extra"],
        ["health", "extra"],
        ["version", "extra"],
        ["peek", "a", "b"],
        ["send", "a", "b", "c"],
        ["queues", "--nonsense"],
        ["queues", "-x"],
        ["receive", "a", "--max", "11"],
        ["receive", "a", "--wait", "x"],
        ["receive", "a", "--max"],
        ["receive", "a", "--delete=yes"],
        ["peek", "a", "--limit", "0"],
        ["peek", "a/../../x"],
        ["send", "a", "b", "--delay", "901"],
    ],
)
def test_misuse_is_one_line(words):
    refused(*words)


@pytest.mark.parametrize(
    "words, instead",
    [
        (["serv"], "did you mean serve?"),
        (["dance"], "quern --help lists them"),
        (["serve", "--prot", "1"], "did you mean --port?"),
        (["serve", "-p", "1"], "quern serve --help lists them"),
        (["serve", "--db", ""], "--db needs a value: FILE"),
        (["serve", "--sync", "full"], "give --db too"),
        (["serve", "--limit", "in-flight"], "takes an integer from 1 to 120000"),
        (["serve", "--limit", "colours=3"], "in-flight, message-size, retention-min and batch-entries"),
        (["serve", "--clock", "virtual=now"], "such as 2026-01-01T00:00:00Z"),
        (["serve", "--clock", "real=3"], "say virtual=3"),
        (["serve", "--bind", "nowhere"], "such as 127.0.0.1:9324 or [::1]:9324"),
        (["serve", "--fault", "on SendMesage do hang"], 'did you mean "SendMessage"?'),
        (["serve", "--fault", "on SendMessage do hagn"], 'did you mean "hang"?'),
        (["serve", "extra"], "options only, not extra"),
        (["check"], "quern check [options] -- CMD"),
        (["check", "worker"], "command comes after --"),
        (["check", "--only", "--", "worker"], "--only needs ID"),
        (["check", "--only", "nope", "--", "worker"], "--list shows them"),
        (["check", "--only", "std.*,nope", "--", "worker"], "std.*,nope (--list shows them; each has an option of its own)"),
        (["check", "--profile", "x", "--", "worker"], "one of standard, fifo"),
        (["check", "--grace", "1w", "--", "worker"], "500ms or 10s"),
        (["check", "--server", "/nonexistent", "--", "worker"], "No such file"),
        (["judge"], "quern judge [options] TRACE..."),
        (["send"], "quern send QUEUE"),
        (["version", "extra"], "quern version"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistake_says_what_to_write_instead(words, instead):
    assert instead in refused(*words)


def test_judge_names_the_file_that_is_no_trace(tmp_path):
    file = tmp_path / "notes"
    file.write_text("not a trace")
    line = refused("judge", str(file))
    assert str(file) in line and "quern check --keep" in line


def test_port_in_use_says_what_to_do(server):
    assert "or 0 for a free one" in refused("serve", "--port", str(server.port))


def test_version_as_json(server):
    assert json.loads(succeeds(run("version", "--json"))).keys() == {"version"}


def test_health(quern, server):
    assert succeeds(quern("health")) == "ok\n"
    assert json.loads(succeeds(quern("health", "--json"))) == {"status": "ok"}
    assert succeeds(run("health", "--endpoint", server.endpoint)) == "ok\n"


def test_the_port_of_the_server_is_taken_from_its_variable(server):
    port = server.endpoint.rsplit(":", 1)[1]
    assert succeeds(run("health", QUERN_PORT=port)) == "ok\n"
    assert succeeds(run("health", QUERN_PORT="1", AWS_ENDPOINT_URL=server.endpoint)) == "ok\n"
    assert "127.0.0.1:1:" in run("health", QUERN_PORT="1", AWS_ENDPOINT_URL="").stderr


def test_health_waits_for_a_server_that_starts():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    asking = subprocess.Popen(
        [process.program(), "health", "--wait", "60"], env=environment(QUERN_PORT=str(port)), stdout=subprocess.PIPE
    )
    server = process.Server("--bind", "127.0.0.1:%d" % port)
    assert asking.communicate(timeout=60)[0] == b"ok\n" and asking.returncode == 0
    server.stop()


def test_health_waits_no_longer_than_it_should():
    answer = run("health", "--wait", "1", QUERN_PORT="1")
    assert answer.returncode == 1 and "127.0.0.1:1" in answer.stderr


def test_health_refuses_a_wait_that_is_none():
    assert "--wait" in refused("health", "--wait", "-1")


@pytest.mark.parametrize("words", [["health"], ["queues"], ["send", "q", "x"], ["peek", "q"]])
def test_no_server_is_exit_code_1(words):
    answer = run(*words, "--endpoint", "http://127.0.0.1:9")
    assert answer.returncode == 1 and answer.stdout == ""
    assert answer.stderr.count("\n") == 1 and "127.0.0.1:9" in answer.stderr


def test_queues_as_table_and_json(quern):
    lines = succeeds(quern("queues")).splitlines()
    assert lines[0].split()[:4] == ["NAME", "ACCOUNT", "REGION", "VISIBLE"]
    assert [line.split()[0] for line in lines[1:]] == ["jobs.fifo", "orders"]
    document = json.loads(succeeds(quern("queues", "--json")))
    assert [q["name"] for q in document["queues"]] == ["jobs.fifo", "orders"]


def test_send_peek_receive_delete(quern):
    sent = succeeds(quern("send", "orders", "a\tbody")).strip()
    lines = succeeds(quern("peek", "orders")).splitlines()
    assert lines[1].split()[1:4] == [sent, "visible", "0"] and lines[1].endswith("a body")
    lines = succeeds(quern("receive", "orders", "--delete")).splitlines()
    assert lines[1].split()[:2] == [sent, "1"]
    assert succeeds(quern("peek", "orders")).count("\n") == 1
    assert succeeds(quern("receive", "orders")) == ""


def test_json_has_the_whole_message(quern):
    sent = json.loads(succeeds(quern("send", "orders", "line\nline", "--json")))
    (message,) = json.loads(succeeds(quern("receive", "orders", "--json")))
    assert message["MessageId"] == sent["MessageId"] and message["Body"] == "line\nline"
    assert json.loads(succeeds(quern("receive", "orders", "--json"))) == []
    (peeked,) = json.loads(succeeds(quern("peek", "orders", "--json")))["messages"]
    assert peeked["state"] == "in-flight"


@pytest.mark.parametrize("words", [["send", "orders"], ["send", "orders", "-"]])
def test_body_from_stdin(quern, words):
    succeeds(quern(*words, stdin="from\nstdin"))
    (message,) = json.loads(succeeds(quern("receive", "orders", "--json")))
    assert message["Body"] == "from\nstdin"


@pytest.mark.parametrize("words", [["send", "a\udcff", "b"], ["send", "a", "b\udcff"], ["receive", "\udcff"],
                                   ["send", "a.fifo", "b", "--group", "\udcff"]], ids=["queue", "body", "receive", "group"])
def test_what_is_not_utf8_is_refused(words):
    """It was left out of the request, and the server missed it."""
    assert "UTF-8" in refused(*words)


def test_body_from_stdin_that_is_not_utf8_is_refused():
    answer = subprocess.run([process.program(), "send", "a", "-"], input=b"a\xffb", capture_output=True,
                            timeout=20, env=environment(), check=False)
    assert (answer.returncode, answer.stderr) == (2, b"quern send: the body from stdin is not UTF-8\n")


def test_send_to_fifo(quern):
    for _ in range(2):
        succeeds(quern("send", "jobs.fifo", "x", "--group", "g", "--deduplication", "d"))
    (message,) = json.loads(succeeds(quern("receive", "jobs.fifo", "--max", "10", "--json")))
    assert message["Attributes"]["MessageGroupId"] == "g"


def test_queue_by_url(quern, server):
    succeeds(quern("send", server.endpoint + "/000000000000/orders", "x"))
    assert len(json.loads(succeeds(quern("receive", "orders", "--json")))) == 1


def test_purge(quern):
    succeeds(quern("send", "orders", "x"))
    assert succeeds(quern("purge", "orders")).startswith("purged http://")
    assert succeeds(quern("receive", "orders")) == ""


def test_what_the_server_refuses_is_exit_code_1(quern):
    for words in (["send", "nope", "x"], ["purge", "nope"], ["receive", "nope"], ["send", "orders", ""]):
        answer = quern(*words)
        assert answer.returncode == 1 and answer.stdout == "" and answer.stderr.count("\n") == 1, answer


@pytest.mark.parametrize("is_url", [False, True], ids=["name", "url"])
@pytest.mark.parametrize("words", [
    ["attributes", "{}"], ["consume", "{}", "--", "true"], ["consume", "{}", "--visibility", "30", "--", "true"],
    ["consume", "orders", "--quarantine", "{}", "--", "true"], ["delete", "{}", "handle"], ["delete", "{}", "--whole-queue"],
    ["export", "{}"], ["import", "-", "--to", "{}"], ["lambda", "--queue", "{}", "--", "true"], ["move", "orders", "{}"],
    ["move", "{}", "orders"], ["peek", "{}"], ["purge", "{}"], ["receive", "{}"], ["redrive", "{}"],
    ["redrive", "orders", "--to", "{}"], ["send", "{}", "x"], ["tail", "{}"],
], ids=" ".join)
def test_a_queue_that_is_not_there_is_told_by_its_name_and_place(quern, server, words, is_url):
    queue = server.endpoint + "/000000000000/nope" if is_url else "nope"
    answer = quern(*(queue if word == "{}" else word for word in words), stdin='{"Body":"x"}\n')
    told = [line for line in answer.stderr.splitlines() if not line.startswith("{")]  # nor the log of consume
    place = server.endpoint
    assert told[0] == f"quern {words[0]}: there is no queue nope at {place} (quern queues --endpoint {place} lists them)"
    assert (answer.returncode, answer.stdout, len(told)) == (1, "", 1), answer


@pytest.mark.parametrize("command", [
    *"assumptions attributes bench check completion consume delete explain export health import judge lambda move peek".split(),
    *"purge queues receive redrive replay scenarios send serve tail top version".split(),
    *(f"chaos {word}" for word in "add clear disable enable list log profiles remove".split()),
])
def test_each_command_says_who_complains(command):
    assert refused(*command.split(), "--no-such-option").startswith(f"quern {command}: "), command
