"""chaos/README.md against the program: its examples run as they stand, what it quotes is accepted."""
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys

import pytest

from commands import environment
from exchange.process import program

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILE = ROOT / "chaos" / "README.md"
PAGE = FILE.read_text()
EXAMPLES = dict(re.findall(r"^### (\d\. [^\n]+)\n(.*?)(?=^##|\Z)", PAGE, re.S | re.M))
PAIR = re.compile(r"```sh\n(.*?)```\n+```text\n(.*?)```", re.S)
MARK = "---- end of block ----"
PORT = "9324"


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def run_script(script, folder, port):
    """One shell, as a reader has one; whatever it leaves behind is ended."""
    (folder / "bin").mkdir()
    (folder / "bin" / "quern").symlink_to(program())
    path = ":".join([str(folder / "bin"), os.path.dirname(sys.executable), os.environ["PATH"]])
    (folder / "empty").mkdir()
    with open(folder / "output", "wb") as output:
        shell = subprocess.Popen(
            ["bash"], stdin=subprocess.PIPE, stdout=output, stderr=output, cwd=folder / "empty",
            env=environment(PATH=path, QUERN_PORT=str(port)), start_new_session=True,
        )
        try:
            shell.communicate(script.encode(), timeout=120)
        finally:
            try:
                os.killpg(shell.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    return (folder / "output").read_text()


def outputs_of(text, folder):
    """What each block printed, and what the page shows for it. The port is a free one."""
    port = free_port()
    pairs = PAIR.findall(text)
    script = "".join("%s\necho '%s'\n" % (block, MARK) for block, _ in pairs)
    printed = run_script(script.replace(PORT, str(port)), folder, port).replace(str(port), PORT)
    return printed.split(MARK + "\n")[:-1], [shown for _, shown in pairs]


def test_each_of_five_examples_has_its_output():
    assert len(EXAMPLES) == 5
    assert all(len(PAIR.findall(text)) == text.count("```sh") >= 1 for text in EXAMPLES.values())


@pytest.mark.parametrize("title", EXAMPLES)
def test_the_example_prints_what_is_shown(title, tmp_path):
    printed, shown = outputs_of(EXAMPLES[title], tmp_path)
    assert printed == shown


RULES = re.findall(r"(?:--fault '|chaos add '|\"rule\": \")((?:unsound )?on [^'\"]+)['\"]", PAGE)


def test_rules_are_found():
    assert len(RULES) >= 5


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_is_accepted(start, tmp_path, rule):
    server = start("--supervise", "--db", str(tmp_path / "q.db"), "--fault", rule)
    (listed,) = server.control("GET", "/_quern/rules")[1]["rules"]
    assert listed["text"] == rule


def words_of(part):
    (row,) = [line for line in PAGE.splitlines() if line.startswith("| %s |" % part)]
    return re.findall(r"`([^`]+)`", row)


ACTION_ROWS = re.findall(r"^\| [a-z]* ?\| (`.*?) \|", PAGE.split("\n## Actions\n")[1].split("\n## ")[0], re.M)
ACTIONS = [word for row in ACTION_ROWS for word in re.findall(r"`([^`]+)`", row)]
PLACEHOLDERS = {"CODE": "InternalFailure", "N": "2", "NAME=VALUE": "VisibilityTimeout=30", "NAME": "x", "A, B": "1, 2", "KEY": "k",
                "QUEUE": "q", "G": "a"}
EVENTS = {"resurrect": "msg.delete", "expire-lease": "lease.grant", "fake-success": "DeleteMessage",
          "fail-entries": "SendMessageBatch", "false-empty": "ReceiveMessage", "short": "ReceiveMessage"}


def filled(word):
    """As one would write it: with values, and without and with what may be left out."""
    for placeholder, value in PLACEHOLDERS.items():
        word = re.sub(r"\b%s\b" % placeholder, value, word)
    for form in (re.sub(r" \[[^]]*\]", "", word), re.sub(r"[][]", "", word)):
        choice = re.search(r"\S+\\\|\S+", form)  # a|b, with the table's escape
        for one in choice[0].split("\\|") if choice else [""]:
            yield form.replace(choice[0], one) if choice else form


def test_each_action_that_the_server_carries_out_is_on_the_page():
    rows = re.findall(r'^QN_RULE_ACTION\(\w+, "([^"]+)", \w+, \w+, (\w+)', (ROOT / "chaos/actions.def").read_text(), re.M)
    served = {word for word, carrier in rows if carrier == "SERVER"}
    assert served and served - {word.split()[0] for word in ACTIONS} == set()


def test_each_word_of_the_page_is_known(start, tmp_path):
    rules = ["unsound on %s do %s" % (EVENTS.get(word.split()[0], "any"), form) for word in ACTIONS for form in filled(word)
             if "ACTION" not in word and not word.startswith("after")]
    whole = [word for word in words_of("WHEN") if word not in ("group", "instance", "queue", "connection")]
    rules += ["on any %s do throttle" % form for word in whole if word[0] != "p" or " " in word for form in filled(word)
              if not form.startswith("per ")]
    rules += ["on any once per %s do throttle" % word for word in ("message", "group", "instance", "queue", "connection")]
    rules += ["on any at %s do reset" % point for point in re.findall(r"`([a-z]+-?[a-z]+)`", PAGE.split("| POINT |")[1].split("\n\n")[0])]
    rules += ["on %s do mark x" % word for word in words_of("EVENT") if word not in "*?"]
    fields = [word for word in words_of("TEST") if re.fullmatch(r"[a-z]+(\.\"[a-z]+\")?", word)]
    fields = [word for word in fields if word not in ("and", "or", "not")]
    rules += ["on SendMessage where %s = 1 at post-commit do reset" % word for word in fields]
    assert len(rules) > 50
    messages = tmp_path / "messages.jsonl"
    messages.write_text('{"body": "x"}\n')
    rules = [rule.replace("@FILE", "@%s" % messages) for rule in rules]
    server = start("--supervise", "--db", str(tmp_path / "q.db"))
    status, answer = server.control("POST", "/_quern/rules", {"rules": rules})
    assert status == 200, answer


def test_members_of_a_rule_are_those_that_the_reference_names(start):
    server = start("--fault", "on any nth 9 do hang")
    (text,) = re.findall(r"^Of a rule: (.*?)\n\n", (ROOT / "chaos" / "reference.md").read_text(), re.M | re.S)
    words = re.findall(r"`([a-z_]+)`", re.sub(r"\([^)]*\)", "", text))
    assert sorted(words) == sorted(server.control("GET", "/_quern/rules")[1]["rules"][0])
