"""The mapping: its file, what Lambda refuses, what it advises."""
import http.server
import json
import socket
import subprocess
import threading

import pytest


def write(world, document):
    path = world.folder / "esm.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return str(path)


@pytest.mark.parametrize("options, attributes, name, said", [
    (("--timeout", "31"), {}, "q", "Queue visibility timeout: 30 seconds is less than Function timeout: 31 seconds"),
    (("--batch-size", "11"), {}, "q", "must be greater than 0 if maximum batch size is greater than 10"),
    (("--batch-size", "11", "--window", "1"), {}, "q.fifo", "BatchSize must be at most 10 for a FIFO queue, not 11"),
    (("--window", "1"), {}, "q.fifo", "Batching window is not supported for FIFO queues"),
])
def test_what_does_not_fit_the_queue_is_refused(world, options, attributes, name, said):
    world.queue(name, **attributes)
    ended = world.run(*options)
    assert ended.returncode == 2 and said in ended.stderr, ended.stderr
    assert world.seen() == []


@pytest.mark.parametrize("options, said", [
    (("--batch-size", "0"), "BatchSize takes a whole number from 1 to 10000, not 0"),
    (("--batch-size", "10001"), "BatchSize takes a whole number from 1 to 10000, not 10001"),
    (("--window", "301"), "MaximumBatchingWindowInSeconds takes a whole number from 0 to 300"),
    (("--max-concurrency", "1"), "MaximumConcurrency takes a whole number from 2 to 1000, not 1"),
    (("--timeout", "901"), "Timeout takes a whole number from 1 to 900, not 901"),
    (("--filter", '{"a": 1}'), "filter 1.a: stands alone"),
    (("--invoke-url", "http://127.0.0.1:1"), "--invoke-url needs no CMD"),
    (("--esm", "/does/not/exist"), "/does/not/exist"),
])
def test_a_wrong_option_is_one_line_and_status_2(world, options, said):
    world.queue()
    ended = world.run(*options)
    assert ended.returncode == 2
    assert said in ended.stderr and len(ended.stderr.splitlines()) == 1, ended.stderr


def test_a_queue_that_is_not_there(world):
    world.url = "none"
    ended = world.run()
    assert ended.returncode == 1 and "there is no queue none at " in ended.stderr  # as of any other command


def test_a_server_that_is_not_there(world):
    words = ["http://127.0.0.1:1" if word == world.server.endpoint else word for word in world.command()]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=60, env=world.environment({}), check=False)
    assert ended.returncode == 1 and len(ended.stderr.splitlines()) == 1, ended


def test_a_command_or_a_url_is_needed(world):
    world.queue()
    ended = world.run(function=None)
    assert ended.returncode == 2 and "give the function's command behind --" in ended.stderr


@pytest.mark.parametrize("options", [(), ("--invoke-stdin",), ("--provisioned",)])
def test_a_function_that_cannot_be_started_is_refused_before_the_first_receive(world, options):
    world.queue()
    world.send({"n": 1})
    ended = world.run(*options, function=("./hander.sh",))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "quern lambda: cannot start ./hander.sh: No such file or directory\n"
    assert world.counts() == (1, 0)


@pytest.mark.parametrize("document, said", [
    ("{", "esm.json:1:"),
    ([], "is an object"),
    ({"BatchSizes": 10}, "BatchSizes is no setting of an event source mapping"),
    ({"StartingPosition": "LATEST"}, "StartingPosition is no setting of an event source mapping"),
    ({"EventSourceMappings": [{"BatchSize": 5}]}, "EventSourceMappings is a list of mappings; the file takes one of them"),
    ({"BatchSize": "10"}, "BatchSize takes a whole number"),
    ({"FunctionResponseTypes": ["Report"]}, 'may hold "ReportBatchItemFailures"'),
    ({"ScalingConfig": 5}, "ScalingConfig takes an object"),
    ({"FilterCriteria": {"Filters": [{"Pattern": "{"}]}}, "filter 1: no JSON"),
    ({"Function": {"Timeout": 0}}, "Timeout takes a whole number from 1 to 900"),
])
def test_a_mistake_in_the_file_is_named(world, document, said):
    world.queue()
    ended = world.run("--esm", write(world, document))
    assert ended.returncode == 2 and said in ended.stderr, ended.stderr


MAPPING = {
    "UUID": "a1b2", "BatchSize": 5, "MaximumBatchingWindowInSeconds": 0, "State": "Enabled",
    "EventSourceArn": "arn:aws:sqs:us-east-1:000000000000:q",
    "FunctionArn": "arn:aws:lambda:us-east-1:000000000000:function:orders",
    "FunctionName": "arn:aws:lambda:us-east-1:000000000000:function:orders",
    "FunctionResponseTypes": ["ReportBatchItemFailures"], "ScalingConfig": {"MaximumConcurrency": 2},
    "FilterCriteria": {"Filters": [{"Pattern": '{"body": {"kind": ["order"]}}'}]},
    "Function": {"Timeout": 5, "MemorySize": 256, "ReservedConcurrentExecutions": 2},
}


def test_a_mapping_as_the_aws_cli_prints_it(world):
    world.queue()
    world.send(*[{"kind": "order", "do": "fail-once", "i": i} for i in range(7)], {"kind": "other"})
    world.start("--esm", write(world, MAPPING))
    world.until(lambda: sum(one["records"] for one in world.told()) == 7)
    assert max(one["records"] for one in world.told()) <= 5
    assert world.counts() == (0, 7)
    environment = world.seen()[0]["environment"]
    assert environment["AWS_LAMBDA_FUNCTION_NAME"] == "orders"
    assert environment["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"] == "256"
    assert environment["_HANDLER"] == world.command()[-1]


def test_an_audit_of_what_is_right_says_nothing(world):
    world.queue("letters", MessageRetentionPeriod="1209600")
    world.queue(VisibilityTimeout="30", RedrivePolicy=json.dumps(
        {"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:letters", "maxReceiveCount": 5}))
    ended = world.run("--audit", "--esm", write(world, MAPPING), function=None)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("where", ["polled", "named", "elsewhere"])
def test_an_audit_sees_how_long_dead_letters_are_kept(world, where):
    """The dead-letter queue of the queue that is polled, or the one that the mapping tells of."""
    letters = world.sqs.create_queue(QueueName="letters", Attributes={"MessageRetentionPeriod": "60"})["QueueUrl"]
    arn = world.sqs.get_queue_attributes(QueueUrl=letters, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": "5"})
    world.queue(VisibilityTimeout="180", RedrivePolicy=policy)
    attributes = world.sqs.get_queue_attributes(QueueUrl=world.url, AttributeNames=["All"])["Attributes"]
    mapping = {**MAPPING, "Queue": {"Attributes": attributes}}
    if where == "elsewhere":
        attributes["RedrivePolicy"] = policy.replace(":letters", ":letters-in-production")
    if where == "named":
        mapping["DeadLetterQueue"] = {"Attributes": {"MessageRetentionPeriod": "1209600"}}
    ended = world.run("--audit", "--esm", write(world, mapping), function=None)
    assert ("dead letters are kept for 60 s" in ended.stderr) == (where == "polled"), ended.stderr
    assert ended.returncode == (1 if where == "polled" else 0)


@pytest.mark.parametrize("more, words", [
    ({"State": "Disabled"}, "State is Disabled: the mapping is switched off; leave State out"),
    ({"Enabled": False}, "Enabled is false: the mapping is switched off; leave it out"),
])
def test_a_mapping_that_is_switched_off_is_refused(world, more, words):
    world.queue(VisibilityTimeout="180")
    ended = world.run("--esm", write(world, {**MAPPING, **more}))
    assert ended.returncode == 2 and words in ended.stderr, ended.stderr


def test_an_audit_names_each_mistake(world):
    world.queue("letters", MessageRetentionPeriod="60")
    world.queue(VisibilityTimeout="3", RedrivePolicy=json.dumps(
        {"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:letters", "maxReceiveCount": 1}))
    ended = world.run("--audit", "--reserved-concurrency", "1", function=None)
    lines = ended.stderr.splitlines()
    assert ended.returncode == 1 and len(lines) == 6, ended.stderr
    for line, part in zip(lines, ("visibility timeout 3 s: set it to 18 s", "ReportBatchItemFailures is off",
                                  "maxReceiveCount 1", "dead letters are kept for 60 s",
                                  "MaximumConcurrency is not set", "reserved concurrency 1 is below")):
        assert part in line, line


class Emulator(http.server.BaseHTTPRequestHandler):
    """What the runtime interface emulator of a container does with a request: one at a time."""

    def do_POST(self):  # noqa: N802
        alone = self.server.free.acquire(blocking=False)
        self.server.overlaps += not alone
        event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, event))
        failed = any(record["body"] == "raise" for record in event["Records"])
        answer = {"errorType": "ValueError", "errorMessage": "no"} if failed else {"batchItemFailures": []}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if alone:  # before the answer: whoever has it may ask again at once
            self.server.free.release()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def emulator_at(port):
    emulator = http.server.ThreadingHTTPServer(("127.0.0.1", port), Emulator)
    emulator.asked, emulator.overlaps, emulator.free = [], 0, threading.Lock()
    threading.Thread(target=emulator.serve_forever, daemon=True).start()
    return emulator


def test_a_container_is_invoked_by_its_url(world):
    emulator = emulator_at(0)
    world.queue()
    world.send("one")
    world.start("--invoke-url", "http://127.0.0.1:%d/" % emulator.server_port, function=None)
    world.until(lambda: world.told())
    assert world.counts() == (0, 0) and emulator.asked[0][0] == "/2015-03-31/functions/function/invocations"
    world.send("raise")
    world.until(lambda: len(world.told()) == 2)
    assert world.told()[1]["why"] == "ValueError: no" and world.counts() == (0, 1)
    emulator.shutdown()


def test_a_container_gets_one_event_at_a_time_and_is_waited_for(world):
    with socket.create_server(("127.0.0.1", 0)) as place:
        port = place.getsockname()[1]
    world.queue()
    world.send(*["m%d" % n for n in range(20)])
    world.start("--invoke-url", "http://127.0.0.1:%d" % port, "--batch-size", "1", function=None)
    world.until(lambda: world.told("waiting"))
    assert world.counts() == (20, 0)
    emulator = emulator_at(port)
    world.until(lambda: len(world.told()) == 20)
    assert len(emulator.asked) == 20 and emulator.overlaps == 0
    emulator.shutdown()


def test_a_container_that_never_answers_is_one_line_and_status_1(world):
    with socket.create_server(("127.0.0.1", 0)) as place:
        url = "http://127.0.0.1:%d" % place.getsockname()[1]
    world.queue()
    world.send("m")
    ended = world.run("--invoke-url", url, "--invoke-wait", "0", function=None)
    assert ended.returncode == 1 and world.counts() == (1, 0)
    assert ended.stderr.splitlines()[-1].startswith(
        "quern lambda: nothing answers at %s within 0 s (--invoke-wait): " % url), ended.stderr


def test_a_signal_ends_the_wait_for_a_container(world):
    with socket.create_server(("127.0.0.1", 0)) as place:
        url = "http://127.0.0.1:%d" % place.getsockname()[1]
    world.queue()
    poller = world.start("--invoke-url", url, "--invoke-wait", "600", function=None)
    world.until(lambda: world.told("waiting"))
    poller.terminate()
    assert poller.wait(20) == 0
