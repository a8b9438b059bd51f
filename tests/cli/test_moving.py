"""redrive and move: messages from queue to queue, and what is said when something fails."""
import json
import os
import pty
import re
import signal
import subprocess
import time

import pytest

from commands import environment, refused, run, succeeds
from exchange import process
from exchange.client import Client

DLQ = '{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead","maxReceiveCount":1}'
QUEUES = [word for name in ("orders", "dead", "other", "jobs.fifo", "more.fifo") for word in ("--queue", name)]


@pytest.fixture
def server(start):
    return start(*QUEUES, clock="real")


def peek(quern, queue):
    return json.loads(succeeds(quern("peek", queue, "--limit", "1000", "--json")))["messages"]


def bodies(quern, queue):
    return [message["body"] for message in peek(quern, queue)]


def send(server, queue, count, **how):
    client = Client(server)
    url = "%s/000000000000/%s" % (server.endpoint, queue)
    for i in range(count):
        client.call("json", "SendMessage", {"QueueUrl": url, "MessageBody": "m%d" % i, **how})
    client.close()


# ---- redrive ----


def make_dead(server, quern, count):
    """Received once too often, they are in the dead-letter queue, with orders as their source."""
    succeeds(quern("attributes", "orders", "RedrivePolicy=" + DLQ))
    send(server, "orders", count)
    for _ in range(2 * count // 10 + 2):
        quern("receive", "orders", "--max", "10", "--visibility", "0")
    assert len(bodies(quern, "dead")) == count


def test_redrive_brings_dead_messages_back(quern, server):
    make_dead(server, quern, 3)
    assert succeeds(quern("redrive", "dead")) == "moved 3 messages from dead\n"
    assert bodies(quern, "dead") == [] and sorted(bodies(quern, "orders")) == ["m0", "m1", "m2"]


def test_redrive_to_the_dead_letter_queue_itself_is_refused(quern, server):
    make_dead(server, quern, 1)
    said = refused("redrive", "dead", "--to", "dead", AWS_ENDPOINT_URL=server.endpoint)
    assert said == "quern redrive: --to dead is the dead-letter queue itself: say another one\n"
    assert bodies(quern, "dead") == ["m0"]


def test_redrive_to_another_queue_as_json(quern, server):
    make_dead(server, quern, 2)
    task = json.loads(succeeds(quern("redrive", "dead", "--to", "other", "--json")))
    assert (task["status"], task["moved"], task["destination_arn"][-6:]) == ("COMPLETED", 2, ":other")
    assert sorted(bodies(quern, "other")) == ["m0", "m1"]


def test_a_slow_redrive_is_listed_and_cancelled(quern, server):
    make_dead(server, quern, 20)
    assert "--list" in succeeds(quern("redrive", "dead", "--rate", "1", "--detach"))
    head, task = succeeds(quern("redrive", "dead", "--list")).splitlines()
    assert head.split() == ["STATUS", "MOVED", "OF", "STARTED", "TO"]
    assert task.split()[0] == "RUNNING" and task.split()[2] == "20" and task.endswith("(their own queues)")
    assert succeeds(quern("redrive", "dead", "--cancel")).startswith("cancelled; ")
    (task,) = json.loads(succeeds(quern("redrive", "dead", "--list", "--json")))
    assert task["status"] in ("CANCELLING", "CANCELLED") and task["max_per_second"] == 1
    assert len(bodies(quern, "dead")) + len(bodies(quern, "orders")) == 20


def test_nothing_to_cancel(quern, server):
    make_dead(server, quern, 1)
    answer = quern("redrive", "dead", "--cancel")
    assert (answer.returncode, answer.stdout) == (1, "") and "no task is running on dead" in answer.stderr


def test_redrive_of_a_queue_that_is_no_dead_letter_queue(quern):
    answer = quern("redrive", "other")
    assert (answer.returncode, answer.stdout) == (1, "") and answer.stderr.count("\n") == 1


@pytest.mark.parametrize("words", [["--list", "--cancel"], ["--list", "--to", "x"], ["--rate", "501"], ["--cancel", "--detach"]])
def test_redrive_misused(words):
    refused("redrive", "dead", *words)


# ---- move ----


def test_move_keeps_body_and_attributes(quern, server):
    attributes = {
        "kind": {"DataType": "String", "StringValue": "a"},
        "raw": {"DataType": "Binary", "BinaryValue": "AAH/"},
        "n": {"DataType": "Number.price", "StringValue": "1.5"},
    }
    trace = {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1-5759e988-bd862e3fe1be46a994272793"}}
    send(server, "orders", 1, MessageAttributes=attributes, MessageSystemAttributes=trace)
    send(server, "orders", 24)
    assert succeeds(quern("move", "orders", "other")) == "moved 25 messages from orders to other\n"
    assert bodies(quern, "orders") == [] and len(bodies(quern, "other")) == 25
    found = [m for m in peek(quern, "other") if m.get("attributes")]
    assert [m["attributes"] for m in found] == [attributes] and found[0]["trace_header"].startswith("Root=1-")


def test_move_no_more_than_is_said(quern, server):
    send(server, "orders", 15)
    answer = json.loads(succeeds(quern("move", "orders", "other", "--max", "12", "--json")))
    assert answer == {"moved": 12, "stayed": [], "twice": [], "left": 3, "given_up": False, "interrupted": False}
    assert len(bodies(quern, "orders")) == 3 and len(bodies(quern, "other")) == 12


def test_move_from_fifo_to_fifo_keeps_the_order_and_drops_nothing(quern, server):
    """Messages of one deduplication id, sent with five minutes between, are not one message."""
    for i in range(12):
        succeeds(quern("send", "jobs.fifo", "m%d" % i, "--group", "g%d" % (i % 2), "--deduplication", "d%d" % i))
    assert "moved 12 messages" in succeeds(quern("move", "jobs.fifo", "more.fifo"))
    for group in (0, 1):
        order = [m["body"] for m in peek(quern, "more.fifo") if m["group_id"] == "g%d" % group]
        assert order == ["m%d" % i for i in range(12) if i % 2 == group]


def test_move_into_fifo_wants_a_group(quern, server):
    send(server, "orders", 2)
    assert "--group ID" in quern("move", "orders", "jobs.fifo").stderr
    assert "moved 2 messages" in succeeds(quern("move", "orders", "jobs.fifo", "--group", "g"))
    assert [m["group_id"] for m in peek(quern, "jobs.fifo")] == ["g", "g"]


def test_what_others_hold_is_left_and_said(quern, server):
    send(server, "orders", 2)
    succeeds(quern("receive", "orders"))
    answer = quern("move", "orders", "other")
    assert (answer.returncode, answer.stdout) == (0, "moved 1 message from orders to other\n")
    assert "about 1 more" in answer.stderr


@pytest.mark.parametrize("words", [["orders"], ["orders", "orders"], ["a", "b", "c"]])
def test_move_misused(quern, words):
    answer = quern("move", *words)
    assert (answer.returncode, answer.stdout, answer.stderr.count("\n")) == (2, "", 1)


def faulty(start, *faults):
    server = start(*QUEUES, *[word for fault in faults for word in ("--fault", fault)], clock="real")
    return server, lambda *words, **how: run(*words, AWS_ENDPOINT_URL=server.endpoint, **how)


def test_a_send_without_an_answer_is_named(start):
    server, quern = faulty(start, "on SendMessageBatch nth 1 at post-commit do reset as lost")
    send(server, "orders", 2)
    answer = quern("move", "orders", "other", "--json")
    said = json.loads(answer.stdout)
    assert answer.returncode == 1 and (said["moved"], said["stayed"]) == (2, [])
    assert len(said["twice"]) == 2 and {line["code"] for line in said["twice"]} == {"AnswerLost"}
    assert len(bodies(quern, "other")) == 4 and bodies(quern, "orders") == []


def test_answers_that_are_lost_again_and_again_make_few_copies(start):
    server, quern = faulty(start, "on SendMessageBatch first 5 at post-commit do reset as lost")
    send(server, "orders", 10)
    answer = quern("move", "orders", "other", "--json")
    said = json.loads(answer.stdout)
    assert (answer.returncode, said["moved"], said["given_up"]) == (1, 0, True)
    assert len(bodies(quern, "other")) == 20 and len(bodies(quern, "orders")) == 10
    assert {line["copies"] for line in said["twice"]} == {2}


def test_each_message_that_may_be_there_more_than_once_has_one_line(start):
    server, quern = faulty(start, "on SendMessageBatch first 5 at post-commit do reset as lost")
    send(server, "orders", 3)
    answer = quern("move", "orders", "other")
    lines = [line for line in answer.stderr.splitlines() if re.match("[0-9a-f-]{36} ", line)]
    assert len(lines) == 3, answer
    for line in lines:
        assert re.fullmatch(r"\S+ stays in orders and may be in other 2 times: AnswerLost: 2 sends of it failed .*", line)


def test_a_send_that_was_answered_with_an_error_is_not_called_unanswered(start):
    server, quern = faulty(start, "on SendMessageBatch nth 1 do 5xx 503")
    send(server, "orders", 1)
    answer = quern("move", "orders", "other")
    assert answer.returncode == 1
    assert re.match(r"\S+ may be in other 2 times: SendFailed: 1 send of it failed .*ServiceUnavailable: ", answer.stderr), answer


def test_a_fifo_queue_has_it_once_although_the_answer_was_lost(start):
    server, quern = faulty(start, "on SendMessageBatch nth 1 at post-commit do reset as lost")
    succeeds(quern("send", "jobs.fifo", "x", "--group", "g", "--deduplication", "d"))
    assert succeeds(quern("move", "jobs.fifo", "more.fifo")) == "moved 1 message from jobs.fifo to more.fifo\n"
    assert bodies(quern, "more.fifo") == ["x"]


def test_what_cannot_be_sent_stays_and_is_given_back(start):
    server, quern = faulty(start, "on SendMessageBatch do error InternalFailure as down")
    send(server, "orders", 3)
    answer = quern("move", "orders", "other")
    assert (answer.returncode, answer.stdout) == (1, "moved 0 messages from orders to other\n")
    assert answer.stderr.count("stays in orders") == 3 and "ended early: about 3" in answer.stderr
    assert [m["state"] for m in peek(quern, "orders")] == ["visible"] * 3 and bodies(quern, "other") == []


def test_what_the_target_refuses_stays_and_the_others_move(quern, server):
    succeeds(quern("attributes", "other", "MaximumMessageSize=1024"))
    send(server, "orders", 3)
    succeeds(quern("send", "orders", "x" * 1025))
    answer = quern("move", "orders", "other")
    assert (answer.returncode, answer.stdout) == (1, "moved 3 messages from orders to other\n"), answer
    assert answer.stderr.count("stays in orders") == 1
    (message,) = peek(quern, "orders")
    assert (message["state"], len(message["body"]), len(bodies(quern, "other"))) == ("visible", 1025, 3)


def test_a_fifo_queue_stops_where_something_is_refused(quern, server):
    succeeds(quern("attributes", "more.fifo", "MaximumMessageSize=1024"))
    for i, body in enumerate(["a", "x" * 1025, "b"]):
        succeeds(quern("send", "jobs.fifo", body, "--group", "g", "--deduplication", "d%d" % i))
    answer = quern("move", "jobs.fifo", "more.fifo")
    assert (answer.returncode, answer.stdout) == (1, "moved 1 message from jobs.fifo to more.fifo\n")
    assert bodies(quern, "more.fifo") == ["a"] and [len(b) for b in bodies(quern, "jobs.fifo")] == [1025, 1]
    assert [m["state"] for m in peek(quern, "jobs.fifo")] == ["visible", "visible"]


def test_what_cannot_be_deleted_is_named_and_the_run_ends(start):
    server, quern = faulty(start, "on Delete* do error InternalFailure as stuck")
    send(server, "orders", 12)
    answer = quern("move", "orders", "other", "--json")
    said = json.loads(answer.stdout)
    assert answer.returncode == 1 and said["given_up"] and len(said["twice"]) == said["moved"] <= 10
    there = {m["message_id"] for m in peek(quern, "orders") if m["state"] == "in-flight"}
    assert {line["message_id"] for line in said["twice"]} == there and len(bodies(quern, "other")) == said["moved"]


def test_large_messages_go_alone(quern, server):
    for _ in range(3):
        succeeds(quern("send", "orders", "-", stdin="x" * 1000000))
    assert "moved 3 messages" in succeeds(quern("move", "orders", "other"))


def test_how_far_it_is_stands_on_a_terminal_only(quern, server):
    send(server, "orders", 12)
    master, slave = pty.openpty()
    moving = subprocess.Popen([process.program(), "move", "orders", "other"], stdout=subprocess.PIPE, stderr=slave, text=True,
                              env=environment(AWS_ENDPOINT_URL=server.endpoint))
    assert moving.communicate(timeout=60)[0] == "moved 12 messages from orders to other\n"
    shown = os.read(master, 65536).decode()
    os.close(slave)
    os.close(master)
    assert "moved 10 of 12" in shown and "[####" in shown and shown.endswith("\r\x1b[K")


def begin(server, *words):
    return subprocess.Popen([process.program(), "move", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=environment(AWS_ENDPOINT_URL=server.endpoint))


def until_there(quern, queue):
    until = time.monotonic() + 60
    while not bodies(quern, queue):
        assert time.monotonic() < until


def test_killed_between_send_and_delete_a_fifo_queue_has_it_once(start):
    """The next run sends it once more, under the same deduplication id."""
    server, quern = faulty(start, "on Delete* nth 1 at arrive do hang as stuck")
    succeeds(quern("send", "jobs.fifo", "x", "--group", "g", "--deduplication", "d"))
    moving = begin(server, "jobs.fifo", "more.fifo", "--visibility", "1")
    until_there(quern, "more.fifo")
    moving.kill()
    moving.communicate()
    assert bodies(quern, "jobs.fifo") == ["x"]
    assert succeeds(quern("move", "jobs.fifo", "more.fifo")) == "moved 1 message from jobs.fifo to more.fifo\n"
    assert bodies(quern, "jobs.fifo") == [] and bodies(quern, "more.fifo") == ["x"]


def test_interrupted_it_finishes_what_it_has_and_hides_nothing(start):
    server, quern = faulty(start, "on DeleteMessageBatch do delay 300ms as slow")
    send(server, "orders", 40)
    moving = begin(server, "orders", "other")
    until_there(quern, "other")
    moving.send_signal(signal.SIGINT)
    out, err = moving.communicate(timeout=60)
    moved = len(bodies(quern, "other"))
    assert moving.returncode == 1 and out.startswith("moved %d messages" % moved) and "ended early" in err
    assert [m["state"] for m in peek(quern, "orders")] == ["visible"] * (40 - moved)
