"""What the consumer's supervisor is said to do when it ends by itself, and the names that it hands out."""
import pathlib

import pytest
from commands import run

REFERENCE = pathlib.Path(__file__).resolve().parents[1] / "consumers/reference.py"

GONE = "the consumer ended before its first ReceiveMessage (exit code %d) and is not started again"
AGAIN = "the consumer ended 5 times before its first ReceiveMessage (exit code %d)"


def said(code, *words):
    answer = run("check", "--only", "base.ack-after-effect", *words, "--", "sh", "-c", "exit %d" % code)
    assert answer.returncode == 3, answer.stdout
    return answer.stdout


@pytest.mark.parametrize("policy, code, text", [
    ("always", 0, AGAIN), ("always", 1, AGAIN),
    ("on-failure", 0, GONE), ("on-failure", 143, GONE), ("on-failure", 1, AGAIN),
    ("never", 0, GONE), ("never", 1, GONE),
])
def test_a_consumer_that_ends_by_itself_is_started_again_as_declared(policy, code, text):
    assert text % code in said(code, "--restart", policy)


def test_what_a_failure_is_is_declared_too():
    assert GONE % 7 in said(7, "--restart", "on-failure", "--expect-exit", "7")
    assert AGAIN % 0 in said(0, "--restart", "on-failure", "--expect-exit", "7")


def test_a_name_for_files_is_that_of_one_run_and_of_no_other(tmp_path):
    words = ["--only", "std.crash-after-receive", "--seed", "7", "--", "sh", "-c",
             f'echo "{{run}} $MINE $QUERN_RUN_ID" >>{tmp_path}/names; exec /usr/bin/python3 {REFERENCE}']
    names = []
    for _ in range(2):
        (tmp_path / "names").write_text("")
        done = run("check", "--env", "MINE={run}", *words)
        assert done.returncode == 0, done.stdout + done.stderr
        lines = (tmp_path / "names").read_text().splitlines()
        assert len(lines) > 1 and len(set(lines)) == 1, lines  # it was started again, with the same one
        word, variable, run_id = lines[0].split()
        assert word == variable == run_id and "/" not in word
        names.append(word)
    assert names[0] != names[1]
