"""Faults of the server as a whole, when several come together or the server is to stop; and how faults show themselves."""
import signal
import socket
import time

import pytest

from exchange import client as exchange_client
from exchange import process
from parties import Waiting, events, until
from raw import Raw
from test_rules import add, counts, rules

START_MS = 1767225600000


def now_ms(server):
    return server.control("GET", "/_quern/clock")[1]["now_ms"] - START_MS


def send(raw, queue):
    raw.send(raw.json("SendMessage", {"QueueUrl": queue, "MessageBody": "x"}))
    return raw.read()


def comes_in(server):
    try:
        server.connect().close()
        return True
    except ConnectionRefusedError:
        return False


# Not listening


def test_refusals_that_overlap_last_as_long_as_the_longest(server, queue):
    add(server, "on SendMessage nth 1 do refuse 900ms", "on SendMessage nth 2 do refuse 100ms")
    with Raw(server) as raw:
        began = time.monotonic()
        assert (send(raw, queue).status, send(raw, queue).status) == (200, 200)
        assert not comes_in(server)
        until(lambda: comes_in(server))
        assert time.monotonic() - began >= 0.8
    assert [r["fired"] for r in rules(server)] == [1, 1]


def test_a_server_that_refuses_can_be_stopped(server, queue):
    add(server, "on SendMessage do refuse 1h")
    with Raw(server) as raw:
        assert send(raw, queue).status == 200
        assert not comes_in(server)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(10) == 0


def test_all_listeners_are_closed_and_opened_again(start, tmp_path):
    server = start("--bind", "127.0.0.2:0")
    other = int(server.log().split("listening on http://127.0.0.2:")[1].split()[0])
    add(server, "on ListQueues do refuse 500ms")
    with Raw(server) as raw:
        raw.send(raw.json("ListQueues", {}))
        assert raw.read().status == 200
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", other))
        until(lambda: comes_in(server))
        socket.create_connection(("127.0.0.2", other)).close()


def test_a_port_that_was_taken_meanwhile_is_tried_again(server, queue):
    add(server, "on SendMessage do refuse 300ms")
    with Raw(server) as raw, socket.socket() as thief:
        assert send(raw, queue).status == 200
        thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        thief.bind(("127.0.0.1", server.port))
        thief.listen()
        until(lambda: "the port is in use" in server.log())
        assert send(raw, queue).status == 200
    until(lambda: comes_in(server))
    assert server.log().count("the port is in use") == 1


# Standing still


def test_a_frozen_server_can_be_stopped(server, queue):
    add(server, "on SendMessage do freeze server 1h")
    with Raw(server) as raw:
        raw.send(raw.json("SendMessage", {"QueueUrl": queue, "MessageBody": "x"}))
        until(lambda: "fired rule=" in server.log())
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(10) == 0


def test_on_a_real_clock_leases_lapse_while_the_server_stands_still(start):
    server = start("--queue", "q", clock="real")
    client = exchange_client.Client(server)
    url = client.call("json", "GetQueueUrl", {"QueueName": "q"}).members["QueueUrl"]
    client.call("json", "SendMessage", {"QueueUrl": url, "MessageBody": "x"})
    client.call("json", "ReceiveMessage", {"QueueUrl": url, "VisibilityTimeout": 1})
    add(server, "on ReceiveMessage once at pre-commit do freeze server 1100ms")
    (message,) = client.call("json", "ReceiveMessage", {"QueueUrl": url}).members["Messages"]
    assert message["Body"] == "x"
    client.close()


def test_a_poll_gets_what_lapsed_while_the_server_stood_still(start):
    server = start("--queue", "q", clock="real")
    client = exchange_client.Client(server)
    url = client.call("json", "GetQueueUrl", {"QueueName": "q"}).members["QueueUrl"]
    client.call("json", "SendMessage", {"QueueUrl": url, "MessageBody": "x"})
    client.call("json", "ReceiveMessage", {"QueueUrl": url, "VisibilityTimeout": 1})
    with Raw(server) as poll:
        poll.send(poll.json("ReceiveMessage", {"QueueUrl": url, "WaitTimeSeconds": 20}))
        until(lambda: server.control("GET", "/_quern/info")[1]["engine"]["parked"] == 1)
        add(server, "on ListQueues do freeze server 1100ms")
        assert client.call("json", "ListQueues", {}).status == 200
        assert b'"Body":"x"' in poll.read().body
    client.close()


# Slow answers


def test_a_slow_answer_is_hurried_when_the_server_ends(server, call, queue):
    call("SendMessage", QueueUrl=queue, MessageBody="x" * 100_000)
    add(server, "on ReceiveMessage do bandwidth 1000B/s")
    with Raw(server) as raw:
        raw.send(raw.json("ReceiveMessage", {"QueueUrl": queue}))
        raw.buffer = raw.socket.recv(200)
        server.process.send_signal(signal.SIGTERM)
        assert len(raw.read().body) > 100_000
    assert server.process.wait(10) == 0


def test_a_late_end_comes_at_once_when_the_server_ends(server, call, queue):
    add(server, "on SendMessage do slow-close 1h")
    with Raw(server) as raw:
        assert send(raw, queue).status == 200
        server.process.send_signal(signal.SIGTERM)
        assert raw.is_closed() and server.process.wait(10) == 0


def test_a_client_that_leaves_a_slow_answer_is_gone(server, call, queue):
    call("SendMessage", QueueUrl=queue, MessageBody="x" * 100_000)
    add(server, "on ReceiveMessage do bandwidth 1000B/s")
    with Raw(server) as raw:
        raw.send(raw.json("ReceiveMessage", {"QueueUrl": queue}))
        raw.socket.recv(200)
    until(lambda: server.control("GET", "/_quern/info")[1]["connections"] <= 2)


# The clock


def test_a_real_clock_cannot_jump(start):
    server = start(clock="real")
    status, answer = server.control("POST", "/_quern/rules", {"rule": "on any do jump 1h"})
    assert status == 400 and "line 1, column 11: a real clock cannot jump" in answer["error"]
    with pytest.raises(RuntimeError) as ended:
        process.Server("--fault", "on any do jump 1h", clock="real")
    assert "with 2" in str(ended.value) and "--clock virtual" in str(ended.value)


def test_a_jump_does_what_is_due_on_the_way(server, sqs, queue, name):
    sqs("SendMessage", QueueUrl=queue, MessageBody="late", DelaySeconds=600)
    add(server, "on ListQueues once do jump 1h", "on tick 20m do mark twenty")
    poll = Waiting(server, "ReceiveMessage", QueueUrl=queue, WaitTimeSeconds=20)
    until(lambda: server.control("GET", "/_quern/info")[1]["engine"]["parked"] == 1)
    sqs("ListQueues")
    assert now_ms(server) == 3_600_000
    assert poll.members() == {} and counts(server, name) == (1, 0)
    marks = [e["vt"] - START_MS for e in events(server) if e["kind"] == "mark"]
    assert marks == [1_200_000, 2_400_000, 3_600_000]


def test_a_tick_on_the_way_of_a_jump_does_not_set_off_the_next(server):
    add(server, "on tick 1s do jump 10s as hop")
    server.advance_ms(1000)
    until(lambda: now_ms(server) == 11_000)
    untold = [e["reason"] for e in events(server) if e.get("target") == "rule=hop"]
    assert untold == 10 * ["not done: the clock is jumping already"]
    server.advance_ms(1000)
    until(lambda: now_ms(server) == 22_000)


def test_jumps_add_to_an_advance_and_to_each_other(server, sqs):
    add(server, "on tick 1m do jump 5s", "on ListQueues do jump 1s then jump 2s as both")
    server.advance_ms(60_000)
    until(lambda: now_ms(server) == 65_000)
    sqs("ListQueues")
    assert now_ms(server) == 68_000


def test_a_jump_beyond_the_end_of_time_is_not_done(server, sqs):
    years = "on ListQueues do %s as far" % " then ".join(["jump 876000h"] * 9)
    for _ in range(40):
        server.control("POST", "/_quern/rules", {"rule": years})
    sqs("ListQueues")
    assert now_ms(server) == 9 * 876_000 * 3_600_000


# How faults show themselves


def header(raw, action="ListQueues", **members):
    raw.send(raw.json(action, members))
    return raw.read().header("x-quern-fault")


def test_without_the_option_no_answer_names_its_faults(server):
    add(server, "on ListQueues do throttle as t")
    with Raw(server) as raw:
        assert header(raw) is None


def test_an_answer_names_all_rules_that_touched_it(start):
    server = start("--fault-header", "--queue", "q")
    add(server, "on ListQueues nth 2 at arrive do delay 1ms as a", "on ListQueues nth 2 at post-commit do garbage as b",
        "on SendMessage at pre-commit do refuse 1ms as c.1", "on ListQueues nth 9 do hang as never")
    with Raw(server) as raw:
        assert [header(raw), header(raw), header(raw)] == [None, "a, b", None]
        url = "http://%s/000000000000/q" % raw.host
        assert header(raw, "SendMessage", QueueUrl=url, MessageBody="x") == "c.1"
        raw.send(raw.form("Action=SendMessage&MessageBody=x", path="/000000000000/q"))
        assert raw.read().header("x-quern-fault") == "c.1"


def test_a_browser_may_read_the_header(start):
    server = start("--fault-header")
    add(server, "on ListQueues do throttle as t")
    with Raw(server) as raw:
        raw.send(raw.json("ListQueues", {}, extra=[("Origin", "http://page.example")]))
        reply = raw.read()
        assert reply.header("x-quern-fault") == "t"
        assert "x-quern-fault" in reply.header("Access-Control-Expose-Headers").lower()


def test_each_fault_is_a_line_of_the_log(server, sqs, queue):
    add(server, "on SendMessage once do error OverLimit as e", "on ListQueues nth 2 do mark m as m",
        "on SendMessage nth 1 at arrive do hang as shadowed", "on tick 1s once do refuse 1ms as t")
    exchange_client.Client(server).call("json", "SendMessage", {"QueueUrl": queue, "MessageBody": "x"})
    sqs("ListQueues")
    sqs("ListQueues")
    server.advance_ms(1000)
    lines = [line for line in server.log().splitlines() if line.startswith("info chaos: ")]
    fired = [dict(word.split("=", 1) for word in line.split()[3:9]) for line in lines]
    assert [(f["rule"], f["match"], f["on"]) for f in fired] == [
        ("e", "1", "SendMessage"), ("m", "2", "ListQueues"), ("t", "1", "tick")]
    assert lines[0].endswith("seed=7 do=error OverLimit") and len(fired[0]["request"]) == 36
