"""Failpoints over the control API, and armed by rules."""
import http.client

import pytest

from parties import events, until

GONE = (OSError, http.client.HTTPException)


@pytest.fixture
def server(start, tmp_path):
    return start("--db", str(tmp_path / "q.db"))


def failpoints(server):
    return {f["name"]: f for f in server.control("GET", "/_quern/failpoints")[1]["failpoints"]}


def armed(server):
    return {name: f["mode"] for name, f in failpoints(server).items() if f["mode"]}


def arm(server, *specs):
    status, answer = server.control("POST", "/_quern/failpoints", {"failpoints": list(specs)})
    assert status == 200, answer


def rules(server):
    return [r["name"] for r in server.control("GET", "/_quern/rules")[1]["rules"]]


def test_every_failpoint_is_listed_with_what_it_proves(server):
    listed = failpoints(server)
    assert len(listed) == 25 and all(f["proves"] for f in listed.values())
    assert listed["ring.mid_append"] == {
        "name": "ring.mid_append", "reachable": True, "mode": None, "nth": None, "passed": None,
        "proves": listed["ring.mid_append"]["proves"]}
    assert not listed["ring.before_sync"]["reachable"] and not listed["boot.mid_recovery"]["reachable"]


def test_one_that_is_armed_counts_how_often_it_was_passed(server, sqs, queue):
    arm(server, "ring.mid_append=delay 0", "purge.mid=kill:3")
    assert armed(server) == {"ring.mid_append": "delay 0", "purge.mid": "kill"}
    before = failpoints(server)["ring.mid_append"]["passed"]
    for _ in range(3):
        sqs("SendMessage", QueueUrl=queue, MessageBody="x")
    listed = failpoints(server)
    assert listed["ring.mid_append"]["passed"] >= before + 3
    assert (listed["purge.mid"]["nth"], listed["purge.mid"]["passed"]) == (3, 0)


def test_plain_text_one_a_line(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    text = "# two of them\n\npurge.mid=kill:3\n  wal.checkpoint=error\r\n"
    connection.request("POST", "/_quern/failpoints", text, {"Content-Type": "text/plain"})
    assert connection.getresponse().status == 200
    connection.close()
    assert armed(server) == {"purge.mid": "kill", "wal.checkpoint": "error"}


@pytest.mark.parametrize("body, sentence", [
    ({}, "say"),
    ({"failpoints": []}, "say which"),
    ({"failpoints": "purge.mid=kill"}, "say"),
    ({"failpoints": [7]}, "say"),
    ({"failpoint": ["purge.mid=kill"]}, "it can have failpoints"),
    ({"failpoints": ["purge.mid"]}, "want NAME=kill|abort|error|delay MS"),
    ({"failpoints": ["purge.mid=explode"]}, "want NAME=kill|abort|error|delay MS"),
    ({"failpoints": ["purge.mit=kill"]}, "did you mean purge.mid?"),
    ({"failpoints": ["ring.before_sync=kill"]}, "without --sync full"),
    ({"failpoints": ["boot.mid_recovery=kill"]}, "--supervise"),
    ({"failpoints": ["begin:SendMesage=kill"]}, "did you mean"),
    ({"failpoints": ["purge.mid=kill"] * 33}, "more than 32"),
], ids=str)
def test_a_list_with_a_mistake_arms_nothing(server, body, sentence):
    if len(body.get("failpoints", ())) == 1:
        body["failpoints"].insert(0, "wal.checkpoint=error")
        body["failpoints"].insert(0, "begin:SendMessage=delay 1")
    status, answer = server.control("POST", "/_quern/failpoints", body)
    assert status == 400 and sentence in answer["error"], answer
    assert (armed(server), rules(server)) == ({}, [])


def test_one_can_be_armed_again(start, server, sqs, queue):
    """Another mode, and a count from the start: in the journal as at an action."""
    arm(server, "begin:SendMessage=error:2", "purge.mid=error:2")
    sqs("SendMessage", QueueUrl=queue, MessageBody="x")
    arm(server, "begin:SendMessage=error:2", "purge.mid=kill:3")
    assert rules(server) == ["failpoint.begin.SendMessage"] and armed(server) == {"purge.mid": "kill"}
    sqs("SendMessage", QueueUrl=queue, MessageBody="x")
    with pytest.raises(AssertionError):
        sqs("SendMessage", QueueUrl=queue, MessageBody="x")


@pytest.mark.parametrize("wrong", ["begin:SendMesage=kill", "mid_write:SendMessage=error", "begin:SendMessage=kill"])
def test_a_mistake_leaves_what_is_armed(server, wrong):
    arm(server, "begin:SendMessage=delay 1:5")
    before = server.control("GET", "/_quern/rules")[1]
    status, _ = server.control("POST", "/_quern/failpoints", {"failpoints": ["begin:SendMessage=error", wrong]})
    assert status == 400 and server.control("GET", "/_quern/rules")[1] == before


def test_disarming_one_or_all(server):
    arm(server, "purge.mid=kill", "wal.checkpoint=kill", "begin:SendMessage=kill")
    assert server.control("DELETE", "/_quern/failpoints?name=purge.mid")[0] == 200
    assert armed(server) == {"wal.checkpoint": "kill"}
    assert server.control("DELETE", "/_quern/failpoints?name=purge.mid")[0] == 404
    assert server.control("DELETE", "/_quern/failpoints?name=")[0] == 400
    assert server.control("DELETE", "/_quern/failpoints?nam=x")[0] == 400
    assert rules(server) == ["failpoint.begin.SendMessage"]
    arm(server, "after_commit:Delete*=kill")
    assert server.control("DELETE", "/_quern/failpoints?name=after_commit:Delete*")[0] == 200
    assert rules(server) == ["failpoint.begin.SendMessage"]
    server.control("POST", "/_quern/rules", {"rule": "on any do mark x as kept"})
    assert server.control("DELETE", "/_quern/failpoints")[0] == 200
    assert (armed(server), rules(server)) == ({}, ["kept"])


@pytest.mark.parametrize("name, is_kept", [("begin", False), ("before_commit", False), ("after_commit", True),
                                           ("before_write", True), ("mid_write", True)])
def test_a_failpoint_of_an_action_kills_at_that_point(start, server, sqs, queue, tmp_path, name, is_kept):
    arm(server, "%s:SendMessage=kill:2" % name)
    sqs("SendMessage", QueueUrl=queue, MessageBody="first")
    with pytest.raises(GONE):
        sqs("SendMessage", QueueUrl=queue, MessageBody="second")
    assert server.process.wait(20) == -9
    again = start("--db", str(tmp_path / "q.db"))
    listed = again.control("GET", "/_quern/queues/%s/messages" % queue.rsplit("/")[-1])[1]["messages"]
    assert [m["body"] for m in listed] == ["first", "second"][: 1 + is_kept]


def test_a_rule_arms_a_failpoint_before_its_request_goes_on(server, sqs, queue):
    """Armed at the next turn of the loop it would miss the batch that the rule is about."""
    server.control("POST", "/_quern/rules", {
        "rule": "on SendMessageBatch nth 2 at arrive do crash server at send_batch.entry:2 as c"})
    entries = [{"Id": str(n), "MessageBody": "x"} for n in range(3)]
    sqs("SendMessageBatch", QueueUrl=queue, Entries=entries)
    assert armed(server) == {}
    with pytest.raises(GONE):
        sqs("SendMessageBatch", QueueUrl=queue, Entries=entries)
    assert server.process.wait(20) == -9


def test_a_rule_on_an_event_arms_it_too(server, sqs, queue):
    server.control("POST", "/_quern/rules", {
        "rule": "on tick 5s once do crash server at lease_timer.after_commit delay 1ms as c"})
    server.advance_ms(4000)
    assert armed(server) == {}
    server.advance_ms(1000)
    assert armed(server) == {"lease_timer.after_commit": "delay 1"}
    assert failpoints(server)["lease_timer.after_commit"]["nth"] == 1
    (fault,) = [e for e in events(server) if e["kind"] == "fault"]
    assert (fault["rule"], fault["code"]) == ("c", "crash")


def test_an_error_at_a_failpoint_is_what_a_bad_disk_would_do(server, sqs, queue):
    server.control("POST", "/_quern/rules", {
        "rule": "on SendMessage once do crash server at writer.before_commit error as c"})
    sqs("SendMessage", QueueUrl=queue, MessageBody="x")
    until(lambda: server.control("GET", "/_quern/info")[1]["journal"]["write_errors"] == 1)
    assert "SQLite cannot write, trying again" in server.log()
