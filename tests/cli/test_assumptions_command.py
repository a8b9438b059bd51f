"""`quern assumptions`: of a running server, of stored traces, and its pages in the documents."""
import json
import pathlib
import re

import pytest

from commands import refused, run

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRACES = ROOT / "tests" / "chaos" / "assumptions"
SHOWN = str(TRACES / "name-reused.jsonl")
SHORT = str(TRACES / "name-reused-short.jsonl")


def rows():
    answer = run("assumptions", "--list", "--json")
    assert answer.returncode == 0
    return json.loads(answer.stdout)


def call(server, action, **members):
    from exchange import client

    connection = client.Client(server)
    answer = connection.call("json", action, members)
    connection.close()
    assert answer.status == 200, answer
    return answer.members


def test_a_stored_trace_that_shows_something():
    answer = run("assumptions", SHOWN)
    assert (answer.returncode, answer.stderr) == (1, "")
    assert answer.stdout.startswith("name-reused: a deleted queue's name can be used again at once\n")
    for word in ("seen 1 time", "q: created again 59999 ms", "DeleteQueue  r-2  AKIDEXAMPLE",
                 "CreateQueue  r-3", "AWS: ", "https://docs.aws.amazon.com/", "fix: ",
                 "1 of %d assumptions found" % len(rows())):
        assert word in answer.stdout, answer.stdout


def test_a_stored_trace_that_shows_nothing():
    answer = run("assumptions", SHORT)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert re.fullmatch(r"0 of \d+ assumptions found in 10 events, unbroken from \S+ to \S+\n", answer.stdout)


def test_json_is_the_document_of_the_control_api():
    answer = run("assumptions", "--json", SHOWN)
    report = json.loads(answer.stdout)
    assert answer.returncode == 1 and report["assumptions"][0]["name"] == "name-reused"
    assert report["events"] == 10 and report["watched"] == len(rows())


def test_a_trace_from_stdin():
    assert run("assumptions", "-", stdin=pathlib.Path(SHOWN).read_text()).returncode == 1


def test_a_running_server(start):
    server = start("--assumptions", "--auto-create")
    endpoint = {"AWS_ENDPOINT_URL": server.endpoint}
    assert run("assumptions", **endpoint).returncode == 0
    call(server, "SendMessage", QueueUrl=server.endpoint + "/000000000000/q", MessageBody="x")
    answer = run("assumptions", "--endpoint", server.endpoint)
    assert answer.returncode == 1 and "queue-not-created" in answer.stdout
    assert json.loads(run("assumptions", "--json", **endpoint).stdout)["live"] is True


def test_what_was_not_looked_at_is_told(start):
    server = start()
    call(server, "CreateQueue", QueueName="q")
    answer = run("assumptions", "--endpoint", server.endpoint)
    assert answer.returncode == 0
    assert "1 calls came before anybody wanted details" in answer.stdout
    assert "serve --assumptions" in answer.stdout


def test_the_mapped_file_of_a_server_that_was_killed(start, tmp_path):
    file = tmp_path / "trace"
    server = start("--trace", str(file), "--auto-create")
    call(server, "SendMessage", QueueUrl=server.endpoint + "/000000000000/q", MessageBody="x")
    while_it_runs = run("assumptions", str(file))
    server.stop()
    before = file.read_bytes()
    answer = run("assumptions", str(file))
    assert answer.returncode == while_it_runs.returncode == 1 and "queue-not-created" in answer.stdout
    assert file.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"\n\n"])
def test_an_empty_trace_shows_nothing(tmp_path, content):
    (tmp_path / "t").write_bytes(content)
    answer = run("assumptions", str(tmp_path / "t"))
    assert (answer.returncode, answer.stdout[:2]) == (0, "0 ")


@pytest.mark.parametrize("content", [b"x", b"{}\n", b"QNTRACE1", b"QNTRACE1" + bytes(20000), b"\xff\xfe", b'{"kind":"boot"}\n{"kind'])
def test_a_foreign_file_is_refused_in_one_line(tmp_path, content):
    (tmp_path / "t").write_bytes(content)
    assert "is no trace" in refused("assumptions", str(tmp_path / "t"))


@pytest.mark.parametrize("words", [["/no/such/file"], ["a", "b"], ["--nonsense"], ["/"]])
def test_misuse_is_one_line(words):
    refused("assumptions", *words)


def test_a_server_that_does_not_answer_is_neither_found_nor_misuse():
    answer = run("assumptions", "--endpoint", "http://127.0.0.1:1")
    assert (answer.returncode, answer.stdout) == (4, "") and answer.stderr.count("\n") == 1


def test_control_characters_of_a_trace_do_not_reach_the_terminal(tmp_path):
    text = pathlib.Path(SHOWN).read_text().replace('"AKIDEXAMPLE"', '"\\u001b[2J"').replace('"q"', '"q\\u0007"')
    (tmp_path / "t").write_text(text)
    answer = run("assumptions", str(tmp_path / "t"))
    assert answer.returncode == 1
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", answer.stdout)


def test_the_list_names_every_detector():
    listed = run("assumptions", "--list").stdout.splitlines()
    assert [line.split()[0] for line in listed[1:]] == [row["name"] for row in rows()]


def test_the_table_of_the_page_is_that_of_the_program():
    page = (ROOT / "chaos" / "reference.md").read_text()
    wanted = "".join("| `%s` | %s | [%s](%s) |\n" % (row["name"], row["title"], row["promise"], row["source"])
                     for row in rows())
    table = re.search(r"<!-- begin assumptions[^\n]*-->\n\|[^\n]*\n\| --- [^\n]*\n(.*?)<!-- end assumptions -->", page, re.S)
    assert table and table.group(1) == wanted, wanted


def test_the_exit_codes_are_told_where_they_are_needed():
    help_text = run("assumptions", "--help").stdout
    page = (ROOT / "chaos" / "README.md").read_text().split("## Observed assumptions", 1)[1]
    for text in (help_text, page):
        for word in ("0 ", "1 ", "2 ", "4 "):
            assert word in text
