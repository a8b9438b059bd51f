"""README.md against the program: what it shows is there, and what it quotes is accepted."""
import json
import pathlib
import re

import pytest

from commands import run

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
CONTROL_CALL = re.compile(r"`(GET|POST|DELETE) (/?[^`\s]+)`")
NOT_OURS = {"--preset", "--build", "--install", "--endpoint-url", "--queue-url", "--message-body", "--data-binary"}


def section(title):
    return README.split("\n## %s\n" % title)[1].split("\n## ")[0]


def first_cells(text):
    return [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("| ")]


def test_options_table_is_what_the_program_prints():
    table = re.search(r"<!-- begin options[^\n]*-->\n(.*)<!-- end options -->", README, re.S).group(1)
    assert table == run("serve", "--help", "--markdown").stdout


def test_both_commands_are_shown():
    commands = section("Two commands")
    assert re.search(r"^\./dev check\b", commands, re.M) and re.search(r"^\./dev test\b", commands, re.M)


@pytest.mark.parametrize(
    "sdk", ["boto3", "JavaScript v3", "Java v2", "Go v2", "Rust", ".NET", "PHP", "Ruby", "AWS CLI"]
)
def test_each_sdk_has_a_row(sdk):
    assert any(cell.startswith(sdk) for cell in first_cells(section("Point a client at it")))


def test_what_could_not_be_tried_says_so():
    (row,) = [line for line in README.splitlines() if line.startswith("| .NET |")]
    assert "from its documentation" in row


CALLS = CONTROL_CALL.findall(section("Control API"))


def test_control_calls_are_found():
    assert len(CALLS) >= 15


@pytest.mark.parametrize("method, page", CALLS, ids=lambda word: word)
def test_each_page_of_the_control_api_exists(start, method, page):
    rules = ["--fault", "on any nth 999 do throttle as NAME", "--fault", "on any nth 999 do throttle as N"]
    server = start("--queue", "NAME", *rules)
    path = page if page.startswith("/") else "/_quern/" + re.sub(r"=[NM]\b", "=1", page).replace("name=1", "name=N")
    status, answer = server.control(method, path, {} if method == "POST" else None)
    assert status in (200, 400), (path, answer)
    assert status == 200 or method == "POST", (path, answer)


@pytest.mark.parametrize("path", ["/health", "/_localstack/health", "/_aws/sqs/messages?QueueUrl="])
def test_pages_outside_exist(start, path):
    assert "`%s`" % path in README or "`GET %s`" % path in README
    server = start("--queue", "q")
    asked = path + "http://localhost:4566/000000000000/q" if path.endswith("=") else path
    assert server.control("GET", asked)[0] == 200


RULES = re.findall(r"--fault '([^']+)'", README)


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_is_accepted(start, rule):
    (listed,) = start("--fault", rule).control("GET", "/_quern/rules")[1]["rules"]
    assert listed["text"] == rule


def test_config_is_accepted(start, tmp_path):
    (document,) = re.findall(r"```json\n(.*?)```", README, re.S)
    file = tmp_path / "config.json"
    file.write_text(document)
    server = start("--config", str(file))
    made = {queue["name"] for queue in server.control("GET", "/_quern/queues")[1]["queues"]}
    assert made == {queue["name"] for queue in json.loads(document)["queues"]}


def test_each_option_that_is_named_exists():
    commands = "serve check bench assumptions queues top attributes send receive delete consume peek tail lambda purge redrive move export import replay health version".split()
    words = [[command] for command in commands] + [["chaos", word] for word in ("add", "log")]
    helps = [run("--help").stdout, *(run(*word, "--help", "all").stdout for word in words)]
    known = set(re.findall(r"--[a-z][a-z-]+", "\n".join(helps))) | {"--help", "--markdown"}
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", README))
    assert named - known - NOT_OURS == set()


def test_each_subcommand_that_is_named_exists():
    listed = set(re.findall(r"^  (\w+) ", run("--help").stdout, re.M))
    assert set(re.findall(r"`quern (\w+)", README)) <= listed
    (line,) = re.findall(r"On the command line: (.*?);", README, re.S)
    assert set(re.findall(r"`(?:quern )?(\w+)`", line)) <= listed


def test_exit_statuses_are_those_of_the_help():
    rows = first_cells(section("Is my consumer right?"))
    told = set(re.findall(r"\b(\d) ", run("check", "--help").stdout.split("Exit code:")[1]))
    assert {cell for cell in rows if cell.isdigit()} == told
