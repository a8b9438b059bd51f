"""`quern replay FILE`: what is sent again, where, and what is said about it."""
import json
import os
import re
import signal
import subprocess

import boto3
import pytest

from commands import environment, run
from exchange.process import program
from parties import Waiting, parked, until
from recording import BEGIN, Writer, exchanges, lines, of_kind

HEAD = ["ACTION", "REQUESTS", "SAME CODE", "OTHER CODE", "LEFT OUT", "NOT COMPARED"]


@pytest.fixture
def file(tmp_path):
    return tmp_path / "session.jsonl"


@pytest.fixture
def again(tmp_path):
    """Where the second server records."""
    return tmp_path / "again.jsonl"


def replay(file, server, *options, code=0, **how):
    answer = run("replay", str(file), "--endpoint", server.endpoint, "--speed", "max", "--json", *map(str, options), **how)
    assert answer.returncode == code, answer
    return json.loads(answer.stdout)


def peek(server, queue):
    status, answer = server.control("GET", "/_quern/queues/%s/messages?limit=1000" % queue)
    assert status == 200, answer
    return answer["messages"]


def bodies(server, queue):
    return [message["body"] for message in peek(server, queue)]


# A session of an SDK


def sdk(server):
    return boto3.client("sqs", endpoint_url=server.endpoint, region_name="us-east-1", aws_access_key_id="test",
                        aws_secret_access_key="test")


def play(client, advance):
    """Some of everything that a program does with its queues."""
    arn = lambda url: client.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    dead = client.create_queue(QueueName="jobs-dlq")["QueueUrl"]
    policy = json.dumps({"deadLetterTargetArn": arn(dead), "maxReceiveCount": 2})
    jobs = client.create_queue(QueueName="jobs", Attributes={"RedrivePolicy": policy, "VisibilityTimeout": "10"}, tags={"a": "b"})["QueueUrl"]
    ordered = client.create_queue(QueueName="ordered.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    client.send_message(QueueUrl=jobs, MessageBody="poison", MessageAttributes={
        "bytes": {"DataType": "Binary", "BinaryValue": b"\x00\xff"}, "n": {"DataType": "Number", "StringValue": "7"}})
    client.send_message_batch(QueueUrl=jobs, Entries=[{"Id": str(n), "MessageBody": "job %d" % n} for n in range(5)])
    for n in range(4):
        client.send_message(QueueUrl=ordered, MessageBody="%d" % n, MessageGroupId="ab"[n % 2], MessageDeduplicationId=str(n))
    for _ in range(3):
        for message in client.receive_message(QueueUrl=jobs, MaxNumberOfMessages=10).get("Messages", []):
            if message["Body"] != "poison":
                client.delete_message(QueueUrl=jobs, ReceiptHandle=message["ReceiptHandle"])
        advance(10000)
    got = client.receive_message(QueueUrl=ordered, MaxNumberOfMessages=2)["Messages"]
    client.delete_message_batch(QueueUrl=ordered, Entries=[
        {"Id": m["MessageId"], "ReceiptHandle": m["ReceiptHandle"]} for m in got] + [{"Id": "bad", "ReceiptHandle": "x"}])
    for refused in (lambda: client.send_message(QueueUrl=ordered, MessageBody="x"),
                    lambda: client.delete_message(QueueUrl=jobs, ReceiptHandle="nonsense"),
                    lambda: client.get_queue_url(QueueName="missing")):
        with pytest.raises(client.exceptions.ClientError):
            refused()
    client.start_message_move_task(SourceArn=arn(dead), DestinationArn=arn(jobs))
    (back,) = client.receive_message(QueueUrl=jobs)["Messages"]
    client.change_message_visibility(QueueUrl=jobs, ReceiptHandle=back["ReceiptHandle"], VisibilityTimeout=100)


@pytest.fixture
def recorded(start, file):
    server = start("--record", file)
    play(sdk(server), server.advance_ms)
    server.stop()
    return file


def what_is_left(server):
    kept = ("body", "attributes", "state", "receive_count", "group_id", "deduplication_id")
    return {queue["name"]: [{name: message[name] for name in kept} for message in peek(server, queue["name"])]
            for queue in server.control("GET", "/_quern/queues")[1]["queues"]}


def test_session_of_an_sdk_comes_out_the_same(start, recorded):
    first, second = start(seed=8), start(seed=9)
    play(sdk(first), first.advance_ms)
    answer = replay(recorded, second)
    assert answer["all"]["requests"] == len(of_kind(recorded, "request")) == answer["all"]["same"]
    assert answer["differences"] == [] and answer["entries_left_out"] == 0
    assert what_is_left(second) == what_is_left(first) and what_is_left(first)["jobs"] != []


def test_account_and_arns_are_those_of_the_other_server(start, recorded):
    server = start("--account", "111122223333")
    assert replay(recorded, server, "--account", "111122223333")["all"]["other"] == 0
    queues = server.control("GET", "/_quern/queues")[1]["queues"]
    assert {queue["account"] for queue in queues} == {"111122223333"}
    assert bodies(server, "jobs") == ["poison"]


def test_region_of_all_calls(start, recorded):
    server = start()
    assert replay(recorded, server, "--region", "eu-west-1")["all"]["other"] == 0
    queues = server.control("GET", "/_quern/queues")[1]["queues"]
    assert {queue["region"] for queue in queues} == {"eu-west-1"}


def test_request_is_the_recorded_one_with_all_that_belongs_to_it(start, recorded, again):
    server = start("--record", again)
    replay(recorded, server)
    server.stop()
    kept = ("action", "instance", "region", "conn", "invocation", "attempt", "vt")
    old, new = ([{key: request.get(key) for key in kept} for request, _ in exchanges(path)] for path in (recorded, again))
    assert new == old and old[0]["invocation"] and old[0]["attempt"] == 1


def test_table_for_people(start, recorded):
    server = start()
    answer = run("replay", str(recorded), "--endpoint", server.endpoint, "--speed", "max")
    assert (answer.returncode, answer.stderr) == (0, "")
    rows = [re.split(r"  +", line.strip()) for line in answer.stdout.splitlines()]
    assert rows[0] == HEAD
    counts = {row[0]: row[1:] for row in rows[1:]}
    assert counts["SendMessage"] == ["6", "6", "0", "0", "0"]
    assert counts["all"][0] == counts["all"][1] == str(len(of_kind(recorded, "request")))


def test_what_it_finds_otherwise(start, recorded):
    server = start("--fault", "on SendMessage nth 2 do throttle as busy")
    answer = run("replay", str(recorded), "--endpoint", server.endpoint, "--speed", "max")
    assert answer.returncode == 1
    line = re.search(r"^request (\d+) \(line (\d+)\) SendMessage: recorded OK, replayed ThrottlingException: .*busy", answer.stdout, re.M)
    at = lines(recorded)[int(line[2]) - 1]
    assert (at["kind"], at["action"], at["n"]) == ("request", "SendMessage", int(line[1]))


def test_recorded_fault_that_is_not_there_now(start, connect, file):
    server = start("--record", file, "--fault", "on ListQueues once do throttle as busy")
    connect(server)("ListQueues")
    server.stop()
    (difference,) = replay(file, start(), code=1)["differences"]
    assert (difference["recorded"], difference["replayed"], difference["rule"]) == ("ThrottlingException", "OK", "busy")
    assert replay(file, start("--fault", "on ListQueues once do throttle"))["all"]["same"] == 1


# Handles


def consumed(url="http://x/000000000000/q"):
    """Three messages, sent, received in one call, and deleted in two."""
    writer = Writer()
    writer.exchange("CreateQueue", {"QueueName": "q"}, {"QueueUrl": url})
    for n in range(3):
        writer.exchange("SendMessage", {"QueueUrl": url, "MessageBody": "m%d" % n}, {"MessageId": "id%d" % n})
    got = [{"MessageId": "id%d" % n, "ReceiptHandle": "handle%d" % n} for n in range(3)]
    writer.exchange("ReceiveMessage", {"QueueUrl": url, "MaxNumberOfMessages": 10}, {"Messages": got})
    writer.exchange("DeleteMessage", {"QueueUrl": url, "ReceiptHandle": "handle0"})
    entries = [{"Id": "e%d" % n, "ReceiptHandle": "handle%d" % n} for n in (1, 2)]
    writer.exchange("DeleteMessageBatch", {"QueueUrl": url, "Entries": entries}, {"Successful": [{"Id": "e1"}, {"Id": "e2"}]})
    return writer


def test_handles_are_those_of_the_replayed_receive(start, file):
    server = start()
    assert replay(consumed().write(file), server)["all"]["same"] == 7
    assert bodies(server, "q") == []


def test_handle_belongs_to_its_message_in_whatever_order_they_come(start, connect, file):
    writer = Writer()
    url = "http://x/000000000000/q"
    writer.exchange("CreateQueue", {"QueueName": "q"}, {"QueueUrl": url})
    for n in range(2):
        writer.exchange("SendMessage", {"QueueUrl": url, "MessageBody": "m%d" % n}, {"MessageId": "id%d" % n})
    got = [{"MessageId": "id1", "ReceiptHandle": "handle1"}, {"MessageId": "id0", "ReceiptHandle": "handle0"}]
    writer.exchange("ReceiveMessage", {"QueueUrl": url, "MaxNumberOfMessages": 10}, {"Messages": got})
    writer.exchange("DeleteMessage", {"QueueUrl": url, "ReceiptHandle": "handle1"})
    server = start()
    replay(writer.write(file), server)
    assert bodies(server, "q") == ["m0"]


def test_handle_without_a_counterpart_leaves_its_request_out(start, file):
    server = start("--fault", "on ReceiveMessage once do false-empty")
    answer = replay(consumed().write(file), server, code=1)
    left_out = {row["action"]: row["left_out"] for row in answer["actions"] if row["left_out"]}
    assert left_out == {"DeleteMessage": 1, "DeleteMessageBatch": 1}
    assert (answer["all"]["same"], answer["all"]["other"], answer["unsendable"]) == (5, 0, 0)


def test_entries_without_a_counterpart_are_left_out_of_a_batch(start, file):
    server = start("--fault", "on ReceiveMessage once do short 2")
    answer = replay(consumed().write(file), server, code=1)
    assert (answer["entries_left_out"], answer["all"]["left_out"], answer["all"]["same"]) == (1, 0, 7)
    assert bodies(server, "q") == ["m2"]


def test_handle_that_was_refused_is_sent_as_it_is(start, file):
    writer = consumed()
    url = "http://x/000000000000/q"
    writer.exchange("DeleteMessage", {"QueueUrl": url, "ReceiptHandle": "zz"}, code="ReceiptHandleIsInvalid")
    assert replay(writer.write(file), start())["all"]["same"] == 8


def test_handle_from_before_the_recording_is_left_out(start, file):
    writer = consumed()
    writer.exchange("DeleteMessage", {"QueueUrl": "http://x/000000000000/q", "ReceiptHandle": "older"})
    assert replay(writer.write(file), start(), code=1)["all"]["left_out"] == 1


# Queues


def test_queues_that_were_there_are_made_with_their_attributes(start, connect, file):
    policy = json.dumps({"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:z-dlq", "maxReceiveCount": 3})
    config = file.parent / "queues.json"
    config.write_text(json.dumps({"queues": [
        {"name": "z-dlq"}, {"name": "a", "attributes": {"VisibilityTimeout": "7", "RedrivePolicy": policy}, "tags": {"t": "1"}},
        {"name": "f.fifo", "attributes": {"FifoQueue": "true"}}]}))
    server = start("--record", file, "--config", config)
    call = connect(server)
    call("SendMessage", QueueUrl=server.endpoint + "/000000000000/a", MessageBody="x")
    server.stop()
    second = start("--queue", "f.fifo,FifoQueue=true", seed=1)
    answer = run("replay", str(file), "--endpoint", second.endpoint, "--speed", "max")
    assert (answer.returncode, answer.stderr) == (0, "made the queues that the recording began with: z-dlq, a\n")
    url = second.endpoint + "/000000000000/a"
    members = connect(second)("GetQueueAttributes", QueueUrl=url, AttributeNames=["All"]).members["Attributes"]
    assert members["VisibilityTimeout"] == "7" and json.loads(members["RedrivePolicy"]) == json.loads(policy)
    assert connect(second)("ListQueueTags", QueueUrl=url).members == {"Tags": {"t": "1"}}
    assert bodies(second, "a") == ["x"]


def test_call_for_a_queue_that_never_was_is_refused_again(start, connect, file):
    server = start("--record", file)
    call = connect(server)
    call("SendMessage", QueueUrl=server.endpoint + "/000000000000/missing", MessageBody="x")
    call("SendMessage", QueueUrl="nonsense", MessageBody="x")
    server.stop()
    assert replay(file, start())["all"]["same"] == 2


# Order, connections and time


def test_poll_waits_again_on_its_own_connection(start, connect, file, again):
    server = start("--record", file, "--queue", "q")
    url = server.endpoint + "/000000000000/q"
    poll = Waiting(server, "ReceiveMessage", QueueUrl=url, WaitTimeSeconds=20)
    until(lambda: parked(server) == 1)
    connect(server)("SendMessage", QueueUrl=url, MessageBody="x")
    assert len(poll.members()["Messages"]) == 1
    server.stop()
    second = start("--record", again, "--queue", "q")
    assert replay(file, second)["all"]["same"] == 2
    second.stop()
    old, new = ([(line["kind"], line["n"], line.get("conn")) for line in lines(path) if "n" in line] for path in (file, again))
    assert [row[0] for row in new] == [row[0] for row in old]
    assert [row[2] for row in new] == [row[2] for row in old] == [1, 2, None, None]


def test_client_that_went_away_goes_away_again(start, file, again):
    server = start("--record", file, "--queue", "q")
    poll = Waiting(server, "ReceiveMessage", QueueUrl=server.endpoint + "/000000000000/q", WaitTimeSeconds=20)
    until(lambda: parked(server) == 1)
    poll.hang_up()
    until(lambda: parked(server) == 0)
    server.stop()
    second = start("--record", again, "--queue", "q")
    assert replay(file, second)["all"]["not_compared"] == 1
    second.stop()
    assert [line.get("lost") for line in of_kind(again, "answer")] == [True]


def test_clock_follows_the_recording(start, file, again):
    writer = Writer()
    writer.exchange("CreateQueue", {"QueueName": "q"}, {"QueueUrl": "http://x/000000000000/q"})
    writer.exchange("ListQueues", {})
    for line in writer.lines[3:]:
        line["vt"] = BEGIN + 90000
    writer.lines.append({"kind": "clock", "at": 0, "vt": BEGIN + 90000, "from": BEGIN + 90000, "to": BEGIN + 100000})
    writer.write(file)
    server = start("--record", again, clock="virtual=2000000000000")
    replay(file, server)
    assert server.control("GET", "/_quern/clock")[1]["now_ms"] == 2000000100000
    server.stop()
    assert [line["vt"] for line in of_kind(again, "request")] == [2000000000000, 2000000090000]
    assert replay(file, start(clock="real"))["clock_moves_left_out"] == 1


@pytest.mark.parametrize("speed, least, most", [("10", 490, None), ("max", 0, 4900)])
def test_timing(start, file, again, speed, least, most):
    writer = Writer()
    writer.exchange("ListQueues", {}, conn=1, at=0)
    writer.exchange("ListQueues", {}, conn=2, at=5000)
    server = start("--record", again)
    answer = run("replay", str(writer.write(file)), "--endpoint", server.endpoint, "--speed", speed)
    assert answer.returncode == 0, answer
    server.stop()
    first, second = (line["at"] for line in of_kind(again, "request"))
    assert least <= second - first and (most is None or second - first < most)


def test_connections_run_side_by_side(start, file, again):
    writer = Writer()
    url = "http://x/000000000000/q"
    writer.exchange("CreateQueue", {"QueueName": "q"}, {"QueueUrl": url})
    polls = [writer.request("ReceiveMessage", {"QueueUrl": url, "WaitTimeSeconds": 20}, conn=conn, at=10) for conn in (2, 3, 4)]
    writer.exchange("ListQueues", {}, conn=1, at=1000)
    sends = [writer.exchange("SendMessage", {"QueueUrl": url, "MessageBody": "x"}, conn=1, at=1010 + n) for n in range(3)]
    for poll in polls:
        writer.answer(poll, {"Messages": []}, at=1020)
    server = start("--record", again)
    answer = run("replay", str(writer.write(file)), "--endpoint", server.endpoint, "--speed", "1")
    assert answer.returncode == 0, answer
    server.stop()
    seen = exchanges(again)
    assert sorted(request["conn"] for request, _ in seen[1:4]) == [2, 3, 4] and len(sends) == 3
    assert all(len(given["output"]["Messages"]) == 1 for request, given in seen if request["action"] == "ReceiveMessage")


def test_several_starts_are_one_sequence(start, connect, file, tmp_path):
    options = ("--record", file, "--db", tmp_path / "db")
    server = start(*options)
    call = connect(server)
    url = call("CreateQueue", QueueName="q").members["QueueUrl"]
    call("SendMessage", QueueUrl=url, MessageBody="x")
    (got,) = call("ReceiveMessage", QueueUrl=url).members["Messages"]
    server.stop()
    server = start(*options)
    connect(server)("DeleteMessage", QueueUrl=server.endpoint + "/000000000000/q", ReceiptHandle=got["ReceiptHandle"])
    server.stop()
    assert [line["kind"] for line in lines(file)].count("start") == 2
    second = start(seed=5)
    assert replay(file, second)["all"]["same"] == 4
    assert bodies(second, "q") == []


def test_recording_without_a_request(start, file):
    assert replay(Writer().write(file), start())["all"]["requests"] == 0


def test_what_was_no_request_of_sqs_is_left_out(start, file):
    writer = Writer()
    writer.add("request", n=1, conn=1, size=3)
    writer.add("answer", n=1, status=400, code="MissingAction")
    answer = replay(writer.write(file), start())
    assert (answer["unsendable"], answer["all"]["left_out"]) == (1, 1)


def test_answer_that_never_comes_is_not_waited_for_longer_than_told(start, file):
    writer = Writer()
    writer.exchange("ListQueues", {})
    server = start("--fault", "on ListQueues do hang")
    (difference,) = replay(writer.write(file), server, "--timeout", 1, code=1)["differences"]
    assert difference["replayed"].startswith("Timeout")


def test_request_is_never_sent_twice(start, file, again):
    writer = Writer()
    for _ in range(3):
        writer.exchange("ListQueues", {})
    server = start("--record", again, "--fault", "on ListQueues nth 2 do reset")
    (difference,) = replay(writer.write(file), server, code=1)["differences"]
    assert difference["replayed"].startswith("ConnectionError")
    server.stop()
    assert len(of_kind(again, "request")) == 3


def test_interrupted_replay_tells_what_it_did(start, file):
    writer = Writer()
    writer.exchange("ListQueues", {}, at=0)
    writer.exchange("ListQueues", {}, at=3600000)
    server = start()
    words = [program(), "replay", str(writer.write(file)), "--endpoint", server.endpoint, "--json"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    until(lambda: server.control("GET", "/_quern/info")[1]["requests"] == 1)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    answer = json.loads(out)
    assert process.returncode == 1 and answer["interrupted"] and answer["all"]["requests"] == 1


def test_amazon_gets_ones_own_credentials(start, file, again):
    writer = Writer()
    writer.exchange("ListQueues", {}, instance="recorded", region="us-east-1")
    server = start("--record", again)
    answer = run("replay", str(writer.write(file)), "--endpoint", "http://sqs.us-east-1.amazonaws.com", "--speed", "max",
                 http_proxy=server.endpoint, AWS_ACCESS_KEY_ID="AKIAOWN", AWS_SECRET_ACCESS_KEY="secret")
    assert answer.returncode == 0, answer
    server.stop()
    assert [request["instance"] for request in of_kind(again, "request")] == ["AKIAOWN"]


def test_nobody_is_there(file):
    answer = run("replay", str(consumed().write(file)), "--endpoint", "http://127.0.0.1:1")
    assert answer.returncode == 1 and "ConnectionError" in answer.stderr and answer.stderr.count("\n") == 1


# Bad files


def refused(file, *options):
    answer = run("replay", str(file), "--endpoint", "http://127.0.0.1:1", *options)
    assert (answer.returncode, answer.stdout) == (2, ""), answer
    (line,) = answer.stderr.splitlines()
    return line


def test_line_that_is_cut_off(start, file):
    text = consumed().text()
    file.write_text(text[:-5])
    begin = text[:-1].rfind("\n") + 1
    assert "line 15 (byte %d): the line is cut off" % begin in refused(file)
    answer = replay(file, start(), "--cut-ok")
    assert (answer["all"]["same"], answer["all"]["not_compared"]) == (6, 1)


@pytest.mark.parametrize("content", ["", "\n", "nonsense\n", "{}\n", '{"kind":"start"', "\x00" * 5000, '[{"kind":"start"}]\n'])
def test_foreign_file(file, content):
    file.write_text(content)
    line = refused(file)
    assert str(file) in line and ("line 1 (byte 0)" in line or "is empty" in line), line


def with_line(line):
    writer = consumed()
    writer.lines.insert(3, line)
    return writer


REQUEST = {"kind": "request", "n": 99, "at": 0, "vt": 0, "conn": 1, "action": "ListQueues", "input": {}}
ANSWER = {"kind": "answer", "n": 1, "at": 0, "vt": 0, "status": 200, "code": "OK"}


@pytest.mark.parametrize("line, said", [
    ("x", "not JSON"),
    ([], "no known kind"),
    ({}, "no known kind"),
    ({"kind": "strange", "at": 0, "vt": 0}, "no known kind"),
    ({"kind": 7}, "no known kind"),
    ({**REQUEST, "n": 1}, "the request 1 comes behind"),
    ({**REQUEST, "n": "9"}, "n should be a positive integer"),
    ({**REQUEST, "n": 9.5}, "n should be"),
    ({**REQUEST, "at": -1}, "at should be"),
    ({**REQUEST, "vt": None}, "vt should be"),
    ({**REQUEST, "conn": 0}, "conn should be"),
    ({**REQUEST, "action": "List\r\nX: y"}, "the name of an action"),
    ({**REQUEST, "action": ""}, "the name of an action"),
    ({**REQUEST, "action": "A" * 65}, "the name of an action"),
    ({**REQUEST, "input": []}, "input should be an object"),
    ({**REQUEST, "region": "a\x00b"}, "region should be a text"),
    ({key: value for key, value in REQUEST.items() if key != "action"}, "no action"),
    ({key: value for key, value in REQUEST.items() if key != "conn"}, "conn is missing"),
    ({**ANSWER}, "answered already"),
    ({**ANSWER, "n": 50}, "which is not there"),
    ({**ANSWER, "output": "x"}, "output should be"),
    ({**ANSWER, "lost": True}, "or was lost"),
    ({"kind": "answer", "n": 1, "at": 0, "vt": 0}, "or was lost"),
    ({"kind": "queue", "name": "q", "account": "0", "region": "r", "attributes": {"a": 1}}, "an object of texts"),
    ({"kind": "clock", "at": 0, "vt": 0, "to": "now"}, "to should be"),
    ({"kind": "start", "format": "quern-record-2", "vt": 0, "wt": 0}, "format should be quern-record-1"),
])
def test_bad_line_is_named(file, line, said):
    writer = with_line(line)
    offset = len("".join(json.dumps(line) + "\n" for line in writer.lines[:3]))
    message = refused(writer.write(file))
    assert "line 4 (byte %d): " % offset in message and said in message, message


@pytest.mark.parametrize("text, place", [('{"kind":"request","n":', "line 16"), ('{"kind":"fault","at":1e99}', "line 16"), ("\x1b[31m{", "line 16")])
def test_line_that_is_no_json(file, text, place):
    file.write_text(consumed().text() + text + "\n")
    message = refused(file)
    assert place in message and "\x1b" not in message


@pytest.mark.parametrize("options", [["--speed", "0"], ["--speed", "-1"], ["--speed", "x"], ["--speed", "1x"], ["--speed", "inf"],
                                     ["--speed", "nan"], ["--timeout", "0"], ["more"], ["--nonsense"]])
def test_misuse(file, options):
    refused(consumed().write(file), *options)


def test_file_that_cannot_be_read(tmp_path):
    assert "No such file" in refused(tmp_path / "missing")
    assert "cannot read" in refused(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["sh", "-c", "cat /dev/null > %s" % (tmp_path / "pipe")]):
        assert "not a pipe" in refused(tmp_path / "pipe")
