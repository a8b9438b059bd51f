"""What stands beside a PASS: a few figures that show what it was earned with."""
import re

import pytest
from commands import run
from traces_made import Trace

COLUMNS = 41  # as many are left of 100 beside the name of a scenario and its time


def beside(tmp_path, trace):
    answer = run("judge", str(trace.end().write(tmp_path / "t.jsonl")))
    assert answer.returncode == 0, answer.stdout
    return re.fullmatch(r"PASS  (.*)", answer.stdout.splitlines()[0])[1]


def test_a_pass_tells_how_many_messages_there_were(tmp_path):
    trace = Trace()
    for k in ("k-000", "k-001"):
        trace.send(k)
        trace.work(k)
    assert beside(tmp_path, trace) == "2 messages"


def test_a_pass_tells_what_happened_to_the_messages(tmp_path):
    trace = Trace()
    trace.send("k-000")
    trace.lease("k-000")
    trace.begin("k-000")
    trace.commit("k-000")
    trace.add("fault", rule="lost", match=1, code="fake-success", reason="fake-success")
    trace.add("fault", rule="late", match=1, code="mark", reason="mark late")  # a mark is no fault
    trace.add("fault", rule="other", match=1, reason="shadowed by lost")
    trace.lease("k-000")
    trace.begin("k-000")
    trace.commit("k-000", replayed=True)
    trace.delete("k-000")
    assert beside(tmp_path, trace) == "1 message, 1 fault, 1 came again"


def test_figures_that_do_not_fit_beside_the_name_are_left_out(tmp_path):
    trace = Trace()
    for n in range(1000):
        trace.send(f"k-{n:04}")
        trace.lease(f"k-{n:04}")
        trace.add("fault", rule="slow", match=n + 1, reason="delay")
        trace.work(f"k-{n:04}")
    told = beside(tmp_path, trace)
    assert told == "1000 messages, 1000 faults" and len(told) <= COLUMNS


@pytest.mark.parametrize("must, told", [
    ("ACK-AFTER-EFFECT", "1 delete, min gap effect->delete 10 ms"),
    ("PROGRESS(all, 9s)", "done within 0.04 s each (limit 9 s)"),
])
def test_an_invariant_with_a_figure_tells_that(tmp_path, must, told):
    trace = Trace(must=[must])
    trace.send("k-000")
    trace.work("k-000")
    assert beside(tmp_path, trace) == told and len(told) <= COLUMNS


def test_a_pass_of_extensions_tells_the_narrowest_one(tmp_path):
    trace = Trace(step_ms=100, must=["EXTEND-MARGIN(all, 1s)"])
    trace.send("k-000")
    trace.lease("k-000")
    for at_ms in (1500, 2300):
        trace.jump(at_ms)
        trace.state("lease.extend", mid="id-k-000", k="k-000", h="h-k-000-1", deadline=trace.now_ms() + 4000,
                    instance="QUERN0001")
    trace.begin("k-000")
    trace.commit("k-000")
    trace.delete("k-000")
    assert beside(tmp_path, trace) == "extended 1.5 s early (limit 1 s)"


def test_a_pass_of_what_was_held_tells_how_long_it_lay(tmp_path):
    trace = Trace(step_ms=100, must=["IDLE-HOLD(all, 2s)"])
    for k in ("k-000", "k-001"):
        trace.send(k)
    trace.lease("k-000")
    trace.jump(1100)
    trace.lease("k-001")
    for k in ("k-000", "k-001"):
        trace.begin(k)
        trace.commit(k)
        trace.delete(k)
    assert beside(tmp_path, trace) == "held 1.3 s idle (limit 2 s)"


def test_a_pass_of_a_stop_tells_how_long_it_took(tmp_path):
    trace = Trace(must=["EXIT-IN-GRACE"])
    trace.send("k-000")
    trace.work("k-000")
    trace.proc("signal", pid=10, signal=15)
    trace.proc("exit", pid=10, exit=0)
    assert beside(tmp_path, trace) == "ended 0.01 s after SIGTERM (limit 10 s)"
