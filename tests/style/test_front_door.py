"""What a newcomer meets first."""
import re
import subprocess

import pytest
import tree


def dev(*words):
    return subprocess.run([tree.TOP / "dev", *words], capture_output=True, text=True, timeout=60,
                          check=False)


@pytest.mark.parametrize("command", ["./dev check", "./dev test"])
def test_the_readme_shows_the_command(command):
    assert command in tree.text(tree.TOP / "README.md")


def test_ci_runs_the_same_tests_as_a_developer():
    assert "./dev test" in tree.text(tree.TOP / ".ci/run")


def test_an_unknown_word_is_answered_in_one_line_with_exit_code_2():
    answer = dev("dance")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert re.fullmatch(r"dev: .*dance.*\n", answer.stderr)


@pytest.mark.parametrize("word", ["serve", "check", "test", "bench", "format", "help"])
def test_help_lists_the_word(word):
    answer = dev("help")
    assert answer.returncode == 0
    assert re.search(rf"^  {word} ", answer.stdout, re.M)


def test_an_unknown_suite_is_refused():
    answer = dev("test", "no-such-suite")
    assert answer.returncode == 2
    assert "no-such-suite" in answer.stderr
    assert answer.stdout.splitlines()[-1] == "0 passed, 1 failed"


def test_no_file_names_a_place_on_the_machine_where_it_was_written():
    files = subprocess.run(["git", "ls-files"], cwd=tree.TOP, capture_output=True, text=True,
                           check=True).stdout.split()
    place = re.compile(r"/(work|root|home)/[\w.]")
    assert [file for file in files
            if (tree.TOP / file).is_file() and place.search((tree.TOP / file).read_bytes().decode("latin-1"))] == []
