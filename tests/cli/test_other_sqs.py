"""Every command against an SQS that is no Quern and has no control API, and against what is no SQS at all."""
import http.server
import json
import pathlib
import sys
import threading

import pytest

from commands import run, succeeds

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "replay"))

from other_sqs import OtherSqs  # noqa: E402


@pytest.fixture
def server(start):
    return start("--queue", "dead", "--queue", "orders,VisibilityTimeout=60", "--queue", "more", "--queue", "jobs.fifo,FifoQueue=true")


@pytest.fixture
def other(server):
    """Knows no move tasks, gives sequence numbers in no order, and only the numbers that are told of any queue."""
    serial = iter(range(10**6))

    def change(action, document):
        for sent in document.get("Successful", []):
            if "SequenceNumber" in sent:
                sent["SequenceNumber"] = "%020d" % (next(serial) * 7919 % 1000)
        return document

    proxy = OtherSqs(server, change, {"StartMessageMoveTask", "ListMessageMoveTasks", "CancelMessageMoveTask"})
    yield proxy
    proxy.stop()


@pytest.fixture
def there(other):
    return lambda *words, **how: run(*words, AWS_ENDPOINT_URL=other.endpoint, AWS_MAX_ATTEMPTS="1", **how)


def numbers(there):
    queues = json.loads(succeeds(there("queues", "--json")))["queues"]
    return {queue["name"]: (queue["visible"], queue["in_flight"]) for queue in queues if queue["visible"] or queue["in_flight"]}


def test_messages_go_there_and_back(there):
    succeeds(there("send", "orders", "one", "--attribute", "kind=a"))
    (message,) = json.loads(succeeds(there("receive", "orders", "--json")))
    assert (message["Body"], message["MessageAttributes"]["kind"]["StringValue"]) == ("one", "a")
    assert numbers(there) == {"orders": (0, 1)}
    assert succeeds(there("delete", "orders", message["ReceiptHandle"])) == "deleted 1 message\n"
    succeeds(there("send", "orders", "two"))
    succeeds(there("purge", "orders"))
    assert numbers(there) == {}
    succeeds(there("delete", "more", "--whole-queue"))
    assert "more" not in succeeds(there("queues"))


def test_attributes_and_the_live_view(there):
    assert succeeds(there("attributes", "orders", "VisibilityTimeout=61")).split() == ["ATTRIBUTE", "VALUE", "VisibilityTimeout", "61"]
    succeeds(there("send", "orders", "one"))
    lines = succeeds(there("top", "--once")).splitlines()
    assert [line.split()[:5] for line in lines[1:]] == [[name, visible, "0", "0", "-"] for name, visible in
                                                        (("dead", "0"), ("jobs.fifo", "0"), ("more", "0"), ("orders", "1"))]
    assert all(len(line) <= 80 for line in lines)


def test_messages_move_without_move_tasks(there):
    for number in range(3):
        succeeds(there("send", "dead", str(number)))
    assert succeeds(there("move", "dead", "orders")) == "moved 3 messages from dead to orders\n"
    for words in (["redrive", "dead"], ["redrive", "dead", "--list"], ["redrive", "dead", "--cancel"]):
        answer = there(*words)
        assert (answer.returncode, answer.stdout, answer.stderr.count("\n")) == (1, "", 1)
        assert "MessageMoveTask" in answer.stderr and "HTTP status 500 and no error of SQS" in answer.stderr


def test_fifo_messages_are_exported_and_imported(there, tmp_path):
    for number in range(6):
        succeeds(there("send", "jobs.fifo", str(number), "--group", "ab"[number % 2], "--deduplication", str(number)))
    file = str(tmp_path / "queue.jsonl")
    assert there("export", "jobs.fifo", "-o", file).returncode == 0
    assert numbers(there) == {"jobs.fifo": (6, 0)}
    assert succeeds(there("import", file, "--to", "jobs.fifo", "--new-dedup-ids")) == "imported 6 messages into jobs.fifo\n"
    assert numbers(there) == {"jobs.fifo": (12, 0)}


def test_a_repetition_within_a_file_is_counted(there, tmp_path):
    lines = [{"Body": "x", "Attributes": {"MessageGroupId": "g", "MessageDeduplicationId": one}} for one in "abacca"]
    file = tmp_path / "queue.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    answer = there("import", str(file), "--to", "jobs.fifo", "--json")
    assert (answer.returncode, json.loads(answer.stdout)["repeated"]) == (1, 3)
    assert numbers(there) == {"jobs.fifo": (3, 0)}


def test_consumers_and_functions_work(there, tmp_path):
    for number in range(2):
        succeeds(there("send", "orders", "m%d" % number))
    there("lambda", "--queue", "orders", "--until-empty", "--invoke-stdin", "--", "sh", "-c", "cat >%s" % (tmp_path / "event"))
    event = json.loads((tmp_path / "event").read_text())
    assert sorted(record["body"] for record in event["Records"]) == ["m0", "m1"]
    succeeds(there("send", "orders", "last"))
    # The consumer ends itself when the work is done: a signal to its parent.
    said = there("consume", "orders", "--", "sh", "-c", "cat >%s; kill $PPID" % (tmp_path / "body"))
    assert said.returncode == 0 and (tmp_path / "body").read_text() == "last"
    assert numbers(there) == {}


LOOKS = [["tail", "orders"], ["peek", "orders"]]
OF_QUERN = [["health"], ["assumptions"], ["chaos", "list"], ["chaos", "log"], ["chaos", "clear"], ["chaos", "add", "on any do throttle"]]


@pytest.mark.parametrize("words", LOOKS + OF_QUERN, ids=" ".join)
def test_what_a_quern_alone_has_says_so_in_one_line(there, other, words):
    answer = there(*words)
    assert answer.returncode == (4 if words == ["assumptions"] else 1) and answer.stdout == ""
    assert "NoQuern: %s is no Quern" % other.endpoint in answer.stderr and answer.stderr.count("\n") == 1


@pytest.fixture(scope="module", params=[(200, b"{}"), (403, b'{"message":"Missing token"}')], ids=["object", "refusal"])
def web(request):
    status, body = request.param

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self):
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_DELETE = answer

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as one:
        threading.Thread(target=one.serve_forever, daemon=True).start()
        yield "http://127.0.0.1:%d" % one.server_address[1]
        one.shutdown()


@pytest.mark.parametrize("words", OF_QUERN, ids=" ".join)
def test_a_web_server_is_no_quern(web, words):
    answer = run(*words, AWS_ENDPOINT_URL=web)
    assert answer.returncode == (4 if words == ["assumptions"] else 1) and answer.stdout == ""
    assert "NoQuern: %s is no Quern" % web in answer.stderr and answer.stderr.count("\n") == 1


@pytest.mark.parametrize("words", [
    ["send", "orders", "x"], ["receive", "orders"], ["delete", "orders", "h"], ["purge", "orders"], ["attributes", "orders"],
    ["queues"], ["top", "--once"], ["redrive", "orders", "--list"], ["move", "orders", "more"], ["export", "orders"],
    ["import", "/dev/null", "--to", "orders"], ["consume", "orders", "--", "true"], ["lambda", "--queue", "orders", "--", "true"],
], ids=lambda words: words[0])
def test_a_web_server_is_no_sqs(web, words):
    answer = run(*words, AWS_ENDPOINT_URL=web)
    if words[0] in ("queues", "top") and answer.returncode == 0:
        return  # an answer without queues is one that AWS gives too
    assert answer.returncode == 1 and answer.stdout == "" and answer.stderr.count("\n") == 1, answer
