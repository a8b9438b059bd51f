"""How a server is started: options, environment, files; and every mistake in them."""
import json
import pathlib
import re
import signal
import socket
import sqlite3
import subprocess
import time

import pytest

from commands import environment, refused, run
from exchange import client, process


def attributes(server, name):
    connection = client.Client(server)
    answer = connection.call("json", "GetQueueAttributes", {"QueueUrl": name, "AttributeNames": ["All"]})
    connection.close()
    return answer.members["Attributes"]


def queues(server):
    return [q["name"] for q in server.control("GET", "/_quern/queues")[1]["queues"]]


# What is said


def test_help_lists_every_option_with_its_default():
    text = run("serve", "--help", "all", COLUMNS="200").stdout
    for option in ("--port PORT", "--bind ADDR[:PORT]", "--db FILE", "--sync normal|full", "--account ID",
                   "--region REGION|any", "--seed N", "--clock real|virtual[=INSTANT]", "--max-memory BYTES",
                   "--trace FILE", "--log error|warn|info|debug", "--queue NAME", "--config FILE",
                   "--auto-create", "--limit NAME=VALUE", "--stale-delete noop|delete", "--aws-waits",
                   "--public-url URL", "--client-timeout N", "--chaos PROFILE|FILE", "--fault RULE", "--failpoint"):
        assert "\n  " + option in text
    assert "(default 9324)" in text and "in-flight (120000)" in text


def test_markdown_of_the_same_table():
    rows = run("serve", "--help", "--markdown").stdout.splitlines()
    assert rows[0].startswith("| option | variable |")
    assert any(row.startswith("| `--client-timeout N` | `QUERN_CLIENT_TIMEOUT` | 60 s |") for row in rows)
    assert all(row.startswith("| ") and row.endswith(" |") for row in rows)


def test_start_line_says_that_it_is_in_memory(start):
    line = start().log().splitlines()[0]
    assert line.startswith("info serve: listening on http://127.0.0.1:")
    assert "in memory" in line and "seed=7" in line


def test_start_line_names_the_database(start, tmp_path):
    line = start("--db", str(tmp_path / "q.db"), "--sync", "full").log().splitlines()[0]
    assert "db=%s" % (tmp_path / "q.db") in line and "sync=full" in line and "boot=1" in line


def test_quiet_log_says_nothing():
    with subprocess.Popen(
        [process.program(), "serve", "--port", "0", "--log", "warn"], stderr=subprocess.PIPE,
        env=environment()
    ) as server:
        time.sleep(0.5)
        server.send_signal(signal.SIGTERM)
        assert server.wait(20) == 0
        assert server.stderr.read() == b""


def test_debug_log_has_a_line_for_each_request_and_no_body(start):
    server = start("--log", "debug", "--queue", "q")
    connection = client.Client(server)
    connection.call("json", "SendMessage", {"QueueUrl": "q", "MessageBody": "secret-body"})
    connection.close()
    lines = [line for line in server.log().splitlines() if "action=SendMessage" in line]
    assert len(lines) == 1 and "request=" in lines[0] and "seed=7" in lines[0]
    assert "secret-body" not in server.log()


# Where it listens


def test_loopback_of_both_kinds_by_default():
    with subprocess.Popen(
        [process.program(), "serve", "--port", "0"], stderr=subprocess.PIPE, text=True, env=environment()
    ) as server:
        lines = [server.stderr.readline() for _ in range(2 if socket.has_ipv6 else 1)]
        server.send_signal(signal.SIGTERM)
        assert server.wait(20) == 0
    assert "listening on http://127.0.0.1:" in lines[0]
    if socket.has_ipv6:
        port = lines[0].split("127.0.0.1:")[1].split()[0]
        assert lines[1] == "info serve: listening on http://[::1]:%s\n" % port


def test_several_addresses(start):
    server = start("--bind", "127.0.0.1:0", "--bind", "127.0.0.2:0")
    listening = server.control("GET", "/_quern/info")[1]["listening"]
    assert len(listening) == 3
    for url in listening:
        assert run("health", "--endpoint", url).stdout == "ok\n"


def test_queue_urls_carry_the_port_that_was_asked(start):
    server = start("--bind", "127.0.0.1:0", "--queue", "q")
    for url in server.control("GET", "/_quern/info")[1]["listening"]:
        answer = run("purge", "q", "--endpoint", url)
        assert answer.stdout == "purged %s/000000000000/q\n" % url


def test_port_in_use(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        db = tmp_path / "q.db"
        line = refused("serve", "--bind", "127.0.0.1:%d" % port, "--db", str(db))
        assert "127.0.0.1:%d" % port in line and "in use" in line
        assert list(tmp_path.iterdir()) == []


# Options and variables


@pytest.mark.parametrize(
    "words",
    [
        ["--nonsense"],
        ["-x"],
        ["word"],
        ["--port"],
        ["--port", "x"],
        ["--port", "65536"],
        ["--port", "-1"],
        ["--port", "1", "--port", "2"],
        ["--bind", "nowhere"],
        ["--bind", "127.0.0.1:99999"],
        ["--bind", "[::1"],
        ["--bind", "300.0.0.1:0"],
        ["--sync", "sometimes", "--db", "x"],
        ["--sync", "full"],
        ["--account", "12"],
        ["--account", "12345678901x"],
        ["--region", "US EAST"],
        ["--region", ""],
        ["--seed", "x"],
        ["--seed", "-1"],
        ["--seed", "18446744073709551616"],
        ["--clock", "imaginary"],
        ["--clock", "real=2026-01-01T00:00:00Z"],
        ["--clock", "virtual=yesterday"],
        ["--max-memory", "lots"],
        ["--max-memory", "0"],
        ["--max-memory", "99999999999G"],
        ["--log", "loud"],
        ["--limit", "in-flight"],
        ["--limit", "in-flight=0"],
        ["--limit", "in-flight=120001"],
        ["--limit", "colours=3"],
        ["--stale-delete", "maybe"],
        ["--public-url", "quern.example"],
        ["--public-url", "http://quern.example/a b"],
        ["--public-url", "http://quern.example/\u00fc"],
        ["--client-timeout", "x"],
        ["--auto-create=yes"],
        ["--queue", "bad name"],
        ["--queue", "q,VisibilityTimeout"],
        ["--queue", "q,VisibilityTimeout=x"],
        ["--queue", "q,Colour=red"],
        ["--queue", "q,=1"],
        ["--queue", 'q,RedrivePolicy={"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:no","maxReceiveCount":2}'],
        ["--config", "/nonexistent/config.json"],
        ["--chaos", "/nonexistent/rules"],
        ["--fault", "nonsense"],
        *([option, value] for option in ("--fail-rate", "--throttle-rate", "--lose-delete-rate", "--duplicate-rate", "--reset-rate")
          for value in ("1.1", "-0.1", "5%", "often", "0x1", "nan", "1e-3", "0.1 do hang")),
        *(["--latency", value] for value in ("50", "-5ms", "50ms~", "~5ms", "5ms~6ms", "50ms~20", "50ms 20ms", "soon", "5ms~1ms~1ms")),
        ["--failpoint", "nonsense"],
        ["--failpoint", "ring.mid_append=sometimes"],
    ],
    ids=" ".join,
)
def test_mistake_is_one_line_and_changes_nothing(tmp_path, words):
    db = [] if "--db" in words or "--sync" in words else ["--db", str(tmp_path / "q.db")]
    port = [] if "--port" in words or "--bind" in words else ["--port", "0"]
    refused("serve", *words, *db, *port)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("queue", ["q\udcff", "q\udcff,DelaySeconds=1", "q,Delay\udcff=1", "q,DelaySeconds=\udcff"],
                         ids=["name", "name and attribute", "attribute", "value"])
def test_queue_that_is_no_text_is_refused(queue):
    """Bytes that are not UTF-8: what they belong to was left out without a word."""
    assert "UTF-8" in refused("serve", "--port", "0", "--queue", queue)


def test_a_failpoint_that_does_not_exist_is_refused():
    """A slip in the name was taken, and the crash that somebody waited for never came."""
    line = refused("serve", "--port", "0", "--failpoint", "ring.mid_apend=kill")
    assert "ring.mid_apend" in line and "did you mean ring.mid_append?" in line
    assert "send_batch.entry:1" in refused("serve", "--port", "0", "--failpoint", "send_batch.entry:11=kill")


def test_the_failpoints_that_are_named_are_those_of_the_source():
    line = refused("serve", "--port", "0", "--failpoint", "nowhere=kill")
    named = {name for name in re.findall(r"[a-z_]+\.[a-z_]+", line)}
    server = pathlib.Path(__file__).resolve().parents[2] / "server"
    source = "".join(path.read_text() for path in server.rglob("*.c") if path.name != "failpoints.c")
    assert set(re.findall(r'qn_failpoint\("([^"]+)"', source)) <= named
    assert [name for name in named if '"%s' % name not in source] == []


@pytest.mark.parametrize("options, sentence", [
    (["--failpoint", "writer.before_commit=kill"], "never passed without --db FILE"),
    (["--db", "{db}", "--failpoint", "ring.before_sync=kill"], "never passed without --sync full"),
    (["--fault", "on any do crash server at purge.mid"], "never passed without --db FILE"),
    (["--db", "{db}", "--fault", "on any do crash server at boot.mid_recovery"], "is passed at a start"),
    (["--failpoint", "begin:SendMesage=kill"], 'did you mean "SendMessage"?'),
    (["--failpoint", "begin:SendMessage=abort"], "say kill"),
    (["--failpoint", "begin:any then=kill"], "no such failpoint"),
    (["--failpoint", "mid_write:SendMessage=error"], "error cannot be done at mid-response"),
], ids=lambda value: value[-1] if isinstance(value, list) else value)
def test_a_failpoint_that_can_never_be_met_is_refused(tmp_path, options, sentence):
    db = str(tmp_path / "q.db")
    assert sentence in refused("serve", "--port", "0", *[option.format(db=db) for option in options])
    assert list(tmp_path.iterdir()) == []


def test_refusal_of_a_queue_is_awss_own():
    line = refused("serve", "--port", "0", "--queue", "q,VisibilityTimeout=43201")
    assert "queue q:" in line and "VisibilityTimeout" in line


def run_with(start, monkeypatch, **variables):
    """exchange.process clears QUERN_ variables: here they are what is tested."""
    with subprocess.Popen(
        [process.program(), "serve"], stderr=subprocess.PIPE, text=True, env=environment(**variables)
    ) as server:
        line = server.stderr.readline()
        try:
            assert "listening on " in line, line
            url = line.split("listening on ")[1].split()[0]
            return json.loads(subprocess.run(["curl", "-s", url + "/_quern/info"], capture_output=True,
                                             text=True, timeout=20, check=True).stdout), line
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(20)


def test_variables_stand_for_options(start, monkeypatch):
    info, line = run_with(start, monkeypatch, QUERN_BIND="127.0.0.1:0; 127.0.0.2:0", QUERN_SEED="99",
                          QUERN_CLOCK="virtual", QUERN_AUTO_CREATE="true", QUERN_AWS_WAITS="0",
                          QUERN_QUEUE="a,DelaySeconds=3;b.fifo", QUERN_DB="")
    assert info["seed"] == "99" and "seed=99" in line and info["clock"]["kind"] == "virtual"
    assert len(info["listening"]) == 2 and info["engine"]["queues"] == 2
    assert info["options"]["auto-create"] and not info["options"]["aws-waits"]
    assert info["options"]["db"] is None


def test_option_wins_over_its_variable():
    with subprocess.Popen([process.program(), "serve", "--port", "0", "--seed", "5"], stderr=subprocess.PIPE,
                          text=True, env=environment(QUERN_SEED="6", QUERN_PORT="nonsense")) as server:
        line = server.stderr.readline()
        server.send_signal(signal.SIGTERM)
        server.wait(20)
    assert "seed=5" in line


@pytest.mark.parametrize("variable, value", [("QUERN_PORT", "x"), ("QUERN_AUTO_CREATE", "perhaps"),
                                             ("QUERN_CLOCK", "x"), ("QUERN_QUEUE", "bad name")])
def test_mistake_in_a_variable_is_one_line(variable, value):
    refused("serve", *([] if variable == "QUERN_PORT" else ["--port", "0"]), **{variable: value})


# Queues at start


def test_queues_with_attributes(start):
    policy = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"sqs:*","Resource":"*"}]}'
    server = start("--queue", "plain", "--queue", "q,VisibilityTimeout=5,DelaySeconds=7,Policy=" + policy,
                   "--queue", "f.fifo,ContentBasedDeduplication=true")
    assert queues(server) == ["f.fifo", "plain", "q"]
    seen = attributes(server, "q")
    assert (seen["VisibilityTimeout"], seen["DelaySeconds"]) == ("5", "7")
    assert json.loads(seen["Policy"]) == json.loads(policy)
    assert attributes(server, "f.fifo")["ContentBasedDeduplication"] == "true"


CONFIG = {
    "queues": [
        {"name": "orders", "attributes": {"VisibilityTimeout": 60, "DelaySeconds": "2"},
         "redrive": {"to": "orders-dlq", "max": 3}, "tags": {"team": "shop"}},
        {"name": "orders-dlq"},
        {"name": "jobs.fifo", "attributes": {"ContentBasedDeduplication": True}},
    ]
}


def test_config_makes_queues_redrive_and_tags(start, tmp_path):
    file = tmp_path / "config.json"
    file.write_text(json.dumps(CONFIG))
    server = start("--config", str(file), "--queue", "more")
    assert queues(server) == ["jobs.fifo", "more", "orders", "orders-dlq"]
    seen = attributes(server, "orders")
    assert (seen["VisibilityTimeout"], seen["DelaySeconds"]) == ("60", "2")
    assert json.loads(seen["RedrivePolicy"]) == {
        "deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:orders-dlq", "maxReceiveCount": 3}
    connection = client.Client(server)
    tags = connection.call("json", "ListQueueTags", {"QueueUrl": "orders"}).members
    connection.close()
    assert tags == {"Tags": {"team": "shop"}}


def test_config_is_harmless_with_queues_that_are_there(start, tmp_path):
    file = tmp_path / "config.json"
    file.write_text(json.dumps(CONFIG))
    options = ("--config", str(file), "--db", str(tmp_path / "q.db"))
    server = start(*options)
    connection = client.Client(server)
    changed = {"QueueUrl": "orders", "Attributes": {"VisibilityTimeout": "61"}}
    connection.call("json", "SetQueueAttributes", changed)
    connection.call("json", "SendMessage", {"QueueUrl": "orders", "MessageBody": "kept", "DelaySeconds": 0})
    connection.close()
    server.stop()
    again = start(*options)
    assert attributes(again, "orders")["VisibilityTimeout"] == "61"
    assert attributes(again, "orders")["ApproximateNumberOfMessages"] == "1"
    assert "queue exists and is kept as it is queue=orders" in again.log()


def test_redrive_may_name_a_queue_that_only_the_database_has(start, tmp_path):
    db = ("--db", str(tmp_path / "q.db"))
    start(*db, "--queue", "old-dlq").stop()
    file = tmp_path / "config.json"
    file.write_text('{"queues": [{"name": "new", "redrive": {"to": "old-dlq", "max": 2}}]}')
    server = start(*db, "--config", str(file))
    assert "old-dlq" in attributes(server, "new")["RedrivePolicy"]
    server.stop()
    file.write_text('{"queues": [{"name": "newer", "redrive": {"to": "nowhere", "max": 2}}]}')
    assert "nowhere" in refused("serve", "--port", "0", *db, "--config", str(file))
    assert queues(start(*db)) == ["new", "old-dlq"]


@pytest.mark.parametrize(
    "document",
    [
        "",
        "{",
        "[]",
        "7",
        "{}",
        '{"queues": {}}',
        '{"queues": [], "more": 1}',
        '{"queues": [7]}',
        '{"queues": [{}]}',
        '{"queues": [{"name": 7}]}',
        '{"queues": [{"name": "q", "colour": "red"}]}',
        '{"queues": [{"name": "q", "attributes": []}]}',
        '{"queues": [{"name": "q", "attributes": {"DelaySeconds": null}}]}',
        '{"queues": [{"name": "q", "attributes": {"DelaySeconds": 901}}]}',
        '{"queues": [{"name": "q", "redrive": {"to": "q2"}}]}',
        '{"queues": [{"name": "q", "redrive": {"to": "d", "max": 1001}}, {"name": "d"}]}',
        '{"queues": [{"name": "bad name"}]}',
    ],
)
def test_mistake_in_the_config_is_one_line_and_changes_nothing(tmp_path, document):
    file = tmp_path / "config.json"
    file.write_text(document)
    refused("serve", "--port", "0", "--config", str(file), "--db", str(tmp_path / "q.db"))
    assert list(tmp_path.iterdir()) == [file]


def test_redrive_to_nowhere_is_one_line(tmp_path):
    file = tmp_path / "config.json"
    file.write_text('{"queues": [{"name": "q", "redrive": {"to": "nowhere", "max": 3}}]}')
    assert "nowhere" in refused("serve", "--port", "0", "--config", str(file))


# Files


def test_database_of_somebody_else(tmp_path):
    file = tmp_path / "other.db"
    with sqlite3.connect(file) as other:
        other.execute("create table t(x)")
    other.close()
    before = file.read_bytes()
    assert str(file) in refused("serve", "--port", "0", "--db", str(file), "--trace", str(tmp_path / "trace"))
    assert file.read_bytes() == before and list(tmp_path.iterdir()) == [file]


def test_file_that_is_no_database(tmp_path):
    file = tmp_path / "text"
    file.write_text("not a database, but long enough to look like something" * 100)
    assert str(file) in refused("serve", "--port", "0", "--db", str(file))
    assert list(tmp_path.iterdir()) == [file]


def test_folder_that_is_not_there(tmp_path):
    refused("serve", "--port", "0", "--db", str(tmp_path / "no" / "q.db"))
    refused("serve", "--port", "0", "--trace", str(tmp_path / "no" / "trace"))
    assert list(tmp_path.iterdir()) == []


def test_database_that_is_open_elsewhere(start, tmp_path):
    file = str(tmp_path / "q.db")
    server = start("--db", file)
    line = refused("serve", "--port", "0", "--db", file)
    assert file in line and "in use" in line
    assert server.control("GET", "/_quern/health")[0] == 200


def test_trace_file_of_somebody_else(tmp_path):
    file = tmp_path / "trace"
    file.write_text("somebody's notes")
    assert str(file) in refused("serve", "--port", "0", "--db", str(tmp_path / "q.db"), "--trace", str(file))
    assert file.read_text() == "somebody's notes" and list(tmp_path.iterdir()) == [file]


# Options that change behaviour


def call(server, action, protocol="json", how=None, **members):
    connection = client.Client(server)
    answer = connection.call(protocol, action, members, **(how or {}))
    connection.close()
    return answer


def test_region_any_is_one_set_of_queues(start):
    server = start("--region", "any")
    made = call(server, "CreateQueue", QueueName="q", how={"region": "eu-west-1"})
    assert made.status == 200
    assert call(server, "GetQueueUrl", QueueName="q", how={"region": "us-west-2"}).status == 200


def test_account_and_region_of_unsigned_requests(start):
    server = start("--account", "123456789012", "--region", "eu-north-1", "--queue", "q")
    connection = client.Client(server)
    from exchange import wire

    request = wire.query_request("Action=GetQueueAttributes&AttributeName.1=QueueArn&QueueUrl=%2F123456789012%2Fq")
    request.headers.pop("Authorization", None)
    answer = wire.read_xml("GetQueueAttributes", connection.send(request))
    connection.close()
    assert answer.members["Attributes"]["QueueArn"] == "arn:aws:sqs:eu-north-1:123456789012:q"


def test_public_url_in_queue_urls(start):
    server = start("--public-url", "https://sqs.example.com/", "--queue", "q")
    assert call(server, "GetQueueUrl", QueueName="q").members["QueueUrl"] == (
        "https://sqs.example.com/000000000000/q")


def test_auto_create(start):
    server = start("--auto-create")
    assert call(server, "SendMessage", QueueUrl="fresh", MessageBody="x").status == 200
    assert queues(server) == ["fresh"]


def test_limits_for_tests(start):
    server = start("--limit", "in-flight=2", "--limit", "batch-entries=3", "--limit", "message-size=2048",
                   "--limit", "retention-min=1", "--queue", "q,MessageRetentionPeriod=1")
    for n in range(3):
        assert call(server, "SendMessage", QueueUrl="q", MessageBody=str(n)).status == 200
    for status in (200, 200, 403):
        assert call(server, "ReceiveMessage", QueueUrl="q").status == status
    entries = [{"Id": str(n), "MessageBody": "x"} for n in range(4)]
    assert call(server, "SendMessageBatch", QueueUrl="q", Entries=entries).status == 400
    assert call(server, "SendMessageBatch", QueueUrl="q", Entries=entries[:3]).status == 200
    assert call(server, "SendMessage", QueueUrl="q", MessageBody="x" * 2049).status == 400


def test_memory_ceiling_refuses_sends_and_nothing_else(start):
    server = start("--max-memory", "2M", "--queue", "q")
    statuses = [call(server, "SendMessage", QueueUrl="q", MessageBody="x" * 100_000).status for _ in range(40)]
    assert statuses[0] == 200 and statuses[-1] == 503
    assert call(server, "ReceiveMessage", QueueUrl="q", MaxNumberOfMessages=10).status == 200
    assert run("purge", "q", "--endpoint", server.endpoint).returncode == 0
    server.advance_ms(1)
    assert call(server, "SendMessage", QueueUrl="q", MessageBody="x").status == 200


def test_same_seed_draws_the_same_ids(start):
    drawn = set()
    for _ in range(2):
        server = start("--queue", "q")
        drawn.add(call(server, "SendMessage", QueueUrl="q", MessageBody="x").members["MessageId"])
        server.stop()
    assert len(drawn) == 1


def test_same_seed_on_the_same_file_draws_nothing_twice(start, tmp_path):
    ids = []
    for _ in range(3):
        server = start("--queue", "q", "--db", str(tmp_path / "q.db"))
        ids += [call(server, "SendMessage", QueueUrl="q", MessageBody="x").members["MessageId"] for _ in range(3)]
        server.stop()
    assert len(set(ids)) == 9


# The end


def test_sigint_ends_it_too():
    with subprocess.Popen([process.program(), "serve", "--port", "0"], stderr=subprocess.PIPE, text=True,
                          env=environment()) as server:
        assert "listening" in server.stderr.readline()
        server.send_signal(signal.SIGINT)
        assert server.wait(20) == 0


def test_parked_polls_are_answered_empty_at_the_end(start):
    server = start("--queue", "q", clock="real")
    from exchange import wire

    request = wire.json_request("ReceiveMessage", {"QueueUrl": "q", "WaitTimeSeconds": 20})
    import http.client

    waiting = [http.client.HTTPConnection("127.0.0.1", server.port, timeout=20) for _ in range(5)]
    for connection in waiting:
        connection.request(request.method, request.path, request.body, request.headers)
    deadline = time.monotonic() + 10
    while server.control("GET", "/_quern/info")[1]["engine"]["parked"] < 5:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    started = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    for connection in waiting:
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (200, b"{}")
        connection.close()
    assert server.process.wait(20) == 0
    assert time.monotonic() - started < 10


def test_polls_of_clients_that_left_at_once_do_not_hold_up_the_end(start):
    server = start("--queue", "q", clock="real")
    body = b'{"QueueUrl":"q","WaitTimeSeconds":20}'
    head = ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\nX-Amz-Target: AmazonSQS.ReceiveMessage\r\n"
            "Content-Type: application/x-amz-json-1.0\r\n\r\n" % len(body)).encode()
    for n in range(500):
        with server.connect() as connection:
            connection.sendall((head + body) * (1 + n % 3))
    started = time.monotonic()
    server.stop()
    assert time.monotonic() - started < 10


def slow_reader(server):
    """Has asked for an answer that no socket's buffers take, and does not read it."""
    for letter in "abcdefghij":
        call(server, "SendMessage", QueueUrl="q", MessageBody=letter * 1048576)
    body = b'{"QueueUrl":"q","MaxNumberOfMessages":10}'
    reader = server.connect()
    reader.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Amz-Target: AmazonSQS.ReceiveMessage\r\n"
                   b"Content-Type: application/x-amz-json-1.0\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    assert reader.recv(12) == b"HTTP/1.1 200"
    return reader


def stop_twice(server):
    server.process.send_signal(signal.SIGTERM)
    deadline = time.monotonic() + 10
    while "stopping" not in server.log():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    server.process.send_signal(signal.SIGTERM)


def test_a_signal_that_comes_twice_at_once_is_one_wish(start):
    """timeout(1) sends it to the process and to its group; the second one broke the answers off."""
    server = start("--queue", "q")
    reader = slow_reader(server)
    stop_twice(server)
    length = 0
    while part := reader.recv(1048576):
        length += len(part)
    assert length > 10485760
    assert server.process.wait(20) == 0


def test_a_signal_that_is_repeated_ends_it_at_once():
    server = process.Server("--queue", "q")
    reader = slow_reader(server)
    stop_twice(server)
    started = time.monotonic()
    while server.process.poll() is None:
        server.process.send_signal(signal.SIGTERM)
        assert time.monotonic() - started < 5
        time.sleep(0.05)
    assert server.process.returncode == 128 + signal.SIGTERM
    reader.close()


def test_idle_connections_do_not_hold_up_the_end(start):
    server = start("--queue", "q")
    idle = [server.connect() for _ in range(10)]
    slow = server.connect()
    slow.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc")
    assert server.control("GET", "/_quern/health")[0] == 200
    started = time.monotonic()
    server.stop()
    assert time.monotonic() - started < 12
    for connection in [*idle, slow]:
        connection.close()


def test_stop_leaves_everything_in_the_database(start, tmp_path):
    file = tmp_path / "q.db"
    server = start("--db", str(file), "--queue", "q")
    for n in range(20):
        call(server, "SendMessage", QueueUrl="q", MessageBody=str(n))
    server.stop()
    assert not pathlib.Path(str(file) + "-wal").exists() or pathlib.Path(str(file) + "-wal").stat().st_size == 0
    again = start("--db", str(file))
    assert attributes(again, "q")["ApproximateNumberOfMessages"] == "20"
