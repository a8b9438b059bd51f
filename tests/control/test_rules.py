"""Fault rules over the control API, and what they do to calls."""
import http.client
import json
import socket
import time

import pytest

from exchange import client as exchange_client
from exchange import wire
from parties import Waiting, events, parked, until
from raw import Raw


def add(server, *rules):
    status, answer = server.control("POST", "/_quern/rules", {"rules": list(rules)})
    assert status == 200, answer
    return answer["rules"]


def rules(server):
    return server.control("GET", "/_quern/rules")[1]["rules"]


def release(server, name):
    return server.control("POST", "/_quern/rules/%s/release" % name)


def counts(server, name):
    seen = server.control("GET", "/_quern/queues/" + name)[1]
    return seen["visible"], seen["in_flight"]


# Keeping rules


def test_rules_are_listed_with_their_counts(server, call, queue):
    add(server, "on SendMessage nth 2 do error InternalFailure as second")
    for status in (200, 500, 200):
        assert call("SendMessage", QueueUrl=queue, MessageBody="x").status == status
    (rule,) = rules(server)
    assert (rule["name"], rule["matched"], rule["fired"]) == ("second", 3, 1)
    assert rule["text"].startswith("on SendMessage")


def test_one_rule_or_several_or_plain_text(server):
    assert server.control("POST", "/_quern/rules", {"rule": "on SendMessage do throttle as a"})[0] == 200
    assert [r["name"] for r in add(server, "on any do throttle as b", "on any do throttle as c")] == list("abc")
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    text = "# comment\n\non any do throttle as d\n"
    connection.request("POST", "/_quern/rules", text, {"Content-Type": "text/plain"})
    assert connection.getresponse().status == 200
    connection.close()
    assert [r["name"] for r in rules(server)] == list("abcd")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"rule": 7},
        {"rules": "on any do throttle"},
        {"rules": [7]},
        {"rule": "on SendMesage do throttle"},
        {"rule": "nonsense"},
        {"rule": "on any do throttle", "rules": []},
        {"rule": ""},
        {"rules": ["on any do throttle as fine", "nonsense"]},
    ],
)
def test_bad_rules_are_refused_whole(server, body):
    status, answer = server.control("POST", "/_quern/rules", body)
    assert status == 400 and answer["error"]
    assert rules(server) == []


def errors(answer):
    return [(e.get("index"), e["line"], e["column"]) for e in answer["errors"]]


def test_every_mistake_is_listed(server):
    status, answer = server.control("POST", "/_quern/rules", {"rule": "on SendMesage do hagn then hodl"})
    assert status == 400 and errors(answer) == [(None, 1, 4), (None, 1, 18), (None, 1, 28)]
    assert answer["errors"][1]["message"].endswith('did you mean "hang"?')
    assert answer["error"].startswith("line 1, column 4: ") and answer["error"].endswith("(and 2 more mistakes)")
    bodies = {"rules": ["on any do throttle as fine", "on any\n do hagn", "on any do hang as fine", "nonsense"]}
    status, answer = server.control("POST", "/_quern/rules", bodies)
    assert status == 400 and errors(answer) == [(1, 2, 5), (2, 1, 19), (3, 1, 1)]
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("POST", "/_quern/rules", "on any do hang\n" + "nonsense\n" * 30, {"Content-Type": "text/plain"})
    answer = json.loads(connection.getresponse().read())
    connection.close()
    assert errors(answer) == [(None, line, 1) for line in range(2, 32)]
    assert answer["error"].endswith("(and 29 more mistakes)")
    assert rules(server) == []


def test_the_answer_names_the_rules_that_were_added(server):
    assert server.control("POST", "/_quern/rules", {"rule": "on any nth 9 do hang as a"})[1]["added"] == ["a"]
    answer = server.control("POST", "/_quern/rules", {"rules": ["on any nth 9 do hang", "on any nth 9 do hang as c"]})[1]
    assert answer["added"] == ["rule-1", "c"]
    assert [(rule["name"], rule["state"]) for rule in answer["rules"]] == [("a", "on"), ("rule-1", "on"), ("c", "on")]


def test_windows_of_time_begin_with_the_first_request(start):
    """They counted from the start of the server: who came later found them closed."""
    server = start("--fault", "on any between 1s 3s do throttle as window", "--fault", "on any for 5s do 5xx 503 as early")
    server.advance_ms(60000)
    assert server.control("GET", "/health")[0] == 200  # is none of SQS
    server.advance_ms(60000)
    client = exchange_client.Client(server)
    seen = []
    for pause_ms in (0, 1500, 1000, 1500, 2000):
        server.advance_ms(pause_ms)
        seen.append(client.call("json", "ListQueues", {}).status)
    client.close()
    assert seen == [503, 400, 400, 503, 200]


def test_rules_are_removed_by_name_or_all(server, call, queue):
    add(server, "on SendMessage do throttle as a", "on SendMessage do throttle as b")
    assert server.control("DELETE", "/_quern/rules?name=nope")[0] == 404
    assert server.control("DELETE", "/_quern/rules?name=")[0] == 400
    assert server.control("DELETE", "/_quern/rules?name=a")[0] == 200
    assert [r["name"] for r in rules(server)] == ["b"]
    assert call("SendMessage", QueueUrl=queue, MessageBody="x").status != 200
    assert server.control("DELETE", "/_quern/rules")[0] == 200
    assert call("SendMessage", QueueUrl=queue, MessageBody="x").status == 200


def test_a_rule_is_told_in_full(server, call, queue, name):
    add(server, "unsound on SendMessage where queue=nowhere or queue in (%s, other) or queue ~ \"c*\" do fake-success" % name)
    (rule,) = rules(server)
    assert {k: rule[k] for k in ("name", "point", "enabled", "unsound", "last_fired", "held")} == {
        "name": "rule-1", "point": "pre-commit", "enabled": True, "unsound": True, "last_fired": None, "held": 0}
    assert (rule["queues"], rule["queues_unknown"]) == (["nowhere", name, "other", "c*"], ["nowhere", "other"])
    call("CreateQueue", QueueName="nowhere")
    assert rules(server)[0]["queues_unknown"] == ["other"]


def test_a_rule_says_how_many_calls_it_holds(server, queue):
    add(server, "on SendMessage do hold as gate", "on any do mark x as other")
    held = [Waiting(server, "SendMessage", QueueUrl=queue, MessageBody="x") for _ in range(2)]
    until(lambda: [rule["held"] for rule in rules(server)] == [2, 0])
    release(server, "gate")
    assert all("MessageId" in one.members() for one in held)
    assert rules(server)[0]["held"] == 0


def test_disabled_rule_counts_nothing_and_is_there_again(server, call, queue):
    add(server, "on SendMessage nth 2 do throttle as second", "disabled on SendMessage do throttle as off")
    assert [rule["enabled"] for rule in rules(server)] == [True, False]
    assert call("SendMessage", QueueUrl=queue, MessageBody="x").status == 200
    status, answer = server.control("POST", "/_quern/rules/second/disable")
    assert status == 200 and not answer["rules"][0]["enabled"]
    assert call("SendMessage", QueueUrl=queue, MessageBody="x").status == 200
    assert rules(server)[0]["matched"] == 1
    assert server.control("POST", "/_quern/rules/second/enable")[0] == 200
    assert call("SendMessage", QueueUrl=queue, MessageBody="x").status == 400
    assert (rules(server)[0]["matched"], rules(server)[0]["fired"]) == (2, 1)
    assert server.control("POST", "/_quern/rules/none/enable")[0] == 404
    assert server.control("POST", "/_quern/rules/second/dance")[0] == 404
    assert server.control("POST", "/_quern/rules//enable")[0] == 404


def test_for_counts_from_when_a_rule_was_added(server, call):
    call("ListQueues")
    server.advance_ms(5000)
    add(server, "on ListQueues for 2s do throttle")
    server.advance_ms(1999)
    assert call("ListQueues").status == 400
    server.advance_ms(1)
    assert call("ListQueues").status == 200


def test_rules_from_file_and_command_line(start, tmp_path):
    file = tmp_path / "rules"
    file.write_text("on SendMessage do throttle as from-file\n")
    server = start("--chaos", str(file), "--fault", "on any nth 9 do throttle as from-option")
    assert [r["name"] for r in rules(server)] == ["from-file", "from-option"]


# What they do


@pytest.mark.parametrize("point, stored", [("arrive", 0), ("pre-commit", 0), ("post-commit", 1)])
def test_error_at_each_point(server, call, queue, name, point, stored):
    add(server, "on SendMessage at %s do error ThrottlingException" % point)
    answer = call("SendMessage", QueueUrl=queue, MessageBody="x")
    assert (answer.status, answer.code) == (400, "ThrottlingException")
    assert counts(server, name) == (stored, 0)


def test_error_in_the_query_protocol(server, queue):
    add(server, "on ListQueues do error OverLimit http 403")
    connection = exchange_client.Client(server)
    answer = connection.call("query", "ListQueues", {})
    connection.close()
    assert (answer.status, answer.code) == (403, "OverLimit")


def test_fake_success_deletes_nothing(server, call, queue, name):
    call("SendMessage", QueueUrl=queue, MessageBody="x")
    handle = call("ReceiveMessage", QueueUrl=queue).members["Messages"][0]["ReceiptHandle"]
    add(server, "on DeleteMessage once at pre-commit do fake-success")
    assert call("DeleteMessage", QueueUrl=queue, ReceiptHandle=handle).status == 200
    assert counts(server, name) == (0, 1)
    assert call("DeleteMessage", QueueUrl=queue, ReceiptHandle=handle).status == 200
    assert counts(server, name) == (0, 0)


def test_false_empty_leases_nothing(server, call, queue, name):
    call("SendMessage", QueueUrl=queue, MessageBody="x")
    add(server, "on ReceiveMessage once do false-empty")
    assert call("ReceiveMessage", QueueUrl=queue, WaitTimeSeconds=20).members == {}
    assert counts(server, name) == (1, 0)
    assert len(call("ReceiveMessage", QueueUrl=queue).members["Messages"]) == 1


def test_delay_is_real_time(server, call, queue):
    add(server, "on SendMessage once do delay 300ms")
    started = time.monotonic()
    assert call("SendMessage", QueueUrl=queue, MessageBody="x").status == 200
    assert 0.25 < time.monotonic() - started < 10
    started = time.monotonic()
    assert call("ListQueues").status == 200
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("point, while_held", [("arrive", 0), ("pre-commit", 0), ("post-commit", 1)])
def test_hold_waits_for_its_release(server, call, queue, name, point, while_held):
    add(server, "on SendMessage once at %s do hold as gate" % point)
    held = Waiting(server, "SendMessage", QueueUrl=queue, MessageBody="x")
    until(lambda: rules(server)[0]["fired"] == 1)
    assert held.is_waiting() and counts(server, name) == (while_held, 0)
    assert release(server, "gate") == (200, {"released": 1})
    assert "MessageId" in held.members()
    assert counts(server, name) == (1, 0)
    assert release(server, "gate") == (200, {"released": 0})
    assert release(server, "nope")[0] == 404


def test_held_request_is_checked_again(server, call, queue, name):
    add(server, "on SendMessage once do hold as gate")
    held = Waiting(server, "SendMessage", QueueUrl=queue, MessageBody="x")
    until(lambda: rules(server)[0]["fired"] == 1)
    call("DeleteQueue", QueueUrl=queue)
    release(server, "gate")
    status, answer = held.result()
    assert status == 400 and "QueueDoesNotExist" in answer["__type"]


def test_removing_a_rule_lets_go_what_it_holds(server, call, queue):
    add(server, "on SendMessage once do hold as gate")
    held = Waiting(server, "SendMessage", QueueUrl=queue, MessageBody="x")
    until(lambda: rules(server)[0]["fired"] == 1)
    server.control("DELETE", "/_quern/rules")
    assert "MessageId" in held.members()


def test_held_request_whose_client_left_does_nothing(server, call, queue, name):
    add(server, "on SendMessage once do hold as gate")
    held = Waiting(server, "SendMessage", QueueUrl=queue, MessageBody="x")
    until(lambda: rules(server)[0]["fired"] == 1)
    held.hang_up()
    until(lambda: server.control("GET", "/_quern/info")[1]["connections"] <= 2)
    assert release(server, "gate") == (200, {"released": 0})
    assert counts(server, name) == (0, 0)


def test_held_poll_has_leased_nothing(server, call, queue, name):
    """A poll that is held before it is executed leaves the message to others."""
    add(server, "on ReceiveMessage once at pre-commit do hold as gate")
    held = Waiting(server, "ReceiveMessage", QueueUrl=queue, WaitTimeSeconds=20)
    until(lambda: parked(server) == 1)
    assert rules(server)[0]["fired"] == 0  # nothing to hand out: not asked
    call("SendMessage", QueueUrl=queue, MessageBody="x")
    until(lambda: rules(server)[0]["fired"] == 1)
    assert counts(server, name) == (1, 0)
    assert call("ReceiveMessage", QueueUrl=queue).members["Messages"][0]["Body"] == "x"
    release(server, "gate")
    until(lambda: parked(server) == 1)
    call("SendMessage", QueueUrl=queue, MessageBody="y")
    assert held.members()["Messages"][0]["Body"] == "y"


def test_hang_never_answers(server, call, queue, name):
    add(server, "on SendMessage once do hang")
    hanging = Waiting(server, "SendMessage", QueueUrl=queue, MessageBody="x")
    until(lambda: rules(server)[0]["fired"] == 1)
    assert call("SendMessage", QueueUrl=queue, MessageBody="y").status == 200
    assert hanging.is_waiting()
    hanging.hang_up()


def outcome(server, request):
    """What a client sees of a connection that is cut: the bytes, and how they end."""
    with Raw(server) as raw:
        raw.send(request(raw))
        seen = b""
        try:
            while True:
                data = raw.socket.recv(65536)
                if not data:
                    return seen, "end"
                seen += data
        except ConnectionResetError:
            return seen, "reset"
        except socket.timeout:
            return seen, "open"


@pytest.mark.parametrize("action, end", [("reset 0", "reset"), ("close", "end")])
@pytest.mark.parametrize("point, stored", [("arrive", 0), ("pre-commit", 0), ("post-commit", 1)])
def test_cut_before_the_answer(server, call, queue, name, action, end, point, stored):
    add(server, "on SendMessage once at %s do %s" % (point, action))
    sent = {"QueueUrl": queue, "MessageBody": "x"}
    assert outcome(server, lambda raw: raw.json("SendMessage", sent)) == (b"", end)
    assert counts(server, name) == (stored, 0)


def test_cut_amid_the_answer(server, call, queue, name):
    call("SendMessage", QueueUrl=queue, MessageBody="x" * 100_000)
    add(server, "on ReceiveMessage once at mid-response do close 0.5")
    seen, end = outcome(server, lambda raw: raw.json("ReceiveMessage", {"QueueUrl": queue}))
    head, _, body = seen.partition(b"\r\n\r\n")
    length = int([l for l in head.split(b"\r\n") if l.lower().startswith(b"content-length")][0].split(b":")[1])
    assert end in ("end", "reset") and length > 100_000 and abs(len(body) - length / 2) < 2
    assert counts(server, name) == (0, 1)


def test_reset_behind_the_answer(server, call, queue):
    add(server, "on ListQueues once at post-response do reset")
    with Raw(server) as raw:
        raw.send(raw.json("ListQueues", {}))
        assert raw.read().status == 200
        assert raw.is_closed()


def test_reset_after_so_many_bytes(server, call, queue):
    call("SendMessage", QueueUrl=queue, MessageBody="x" * 1000)
    add(server, "on ReceiveMessage once do reset 100")
    seen, end = outcome(server, lambda raw: raw.json("ReceiveMessage", {"QueueUrl": queue}))
    assert end == "reset" and len(seen.partition(b"\r\n\r\n")[2]) == 100


def test_hang_amid_the_answer(server, call, queue):
    call("SendMessage", QueueUrl=queue, MessageBody="x" * 1000)
    add(server, "on ReceiveMessage once at mid-response do hang")
    with Raw(server) as raw:
        raw.send(raw.json("ReceiveMessage", {"QueueUrl": queue}))
        seen = b""
        raw.socket.settimeout(20)
        while b"xxxx" not in seen:
            seen += raw.socket.recv(65536)
        head, _, body = seen.partition(b"\r\n\r\n")
        assert b"content-length" in head.lower() and 0 < len(body) < 1000
        assert call("ListQueues").status == 200
        raw.socket.settimeout(0.2)
        with pytest.raises(socket.timeout):
            raw.socket.recv(65536)
    until(lambda: server.control("GET", "/_quern/info")[1]["connections"] <= 2)


@pytest.mark.parametrize("rule", [
    "on SendMessage do hold",
    "on SendMessage do hang",
    "on SendMessage do delay 60s",
    "on SendMessage at mid-response do hang",
])
def test_what_a_rule_stops_after_the_end_began_is_let_go(server, call, queue, rule):
    for _ in range(10):
        call("SendMessage", QueueUrl=queue, MessageBody="x" * 1000000)
    add(server, rule)
    with Raw(server) as slow, Raw(server) as late:
        late.send(late.json("ListQueues", {}))
        assert late.read().status == 200
        # An answer that its client does not read keeps the server from ending at once.
        slow.send(slow.json("ReceiveMessage", {"QueueUrl": queue, "MaxNumberOfMessages": 10}))
        slow.socket.recv(1)
        server.process.terminate()
        until(lambda: "stopping" in server.log())
        late.send(late.json("SendMessage", {"QueueUrl": queue, "MessageBody": "y"}))
        late.socket.settimeout(5)
        try:
            while late.socket.recv(65536):
                pass
        except ConnectionError:
            pass
    assert server.process.wait(5) == 0


def test_hanging_answer_does_not_hold_up_the_end(server, call, queue):
    call("SendMessage", QueueUrl=queue, MessageBody="x" * 1000)
    add(server, "on ReceiveMessage once at mid-response do hang")
    with Raw(server) as raw:
        raw.send(raw.json("ReceiveMessage", {"QueueUrl": queue}))
        until(lambda: rules(server)[0]["fired"] == 1)
        started = time.monotonic()
        server.stop()
        assert time.monotonic() - started < 10


POINTS = ["arrive", "pre-commit", "post-commit", "mid-response", "post-response"]


@pytest.mark.parametrize("point", POINTS)
def test_crash_at_each_point_is_in_the_trace(start, tmp_path, point):
    options = ("--db", str(tmp_path / "q.db"), "--trace", str(tmp_path / "trace"), "--queue", "q")
    server = start(*options)
    add(server, "on SendMessage once at %s do crash server as crash" % point)
    sent = {"QueueUrl": "q", "MessageBody": "x"}
    seen, _ = outcome(server, lambda raw: raw.json("SendMessage", sent))
    server.process.wait(20)
    body = seen.partition(b"\r\n\r\n")[2]
    if point == "mid-response":
        assert 0 < len(body) < 80
    elif point == "post-response":
        assert body.endswith(b"}")
    else:
        assert seen == b""
    again = start(*options)
    (fault,) = [e for e in events(again) if e["kind"] == "fault"]
    assert (fault["rule"], fault["code"], fault["target"]) == ("crash", "crash", "request")
    stored = 0 if point in ("arrive", "pre-commit") else 1
    assert counts(again, "q") == (stored, 0)


def test_ready_mark_counts_for_rules_that_come_later(server, call, queue):
    """`t` is the time since the mark, also for a rule that did not exist then."""
    server.advance_ms(60_000)
    server.control("POST", "/_quern/mark", {"name": "ready"})
    server.advance_ms(2_000)
    add(server, "on ListQueues where t < 10 do error InternalFailure as young")
    assert call("ListQueues").status == 500
    server.advance_ms(10_000)
    assert call("ListQueues").status == 200


def test_misspelt_action_names_the_nearest(server):
    status, answer = server.control("POST", "/_quern/rules", {"rule": "on SendMesage do throttle"})
    assert status == 400 and 'did you mean "SendMessage"?' in answer["error"]
    assert "line 1, column 4" in answer["error"]


def test_crash_and_restart_keeps_what_was_committed(start, tmp_path):
    options = ("--db", str(tmp_path / "q.db"), "--trace", str(tmp_path / "trace"))
    server = start(*options)
    connection = exchange_client.Client(server)
    url = connection.call("json", "CreateQueue", {"QueueName": "q"}).members["QueueUrl"]
    rule = "on SendMessage once at post-commit do crash server as crash"
    add(server, rule)
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        connection.send(wire.json_request("SendMessage", {"QueueUrl": url, "MessageBody": "kept"}))
    connection.close()
    server.process.wait(20)
    again = start(*options)
    add(again, rule)  # its counter is in the trace file: once is once
    connection = exchange_client.Client(again)
    assert connection.call("json", "SendMessage", {"QueueUrl": "q", "MessageBody": "two"}).status == 200
    (message,) = connection.call("json", "ReceiveMessage", {"QueueUrl": "q"}).members["Messages"]
    assert message["Body"] == "kept"
    connection.close()


def test_rule_on_an_internal_event_acts_later(server, call, queue, name):
    add(server, "on msg.delete do after 500ms resurrect as back")
    call("SendMessage", QueueUrl=queue, MessageBody="x")
    handle = call("ReceiveMessage", QueueUrl=queue).members["Messages"][0]["ReceiptHandle"]
    call("DeleteMessage", QueueUrl=queue, ReceiptHandle=handle)
    server.advance_ms(499)
    assert counts(server, name) == (0, 0)
    server.advance_ms(1)
    assert counts(server, name) == (1, 0)
    asked = {"QueueUrl": queue, "MessageSystemAttributeNames": ["ApproximateReceiveCount"]}
    (message,) = call("ReceiveMessage", **asked).members["Messages"]
    assert message["Attributes"]["ApproximateReceiveCount"] == "2"


def test_resurrected_message_wakes_a_poll(server, call, queue):
    add(server, "on msg.delete once do after 500ms resurrect")
    call("SendMessage", QueueUrl=queue, MessageBody="x")
    handle = call("ReceiveMessage", QueueUrl=queue).members["Messages"][0]["ReceiptHandle"]
    call("DeleteMessage", QueueUrl=queue, ReceiptHandle=handle)
    poll = Waiting(server, "ReceiveMessage", QueueUrl=queue, WaitTimeSeconds=20)
    until(lambda: parked(server) == 1)
    server.advance_ms(500)
    assert poll.members()["Messages"][0]["Body"] == "x"


def test_lease_expires_by_a_rule(server, call, queue, name):
    add(server, "on lease.grant once do after 1s expire-lease")
    call("SendMessage", QueueUrl=queue, MessageBody="x")
    call("ReceiveMessage", QueueUrl=queue, VisibilityTimeout=600)
    server.advance_ms(1000)
    assert counts(server, name) == (1, 0)


def test_fired_rule_is_in_the_trace_and_on_the_call(server, call, queue):
    add(server, "on SendMessage once do error InternalFailure as broken")
    call("SendMessage", QueueUrl=queue, MessageBody="x")
    found = events(server)
    (fault,) = [e for e in found if e["kind"] == "fault"]
    (out,) = [e for e in found if e["kind"] == "api.out" and e["action"] == "SendMessage"]
    assert (fault["rule"], fault["match"], out["rule"], out["code"]) == ("broken", 1, "broken", "InternalFailure")


def test_details_are_in_the_trace_from_the_first_fault_on(server, call, queue):
    add(server, "on SendMessage nth 2 at post-commit do error InternalFailure as second")
    for status in (200, 500, 200):
        assert call("SendMessage", QueueUrl=queue, MessageBody="x").status == status
    kinds = [e["kind"] for e in events(server) if e["kind"] in ("msg.send", "fault")]
    assert kinds == ["fault", "msg.send"]


def test_rules_see_messages_by_key_when_a_delete_arrives(server, call, queue, name):
    add(server, "on Delete* where key=m-1 first 1 at arrive do hold as crash-before-delete")
    for key in ("m-0", "m-1"):
        call("SendMessage", QueueUrl=queue, MessageBody='{"idempotencyKey":"%s"}' % key)
    asked = {"QueueUrl": queue, "MaxNumberOfMessages": 10}
    first, second = call("ReceiveMessage", **asked).members["Messages"]
    assert call("DeleteMessage", QueueUrl=queue, ReceiptHandle=first["ReceiptHandle"]).status == 200
    entries = [{"Id": "a", "ReceiptHandle": second["ReceiptHandle"]}]
    held = Waiting(server, "DeleteMessageBatch", QueueUrl=queue, Entries=entries)
    until(lambda: rules(server)[0]["fired"] == 1)
    assert counts(server, name) == (0, 1)
    release(server, "crash-before-delete")
    assert held.members() == {"Successful": [{"Id": "a"}]}
