"""QUERN_SOAK_S seconds under the profile `everything`, with crashes and restarts on one database: what
careful clients were told holds, and so does what the trace shows.

Of the invariants of a queue those that concern the server: no message that was accepted is lost, none
that was deleted comes back but by a fault that the trace names, receive counts never fall, FIFO order
and group locks hold, dead letters are exactly those that used up their receives, nothing is invented.
"""
import json
import os
import pathlib
import re
import time

import pytest
from exchange.process import Server
from world import World

SOAK_S = float(os.environ.get("QUERN_SOAK_S", "15"))
PROFILE = pathlib.Path(__file__).resolve().parents[2] / "chaos/profiles/everything.rules"
LOOK_S = 1
EACH_RULE_S = 300  # so long, and every rule of the profile has fired
RSS_MAX_KIB = 1536 * 1024  # AddressSanitizer keeps what was freed: up to 256 MiB, and the ring is 64
PROGRAM = "QUERN_ASAN_PROGRAM"  # names the build for this soak; the other one is of what users get


class Soak:
    def __init__(self, folder):
        self.database = folder / "chaos.db"
        options = ("--chaos", str(PROFILE), "--supervise", "--restart-after", "100ms", "--db", str(self.database))
        with pytest.MonkeyPatch.context() as patch:
            if PROGRAM in os.environ:
                patch.setenv("QUERN_PROGRAM", os.environ[PROGRAM])
            self.server = Server(*options, clock="real")
        self.world = World(self.server.port)
        self.rss_kib = []
        self.problems = self.rules = None

    def run(self):
        begun = time.monotonic()
        self.world.begin()
        while time.monotonic() < begun + SOAK_S:
            time.sleep(LOOK_S)
            self.rss_kib += rss_of_children(self.server.process.pid)
        self.problems, self.rules = self.world.end()
        self.log = self.server.log()
        self.server.stop()
        self.keep()

    def keep(self):
        """For a report: the file that QUERN_CHAOS_SOAK_JSON names."""
        if "QUERN_CHAOS_SOAK_JSON" in os.environ:
            document = {
                "seconds": SOAK_S,
                **self.world.figures(),
                "rss_kib": {"first": self.rss_kib[0], "last": self.rss_kib[-1], "most": max(self.rss_kib)},
                "fired": {rule["name"]: rule["fired"] for rule in self.rules},
                "problems": self.problems,
            }
            pathlib.Path(os.environ["QUERN_CHAOS_SOAK_JSON"]).write_text(json.dumps(document, indent=1) + "\n")


def rss_of_children(pid):
    """Of the process that serves; nothing while it is dead and not yet started again."""
    try:
        children = pathlib.Path("/proc/%d/task/%d/children" % (pid, pid)).read_text().split()
        states = [pathlib.Path("/proc/%s/status" % child).read_text() for child in children]
    except OSError:
        return []
    return [int(kib) for state in states for kib in re.findall(r"^VmRSS:\s+(\d+)", state, re.M)]


@pytest.fixture(scope="module")
def soak(tmp_path_factory):
    made = Soak(tmp_path_factory.mktemp("chaos"))
    made.run()
    return made


def test_no_invariant_is_broken(soak):
    assert soak.problems == []


def test_something_was_done(soak):
    figures = soak.world.figures()
    assert figures["effects"] > 5 * SOAK_S and figures["dead_letters"] > 0, figures


def test_the_server_crashed_and_came_back(soak):
    assert soak.world.history.boots > SOAK_S / 30


def test_rules_fired(soak):
    silent = [rule["name"] for rule in soak.rules if rule["fired"] == 0]
    assert len(silent) < len(soak.rules) / 2
    assert SOAK_S < EACH_RULE_S or silent == []


def test_counters_of_the_rules_outlive_crashes(soak):
    """The trace tells of no more firings than the rules count."""
    counted = {rule["name"]: rule["fired"] for rule in soak.rules}
    assert {name: fired for name, fired in soak.world.history.fired.items() if fired > counted[name]} == {}


def test_the_server_says_no_error(soak):
    assert [line for line in soak.log.splitlines() if line.startswith("error")] == []


def test_memory_stays_bounded(soak):
    assert max(soak.rss_kib) < RSS_MAX_KIB
