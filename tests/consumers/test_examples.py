"""What `quern check` says of the consumers among the examples, and what else the examples promise."""
import contextlib
import http.server
import json
import os
import pathlib
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("QUERN_PROGRAM", str(ROOT / "build" / "release" / "quern"))).resolve()
EXAMPLES = PROGRAM.parent / "client" / "examples"
CHECK_S = 280
CLEAN = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "QUERN_"))}

DOCUMENTS = ("import sqlite3, sys; [print(*row, sep=chr(9)) for row in sqlite3.connect(sys.argv[1])"
             ".execute('SELECT document_key, COUNT(*) FROM documents GROUP BY 1')]")

ORDERS = ("import sqlite3, sys; [print(*row, sep=chr(9)) for row in sqlite3.connect(sys.argv[1])"
          ".execute('SELECT order_key, COUNT(*) FROM orders GROUP BY 1')]")
TOTALS = ORDERS.replace("order_key", "chunk_key").replace("FROM orders", "FROM totals")
# A chunk of the backfill is one row here, so that the rows of its key are its effects; the table that it reads is there first.
ROWS = ("import sqlite3, sys; d = sqlite3.connect(sys.argv[1], timeout=10); "
        "d.execute('CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, net INTEGER)'); "
        "d.executemany('INSERT OR IGNORE INTO orders VALUES (?, 100)', ((n,) for n in range(1, 1000))); d.commit()")
CHUNK = {"messageType": "backfill.chunk", "schemaVersion": 1, "idempotencyKey": "{{id}}", "payload": {"from": "{{n}}", "to": "{{n}}"}}

# An example: how it is started, options of the suite, the scenarios.
RUNS = {
    "inbox_worker": (
        ["inbox_worker", "{run}.db"],
        ["--effects-cmd", f"{EXAMPLES}/inbox_worker {{run}}.db --effects"],
        ["std.delete-lost", "std.duplicate-producer", "std.duplicate-two-workers", "std.crash-after-receive",
         "shutdown.sigterm-drains"]),
    "outbox_relay": (
        ["outbox_relay", "{run}.db"],
        ["--output-queue", "written", "--env", "OUTPUT_QUEUE_URL={output_queue_url}", "--scenario", "outbox.json",
         "--effects-cmd", f'{sys.executable} -c "{ORDERS}" {{run}}.db'],
        ["own.outbox", "std.delete-lost", "std.duplicate-producer", "std.crash-after-receive", "server.crash-and-restart",
         "shutdown.sigterm-drains"]),
    "backfill": (
        ["sh", "-c", f'{sys.executable} -c "{ROWS}" "$1" && exec {EXAMPLES}/backfill work "$1"', "sh", "{run}.db"],
        ["--body", "good=chunk.json", "--effects-cmd", f'{sys.executable} -c "{TOTALS}" {{run}}.db'],
        ["std.delete-lost", "std.duplicate-producer", "std.duplicate-two-workers", "std.crash-after-receive",
         "server.crash-and-restart", "shutdown.sigterm-drains"]),
    "external_call": (
        ["external_call", "{run}.db"], [],
        ["ambiguous.effect-response-lost", "ambiguous.effect-timeout", "std.crash-after-receive", "std.crash-mid-work",
         "shutdown.sigterm-drains"]),
    "payload_reference": (
        ["payload_reference", "work", "{run}.db"],
        ["--references", "--poison", "dlq", "--effects-cmd", f'{sys.executable} -c "{DOCUMENTS}" {{run}}.db'],
        ["payload.reference"]),
    # The six of its README, and its outbox.
    "exports": (
        ["exports", "{run}.db"], ["--output-queue", "finished", "--env", "OUTPUT_QUEUE_URL={output_queue_url}"],
        ["std.crash-after-effect-before-delete", "ambiguous.effect-timeout", "ambiguous.effect-response-lost",
         "std.duplicate-two-workers", "poison.unknown-schema", "scale.join-leave+slow-sink",
         "outbox.publish-atomic"]),
}


def write_files(folder):
    """What the options name: a body, and the scenario of the outbox for effects that lie in a database."""
    (folder / "chunk.json").write_text(json.dumps(CHUNK).replace('"{{n}}"', "{{n}}"))
    shown = json.loads(subprocess.run([PROGRAM, "scenarios", "show", "outbox.publish-atomic"], capture_output=True, text=True,
                                      check=True).stdout)
    del shown["variants"]
    (folder / "outbox.json").write_text(json.dumps({**shown, "id": "own.outbox", "needs": ["cmd", "output_queue"]}))


@pytest.mark.parametrize("name", RUNS)
def test_the_suite_finds_nothing_in_it(name, tmp_path):
    (program, *arguments), options, scenarios = RUNS[name]
    report = tmp_path / "report.json"
    write_files(tmp_path)
    done = subprocess.run(
        [PROGRAM, "check", "-j", "6", "--json", report, *options,
         *[word for scenario in scenarios for word in ("--only", scenario)], "--", program if program == "sh" else EXAMPLES / program,
         *arguments],
        capture_output=True, text=True, errors="replace", timeout=CHECK_S, stdin=subprocess.DEVNULL, cwd=tmp_path,
        env=CLEAN, check=False)
    assert report.is_file(), done.stdout + done.stderr
    found = json.loads(report.read_text())["scenarios"]
    best = {one["id"]: "INFO" if one["severity"] == "info" else "PASS" for one in found}
    assert {one["id"]: one["verdict"] for one in found} == best, done.stdout
    # What is only told, such as that a relay sent twice, is no mistake.
    told = {one["id"]: {rule["name"] for rule in one["invariants"]
                        if rule["severity"] == "info" != one["severity"]} for one in found}
    broken = [(one["id"], rule["name"]) for one in found for rule in one["invariants"]
              if rule["result"] == "fail" and rule["name"] not in told[one["id"]]]
    assert broken == [], done.stdout
    assert {one["id"].split("+")[0] for one in found} == {name.split("+")[0] for name in scenarios}, done.stdout


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def serving(*queues):
    """A server of its own; gives the environment of its clients."""
    place = "http://127.0.0.1:%d" % free_port()
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


def is_empty(environment, queue):
    depth = sqs(environment, "GetQueueAttributes", queue, AttributeNames=["All"])["Attributes"]
    return all(int(value) == 0 for name, value in depth.items() if name.startswith("ApproximateNumber"))


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


class Files(http.server.BaseHTTPRequestHandler):
    """The service that makes files: refuses what is broken until it is mended, and the first call of all."""

    def do_POST(self):
        body, key = self.rfile.read(int(self.headers["Content-Length"])), self.headers["Idempotency-Key"]
        server = self.server
        server.calls += 1
        broken = json.loads(body)["payload"]["parameters"].get("broken")
        status = 503 if server.calls == 1 else 422 if broken and not server.is_mended else 200
        if status == 200:
            server.made.setdefault(key, []).append(body)
        self.reply(status)

    def do_GET(self):
        self.reply(200 if self.path.rsplit("/", 1)[1] in self.server.made else 404)

    def reply(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Gone(Files):
    """A service that is in trouble: it knows nothing, and whether it does what it is told nobody can say."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.reply(504)

    def do_GET(self):
        self.reply(503)


def test_a_payment_that_nobody_knows_of_is_written_down_before_its_message_goes(tmp_path):
    database = tmp_path / "calls.db"
    with serving("payments") as environment, http.server.ThreadingHTTPServer(("127.0.0.1", 0), Gone) as service:
        threading.Thread(target=service.serve_forever, daemon=True).start()
        quern(environment, "send", "payments", envelope("payment.wanted", "p-1", amount=7))
        with running(environment, "external_call", database, QUEUE_URL=environment["BASE"] + "payments",
                     SERVICE_URL="http://127.0.0.1:%d" % service.server_address[1]) as worker:
            eventually(lambda: is_empty(environment, "payments"))
            worker.terminate()
            assert worker.wait(30) == 0
        service.shutdown()
    ((key, message),) = rows(database, "SELECT * FROM unknown_payments")
    assert (key, json.loads(message)["payload"]) == ("p-1", {"amount": 7})
    assert rows(database, "SELECT * FROM payments") == []


@contextlib.contextmanager
def file_service():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files) as server:
        server.made, server.calls, server.is_mended = {}, 0, False
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def ask(url, body=None, **headers):
    """Status and answer; None while nobody listens."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {name.replace("_", "-"): value for name, value in headers.items()})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())
    except urllib.error.URLError:
        return None


def test_exports_from_the_request_to_the_file_and_from_the_dead_letter_back(tmp_path):
    with serving("exports-dlq") as environment, file_service() as files:
        dlq = sqs(environment, "GetQueueAttributes", "exports-dlq", AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        policy = json.dumps({"deadLetterTargetArn": dlq, "maxReceiveCount": 2})
        sqs(environment, "CreateQueue", QueueName="exports",
            Attributes={"RedrivePolicy": policy, "VisibilityTimeout": "2"})
        port = free_port()
        page = f"http://127.0.0.1:{port}"
        base = environment["BASE"]
        with running(environment, "exports", tmp_path / "e.db", str(port), QUEUE_URL=base + "exports",
                     DLQ_URL=base + "exports-dlq", FILES_URL="http://127.0.0.1:%d" % files.server_address[1]) as process:
            eventually(lambda: ask(page + "/dashboard"))
            assert ask(page + "/exports", {"year": 2026})[0] == 400  # without a key
            status, told = ask(page + "/exports", {"year": 2026}, Idempotency_Key="a")
            assert (status, told["statusUrl"]) == (202, "/exports/" + told["requestId"])
            again = ask(page + "/exports", {"year": 2026}, Idempotency_Key="a")
            assert (again[0], again[1]["requestId"]) == (202, told["requestId"])
            assert ask(page + "/exports", {"year": 1999}, Idempotency_Key="a")[0] == 422

            def state_of(request):
                return ask(page + request["statusUrl"])[1]["state"]

            # The service fails once; that is no failure of the request.
            eventually(lambda: state_of(told) == "SUCCEEDED")
            # A copy of the message makes no second file.
            (made,) = files.made[told["requestId"]]
            sqs(environment, "SendMessage", "exports", MessageBody=made.decode())
            eventually(lambda: is_empty(environment, "exports"))
            assert ask(page + "/dashboard")[1]["queue"] == {"visible": "0", "inFlight": "0", "delayed": "0"}
            assert len(files.made[told["requestId"]]) == 1

            # What is refused ends among the dead letters, and the page says so.
            _, bad = ask(page + "/exports", {"broken": True}, Idempotency_Key="b")
            eventually(lambda: ask(page + "/dashboard")[1]["deadLetters"]["visible"] == "1")
            assert state_of(bad) == "FAILED"
            assert ask(page + "/dashboard")[1]["requests"]["FAILED"] == 1
            # Mended, and given back: one, not all.
            files.is_mended = True
            assert ask(page + "/replay?max=11", {})[0] == 400
            assert ask(page + "/replay?max=1", {}) == (200, {"replayed": 1})
            eventually(lambda: state_of(bad) == "SUCCEEDED")
            assert ask(page + "/exports/nobody")[0] == 404
            process.terminate()
            assert process.wait(30) == 0
    assert [len(copies) for copies in files.made.values()] == [1, 1]


class Objects(http.server.BaseHTTPRequestHandler):
    """A store of objects by name."""

    def do_PUT(self):
        self.server.objects[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
        self.reply(200, b"")

    def do_GET(self):
        found = self.server.objects.get(self.path)
        self.reply(404 if found is None else 200, found or b"")

    def reply(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def test_a_payload_by_reference_arrives_as_it_was_sent_or_not_at_all(tmp_path):
    database = tmp_path / "d.db"
    large = os.urandom(3 * 1024 * 1024)
    (tmp_path / "large").write_bytes(large)
    (tmp_path / "changed").write_bytes(b"what was sent")
    with serving("documents-dlq") as environment, \
            http.server.ThreadingHTTPServer(("127.0.0.1", 0), Objects) as store:
        store.objects = {}
        threading.Thread(target=store.serve_forever, daemon=True).start()
        dlq = sqs(environment, "GetQueueAttributes", "documents-dlq", AttributeNames=["QueueArn"])["Attributes"]
        policy = json.dumps({"deadLetterTargetArn": dlq["QueueArn"], "maxReceiveCount": 2})
        sqs(environment, "CreateQueue", QueueName="documents", Attributes={"RedrivePolicy": policy})
        urls = {"QUEUE_URL": environment["BASE"] + "documents", "STORE_URL": "http://127.0.0.1:%d" % store.server_address[1]}
        for key in ("large", "large", "changed"):
            with running(environment, "payload_reference", "send", key, tmp_path / key, **urls) as sender:
                assert sender.wait(30) == 0
        (name,) = [name for name, bytes_ in store.objects.items() if bytes_ == b"what was sent"]
        store.objects[name] = b"what was SENT"
        with running(environment, "payload_reference", "work", database, **urls) as worker:
            eventually(lambda: sqs(environment, "ReceiveMessage", "documents-dlq", WaitTimeSeconds=1).get("Messages"))
            eventually(lambda: is_empty(environment, "documents"))
            worker.terminate()
            assert worker.wait(30) == 0
        store.shutdown()
    assert rows(database, "SELECT * FROM documents") == [("large", large)]


def test_a_backfill_goes_on_after_a_kill_and_can_be_planned_twice(tmp_path):
    database = tmp_path / "shop.db"
    with serving("chunks") as environment:
        sqs(environment, "SetQueueAttributes", "chunks", Attributes={"VisibilityTimeout": "6"})

        def backfill(*words):
            done = subprocess.run([EXAMPLES / "backfill", words[0], database, *words[1:]], capture_output=True, text=True,
                                  timeout=60, env={**environment, "QUEUE_URL": environment["BASE"] + "chunks"}, check=False)
            assert done.returncode == 0, done.stderr
            return done.stdout

        assert backfill("status", "run") == "0 of 0 chunks done\n"
        with contextlib.closing(sqlite3.connect(database)) as connection, connection:
            connection.executemany("INSERT INTO orders VALUES (?, ?)", ((n, 100 * n) for n in range(1, 1001)))
        backfill("plan", "run", "1", "1000", "30")
        backfill("plan", "run", "1", "1000", "30")
        assert backfill("status", "run") == "0 of 34 chunks done\n"
        queue = {"QUEUE_URL": environment["BASE"] + "chunks"}
        with running(environment, "backfill", "work", database, **queue):
            eventually(lambda: len(rows(database, "SELECT 1 FROM chunks WHERE is_done")) > 2)
        # One more for the second process, which must have begun before it is told to end; no order is in it.
        with running(environment, "backfill", "work", database, **queue) as worker:
            backfill("plan", "late", "1001", "1001", "30")
            eventually(lambda: backfill("status", "late") == "1 of 1 chunks done\n")
            eventually(lambda: is_empty(environment, "chunks"))
            worker.terminate()
            assert worker.wait(30) == 0
        assert backfill("status", "run") == "34 of 34 chunks done\n"
    assert rows(database, "SELECT order_id, gross FROM totals ORDER BY order_id") == [(n, 119 * n) for n in range(1, 1001)]


def test_the_autoscaler_follows_the_backlog_within_what_the_service_takes(tmp_path):
    with serving("work") as environment:
        for number in range(16):
            quern(environment, "send", "work", str(number))
        # 10 calls a second, 300 ms each: three at a time, although eight are allowed.
        words = ["1", "8", "1", "300", "10", "--", PROGRAM, "consume", "work", "--workers", "1", "--", "sleep", "0.3"]
        with open(tmp_path / "looks", "w") as output, subprocess.Popen(
                [EXAMPLES / "autoscaler", *words], stdout=output, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env={**environment, "QUEUE_URL": environment["BASE"] + "work", "PERIOD_MS": "200"}) as scaler:

            def looks():
                return [json.loads(line) for line in (tmp_path / "looks").read_text().split("\n")[:-1]]

            eventually(lambda: looks() and looks()[-1]["workers"] == 3)
            eventually(lambda: is_empty(environment, "work"))
            eventually(lambda: looks()[-1]["workers"] == 1)
            scaler.terminate()
            assert scaler.wait(30) == 0
        assert max(look["workers"] for look in looks()) == 3
