"""The options of `quern serve` that stand for a rule: --fail-rate and so on."""
import contextlib
import pathlib
import re
import time

import pytest

from commands import run
from exchange import client

PAGE = pathlib.Path(__file__).resolve().parents[2] / "chaos" / "README.md"
RATES = {
    "fail-rate": "on any prob 0.25 do 5xx 500 as fail-rate",
    "throttle-rate": "on any prob 0.25 do throttle as throttle-rate",
    "lose-delete-rate": 'on DeleteMessage* where mid ~ "*" prob 0.25 do fake-success as lose-delete-rate',
    "duplicate-rate": "on ReceiveMessage where rc = 1 prob 0.25 do deliver-again as duplicate-rate",
    "reset-rate": "on any prob 0.25 do reset as reset-rate",
}
MANY = 200


def rules(server):
    return server.control("GET", "/_quern/rules")[1]["rules"]


@contextlib.contextmanager
def connected(server):
    opened = client.Client(server)
    yield lambda action, **members: opened.call("json", action, members)
    opened.close()


def once(server, action, **members):
    with connected(server) as call:
        return call(action, **members)


def receive(call, name):
    answer = call("ReceiveMessage", QueueUrl=name, MaxNumberOfMessages=10)
    assert answer.status == 200
    return answer.members.get("Messages", [])


# ---- what they are ----


@pytest.mark.parametrize("option", RATES)
def test_a_rate_is_a_rule_of_its_name(start, option):
    (rule,) = rules(start("--" + option, "0.25"))
    assert (rule["name"], rule["text"]) == (option, RATES[option])


def test_the_page_shows_the_rules():
    rows = re.findall(r"^\| `--([a-z-]+) P` \| `(.*)` \|$", PAGE.read_text(), re.M)
    assert {option: rule.replace("prob P", "prob 0.25") for option, rule in rows} == RATES


@pytest.mark.parametrize("latency, text", [("50ms", "delay 50ms"), ("1.5s~200ms", "delay 1.5s jitter 200ms"), ("50ms~0ms", "delay 50ms")])
def test_latency_is_a_rule_of_its_name(start, latency, text):
    (rule,) = rules(start("--latency", latency))
    assert rule["text"] == "on any do %s as latency" % text


def test_nothing_is_no_rule(start):
    words = [word for option in RATES for word in ("--" + option, "0")]
    assert rules(start(*words, "--latency", "0ms")) == []


def test_latency_comes_behind_all_others(start):
    """It fires at each call, and the first rule that fires decides."""
    server = start("--latency", "1ms", "--reset-rate", "0.1", "--fail-rate", "1", "--fault", "on any nth 9 do hang as mine", "--chaos", "outage")
    assert [rule["name"] for rule in rules(server)] == [
        "brown-out", "black-out", "nobody-listens", "mine", "fail-rate", "reset-rate", "latency"]
    assert once(server, "ListQueues").status == 500


def test_variables_do_the_same():
    answer = run("serve", "--port", "0", QUERN_FAIL_RATE="1.5")
    assert answer.returncode == 2 and "--fail-rate must be a part of 1" in answer.stderr


def test_a_rule_of_the_name_is_told_once():
    answer = run("serve", "--port", "0", "--fail-rate", "0.1", "--fault", "on any do hang as fail-rate")
    assert answer.returncode == 2 and answer.stderr.startswith("--fail-rate:1:") and answer.stderr.count("\n") == 1


def test_removed_and_switched_off_like_any_rule(start):
    server = start("--fail-rate", "1", "--throttle-rate", "1")
    assert run("chaos", "disable", "fail-rate", "--endpoint", server.endpoint).returncode == 0
    assert once(server, "ListQueues").status == 400
    assert run("chaos", "remove", "throttle-rate", "--endpoint", server.endpoint).returncode == 0
    assert once(server, "ListQueues").status == 200


# ---- what they do ----


def statuses(server, count=MANY):
    with connected(server) as call:
        return [call("ListQueues").status for _ in range(count)]


def test_fail_rate_by_the_seed(start):
    words = ("--queue", "q", "--fail-rate", "0.25")
    first = statuses(start(*words))
    assert set(first) == {200, 500} and MANY * 0.15 < first.count(500) < MANY * 0.35
    assert statuses(start(*words)) == first
    assert statuses(start(*words, "--fault", "on any nth 999 do hang")) == first


def test_failed_calls_are_not_carried_out(start):
    server = start("--queue", "q", "--fail-rate", "1")
    answer = once(server, "SendMessage", QueueUrl="q", MessageBody="x")
    assert (answer.status, answer.code) == (500, "InternalFailure")
    assert server.control("GET", "/_quern/queues/q")[1]["visible"] == 0


def test_throttle_rate(start):
    server = start("--queue", "q", "--throttle-rate", "1")
    answer = once(server, "SendMessage", QueueUrl="q", MessageBody="x")
    assert (answer.status, answer.code) == (400, "ThrottlingException")
    assert server.control("GET", "/_quern/queues/q")[1]["visible"] == 0


def test_reset_rate_carries_out_and_does_not_answer(start):
    server = start("--queue", "q", "--reset-rate", "1")
    with pytest.raises(ConnectionResetError):
        once(server, "SendMessage", QueueUrl="q", MessageBody="x")
    assert server.control("GET", "/_quern/queues/q")[1]["visible"] == 1


def test_lost_deletes_come_back(start):
    server = start("--queue", "q", "--lose-delete-rate", "1")
    with connected(server) as call:
        call("SendMessage", QueueUrl="q", MessageBody="x")
        (message,) = receive(call, "q")
        assert call("DeleteMessage", QueueUrl="q", ReceiptHandle=message["ReceiptHandle"]).status == 200
        entry = {"Id": "a", "ReceiptHandle": message["ReceiptHandle"]}
        assert call("DeleteMessageBatch", QueueUrl="q", Entries=[entry]).members["Successful"] == [{"Id": "a"}]
        server.advance_ms(30000)
        assert [again["MessageId"] for again in receive(call, "q")] == [message["MessageId"]]
        assert call("DeleteQueue", QueueUrl="q").status == 200
    assert server.control("GET", "/_quern/queues")[1]["queues"] == []


def test_duplicates_come_once_more_and_not_for_ever(start):
    server = start("--queue", "q", "--queue", "q.fifo", "--duplicate-rate", "1")
    with connected(server) as call:
        for name, more in (("q", {}), ("q.fifo", {"MessageGroupId": "g", "MessageDeduplicationId": "d"})):
            assert call("SendMessage", QueueUrl=name, MessageBody="x", **more).status == 200
        first, second, third = (receive(call, "q") for _ in range(3))
        assert [len(first), len(second), len(third)] == [1, 1, 0]
        assert first[0]["MessageId"] == second[0]["MessageId"]
        assert [len(receive(call, "q.fifo")) for _ in range(2)] == [1, 0]


def test_latency_is_real_time(start):
    server = start("--queue", "q", "--latency", "60ms~20ms")
    with connected(server) as call:
        for _ in range(5):
            began = time.monotonic()
            assert call("SendMessage", QueueUrl="q", MessageBody="x").status == 200
            assert time.monotonic() - began >= 0.039
