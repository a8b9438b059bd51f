"""The profiles: each is sound, each of its rules fires, and who is right loses nothing under it."""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

import pytest
from careful import Refused, Unanswered
from exchange.process import Server
from sink import Sink
from world import KINDS, Kind, World

ROOT = pathlib.Path(__file__).resolve().parents[3]
FILES = sorted((ROOT / "chaos" / "profiles").glob("*.rules"))
NAMES = [file.stem for file in FILES]
CRASHES = ("crashy", "everything")
PAGE = re.compile(r"https://(docs\.)?aws\.amazon\.com/\S+")
DRIVERS = 8
ROUNDS = 1000  # of each
LOAD_S = 8
REFERENCES = (Kind("orders", consumers=0, pause_s=0.1), Kind("orders.fifo", consumers=0, pause_s=0.1))


def text_of(name):
    return (ROOT / "chaos" / "profiles" / (name + ".rules")).read_text()


def rules_of(name):
    return [line for line in text_of(name).splitlines() if line.strip() and not line.startswith("#")]


def rule_names(name):
    return [re.search(r" as (\S+)$", line)[1] for line in rules_of(name)]


def options_of(name, folder):
    """As the profile's comment asks for."""
    durable = ("--supervise", "--restart-after", "10ms", "--db", str(folder / "quern.db")) if name in CRASHES else ()
    return ("--chaos", name, *durable)


def test_all_that_were_asked_for_are_there():
    asked = {"at-least-once", "crashy", "everything", "flaky-network", "outage", "slow", "throttled"}
    assert asked - set(NAMES) == set()


@pytest.mark.parametrize("name", NAMES)
def test_the_comment_names_promise_and_page(name):
    comment = text_of(name).split("\non ")[0]
    assert comment.startswith("# %s: " % name) and "AWS" in comment and PAGE.search(comment)
    assert "Inside of that" in comment


@pytest.mark.parametrize("name", NAMES)
def test_each_rule_has_a_name_and_is_sound(name):
    rules = rules_of(name)
    assert rules and "unsound" not in "\n".join(rules)
    names = rule_names(name)
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", NAMES)
def test_duplicates_and_order_are_for_standard_queues_only(name):
    words = ("resurrect", "deliver-again", "dup-in-batch", "deliver-to-both", "reorder", "fake-success", "dup-send")
    for line in rules_of(name):
        if any(word in line.split(" do ")[1].split(" as ")[0] for word in words):
            assert 'not queue ~ "*.fifo"' in line, line


# ---- each rule fires ----


class Driver(threading.Thread):
    """One call after the other until every rule has fired. Several at once have the same faults: chance
    knows only how often a rule matched."""

    def __init__(self, number, world):
        super().__init__(daemon=True)
        self.number = number
        self.world = world
        self.caller = world.caller("driver-%d" % number, answer_s=1)
        self.round = 0

    def run(self):
        while self.round < ROUNDS and not self.world.over.is_set():
            for queue in ("work", "work.fifo"):
                self.go(queue)
            if min(rule["fired"] for rule in self.world.rules()) > 0:
                self.world.over.set()

    def call(self, action, **members):
        """Once: what is refused is left."""
        try:
            return self.caller.ask(action, members)
        except (Refused, Unanswered):
            return {}

    def go(self, queue):
        """Sends alone and together, receives, extends, deletes alone and together."""
        self.round += 1
        entries = [self.entry(queue, n) for n in range(4)]
        self.call("SendMessageBatch", QueueUrl=queue, Entries=entries[1:])
        self.call("SendMessage", QueueUrl=queue, **{k: v for k, v in entries[0].items() if k != "Id"})
        for _ in range(2):
            got = self.call("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=10)
            self.end_leases(queue, [message["ReceiptHandle"] for message in got.get("Messages", [])])
        self.world.control("POST", "clock", {"advance_ms": 150})

    def entry(self, queue, n):
        body = "%s %d %d %d" % (queue, self.number, self.round, n)
        fifo = {"MessageGroupId": "g%d-%d" % (self.number, n), "MessageDeduplicationId": body.replace(" ", "-")}
        return {"Id": str(n), "MessageBody": body, **(fifo if queue.endswith(".fifo") else {})}

    def end_leases(self, queue, handles):
        entries = [{"Id": str(n), "ReceiptHandle": handle} for n, handle in enumerate(handles[1:])]
        if entries:
            self.call("DeleteMessageBatch", QueueUrl=queue, Entries=entries)
        if handles:
            lengthened = {"ReceiptHandle": handles[0], "VisibilityTimeout": 2}
            self.call("ChangeMessageVisibility", QueueUrl=queue, **lengthened)
            self.call("DeleteMessage", QueueUrl=queue, ReceiptHandle=handles[0])


@pytest.mark.parametrize("name", NAMES)
def test_each_rule_fires(name, tmp_path):
    server = Server(*options_of(name, tmp_path))
    world = World(server.port)
    world.make_queues()
    drivers = [Driver(number, world) for number in range(DRIVERS)]
    for driver in drivers:
        driver.start()
    for driver in drivers:
        driver.join(120)
    fired = {rule["name"]: rule["fired"] for rule in world.rules()}
    server.stop()
    assert set(fired) == set(rule_names(name)) and min(fired.values()) > 0, fired


# ---- who is right is not harmed ----


class Mixed(World):
    """Beside the careful consumers the reference consumer on two queues more. Its sink judges."""

    def __init__(self, port):
        super().__init__(port, (*KINDS, *REFERENCES))
        self.sink = Sink(self.account)
        for producer in self.producers:
            if producer.queue in [kind.name for kind in REFERENCES]:
                producer.write = envelope
        self.processes = []

    def begin(self):
        super().begin()
        for kind in REFERENCES:
            environment = {k: v for k, v in os.environ.items() if not k.startswith(("QUERN_", "AWS_"))}
            environment.update(
                AWS_ENDPOINT_URL="http://127.0.0.1:%d" % self.port,
                AWS_ACCESS_KEY_ID="reference", AWS_SECRET_ACCESS_KEY="x", AWS_DEFAULT_REGION="us-east-1",
                QUEUE_URL="http://127.0.0.1:%d/000000000000/%s" % (self.port, kind.name),
                QUERN_SINK_URL=self.sink.url,
            )
            command = [sys.executable, str(ROOT / "tests/consumers/reference.py"), "--workers", "2"]
            self.processes.append(subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL))

    def end(self, rules_go=True):
        try:
            return super().end(rules_go)
        finally:
            for process in self.processes:
                process.terminate()
            for process in self.processes:
                if process.wait(30) != 0:
                    self.account.wrong("the reference consumer ended with %d", process.returncode)
            self.sink.shutdown()


def envelope(queue, serial, _is_poison):
    key = "%s-%06d" % (queue, serial)
    return json.dumps({"schemaVersion": 1, "idempotencyKey": key, "payload": {"id": key, "queue": queue}})


def run_world(name, folder):
    server = Server(*options_of(name, folder), clock="real")
    world = Mixed(server.port)
    world.begin()
    time.sleep(LOAD_S)
    problems, rules = world.end()
    figures = world.figures()
    server.stop()
    return problems, rules, figures


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    """All profiles at once: most of the time their servers wait."""
    with concurrent.futures.ThreadPoolExecutor(len(NAMES)) as pool:
        runs = {name: pool.submit(run_world, name, tmp_path_factory.mktemp(name)) for name in NAMES}
        return {name: run.result() for name, run in runs.items()}


@pytest.mark.parametrize("name", NAMES)
def test_who_is_right_loses_and_invents_nothing(name, worlds):
    problems, rules, figures = worlds[name]
    assert problems == []
    assert sum(rule["fired"] for rule in rules) > 0
    assert figures["effects"] > 50, figures
