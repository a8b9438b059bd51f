"""A server under a supervisor that is killed at every failpoint and at every point of a request, by hand and by
a rule, amid a fixed workload of many clients. After each restart the store is compared with what they were told:
a redrive is in one of both queues, move tasks go on, deduplication and counts are those of before."""
import subprocess

import pytest
from exchange.process import program
from supervised import SupervisedStore, armed, await_life, kill_server, life, post, rules, until
from traffic import Traffic

# With --sync normal, or full where the failpoint is passed only then.
PLACES = {
    "dedup.after_insert": 5,
    "lease_timer.before_commit": 3,
    "lease_timer.after_commit": 3,
    "movetask.after_chunk": 2,
    "purge.mid": 2,
    "redrive.before_commit": 3,
    "redrive.after_commit": 3,
    "retention.after_chunk": 1,
    "ring.before_sync": 40,
    "ring.mid_append": 40,
    "send_batch.entry:1": 4,
    "send_batch.entry:2": 3,
    "send_batch.entry:3": 3,
    "send_batch.entry:4": 3,
    "send_batch.entry:5": 2,
    "send_batch.entry:6": 2,
    "send_batch.entry:7": 2,
    "send_batch.entry:8": 2,
    "send_batch.entry:9": 1,
    "send_batch.entry:10": 1,
    "wal.checkpoint": 1,
    "writer.after_commit": 1,
    "writer.before_commit": 1,
}
STARTS = ("boot.before_recovery", "boot.mid_recovery")
POINTS = ("begin", "before_commit", "after_commit", "before_write", "mid_write")
ACTIONS = ("SendMessage*", "ReceiveMessage", "DeleteMessage*", "ChangeMessageVisibility*", "*MessageMoveTask*",
           "PurgeQueue", "*Queue*")
LONGEST_S = 30


@pytest.fixture
def traffic(folder, request):
    """The clients of a store whose clock one of them moves."""
    sync = "full" if "ring.before_sync" in request.node.name else "normal"
    store = SupervisedStore(folder, options=("--sync", sync))
    store.start()
    found = Traffic(store, request.node.name, is_virtual=True)
    found.make_queues()
    yield found
    store.end(by="stop")


class Life:
    """The clients use the server until it is gone, as `arm` has seen to."""

    def __init__(self, traffic, rests=False):
        self.traffic = traffic
        self.server = traffic.store.server
        self.number = life(self.server)
        self.rests = rests  # what is to come comes when nothing is asked

    def __enter__(self):
        self.traffic.begin()
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            self.traffic.over.set()
            return
        if not self.rests:
            self.wait_until_gone()
        self.traffic.end()
        if self.rests:
            self.wait_until_gone()
        self.traffic.store.reconnect(self.number + 1)
        self.traffic.check("in life %d" % (self.number + 1))

    def wait_until_gone(self):
        until(lambda: not any(thread.is_alive() for thread in self.traffic.threads) or
              (life(self.server) or 0) > self.number, "the crash", LONGEST_S)


def arm(server, spec):
    post(server, "/_quern/failpoints", {"failpoints": [spec]})


def finish(traffic):
    """A life without faults, and all that is there is handed out."""
    store = traffic.store
    lives = life(store.server)
    traffic.begin()
    traffic.over.wait(0.2)
    traffic.end()
    traffic.check("in a life without faults")
    traffic.drain("at the end")
    assert life(store.server) == lives, "it was killed once more"


def test_every_failpoint_has_its_test():
    done = subprocess.run([program(), "serve", "--failpoint", "nowhere=kill"], capture_output=True, text=True)
    for name in (*PLACES, *STARTS):
        assert name in done.stderr
    listed = done.stderr.split("there are ")[1].split(", and begin:")[0].split(", ")
    assert sorted(listed) == sorted((*PLACES, *STARTS))


@pytest.mark.parametrize("place", PLACES)
def test_a_crash_there_by_hand_and_by_a_rule(traffic, place):
    server = traffic.store.server
    rests = place == "wal.checkpoint"
    with Life(traffic, rests):
        traffic.over.wait(0.1)
        arm(server, "%s=kill:%d" % (place, PLACES[place]))
    assert armed(server)[place]["passed"] >= PLACES[place]
    server.control("DELETE", "/_quern/failpoints")
    with Life(traffic, rests):
        rule = "on any nth %d do crash server at %s as there" % (PLACES[place], place)
        post(server, "/_quern/rules", {"rule": rule})
    assert rules(server)["there"]["fired"] == 1
    finish(traffic)
    assert server.log().count("by=%s" % place) == 2


@pytest.mark.parametrize("place", STARTS)
def test_a_crash_amid_a_start(traffic, place):
    server = traffic.store.server
    with Life(traffic) as this:
        traffic.over.wait(0.2)
        arm(server, "writer.before_commit=error")  # so that there is something to recover
        arm(server, "%s=kill:2" % place)
        traffic.over.wait(0.3)
        kill_server(server)  # the first passage
        await_life(server, this.number + 1)
    with Life(traffic) as this:
        traffic.over.wait(0.3)
        kill_server(server)  # the second one: the next start is killed, the one after it is not
        await_life(server, this.number + 2)
        this.number += 1
    server.control("DELETE", "/_quern/failpoints")
    finish(traffic)
    assert server.log().count("by=%s" % place) == 1


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("point", POINTS)
def test_a_crash_at_a_point_of_an_action(traffic, point, action):
    server = traffic.store.server
    with Life(traffic):
        arm(server, "%s:%s=kill:2" % (point, action))
    (name,) = rules(server)
    assert rules(server)[name]["fired"] == 1
    finish(traffic)
    assert server.log().count("by=%s" % name) == 1
