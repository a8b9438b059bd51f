"""What the consumer's supervisor is said to do when it ends by itself."""
import pytest
from commands import run

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
