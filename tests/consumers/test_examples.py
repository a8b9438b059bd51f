"""What `quern check` says of the consumers among the examples, and what else the examples promise."""
import contextlib
import json
import os
import pathlib
import socket
import sqlite3
import subprocess
import time
import urllib.request

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("QUERN_PROGRAM", str(ROOT / "build" / "release" / "quern"))).resolve()
EXAMPLES = PROGRAM.parent / "client" / "examples"
CHECK_S = 280
CLEAN = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "QUERN_"))}

# An example: how it is started, options of the suite, the scenarios.
RUNS = {
    "inbox_worker": (
        ["inbox_worker", "{scenario}.db"],
        ["--effects-cmd", f"{EXAMPLES}/inbox_worker {{scenario}}.db --effects"],
        ["std.delete-lost", "std.duplicate-producer", "std.duplicate-two-workers", "std.crash-after-receive"]),
    "external_call": (
        ["external_call", "{scenario}.db"], [],
        ["ambiguous.effect-response-lost", "ambiguous.effect-timeout", "std.crash-after-effect-before-delete",
         "std.duplicate-two-workers", "retry.transient-then-success"]),
}


@pytest.mark.parametrize("name", RUNS)
def test_the_suite_finds_nothing_in_it(name, tmp_path):
    (program, *arguments), options, scenarios = RUNS[name]
    report = tmp_path / "report.json"
    done = subprocess.run(
        [PROGRAM, "check", "-j", "2", "--json", report, *options,
         *[word for scenario in scenarios for word in ("--only", scenario)], "--", EXAMPLES / program, *arguments],
        capture_output=True, text=True, errors="replace", timeout=CHECK_S, stdin=subprocess.DEVNULL, cwd=tmp_path,
        env=CLEAN, check=False)
    assert report.is_file(), done.stdout + done.stderr
    found = json.loads(report.read_text())["scenarios"]
    assert {one["id"]: one["verdict"] for one in found} == {one["id"]: "PASS" for one in found}, done.stdout
    assert {one["id"].split("+")[0] for one in found} == {name.split("+")[0] for name in scenarios}, done.stdout


@contextlib.contextmanager
def serving(*queues):
    """A server of its own; gives the environment of its clients."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        place = "http://127.0.0.1:%d" % probe.getsockname()[1]
    words = [word for queue in queues for word in ("--queue", queue)]
    with subprocess.Popen([PROGRAM, "serve", "--port", place.rsplit(":", 1)[1], "--log", "error", *words],
                          env=CLEAN) as server:
        try:
            environment = {**CLEAN, "AWS_ENDPOINT_URL": place, "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s",
                           "BASE": place + "/000000000000/"}
            quern(environment, "health", "--wait", "30", "--endpoint", place)
            yield environment
        finally:
            server.terminate()


def quern(environment, *words):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=60, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def sqs(environment, action, queue=None, **given):
    if queue:
        given["QueueUrl"] = environment["BASE"] + queue
    request = urllib.request.Request(environment["AWS_ENDPOINT_URL"], json.dumps(given).encode(), {
        "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS." + action})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read() or b"{}")


@contextlib.contextmanager
def running(environment, *words, **variables):
    with subprocess.Popen([EXAMPLES / words[0], *words[1:]], env={**environment, **variables},
                          stdin=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


def eventually(look, seconds=30):
    """What `look` gives as soon as it is something."""
    end = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < end, look
        time.sleep(0.05)
    return found


def rows(database, statement):
    with contextlib.closing(sqlite3.connect(database, timeout=10)) as connection:
        return connection.execute(statement).fetchall()


def envelope(kind, key, **payload):
    return json.dumps({"messageType": kind, "schemaVersion": 1, "idempotencyKey": key, "payload": payload})


def test_the_outbox_outlives_a_queue_that_is_away_and_a_process_that_is_killed(tmp_path):
    database = tmp_path / "orders.db"
    with serving("orders") as environment:
        urls = {"QUEUE_URL": environment["BASE"] + "orders", "OUTPUT_QUEUE_URL": environment["BASE"] + "written"}
        quern(environment, "send", "orders", envelope("order.placed", "o-1", id="book"))
        quern(environment, "send", "orders", envelope("order.placed", "o-1", id="book"))
        with running(environment, "outbox_relay", database, **urls):
            eventually(lambda: database.exists() and rows(database, "SELECT name FROM sqlite_master WHERE name = 'orders'")
                       and rows(database, "SELECT * FROM orders"))
        sqs(environment, "CreateQueue", QueueName="written")
        with running(environment, "outbox_relay", database, **urls) as process:
            (told,) = eventually(lambda: sqs(environment, "ReceiveMessage", "written", WaitTimeSeconds=5).get("Messages"))
            process.terminate()
            assert process.wait(30) == 0
    assert rows(database, "SELECT * FROM orders") == [("o-1", "book")]
    assert json.loads(told["Body"])["idempotencyKey"] == "o-1", told
