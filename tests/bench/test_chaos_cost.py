"""What fault rules cost a request that they do not touch. No wall clock is looked at."""
import os
import subprocess

import pytest

import instructions

TOP = instructions.HERE.parents[1]
WITHOUT = TOP / "build/without-chaos"
RULES = 50
WITH_RULES = {
    "of other actions": "on CreateQueue nth 999999 do throttle as a{0}",
    "of other queues": "on SendMessage where queue=other-{0} do throttle as a{0}",
    "of other queues at every point": "on any where queue=other-{0} at mid-response do reset 0.5 as a{0}",
    "of other messages": "on * where key=m-{0} and size > 1 do reset as a{0}",
    "of events in the server": "on msg.delete where queue=other-{0} do mark x as a{0}",
}


@pytest.fixture(scope="module")
def without():
    """A server that never asks its rules, built as the one under test."""
    for words in (["cmake", "--preset", "release", "-B", str(WITHOUT), "-DQUERN_CHAOS=OFF"],
                  ["cmake", "--build", str(WITHOUT), "--target", "quern", "-j", str(os.cpu_count() or 2)]):
        answer = subprocess.run(words, cwd=TOP, capture_output=True, text=True, timeout=900, check=False)
        assert answer.returncode == 0, answer.stdout[-2000:] + answer.stderr[-2000:]
    return instructions.count(server=WITHOUT / "quern")


@pytest.fixture(scope="module")
def with_none():
    return instructions.count()


def more(counted, known, name):
    return (counted[name] / known[name] - 1) * 100


@pytest.mark.parametrize("name", ["send", "drain"])
def test_no_rules_cost_nothing(without, with_none, name):
    assert more(with_none, without, name) <= 2, (with_none, without)


@pytest.mark.parametrize("which", WITH_RULES)
def test_fifty_rules_of_which_none_matches_cost_little(with_none, which):
    rules = [WITH_RULES[which].format(i) for i in range(RULES)]
    counted = instructions.count(rules)
    print("%s: %+.1f %% a send" % (which, more(counted, with_none, "send")))
    assert more(counted, with_none, "send") <= 10, (counted, with_none)
