"""Completion in a shell: bash itself says what it would complete."""
import re
import subprocess

import pytest

from commands import refused, run
from exchange import process


def script(shell):
    answer = run("completion", shell)
    assert answer.returncode == 0 and answer.stderr == "", answer
    return answer.stdout


@pytest.fixture(scope="module")
def completed():
    text = script("bash")

    def complete(*words):
        line = text + '\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _quern; printf "%s\\n" "${COMPREPLY[@]}"'
        answer = subprocess.run(["bash", "-uc", line, "bash", *words], capture_output=True, text=True, timeout=30, check=True)
        assert answer.stderr == ""
        return answer.stdout.split()

    return complete


def test_commands_are_completed(completed):
    commands = re.findall(r"^  (\w+) ", run("--help").stdout, re.M)
    assert completed("quern", "") == [*commands, "--help", "--version"]
    assert completed("quern", "re") == [command for command in commands if command.startswith("re")]


@pytest.mark.parametrize("command", ["serve", "check", "send", "move", "redrive", "bench", "chaos add", "lambda"])
def test_options_are_completed_as_the_help_lists_them(completed, command):
    words = command.split()
    listed = set(re.findall(r"^  (--[\w-]+)", run(*words, "--help", "all").stdout, re.M))
    found = completed("quern", *words, "--")
    assert set(found) == listed | {"--help"} and len(found) >= 4


NAMES = [
    (["check", "in"], ["init"]),
    (["check", "--only", "std.crash-after-d"], ["std.crash-after-delete"]),
    (["check", "-j", "2", "--skip", "std.re"], ["std.reorder"]),
    (["scenarios", "sh"], ["show"]),
    (["scenarios", "show", "fifo.o"], ["fifo.order"]),
    (["scenarios", "--profile", "l"], ["lambda"]),
    (["explain", "ACK"], ["ACK-AFTER-EFFECT"]),
    (["completion", ""], ["bash", "zsh"]),
    (["chaos", "add", "--profile", "cr"], ["crashy"]),
    (["chaos", "show", "at"], ["at-least-once"]),
    (["check", "--tempo", "r"], ["real"]),
]


@pytest.mark.parametrize("words, names", NAMES, ids=lambda one: " ".join(one))
def test_names_are_completed(completed, words, names):
    assert completed(process.program(), *words) == names


# What zsh's own completion would be asked for, and what is made of it.
STUBS = """
compdef() { : }
_describe() { print -l -- ${(P)${@[-1]}} }
_files() { : }
_default() { : }
compadd() { print -l -- ${(P)2} }
"""


def zsh_completes(*words):
    text = STUBS + script("zsh") + "\nwords=(\"$@\"); CURRENT=$#; _quern"
    answer = subprocess.run(["zsh", "-fus", *words], input=text, capture_output=True, text=True, timeout=30, check=False)
    assert answer.stderr == ""
    return answer.stdout.splitlines()


@pytest.mark.parametrize("words, names", NAMES, ids=lambda one: " ".join(one))
def test_names_are_completed_by_zsh_too(words, names):
    begun = words[-1]
    assert [name for name in zsh_completes(process.program(), *words) if name.startswith(begun)] == names


@pytest.mark.parametrize("command", ["serve", "check", "send", "chaos add"])
def test_options_are_completed_by_zsh_as_the_help_lists_them(command):
    words = command.split()
    listed = set(re.findall(r"^  (--?[\w-]+)", run(*words, "--help", "all").stdout, re.M))
    assert {line.split(":")[0] for line in zsh_completes("quern", *words, "--")} == listed | {"--help"}


def test_what_follows_two_dashes_is_left_to_zsh():
    assert zsh_completes("quern", "check", "--", "--") == []


def test_words_of_chaos_are_completed(completed):
    assert completed("quern", "chaos", "l") == ["list", "log"]


@pytest.mark.parametrize("words", [["send", "q"], ["import", "/"], ["check", "--", "--"], ["nope", "--"], ["consume", "q", "--", "x"]])
def test_elsewhere_files_are_left_to_the_shell(completed, words):
    assert completed("quern", *words) == []


def test_zsh_has_every_command_and_what_it_is():
    text = script("zsh")
    assert text.startswith("#compdef quern\n")
    for command, what in re.findall(r"^  (\w+) +(.+)$", run("--help").stdout, re.M):
        assert "'%s:%s'" % (command, what.replace("'", "'\\''")) in text
        assert "('%s') found=(" % command in text
    assert "        '--max:messages to receive, up to 10 (default 1)'\n" in text and "('chaos add') found=(" in text


def test_a_shell_that_is_not_known():
    assert "bash or zsh" in refused("completion", "fish")
    assert "quern completion bash|zsh" in refused("completion")
