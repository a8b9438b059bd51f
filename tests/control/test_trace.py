"""The ordered list of events, read at once, waited for, or streamed."""
import http.client
import json
import signal
import time

import pytest

from parties import Waiting, events, parked, until
from raw import Raw


def kinds(found):
    return [e["kind"] for e in found]


def of(found, *wanted):
    return [e for e in found if e["kind"] in wanted]


@pytest.fixture
def watched(server):
    """A server whose trace somebody reads: it is full from now on."""
    events(server)
    return server


def last_seq(server):
    return server.control("GET", "/_quern/info")[1]["last_seq"]


def test_first_event_is_the_boot(server):
    first = events(server)[0]
    assert (first["kind"], first["seq"], first["count"]) == ("boot", 1, 1)


def test_calls_are_in_the_trace_before_anybody_reads_it(server, sqs, queue, name):
    found = of(events(server), "api.in", "api.out")
    assert [e["action"] for e in found] == ["CreateQueue", "CreateQueue"]
    assert found[0]["queue"] == name and found[1]["code"] == "OK" and found[1]["status"] == 200
    assert found[0]["req"] == found[1]["req"] and found[0]["port"] == server.port


def test_events_of_a_call_stand_between_its_in_and_out(watched, sqs, queue):
    since = last_seq(watched)
    sqs("SendMessage", QueueUrl=queue, MessageBody='{"idempotencyKey":"k-1"}')
    handle = sqs("ReceiveMessage", QueueUrl=queue)["Messages"][0]["ReceiptHandle"]
    sqs("ChangeMessageVisibility", QueueUrl=queue, ReceiptHandle=handle, VisibilityTimeout=60)
    sqs("DeleteMessage", QueueUrl=queue, ReceiptHandle=handle)
    found = events(watched, since)
    assert kinds(found) == [
        "api.in", "msg.send", "api.out",
        "api.in", "lease.grant", "api.out",
        "api.in", "lease.extend", "api.out",
        "api.in", "msg.delete", "api.out",
    ]
    assert [e["seq"] for e in found] == list(range(since + 1, since + 13))
    assert all(e["k"] == "k-1" for e in of(found, "msg.send", "lease.grant", "msg.delete"))
    grant = of(found, "lease.grant")[0]
    assert grant["h"] == handle and grant["n"] == 1
    assert grant["deadline"] == grant["vt"] + 30000


def test_the_answer_of_a_batch_tells_of_each_entry_that_was_not_done(watched, sqs, queue):
    sqs("SendMessage", QueueUrl=queue, MessageBody="m")
    handle = sqs("ReceiveMessage", QueueUrl=queue)["Messages"][0]["ReceiptHandle"]
    since = last_seq(watched)
    entries = [{"Id": "good", "ReceiptHandle": handle}, {"Id": "bad", "ReceiptHandle": "none"}]
    late = [{**entry, "VisibilityTimeout": 43201} for entry in entries[:1]]
    answers = [sqs("ChangeMessageVisibilityBatch", QueueUrl=queue, Entries=late),
               sqs("DeleteMessageBatch", QueueUrl=queue, Entries=entries),
               sqs("DeleteMessageBatch", QueueUrl=queue, Entries=entries[:1])]
    told = [e["params"] for e in of(events(watched, since), "api.out")]
    assert [(one["Successful"], one["Failed"]) for one in told] == [(0, 1), (1, 1), (1, 0)]
    for params, answer in zip(told, answers):
        failed = [{key: one[key] for key in ("Id", "Code", "Message")} for one in answer.get("Failed", [])]
        assert params.get("FailedEntries", []) == failed
    assert [one["FailedEntries"][0]["Id"] for one in told[:2]] == ["good", "bad"]


def test_parameters_are_shown_without_bodies(watched, sqs, queue):
    since = last_seq(watched)
    sqs("SendMessage", QueueUrl=queue, MessageBody="secret", DelaySeconds=3)
    sqs("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=5, WaitTimeSeconds=0)
    found = events(watched, since)
    asked = [e["params"] for e in of(found, "api.in")]
    assert asked[0] == {"QueueUrl": queue, "DelaySeconds": 3}
    assert asked[1] == {"QueueUrl": queue, "MaxNumberOfMessages": 5, "WaitTimeSeconds": 0}
    assert of(found, "api.out")[1]["params"] == {"Messages": 0}
    assert "secret" not in json.dumps(found)


def test_what_happened_names_the_request_that_did_it(watched, sqs, queue):
    since = last_seq(watched)
    sqs("SendMessage", QueueUrl=queue, MessageBody="x")
    sqs("ReceiveMessage", QueueUrl=queue, VisibilityTimeout=1)
    watched.advance_ms(1000)
    found = events(watched, since)
    requests = {e["action"]: e["req"] for e in of(found, "api.in")}
    (sent,) = of(found, "msg.send")
    (leased,) = of(found, "lease.grant")
    (lapsed,) = of(found, "lease.expire")
    assert (sent["req"], leased["req"]) == (requests["SendMessage"], requests["ReceiveMessage"])
    assert "req" not in lapsed


def test_a_connection_tells_once_what_program_it_is(start):
    server = start()
    since = events(server)[-1]["seq"]
    for agent in ("one/1.0 cfg/retry-mode#legacy", "two/" + "2" * 2000):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        for _ in range(2):
            connection.request("POST", "/", "{}", {
                "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS.ListQueues", "User-Agent": agent})
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200
        connection.close()
    told = [event.get("agent") for event in of(events(server, since), "api.in")]
    assert told == ["one/1.0 cfg/retry-mode#legacy", None, ("two/" + "2" * 2000)[:300], None]


def test_a_new_queue_is_told_apart_from_one_that_was_there(watched, sqs, name):
    since = last_seq(watched)
    for _ in range(2):
        sqs("CreateQueue", QueueName=name)
    found = events(watched, since)
    assert kinds(found) == ["api.in", "queue.create", "api.out", "api.in", "api.out"]
    assert (found[1]["queue"], found[1]["req"], found[1]["region"]) == (name, found[0]["req"], "us-east-1")


def test_a_queue_of_the_command_is_nobodys_request(start, tmp_path):
    server = start("--trace", str(tmp_path / "trace"), "--queue", "q")
    (created,) = of(events(server), "queue.create")
    assert created["queue"] == "q" and "req" not in created


def test_counts_that_were_told_are_in_the_trace(watched, sqs, queue):
    since = last_seq(watched)
    sqs("SendMessage", QueueUrl=queue, MessageBody="x")
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesDelayed", "QueueArn"]
    sqs("GetQueueAttributes", QueueUrl=queue, AttributeNames=names)
    told = of(events(watched, since), "api.out")[1]["params"]
    assert told == {"ApproximateNumberOfMessages": 1, "ApproximateNumberOfMessagesDelayed": 0}


def test_the_region_of_a_caller_and_of_its_queue(start):
    server = start("--region", "any")
    since = events(server)[-1]["seq"]
    for region in ("us-east-1", "eu-west-1"):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        connection.request("POST", "/", '{"QueueName":"q","QueueUrl":"/000000000000/q","MessageBody":"x"}', {
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Target": "AmazonSQS." + ("CreateQueue" if region == "us-east-1" else "SendMessage"),
            "Authorization": "AWS4-HMAC-SHA256 Credential=test/20260101/%s/sqs/aws4_request" % region})
        assert connection.getresponse().status == 200
        connection.close()
    found = events(server, since)
    assert [e["region"] for e in of(found, "api.in")] == ["us-east-1", "eu-west-1"]
    assert of(found, "msg.send")[0]["region"] == of(found, "queue.create")[0]["region"] != "eu-west-1"


def test_who_called_is_in_the_trace(watched):
    connection = http.client.HTTPConnection("127.0.0.1", watched.port, timeout=20)
    since = last_seq(watched)
    credential = "AWS4-HMAC-SHA256 Credential=QUERN0002/20260101/us-east-1/sqs/aws4_request"
    connection.request("POST", "/", "{}", {
        "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS.ListQueues",
        "Authorization": credential, "amz-sdk-invocation-id": "i-1", "amz-sdk-request": "attempt=2; max=3"})
    connection.getresponse().read()
    connection.close()
    (call,) = of(events(watched, since), "api.in")
    assert (call["instance"], call["invocation"], call["attempt"]) == ("QUERN0002", "i-1", 2)


def test_refused_calls_are_in_the_trace(watched):
    since = last_seq(watched)
    for body, target in (("{", "SendMessage"), ("{}", "SendMessage"), ("{}", "Dance")):
        connection = http.client.HTTPConnection("127.0.0.1", watched.port, timeout=20)
        connection.request("POST", "/", body, {"Content-Type": "application/x-amz-json-1.0",
                                               "X-Amz-Target": "AmazonSQS." + target})
        connection.getresponse().read()
        connection.close()
    found = events(watched, since)
    assert kinds(found) == ["api.in", "api.out"] * 3
    assert [e["code"] for e in of(found, "api.out")] == [
        "SerializationException", "MissingParameter", "UnknownOperationException"]


def test_poll_is_answered_when_it_is(watched, sqs, queue):
    since = last_seq(watched)
    poll = Waiting(watched, "ReceiveMessage", QueueUrl=queue, WaitTimeSeconds=20)
    until(lambda: parked(watched) == 1)
    sqs("SendMessage", QueueUrl=queue, MessageBody="x")
    poll.members()
    found = events(watched, since)
    assert kinds(found) == ["api.in", "api.in", "msg.send", "api.out", "lease.grant", "api.out"]
    assert found[0]["req"] == found[5]["req"]


def test_clock_and_marks_are_in_the_trace(watched):
    since = last_seq(watched)
    watched.advance_ms(700)
    assert watched.control("POST", "/_quern/mark", {"name": "ready"}) == (200, {"seq": since + 2})
    jump, mark = events(watched, since)
    assert (jump["kind"], jump["to"] - jump["from"]) == ("clock", 700)
    assert (mark["kind"], mark["reason"]) == ("mark", "ready")


def test_mark_needs_a_name(server):
    assert server.control("POST", "/_quern/mark", {})[0] == 400


@pytest.mark.parametrize("query", ["since=x", "since=-1", "wait_ms=x", "wait_ms=600001"])
def test_bad_parameters_are_400(server, query):
    assert server.control("GET", "/_quern/trace?" + query)[0] == 400


def test_nothing_new_is_an_empty_answer(watched):
    assert events(watched, last_seq(watched)) == []


def test_wait_ends_when_an_event_comes(watched, sqs):
    import threading

    since = last_seq(watched)
    found = []
    reader = threading.Thread(target=lambda: found.extend(events(watched, since, wait_ms=20000)))
    reader.start()
    time.sleep(0.1)
    assert reader.is_alive()
    sqs("ListQueues")
    reader.join(10)
    assert not reader.is_alive() and found[0]["kind"] == "api.in"


def test_wait_ends_empty_after_its_time(watched):
    started = time.monotonic()
    assert events(watched, last_seq(watched), wait_ms=200) == []
    assert 0.15 < time.monotonic() - started < 10


def test_stream_goes_on(watched, sqs):
    connection = http.client.HTTPConnection("127.0.0.1", watched.port, timeout=20)
    connection.request("GET", "/_quern/trace?since=%d&stream=1" % last_seq(watched))
    answer = connection.getresponse()
    assert answer.status == 200 and answer.getheader("Transfer-Encoding") == "chunked"
    for _ in range(3):
        sqs("ListQueues")
        assert [json.loads(answer.readline())["kind"] for _ in range(2)] == ["api.in", "api.out"]
    connection.close()
    sqs("ListQueues")


def test_stream_begins_with_what_is_there(server, sqs):
    for _ in range(2000):
        sqs("ListQueues")
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("GET", "/_quern/trace?stream=1")
    answer = connection.getresponse()
    numbers = [json.loads(answer.readline())["seq"] for _ in range(4001)]
    assert numbers == list(range(1, 4002))
    connection.close()


def test_stream_ends_with_the_server(start):
    server = start()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("GET", "/_quern/trace?stream=1")
    answer = connection.getresponse()
    assert json.loads(answer.readline())["kind"] == "boot"
    server.process.send_signal(signal.SIGTERM)
    assert answer.read() == b""
    connection.close()
    assert server.process.wait(20) == 0


def test_reader_that_fell_behind_is_told(server):
    """The ring in memory holds a bounded number of events."""
    with Raw(server) as raw:
        for _ in range(500):
            raw.send(raw.json("ListQueues", {}) * 100)
            for _ in range(100):
                assert raw.read().status == 200
    found = events(server, 1)
    assert found[0]["kind"] == "gap" and found[0]["count"] == found[1]["seq"] - 2
    assert found[-1]["seq"] == 100_001


def test_trace_file_outlives_a_kill(start, tmp_path):
    options = ("--db", str(tmp_path / "q.db"), "--trace", str(tmp_path / "trace"))
    server = start(*options)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("POST", "/", '{"QueueName":"kept"}', {
        "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS.CreateQueue"})
    assert connection.getresponse().status == 200
    connection.close()
    server.kill()
    found = events(start(*options))
    assert kinds(found) == ["boot", "api.in", "queue.create", "api.out", "boot"]
    assert found[1]["params"] == {"QueueName": "kept"}
    assert found[4]["lsn"] >= 1 and [e["seq"] for e in found] == [1, 2, 3, 4, 5]
