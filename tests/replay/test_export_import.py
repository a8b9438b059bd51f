"""`quern export` and `quern import`: a queue as JSON lines, and back."""
import json
import os
import re
import signal
import subprocess

import pytest

from commands import environment, run
from exchange.process import program
from other_sqs import OtherSqs
from parties import until

ATTRIBUTES = {
    "text": {"DataType": "String", "StringValue": "é\n\"\\\t\U0001f600"},
    "number": {"DataType": "Number.float", "StringValue": "1.50"},
    "bytes": {"DataType": "Binary.png", "BinaryValue": "AAH/"},
}
SAME = ("body", "attributes", "group_id", "deduplication_id", "trace_header")


@pytest.fixture
def server(start):
    return start("--queue", "from", "--queue", "to", "--queue", "from.fifo,FifoQueue=true", "--queue", "to.fifo,FifoQueue=true",
                 "--queue", "content.fifo,FifoQueue=true,ContentBasedDeduplication=true")


@pytest.fixture
def call(connect, server):
    return connect(server)


@pytest.fixture
def url(server):
    return lambda queue: "%s/000000000000/%s" % (server.endpoint, queue)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "queue.jsonl"


@pytest.fixture
def other(server):
    proxy = OtherSqs(server)
    yield proxy
    proxy.stop()


def peek(server, queue):
    messages, after = [], 0
    while after is not None:
        page = server.control("GET", "/_quern/queues/%s/messages?limit=1000&after=%d" % (queue, after))[1]
        messages, after = messages + page["messages"], page["next"]
    return messages


def export(endpoint, queue, *options, code=0):
    answer = run("export", queue, "--endpoint", endpoint, *map(str, options), timeout_s=120)
    assert answer.returncode == code, answer
    return answer


def exported(server, queue, file):
    answer = export(server.endpoint, queue, "-o", file, "--force")
    lines = [json.loads(line) for line in file.read_bytes().splitlines()]
    assert answer.stdout == "exported %d message%s from %s\n" % (len(lines), "s" * (len(lines) != 1), queue)
    assert answer.stderr == ""
    return lines


def import_(server, file, queue, *options, code=0):
    answer = run("import", str(file), "--to", queue, "--endpoint", server.endpoint, "--json", *options, timeout_s=120)
    assert answer.returncode == code, answer
    return json.loads(answer.stdout)


def essence(messages):
    return [{name: message[name] for name in SAME} for message in messages]


# Over a file that is there


def test_a_file_that_is_there_is_kept_unless_it_is_said(server, call, url, file):
    call("SendMessage", QueueUrl=url("from"), MessageBody="x")
    file.write_text("the only copy\n")
    answer = export(server.endpoint, "from", "-o", file, code=2)
    assert answer.stderr == f"quern export: {file} is there already: give another name, or --force to write over it\n"
    assert file.read_text() == "the only copy\n" and list(file.parent.iterdir()) == [file]
    link = file.with_name("link")
    link.symlink_to(file)
    assert "is there already" in export(server.endpoint, "from", "-o", link, code=2).stderr
    assert file.read_text() == "the only copy\n"
    export(server.endpoint, "from", "-o", file, "--force")
    assert json.loads(file.read_text())["Body"] == "x"


# There and back


def test_every_member_comes_back(server, call, url, file):
    call("SendMessage", QueueUrl=url("from"), MessageBody="é\n\"\u2028\\", MessageAttributes=ATTRIBUTES, MessageGroupId="tenant",
         MessageSystemAttributes={"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1-5759e988-bd862e3fe1be46a994272793"}})
    call("SendMessage", QueueUrl=url("from"), MessageBody="plain", DelaySeconds=100)
    first, second = exported(server, "from", file)
    assert first["MessageAttributes"] == ATTRIBUTES and first["Attributes"]["AWSTraceHeader"].startswith("Root=1-")
    assert second["Body"] == "plain" and "MessageAttributes" not in second
    assert first["Attributes"]["SentTimestamp"] == "1767225600000" and first["Attributes"]["ApproximateReceiveCount"] == "0"
    assert import_(server, file, "to") == {"imported": 2, "repeated": 0, "failed": 0, "given_up": False,
                                           "stopped_line": 0, "failures": []}
    assert essence(peek(server, "to")) == essence(peek(server, "from"))
    assert {m["state"] for m in peek(server, "to")} == {"visible"}


def test_looking_changes_nothing(server, call, url, file):
    for n in range(4):
        call("SendMessage", QueueUrl=url("from"), MessageBody="%d" % n, DelaySeconds=9 * (n == 3))
    call("ReceiveMessage", QueueUrl=url("from"), MaxNumberOfMessages=2)
    before = peek(server, "from")
    assert [line["Body"] for line in exported(server, "from", file)] == ["0", "1", "2", "3"]
    assert peek(server, "from") == before and len({message["state"] for message in before}) == 3


def test_groups_of_a_fifo_queue_keep_their_order_and_ids(server, call, url, file):
    for n in range(25):
        call("SendMessage", QueueUrl=url("from.fifo"), MessageBody="%d" % n, MessageGroupId="abc"[n % 3], MessageDeduplicationId="d%d" % n)
    exported(server, "from.fifo", file)
    assert import_(server, file, "to.fifo")["imported"] == 25
    assert essence(peek(server, "to.fifo")) == essence(peek(server, "from.fifo"))


def test_known_deduplication_ids_are_dropped_unless_new_ones_are_made(server, call, url, file):
    call("SendMessage", QueueUrl=url("from.fifo"), MessageBody="x", MessageGroupId="a", MessageDeduplicationId="d")
    exported(server, "from.fifo", file)
    answer = import_(server, file, "from.fifo", code=1)
    assert (answer["imported"], answer["repeated"]) == (1, 1)
    assert len(peek(server, "from.fifo")) == 1
    import_(server, file, "from.fifo", "--new-dedup-ids")
    one, two = peek(server, "from.fifo")
    assert one["deduplication_id"] == "d" and re.fullmatch(r"[0-9a-f-]{36}", two["deduplication_id"])


def test_group_for_those_that_have_none(server, call, url, file):
    call("SendMessage", QueueUrl=url("from"), MessageBody="x")
    call("SendMessage", QueueUrl=url("from"), MessageBody="y", MessageGroupId="own")
    exported(server, "from", file)
    import_(server, file, "content.fifo", "--group", "given")
    assert [(m["body"], m["group_id"]) for m in peek(server, "content.fifo")] == [("x", "given"), ("y", "own")]


def test_dead_letters_go_back_to_where_they_came_from(server, call, url, file):
    policy = json.dumps({"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:to", "maxReceiveCount": 1})
    call("SetQueueAttributes", QueueUrl=url("from"), Attributes={"RedrivePolicy": policy, "VisibilityTimeout": "0"})
    call("SendMessage", QueueUrl=url("from"), MessageBody="poison", MessageAttributes=ATTRIBUTES)
    for _ in range(2):
        call("ReceiveMessage", QueueUrl=url("from"))
    (line,) = exported(server, "to", file)
    assert line["Attributes"]["DeadLetterQueueSourceArn"].endswith(":from")
    import_(server, file, "from")
    (message,) = peek(server, "from")
    assert (message["body"], message["attributes"]) == ("poison", ATTRIBUTES)


def test_queue_may_be_named_by_its_url(server, call, url, file):
    call("SendMessage", QueueUrl=url("from"), MessageBody="x")
    export(server.endpoint, url("from"), "--output", file)
    assert import_(server, file, url("to"))["imported"] == 1


def test_from_stdin_and_to_stdout(server, call, url):
    call("SendMessage", QueueUrl=url("from"), MessageBody="x")
    for options in ([], ["-o", "-"]):
        answer = export(server.endpoint, "from", *options)
        assert answer.stderr == "exported 1 message from from\n"
        pipe = subprocess.run([program(), "import", "-", "--to", "to", "--endpoint", server.endpoint], input=answer.stdout,
                              capture_output=True, text=True, timeout=60, env=environment(), check=False)
        assert (pipe.returncode, pipe.stdout) == (0, "imported 1 message into to\n"), pipe
    assert [message["body"] for message in peek(server, "to")] == ["x", "x"]


def test_empty_queue_is_an_empty_file(server, file):
    assert exported(server, "from", file) == []
    assert import_(server, file, "to")["imported"] == 0


def measured(*words):
    """Exit code and the most memory that it held, in MB."""
    process = subprocess.Popen([program(), *map(str, words)], stdout=subprocess.DEVNULL, env=environment())
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    return status, usage.ru_maxrss / 1024


def test_large_queues_go_through_little_memory(server, file):
    with open(file, "w", encoding="utf-8") as out:
        for n in range(4000):
            out.write(json.dumps({"Body": "%06d" % n + "x" * 30000}) + "\n")
    words = ["--endpoint", server.endpoint]
    status, most = measured("import", file, "--to", "to", *words)
    assert status == 0 and (most < 100 or "asan" in program()), most
    again = file.parent / "again"
    status, most = measured("export", "to", "-o", again, *words)
    assert status == 0 and (most < 200 or "asan" in program()), most
    bodies = [json.loads(line)["Body"][:6] for line in again.read_text().splitlines()]
    assert bodies == ["%06d" % n for n in range(4000)]


def test_failed_export_leaves_the_old_file(server, file):
    file.write_text("old")
    answer = export(server.endpoint, "missing", "-o", file, "--force", code=1)
    assert "no queue missing" in answer.stderr and file.read_text() == "old"
    assert os.listdir(file.parent) == [file.name]


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: os.symlink("elsewhere", path)], ids=["pipe", "link"])
def test_what_is_no_file_is_written_to_and_stays(server, file, call, url, make):
    """As /dev/stdout is a link, and /dev/null a device."""
    make(file)
    call("SendMessage", QueueUrl=url("from"), MessageBody="x")
    reader = subprocess.Popen(["cat", file], stdout=subprocess.PIPE) if file.is_fifo() else None
    export(server.endpoint, "from", "-o", file, "--force")
    assert file.is_fifo() or file.is_symlink()
    text = reader.communicate(timeout=30)[0] if reader else (file.parent / "elsewhere").read_bytes()
    assert json.loads(text)["Body"] == "x"
    assert sorted(p.name for p in file.parent.iterdir()) == sorted([file.name] + ([] if reader else ["elsewhere"]))


def test_file_that_cannot_be_written(server, file, call, url):
    assert "No such file" in export(server.endpoint, "from", "-o", file.parent / "missing" / "file", code=2).stderr
    call("SendMessage", QueueUrl=url("from"), MessageBody="x")
    full = subprocess.run([program(), "export", "from", "--endpoint", server.endpoint], stdout=open("/dev/full", "w"),
                          stderr=subprocess.PIPE, text=True, timeout=60, env=environment(), check=False)
    assert full.returncode == 1 and "No space left" in full.stderr, full


# What is not taken


def test_message_that_is_refused_is_named_by_its_line(start, file):
    server = start("--queue", "to", "--limit", "message-size=2000")
    lines = [{"Body": "x" * (3000 if n in (3, 17) else 10) + str(n)} for n in range(1, 31)]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    answer = import_(server, file, "to", code=1)
    assert (answer["imported"], answer["failed"]) == (28, 2)
    assert [failure["line"] for failure in answer["failures"]] == [3, 17] and all(f["code"] and f["message"] for f in answer["failures"])
    assert [m["body"] for m in peek(server, "to")] == [line["Body"] for line in lines if len(line["Body"]) < 100]


def test_failures_for_people(start, file):
    server = start("--queue", "to", "--fault", "on SendMessageBatch once do fail-entries 1 InvalidMessageContents sender")
    file.write_text('{"Body":"a"}\n\n{"Body":"b"}\n')
    answer = run("import", str(file), "--to", "to", "--endpoint", server.endpoint)
    assert (answer.returncode, answer.stdout) == (1, "imported 1 message into to\n")
    assert re.fullmatch(r"line 1: InvalidMessageContents: .*\n", answer.stderr)


@pytest.mark.parametrize("rule", [
    "on SendMessageBatch first 2 do fail-entries 3 InternalError",
    "on SendMessageBatch first 2 do 5xx 503",
    "on SendMessageBatch first 1 at post-commit do reset",
])
def test_what_fails_for_a_while_is_sent_again(start, file, rule):
    server = start("--queue", "to.fifo,FifoQueue=true", "--fault", rule)
    lines = [{"Body": str(n), "Attributes": {"MessageGroupId": str(n), "MessageDeduplicationId": str(n)}} for n in range(30)]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert import_(server, file, "to.fifo")["imported"] == 30
    assert sorted(int(m["body"]) for m in peek(server, "to.fifo")) == list(range(30))


def fifo_lines(file, ids):
    lines = [{"Body": str(n), "Attributes": {"MessageGroupId": "g", "MessageDeduplicationId": str(n)}} for n in ids]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize("is_quern", [True, False])
def test_what_a_fifo_queue_takes_for_a_repetition_is_counted(server, other, file, is_quern):
    """Import and then purge the queue that it came from: it must not look as if all were there."""
    fifo_lines(file, range(25))
    import_(server, file, "from.fifo")
    exported(server, "from.fifo", file)
    for _ in range(3):
        run("receive", "from.fifo", "--max", "10", "--delete", "--endpoint", server.endpoint)
    endpoint = server.endpoint if is_quern else other.endpoint
    answer = run("import", str(file), "--to", "from.fifo", "--endpoint", endpoint)
    assert (answer.returncode, answer.stdout) == (1, "imported 25 messages into from.fifo\n")
    assert answer.stderr == ("25 of them were not stored anew: the queue knows the deduplication ids "
                             "(--new-dedup-ids makes new ones)\n")
    assert peek(server, "from.fifo") == []


def test_a_repetition_within_the_file_and_of_an_earlier_import_is_counted(server, file):
    fifo_lines(file, [1, 2, 1, 3, 3, 4])
    assert import_(server, file, "to.fifo", code=1)["repeated"] == 2
    fifo_lines(file, [1, 2, 3, 4, 5])
    assert import_(server, file, "to.fifo", code=1)["repeated"] == 4


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_import_says_where_to_go_on(start, file, number):
    server = start("--queue", "to", "--fault", "on SendMessageBatch nth 2 do hold as stop")
    file.write_text("".join('{"Body":"%d"}\n' % n for n in range(1000)))
    words = [program(), "import", str(file), "--to", "to", "--endpoint", server.endpoint]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))  # as behind a shell's &
    until(lambda: server.control("GET", "/_quern/info")[1]["waiting"]["held"] == 1)
    process.send_signal(number)
    server.control("POST", "/_quern/rules/stop/release")
    assert process.communicate(timeout=60) == ("imported 20 messages into to\n",
                                               "ended by a signal: line 21 and what follows were not sent\n")
    assert process.returncode == 1
    assert [int(m["body"]) for m in peek(server, "to")] == list(range(20))


def test_failure_never_changes_the_order_of_a_group(start, file):
    server = start("--queue", "to.fifo,FifoQueue=true", "--fault", "on SendMessageBatch every 2 do fail-entries 2 InternalError")
    lines = [{"Body": str(n), "Attributes": {"MessageGroupId": "ab"[n % 2], "MessageDeduplicationId": str(n)}} for n in range(40)]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    answer = import_(server, file, "to.fifo", code=1)
    assert answer["imported"] + answer["failed"] == 40 and answer["failed"] > 0
    for group in "ab":
        numbers = [int(m["body"]) for m in peek(server, "to.fifo") if m["group_id"] == group]
        assert numbers == sorted(numbers)


def test_server_that_is_gone_ends_it(server, file):
    file.write_text('{"Body":"a"}\n' * 30)
    server.control("POST", "/_quern/rules", {"rule": "on SendMessageBatch nth 2 do crash server"})
    answer = import_(server, file, "to", code=1)
    assert (answer["imported"], answer["given_up"]) == (10, True)


@pytest.mark.parametrize("line, said", [
    ("x", "not JSON, at byte"),
    ('{"Body":"a"', "not JSON"),
    ("[]", "not an object"),
    ('"text"', "not an object"),
    ("{}", "no Body"),
    ('{"Body":""}', "no text, or empty"),
    ('{"Body":7}', "no text, or empty"),
    ('{"body":"a"}', "no body; did you mean Body?"),
    ('{"Body":"a","Delay":1}', "a message has no Delay"),
    ('{"Body":"a","MessageAttributes":[]}', "MessageAttributes is no object"),
    ('{"Body":"a","MessageAttributes":{"n":{"StringValue":"x"}}}', "attribute n has no DataType"),
    ('{"Body":"a","MessageAttributes":{"n":{"DataType":"String"}}}', "either a StringValue or a BinaryValue"),
    ('{"Body":"a","MessageAttributes":{"n":{"DataType":"String","StringValue":"x","BinaryValue":"AA=="}}}', "either a StringValue"),
    ('{"Body":"a","MessageAttributes":{"n":{"DataType":"String","StringValue":1}}}', "is no text"),
    ('{"Body":"a","MessageAttributes":{"n":{"DataType":"Binary","BinaryValue":"a"}}}', "is not base64"),
    (json.dumps({"Body": "a", "MessageAttributes": {str(n): {"DataType": "String", "StringValue": "x"} for n in range(11)}}), "at most 10"),
    ('{"Body":"a","Attributes":[]}', "Attributes is no object"),
    ('{"Body":"a","Attributes":{"SentTimestamp":1}}', "SentTimestamp is no text"),
])
def test_bad_line_is_refused_before_anything_is_sent(server, file, line, said):
    file.write_text('{"Body":"good"}\n%s\n{"Body":"good"}\n' % line)
    answer = run("import", str(file), "--to", "to", "--endpoint", server.endpoint)
    first, last = answer.stderr.splitlines()
    assert answer.returncode == 2 and "line 2: " in first and said in first, answer
    assert last == "quern import: nothing was sent" and peek(server, "to") == []


def test_every_bad_line_is_told(server, file):
    file.write_text("".join("%d\n" % n for n in range(30)))
    answer = run("import", str(file), "--to", "to", "--endpoint", server.endpoint)
    assert answer.stderr.count("not an object") == 20 and "and 10 more" in answer.stderr


@pytest.mark.parametrize("attributes, queue, said", [
    ({}, "to.fifo", "--group ID"),
    ({"MessageGroupId": "a"}, "to.fifo", "--new-dedup-ids"),
])
def test_what_a_fifo_queue_needs(server, file, attributes, queue, said):
    file.write_text(json.dumps({"Body": "a", "Attributes": attributes}) + "\n")
    assert said in run("import", str(file), "--to", queue, "--endpoint", server.endpoint).stderr
    assert import_(server, file, queue, "--group", "g", "--new-dedup-ids")["imported"] == 1


@pytest.mark.parametrize("words", [["import", "x"], ["import"], ["import", "missing", "--to", "to"], ["import", "/", "--to", "to"],
                                   ["export"], ["export", "a", "b"], ["export", "a", "--visibility", "0"], ["export", "a", "-o"],
                                   ["export", "a", "-p", "x"]])
def test_misuse(server, words):
    answer = run(*words, AWS_ENDPOINT_URL=server.endpoint)
    assert answer.returncode == 2 and answer.stderr, answer


def test_queue_that_is_not_there(server, file):
    file.write_text('{"Body":"a"}\n')
    answer = run("import", str(file), "--to", "missing", "--endpoint", server.endpoint)
    assert answer.returncode == 1 and "there is no queue missing at " in answer.stderr


# Any other SQS


def test_other_servers_are_read_by_receiving(server, call, url, other, file):
    for n in range(23):
        call("SendMessage", QueueUrl=url("from"), MessageBody="%d" % n, MessageAttributes=ATTRIBUTES)
    answer = export(other.endpoint, "from", "-o", file)
    assert "hidden for 3600 s" in answer.stderr and "exported 23 messages" in answer.stdout
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert sorted(int(line["Body"]) for line in lines) == list(range(23))
    assert all(line["MessageAttributes"] == ATTRIBUTES and "ReceiptHandle" not in line for line in lines)
    assert {(m["state"], m["receive_count"]) for m in peek(server, "from")} == {("visible", 1)}
    assert import_(server, file, "to")["imported"] == 23


def test_what_cannot_be_received_is_told(server, call, url, other, file):
    for n in range(15):
        call("SendMessage", QueueUrl=url("from.fifo"), MessageBody="%d" % n, MessageGroupId="a", MessageDeduplicationId=str(n))
    answer = export(other.endpoint, "from.fifo", "-o", file, code=1)
    assert "about 5 more could not be received" in answer.stderr
    assert len(file.read_text().splitlines()) == 10
    assert {m["state"] for m in peek(server, "from.fifo")} == {"visible"}


def test_interrupted_export_gives_back_what_it_holds(server, call, url, other, file):
    for n in range(15):
        call("SendMessage", QueueUrl=url("from"), MessageBody="%d" % n)
    server.control("POST", "/_quern/rules", {"rule": "on ReceiveMessage nth 2 do hold as stop"})
    words = [program(), "export", "from", "--endpoint", other.endpoint, "-o", str(file)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
    until(lambda: server.control("GET", "/_quern/info")[1]["waiting"]["held"] == 1)
    assert {m["state"] for m in peek(server, "from")} == {"visible", "in-flight"}
    process.send_signal(signal.SIGINT)
    server.control("POST", "/_quern/rules/stop/release")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1 and "ended by a signal" in errors
    assert {m["state"] for m in peek(server, "from")} == {"visible"} and not file.exists()
    assert os.listdir(file.parent) == []


def test_what_cannot_be_given_back_is_told(server, call, url, other, file):
    call("SendMessage", QueueUrl=url("from"), MessageBody="x")
    server.control("POST", "/_quern/rules", {"rule": "on ChangeMessageVisibilityBatch do 403"})
    answer = export(other.endpoint, "from", "-o", file, "--visibility", 100, code=1)
    assert "1 message could not be given back: hidden for up to 100 s" in answer.stderr
    assert len(file.read_text().splitlines()) == 1


def test_lines_that_the_aws_command_prints_are_taken(server, call, url, file):
    call("SendMessage", QueueUrl=url("from"), MessageBody="x", MessageAttributes=ATTRIBUTES)
    (message,) = call("ReceiveMessage", QueueUrl=url("from"), MessageAttributeNames=["All"], AttributeNames=["All"]).members["Messages"]
    assert {"ReceiptHandle", "MD5OfBody", "MD5OfMessageAttributes"} <= set(message)
    file.write_text(json.dumps(message) + "\n")
    assert import_(server, file, "to")["imported"] == 1
    assert peek(server, "to")[0]["attributes"] == ATTRIBUTES
