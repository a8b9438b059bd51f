"""`quern serve --record FILE`: what stands in the file, and when."""
import json
import os
import resource
import signal
import subprocess

import pytest

from commands import environment
from exchange.process import program
from parties import Waiting, parked, until
from raw import Raw
from recording import exchanges, lines, of_kind

ATTRIBUTES = {
    "text": {"DataType": "String", "StringValue": "é\n\"\\\t\U0001f600"},
    "number": {"DataType": "Number.float", "StringValue": "1.50"},
    "bytes": {"DataType": "Binary.png", "BinaryValue": "AAH/"},
}


@pytest.fixture
def file(tmp_path):
    return tmp_path / "session.jsonl"


@pytest.fixture
def server(start, file):
    return start("--record", file)


@pytest.fixture
def call(connect, server):
    return connect(server)


@pytest.fixture
def queue(call, name):
    return call("CreateQueue", QueueName=name).members["QueueUrl"]


def last(server, file):
    """The last exchange, when the server has written it."""
    server.control("GET", "/_quern/health")
    return exchanges(file)[-1]


@pytest.mark.parametrize("protocol", ["json", "query"])
def test_request_has_all_its_members(server, call, queue, file, protocol):
    sent = {"QueueUrl": queue, "MessageBody": "a\r\n\u2028\"", "DelaySeconds": 0, "MessageAttributes": ATTRIBUTES}
    message_id = call("SendMessage", protocol=protocol, **sent).members["MessageId"]
    request, answer = last(server, file)
    assert request["input"] == sent
    assert (request["action"], request["protocol"]) == ("SendMessage", protocol)
    assert (request["instance"], request["region"], request["conn"]) == ("test", "us-east-1", 1)
    assert (answer["status"], answer["code"], answer["output"]) == (200, "OK", {"MessageId": message_id})


def test_list_that_was_sent_empty_is_there(server, call, queue, file):
    call("DeleteMessageBatch", QueueUrl=queue, Entries=[])
    request, answer = last(server, file)
    assert request["input"] == {"QueueUrl": queue, "Entries": []}
    assert (answer["status"], answer["code"]) == (400, "EmptyBatchRequest")


def test_queue_that_was_named_by_the_path(server, queue, name, file):
    with Raw(server) as raw:
        raw.send(raw.form("Action=GetQueueAttributes&AttributeName.1=QueueArn", path="/000000000000/" + name))
        assert raw.read().status == 200
    assert last(server, file)[0]["input"]["QueueUrl"].endswith("/000000000000/" + name)


def test_receipt_handles_and_failed_entries(server, call, queue, file):
    call("SendMessage", QueueUrl=queue, MessageBody="x")
    (message,) = call("ReceiveMessage", QueueUrl=queue).members["Messages"]
    given = {key: message[key] for key in ("MessageId", "ReceiptHandle")}
    assert last(server, file)[1]["output"] == {"Messages": [given]}
    entries = [{"Id": "a", "ReceiptHandle": given["ReceiptHandle"]}, {"Id": "b", "ReceiptHandle": "x"}]
    call("DeleteMessageBatch", QueueUrl=queue, Entries=entries)
    output = last(server, file)[1]["output"]
    assert output == {"Successful": [{"Id": "a"}], "Failed": [{"Id": "b", "Code": "ReceiptHandleIsInvalid"}]}


def test_what_an_sdk_tells_of_itself(server, queue, file):
    headers = [("X-Amzn-Trace-Id", "Root=1-a"), ("amz-sdk-invocation-id", "i-1"), ("amz-sdk-request", "attempt=2; max=3")]
    with Raw(server) as raw:
        raw.send(raw.json("SendMessage", {"QueueUrl": queue, "MessageBody": "x"}, extra=headers))
        raw.read()
    request, _ = last(server, file)
    assert (request["trace_header"], request["invocation"], request["attempt"]) == ("Root=1-a", "i-1", 2)


def test_no_signature_is_written(server, call, queue, file):
    with Raw(server) as raw:
        secret = [("Authorization", "AWS4-HMAC-SHA256 Credential=AKIA/20260101/eu-west-1/sqs/aws4_request, Signature=5ec4e7"),
                  ("X-Amz-Security-Token", "t0ken")]
        raw.send(raw.json("ListQueues", {}, extra=secret))
        raw.read()
        raw.send(raw.head("GET", "/?Action=ListQueues&X-Amz-Credential=AKIB/20260101/eu-west-1/sqs/x&X-Amz-Signature=5ec4e7"))
        raw.read()
    request, _ = last(server, file)
    assert (request["instance"], request["region"], request["input"]) == ("AKIB", "eu-west-1", {})
    text = file.read_text()
    assert "5ec4e7" not in text and "t0ken" not in text and "ignature" not in text


@pytest.mark.parametrize("body, again", [
    (b'{"QueueUrl": 5}', {"QueueUrl": 5}),
    (b'{\r\n "QueueUrl":\n "x",\t"A": "b c"}', {"QueueUrl": "x", "A": "b c"}),
    (b'{"QueueUrl": ', None),
    (b"[1]", None),
    (b'{"QueueUrl": "\xff"}', None),
])
def test_request_that_could_not_be_decoded(server, queue, file, body, again):
    with Raw(server) as raw:
        raw.send(raw.json("SendMessage", body))
        assert raw.read().status in (400, 404)
    request, answer = last(server, file)
    assert request.get("input") == again and request["action"] == "SendMessage"
    assert answer["code"] in ("SerializationException", "MissingRequiredParameterException", "InvalidAddress")


def test_request_without_an_action(server, queue, file):
    with Raw(server) as raw:
        raw.send(raw.json("Nonsense", {}))
        assert raw.read().status == 400
    request, answer = last(server, file)
    assert "action" not in request and "input" not in request and answer["status"] == 400


def test_answer_of_a_poll_stands_behind_what_came_meanwhile(server, call, queue, file):
    poll = Waiting(server, "ReceiveMessage", QueueUrl=queue, WaitTimeSeconds=20)
    until(lambda: parked(server) == 1)
    sent = call("SendMessage", QueueUrl=queue, MessageBody="x").members["MessageId"]
    (got,) = poll.members()["Messages"]
    assert got["MessageId"] == sent
    server.control("GET", "/_quern/health")  # it has written both answers
    kinds = [(line["kind"], line["n"]) for line in lines(file) if line["kind"] in ("request", "answer")][2:]
    (_, polling), (_, sending) = kinds[:2]
    assert kinds[2:] == [("answer", polling), ("answer", sending)] or kinds[2:] == [("answer", sending), ("answer", polling)]


def test_client_that_went_away_got_no_answer(server, queue, file):
    poll = Waiting(server, "ReceiveMessage", QueueUrl=queue, WaitTimeSeconds=20)
    until(lambda: parked(server) == 1)
    poll.hang_up()
    until(lambda: parked(server) == 0)
    assert last(server, file)[1]["lost"] is True


@pytest.mark.parametrize("action, code, shown", [
    ("throttle", "error", {"code": "ThrottlingException", "status": 400}),
    ("reset", "reset", {"lost": True}),
    ("close 0.5", "close", {"code": "OK", "cut": True}),
])
def test_fault_stands_between_request_and_answer(start, connect, file, action, code, shown):
    server = start("--record", file, "--queue", "q", "--fault", "on ListQueues once do %s as f" % action)
    try:
        connect(server)("ListQueues")
    except OSError:
        pass
    except Exception as problem:  # http.client's own for an answer that is cut off
        assert "Incomplete" in type(problem).__name__, problem
    server.control("GET", "/_quern/health")
    request, fault, answer = lines(file)[-3:]
    assert (request["kind"], fault["kind"], answer["kind"]) == ("request", "fault", "answer")
    assert (fault["rule"], fault["match"], fault["code"], fault["req"]) == ("f", 1, code, request["req"])
    assert answer["rule"] == "f" and shown.items() <= answer.items()


def test_first_line_tells_how_it_was_started(start, file):
    rules = ["on any nth 99 do throttle", "on any nth 98 do hang as h"]
    server = start("--record", file, "--aws-waits", "--fault", rules[0], "--fault", rules[1])
    server.stop()
    first = lines(file)[0]
    assert (first["kind"], first["format"]) == ("start", "quern-record-1")
    assert (first["seed"], first["boot"], first["clock"], first["rules"]) == ("7", 1, "virtual", rules)
    assert first["options"]["aws-waits"] is True and first["vt"] == 1767225600000


def test_queues_that_were_there(start, connect, file):
    server = start("--record", file, "--queue", "plain", "--queue", "set.fifo,DelaySeconds=3,ContentBasedDeduplication=true")
    server.stop()
    queues = {line["name"]: line["attributes"] for line in of_kind(file, "queue")}
    assert queues["plain"] == {}
    assert queues["set.fifo"] == {"FifoQueue": "true", "DelaySeconds": "3", "ContentBasedDeduplication": "true"} | {
        key: queues["set.fifo"][key] for key in queues["set.fifo"] if key in ("DeduplicationScope", "FifoThroughputLimit")}


def test_clock_and_rules_are_told(server, file):
    server.advance_ms(1500)
    server.control("POST", "/_quern/clock", {"advance_ms": 500, "keep_polls": True})
    server.control("POST", "/_quern/rules", {"rule": "on any nth 9 do hang as h"})
    server.control("POST", "/_quern/rules", {"rule": "nonsense"})
    server.control("DELETE", "/_quern/rules")
    server.stop()
    begin = 1767225600000
    moves = [(line["from"] - begin, line["to"] - begin, line.get("keep_polls", False)) for line in of_kind(file, "clock")]
    assert moves == [(0, 1500, False), (1500, 2000, True)]
    assert [line["rules"] for line in of_kind(file, "rules")] == [["on any nth 9 do hang as h"], []]


def test_recording_changes_nothing(start, connect, server, name):
    urls, ids = [], []
    for each in (server, start()):
        call = connect(each)
        queue = call("CreateQueue", QueueName=name).members["QueueUrl"]
        sent = call("SendMessage", QueueUrl=queue, MessageBody="x").members["MessageId"]
        (got,) = call("ReceiveMessage", QueueUrl=queue).members["Messages"]
        urls.append(queue.split("/")[-1])
        ids.append((sent, got["ReceiptHandle"]))
    assert ids[0] == ids[1]


# The file


def test_recording_is_continued(start, connect, file):
    for _ in range(2):
        server = start("--record", file)
        connect(server)("ListQueues")
        server.stop()
    assert [line["kind"] for line in lines(file)] == ["start", "request", "answer"] * 2


def test_line_that_a_crash_cut_off_is_taken_away(start, connect, file):
    start("--record", file).stop()
    whole = file.read_bytes()
    file.write_bytes(whole + whole[:-9])
    server = start("--record", file)
    assert file.read_bytes().startswith(whole)
    server.stop()
    assert [line["kind"] for line in lines(file)] == ["start", "start"]


def start_fails(*options):
    answer = subprocess.run([program(), "serve", "--port", "0", *map(str, options)], capture_output=True, text=True,
                            timeout=60, env=environment(), check=False)
    assert answer.returncode == 2, answer
    (line,) = answer.stderr.splitlines()
    return line


@pytest.mark.parametrize("content", [b"mine\n", b'{"kind":"start"}\n', b"x" * 100000])
def test_foreign_file_is_refused_and_left(file, content):
    file.write_bytes(content)
    assert "no recording" in start_fails("--record", file)
    assert file.read_bytes() == content


def test_file_of_another_server_is_refused(server, file):
    assert "another server" in start_fails("--record", file)


def test_what_cannot_be_a_recording_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "not a regular file" in start_fails("--record", tmp_path / "pipe")
    assert "No such file" in start_fails("--record", tmp_path / "missing" / "file")
    assert "cannot open" in start_fails("--record", tmp_path)


def test_start_that_fails_leaves_no_recording(tmp_path, file):
    start_fails("--record", file, "--db", tmp_path / "missing" / "file")
    assert not file.exists()
    start_fails("--record", file, "--fault", "nonsense")
    assert not file.exists()


def test_killed_server_leaves_whole_lines(server, call, queue, file):
    for n in range(50):
        call("SendMessage", QueueUrl=queue, MessageBody="%d" % n)
    server.control("GET", "/_quern/health")
    server.process.kill()
    server.process.wait()
    seen = exchanges(file)
    assert [request["input"]["MessageBody"] for request, _ in seen[1:]] == ["%d" % n for n in range(50)]
    assert all(answer["code"] == "OK" for _, answer in seen)


def test_fault_that_kills_the_server_is_the_last_line(start, connect, file):
    server = start("--record", file, "--fault", "on ListQueues nth 2 do crash server as end")
    call = connect(server)
    call("ListQueues")
    with pytest.raises(OSError):
        call("ListQueues")
    assert server.process.wait(20) == -signal.SIGKILL
    request, fault = lines(file)[-2:]
    assert (request["kind"], fault["kind"], fault["rule"]) == ("request", "fault", "end")


def test_failpoint_that_kills_the_server_leaves_the_request(start, connect, file, tmp_path):
    server = start("--record", file, "--db", tmp_path / "db", "--queue", "q",
                   "--failpoint", "ring.mid_append=kill:%d" % 3)
    call = connect(server)
    with pytest.raises(OSError):
        for n in range(9):
            call("CreateQueue", QueueName="q%d" % n)
    assert server.process.wait(20) == -signal.SIGKILL
    request, answer = exchanges(file)[-1]
    assert request["action"] == "CreateQueue" and answer is None


def test_full_disk_ends_the_recording_and_nothing_else(server, call, queue, file):
    size = file.stat().st_size + 20000
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    for _ in range(100):
        assert call("SendMessage", QueueUrl=queue, MessageBody="x" * 1000).status == 200
    assert file.stat().st_size <= size
    seen = exchanges(file)
    assert 5 < len(seen) < 100
    log = server.log()
    assert log.count("nothing more is recorded") == 1 and str(file) in log
    server.assert_sound()


def test_each_line_is_one_object(server, call, queue, file):
    call("SendMessage", QueueUrl=queue, MessageBody="\u0085\u2028\n")
    server.stop()
    for line in file.read_bytes().split(b"\n")[:-1]:
        assert isinstance(json.loads(line), dict)
