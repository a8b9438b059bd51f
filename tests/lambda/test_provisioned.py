"""Provisioned environments: no message is received before there is one for it, so no lease runs while it starts."""
import signal

import pytest
from exchange import process
from world import World


@pytest.fixture
def world(tmp_path):
    """In real time, which functions start in."""
    with process.starting() as start:
        made = World(start(clock="real"), tmp_path)
        yield made
        made.stop()


def received_before_ready(world):
    """Ids of messages whose lease began before the environment that got them was ready."""
    seen = world.seen()
    ready = {one["pid"]: one["ready"] for one in seen if "ready" in one}
    events = [one for one in seen if "event" in one]
    assert events
    return [record["messageId"] for one in events for record in one["event"]["Records"]
            if int(record["attributes"]["ApproximateFirstReceiveTimestamp"]) + 1 < int(ready[one["pid"]] * 1000)]


def test_no_lease_runs_while_the_first_environment_starts_again(world):
    world.queue()
    world.send(*({"n": n} for n in range(4)))
    world.start("--provisioned", "--max-concurrency", "2", "--batch-size", "1", INIT="fail-twice")
    world.until(lambda: len(world.told()) == 4)
    assert {one["environment"]["AWS_LAMBDA_INITIALIZATION_TYPE"] for one in world.seen() if "event" in one} == {
        "provisioned-concurrency"}
    assert len(world.told("not-started")) == 2
    assert received_before_ready(world) == []


def test_no_lease_runs_while_a_lost_environment_is_started_again(world):
    """Each message costs the environment that it meets: the third meets a poller that has lost one."""
    world.queue()
    world.start("--provisioned", "--max-concurrency", "2", "--batch-size", "1", INIT="slow")
    for n in range(1, 5):
        world.send({"do": "exit"})
        world.until(lambda wanted=n: len(world.told()) == wanted)
    assert received_before_ready(world) == []


def test_a_function_that_never_starts_does_not_keep_its_messages_for_ever(world):
    world.queue()
    world.send({"n": 1})
    world.start("--provisioned", "--max-concurrency", "2", INIT="error")
    world.until(lambda: world.told())
    (invocation,) = world.told()
    assert invocation["end"] == "error" and "no module app" in invocation["why"]
    told = world.told("not-started")
    assert 3 <= len(told) <= 6 and "no module app" in told[0]["why"]


def test_the_end_does_not_wait_for_a_start(world):
    world.queue()
    poller = world.start("--provisioned", function=("sh", "-c", "echo begun >>$SEEN.begun; exec sleep 600"))
    world.until(lambda: (world.folder / "seen.begun").exists())
    poller.send_signal(signal.SIGTERM)
    assert poller.wait(5) == 0
