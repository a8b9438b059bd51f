"""`quern lambda` with real functions: the event, partial failures, errors, batches, filters, limits."""
import json
import pathlib
import signal
import time

import pytest

REPORT = "--report-batch-item-failures"


def bodies(seen):
    return [[record["body"] for record in one["event"]["Records"]] for one in seen if "event" in one]


def test_the_event_is_that_of_aws(world):
    world.queue()
    attributes = {"kind": {"DataType": "String", "StringValue": "order"},
                  "raw": {"DataType": "Binary", "BinaryValue": b"\x00\x01"}}
    (mid,) = world.send("hello", MessageAttributes=attributes)
    world.start("--function", "orders", "--handler", "app.handler", "--timeout", "9")
    world.until(lambda: world.told())
    (seen,) = world.seen()
    (record,) = seen["event"]["Records"]
    assert list(seen["event"]) == ["Records"]
    assert record["messageId"] == mid and record["body"] == "hello" and record["receiptHandle"]
    assert record["md5OfBody"] == "5d41402abc4b2a76b9719d911017c592"
    assert record["eventSource"] == "aws:sqs" and record["awsRegion"] == "us-east-1"
    assert record["eventSourceARN"] == "arn:aws:sqs:us-east-1:000000000000:q"
    assert record["attributes"]["ApproximateReceiveCount"] == "1"
    assert {"SentTimestamp", "SenderId", "ApproximateFirstReceiveTimestamp"} <= set(record["attributes"])
    assert record["messageAttributes"] == {
        "kind": {"stringValue": "order", "stringListValues": [], "binaryListValues": [], "dataType": "String"},
        "raw": {"binaryValue": "AAE=", "stringListValues": [], "binaryListValues": [], "dataType": "Binary"},
    }
    headers = seen["headers"]
    assert len(headers["Lambda-Runtime-Aws-Request-Id"]) == 36
    assert headers["Lambda-Runtime-Invoked-Function-Arn"] == "arn:aws:lambda:us-east-1:000000000000:function:orders"
    assert headers["Lambda-Runtime-Trace-Id"].startswith("Root=1-")
    left_s = int(headers["Lambda-Runtime-Deadline-Ms"]) / 1000 - seen["begun"]
    assert 0 < left_s <= 9
    environment = seen["environment"]
    assert environment["AWS_LAMBDA_FUNCTION_NAME"] == "orders" and environment["_HANDLER"] == "app.handler"
    assert environment["AWS_LAMBDA_FUNCTION_VERSION"] == "$LATEST"
    assert environment["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"] == "128"
    assert environment["AWS_LAMBDA_INITIALIZATION_TYPE"] == "on-demand"
    assert environment["AWS_REGION"] == environment["AWS_DEFAULT_REGION"] == "us-east-1"
    assert world.counts() == (0, 0)


def test_only_what_is_listed_comes_again_and_not_before_its_lease_ends(world):
    world.queue()
    world.send("a", {"do": "fail-once"}, "c")
    world.start(REPORT)
    world.until(lambda: sum(one["records"] for one in world.told()) == 3)
    world.until(lambda: world.counts() == (0, 1))
    assert sum(one["failed"] for one in world.told()) == 1
    world.server.advance_ms(29000)
    assert world.counts() == (0, 1)
    world.server.advance_ms(1500)
    world.until(lambda: world.counts() == (0, 0))
    assert bodies(world.seen())[-1] == ['{"do": "fail-once"}']


def test_without_the_report_a_list_of_failures_is_a_success(world):
    world.queue()
    world.send("a", {"do": "fail"})
    assert world.run("--until-empty").returncode == 0
    assert world.counts() == (0, 0)


@pytest.mark.parametrize("text", ["no JSON", '{"batchItemFailures": [{"itemIdentifier": "other"}]}',
                                  '{"batchItemFailures": [{"itemIdentifer": "x"}]}'])
def test_an_answer_that_cannot_be_read_fails_all(world, text):
    world.queue()
    world.send({"do": "answer", "text": text})
    world.start(REPORT)
    world.until(lambda: world.told())
    (told,) = world.told()
    assert told["end"] == "returned" and told["failed"] == 1 and told["why"]
    assert world.counts() == (0, 1)


@pytest.mark.parametrize("order, end, why", [
    ({"do": "raise"}, "error", "ValueError: no such order"),
    ({"do": "exit"}, "error", "Runtime.ExitError: the function left with status 3"),
    ({"do": "hang"}, "timeout", "Sandbox.Timedout: Task timed out after 1.00 seconds"),
    ({"do": "huge"}, "error", "Function.ResponseSizeTooLarge: Response payload size exceeded maximum allowed "
                              "payload size (6291556 bytes)."),
])
def test_a_function_error_deletes_nothing_and_the_next_invocation_is_whole(world, order, end, why):
    world.queue()
    world.send(order)
    world.start(REPORT, "--timeout", "1")
    world.until(lambda: world.told())
    (told,) = world.told()
    assert (told["end"], told["why"], told["failed"]) == (end, why, 1)
    assert world.counts() == (0, 1)
    world.send("next")
    world.until(lambda: len(world.told()) == 2)
    assert world.told()[1]["end"] == "returned" and world.counts() == (0, 1)


def test_a_function_that_cannot_start_says_why(world):
    world.queue()
    world.send("a")
    world.start(INIT="error")
    world.until(lambda: world.told())
    assert world.told()[0]["why"] == "Runtime.ImportModuleError: no module app"
    assert world.counts() == (0, 1)


def test_a_command_that_goes_away_is_told(world):
    script = world.folder / "function"
    script.write_text("#!/bin/sh\nrm %s\n" % script)
    script.chmod(0o755)
    world.queue()
    world.send(*"abcdefghijklmnopqrst")
    world.start("--batch-size", "1", "--invoke-stdin", function=(str(script),))
    said = "cannot start %s: No such file" % script
    world.until(lambda: any(line.get("why", "").startswith(said) for line in world.told()))


def test_one_environment_serves_one_invocation_after_the_other(world):
    world.queue()
    world.start("--max-concurrency", "2")
    for i in range(4):
        world.send("m%d" % i)
        world.until(lambda: len(world.told()) == i + 1)
    assert len({one["pid"] for one in world.seen()}) <= 2


def test_an_answer_given_twice_is_refused_the_second_time(world):
    world.queue()
    world.send({"do": "twice"})
    world.start()
    world.until(lambda: any("second" in one for one in world.seen()))
    second = [one for one in world.seen() if "second" in one][0]
    assert second["second"] == 400 and json.loads(second["text"])["errorType"] == "InvalidRequestID"


def test_a_window_gathers_up_to_the_batch_size(world):
    world.queue(VisibilityTimeout="60")
    world.send(*["m%d" % i for i in range(45)])
    world.start("--batch-size", "30", "--window", "2", "--max-concurrency", "2")
    world.until(lambda: sum(one["records"] for one in world.told()) == 45)
    sizes = [one["records"] for one in world.told()]
    assert max(sizes) <= 30 and max(sizes) > 10, sizes
    assert world.counts() == (0, 0)


def test_an_event_is_at_most_six_megabytes(world):
    world.queue()
    world.send(*["x" * 1000000 for _ in range(8)])
    world.start("--batch-size", "100", "--window", "1")
    world.until(lambda: sum(one["records"] for one in world.told()) == 8)
    sizes = [one["bytes"] for one in world.seen()]
    assert max(sizes) <= 6 * 1024 * 1024
    assert world.counts() == (0, 0)


def test_a_body_too_deep_for_the_filters_is_not_deleted_but_told(world):
    world.queue()
    deep = '{"kind": "order", "tree": %s%s}' % ("[" * 3000, "]" * 3000)
    (mid,) = world.send(deep)
    script = 'cat >"%s"' % (world.folder / "event")
    world.start("--invoke-stdin", "--filter", '{"body": {"kind": ["order"]}}', function=("sh", "-c", script))
    world.until(lambda: world.counts() == (0, 0))
    assert json.loads((world.folder / "event").read_text())["Records"][0]["body"] == deep
    assert world.told("filtered") == []
    assert [one["id"] for one in world.told("too-deep")] == [mid]


def test_what_no_filter_matches_is_deleted_unseen(world):
    world.queue()
    world.send({"kind": "order"}, {"kind": "other"}, "no JSON")
    world.start("--filter", '{"body": {"kind": ["order"]}}')
    world.until(lambda: world.counts() == (0, 0) and world.told())
    assert [one for batch in bodies(world.seen()) for one in batch] == ['{"kind": "order"}']
    assert sum(one["records"] for one in world.told("filtered")) == 2


def test_fifo_keeps_the_order_of_a_group_and_one_batch_of_it_at_a_time(world):
    world.queue("q.fifo")
    for i in range(6):
        world.send({"do": "slow", "s": 0.05, "i": i}, group="a")
        world.send({"do": "slow", "s": 0.05, "i": i, "b": 1}, group="b")
    world.start(REPORT, "--batch-size", "3")
    world.until(lambda: sum(one["records"] for one in world.told()) == 12)
    for group in "ab":
        records = [record for one in world.seen() for record in one["event"]["Records"]
                   if record["attributes"]["MessageGroupId"] == group]
        assert [json.loads(record["body"])["i"] for record in records] == list(range(6))


@pytest.mark.parametrize("options, word", [((REPORT,), "fail-once"), ((), "raise")])
def test_what_did_not_fit_beside_a_message_that_fails_waits_behind_it_in_its_group(world, options, word):
    """Seven of the eight do not fit into one event: what is left of the receive is no batch of its own."""
    world.queue("q.fifo")
    padding = "x" * 1000000
    for number in range(7):
        do = {"do": word, "once": True} if number == 0 else {}
        world.send({**do, "a": number, "padding": padding}, group="a")
    world.send({"b": 0, "padding": padding}, group="b")
    world.start(*options)
    world.until(lambda: len(world.told()) == 2)
    assert world.told()[0]["records"] == 6
    assert [json.loads(body).get("b") for body in bodies(world.seen())[1]] == [0]
    (released,) = world.told("released")
    assert released["records"] == 1
    world.server.advance_ms(30500)
    world.until(lambda: world.counts() == (0, 0))
    order = [json.loads(body)["a"] for batch in bodies(world.seen())[2:] for body in batch]
    assert order == ([0, 6] if options else list(range(7)))


def test_no_more_run_at_once_than_the_mapping_allows(world):
    world.queue()
    world.send(*[{"do": "slow", "s": 0.3, "i": i} for i in range(6)])
    world.start("--batch-size", "1", "--max-concurrency", "2")
    world.until(lambda: len(world.told()) == 6)
    assert len({one["pid"] for one in world.seen()}) == 2


def test_beyond_the_reserved_concurrency_invocations_are_throttled(world):
    world.queue()
    world.send(*[{"do": "slow", "s": 1, "i": i} for i in range(4)])
    world.start("--batch-size", "1", "--reserved-concurrency", "1")
    world.until(lambda: world.told() and world.told("throttled"))
    throttled = sum(one["records"] for one in world.told("throttled"))
    assert throttled >= 1 and world.counts()[1] == throttled


def test_a_signal_lets_what_runs_end_and_gives_the_rest_back(world):
    world.queue()
    world.send({"do": "slow", "s": 1})
    world.start()
    world.until(lambda: world.seen())
    world.stop()
    assert world.counts() == (0, 0)


def test_a_second_signal_ends_what_runs(world):
    world.queue(VisibilityTimeout="900")
    world.send({"do": "slow", "s": 300})
    poller = world.start("--timeout", "600")
    world.until(lambda: world.seen())
    poller.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    begun = time.monotonic()
    poller.send_signal(signal.SIGTERM)
    poller.wait(30)
    assert time.monotonic() - begun < 20
    world.stop()
    assert world.counts() == (0, 1)


def test_a_signal_while_batches_run_loses_nothing(world):
    world.queue()
    world.send(*[{"do": "slow", "s": 0.2, "i": i} for i in range(20)])
    world.start(REPORT, "--batch-size", "2", "--max-concurrency", "3")
    world.until(lambda: len(world.told()) >= 2)
    world.pollers[-1].send_signal(signal.SIGTERM)
    world.pollers[-1].wait(30)
    done = sum(one["records"] - one["failed"] for one in world.told())
    world.server.advance_ms(30500)
    assert 4 <= done < 20 and world.counts() == (20 - done, 0)


def test_answers_on_stdout_that_are_too_long_are_errors_also_without_the_report(world):
    world.queue()
    world.send("one")
    world.start("--invoke-stdin", function=("head", "-c", "6291557", "/dev/zero"))
    world.until(lambda: world.told())
    assert world.told()[0]["why"].startswith("Function.ResponseSizeTooLarge: ") and world.counts() == (0, 1)


def test_stdin_functions_are_a_process_for_each_event(world):
    world.queue()
    world.send("one")
    script = 'cat > "$SEEN"; printf "%s" "{\\"batchItemFailures\\": []}"'
    assert world.run("--invoke-stdin", REPORT, "--until-empty", function=("sh", "-c", script)).returncode == 0
    (record,) = json.loads(world.seen_file.read_text())["Records"]
    assert record["body"] == "one" and world.counts() == (0, 0)


def test_stdin_functions_that_fail_or_hang_delete_nothing(world):
    world.queue()
    world.send("one")
    world.start("--invoke-stdin", function=("sh", "-c", "exit 4"))
    world.until(lambda: world.told())
    assert world.told()[0]["why"] == "the function left with status 4" and world.counts() == (0, 1)
    world.stop()
    world.send("two")
    world.start("--invoke-stdin", "--timeout", "1", function=("sleep", "100"))
    world.until(lambda: world.told())
    assert world.told()[0]["end"] == "timeout" and world.counts() == (0, 2)


@pytest.mark.parametrize("options", [(), ("--invoke-stdin",)])
def test_killed_it_leaves_no_function_nor_what_that_has_started(world, options):
    world.queue()
    world.send("m")
    text = 'sleep 1000 & echo $$ $! >"$1/made"; mv "$1/made" "$1/begun"; wait'
    poller = world.start(*options, "--timeout", "20", function=("sh", "-c", text, "sh", str(world.folder)))
    begun = world.folder / "begun"
    world.until(begun.exists)
    poller.kill()
    poller.wait()
    world.pollers.remove(poller)
    for pid in begun.read_text().split():
        stat = pathlib.Path("/proc", pid, "stat")
        world.until(lambda stat=stat: not stat.exists() or stat.read_text().split()[2] == "Z")
