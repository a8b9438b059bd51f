"""quern serve --supervise: a server that was killed comes back as it was, and clients notice no more than a
broken connection."""
import errno
import json
import os
import re
import signal
import socket
import subprocess
import time

import boto3
import botocore.config
import pytest
from durable import Connection, Refused, Store
from exchange.process import Server, program
from supervised import (GONE, SupervisedStore, armed, await_life, children, info, is_alive, kill_server, life, post,
                        rules, until)


@pytest.fixture
def store(folder):
    opened = SupervisedStore(folder)
    opened.start()
    yield opened
    opened.end()


@pytest.fixture
def start():
    """Starts servers under a supervisor; all of them must end cleanly."""
    running = []

    def started(*options, clock="virtual"):
        server = Server("--supervise", *options, clock=clock)
        running.append(server)
        return server

    yield started
    for server in running:
        if server.process.poll() is None:
            server.stop()


def crash(store):
    """The next life of the store's server."""
    number = life(store.server)
    kill_server(store.server)
    store.reconnect(number + 1)


def events(server, since=0):
    connection = Connection(server.port)
    connection.http.request("GET", "/_quern/trace?since=%d" % since)
    lines = connection.http.getresponse().read().splitlines()
    connection.close()
    return [json.loads(line) for line in lines]


# What comes back


def test_a_rule_crashes_the_server_once_and_all_that_was_answered_is_there(store):
    url = store.queue("q")
    post(store.server, "/_quern/rules", {"rule": "on SendMessage nth 2 do crash server as boom"})
    store.send(url, "first")
    port = store.server.port
    with pytest.raises(GONE):
        store.send(url, "second")
    store.reconnect(2)
    assert store.server.port == port
    assert [m["body"] for m in store.peek("q")] == ["first", "second"]
    store.send(url, "third")
    rule = rules(store.server)["boom"]
    assert (rule["matched"], rule["fired"]) == (3, 1)
    assert life(store.server) == 2


def test_a_once_crashes_once_however_often_it_matches(store):
    url = store.queue("q")
    post(store.server, "/_quern/rules", {"rule": "on SendMessage once at arrive do crash server as boom"})
    with pytest.raises(GONE):
        store.send(url, "lost")
    store.reconnect(2)
    for number in range(5):
        store.send(url, str(number))
    assert (life(store.server), rules(store.server)["boom"]["fired"]) == (2, 1)


def test_counts_per_message_outlive_a_crash(store):
    url = store.queue("q", VisibilityTimeout=0)
    rule = "on ReceiveMessage nth 2 per message at pre-commit do crash server as second"
    post(store.server, "/_quern/rules", {"rule": rule})
    store.send(url, "x")
    assert store.bodies(url) == ["x"]
    with pytest.raises(GONE):
        store.receive(url)
    store.reconnect(2)
    assert store.bodies(url) == ["x"]
    assert rules(store.server)["second"]["fired"] == 1


def test_rules_are_those_of_before_with_their_names_and_counts(folder):
    store = SupervisedStore(folder, options=("--fault", "on PurgeQueue do mark a as given", "--fault", "on PurgeQueue do mark b"))
    store.start()

    def add(text):
        post(store.server, "/_quern/rules", {"rule": text})

    add("on PurgeQueue do mark c")
    add("on SendMessage every 2 do delay 1ms as slow   # with a comment")
    add("on PurgeQueue do mark d")
    store.server.control("DELETE", "/_quern/rules?name=given")
    store.server.control("DELETE", "/_quern/rules?name=rule-2")
    url = store.queue("q")
    for number in range(3):
        store.send(url, str(number))
    before = rules(store.server)
    assert list(before) == ["rule-1", "slow", "rule-3"]
    assert (before["slow"]["matched"], before["slow"]["fired"]) == (3, 1)
    crash(store)
    assert rules(store.server) == before
    add("on PurgeQueue do mark e")
    assert list(rules(store.server)) == ["rule-1", "slow", "rule-3", "rule-4"], "no name is given twice"
    post(store.server, "/_quern/rules/slow/disable", {})
    crash(store)
    assert not rules(store.server)["slow"]["enabled"]
    store.server.control("DELETE", "/_quern/rules")
    crash(store)
    assert rules(store.server) == {}
    store.end()


def test_the_file_of_rules_is_read_once(folder):
    file = folder / "rules"
    file.write_text("on any do mark x as kept\n")
    store = SupervisedStore(folder, options=("--chaos", str(file)))
    store.start()
    file.write_text("nonsense")
    crash(store)
    assert list(rules(store.server)) == ["kept"]
    store.end()


def test_the_messages_of_a_rule_are_read_once(folder):
    """A file that is gone, or says something else by then, is nothing to the lives behind a crash."""
    for name in ("gone", "other"):
        (folder / name).write_text('{"body": "%s 1"}\n{"body": "%s 2"}\n' % (name, name))
    options = ["--queue", "q"]
    for name in ("gone", "other"):
        options += ["--fault", "on ListQueues once do send @%s to q then send \"text\" to q as %s" % (folder / name, name)]
    store = SupervisedStore(folder, options=options)
    store.start()
    (folder / "gone").unlink()
    (folder / "other").write_text("nonsense")
    crash(store)
    crash(store)
    for _ in range(2):
        store.connection.call("ListQueues", {})
    seen = store.server.control("GET", "/_quern/queues/q/messages")[1]["messages"]
    assert sorted(m["body"] for m in seen) == ["gone 1", "gone 2", "other 1", "other 2", "text", "text"]
    store.end()


def test_failpoints_stay_armed_with_what_they_have_counted(store):
    url = store.queue("q")
    post(store.server, "/_quern/failpoints", {"failpoints": ["dedup.after_insert=kill:3", "purge.mid=error"]})
    fifo = store.queue("q.fifo")
    store.send_fifo(fifo, "one")
    crash(store)
    assert armed(store.server)["dedup.after_insert"]["passed"] == 1
    store.send_fifo(fifo, "two")
    with pytest.raises(GONE):
        store.send_fifo(fifo, "three")
    store.reconnect(3)
    store.send_fifo(fifo, "four")
    assert armed(store.server)["dedup.after_insert"]["passed"] == 4
    store.server.control("DELETE", "/_quern/failpoints?name=dedup.after_insert")
    crash(store)
    assert list(armed(store.server)) == ["purge.mid"]
    store.send(url, "x")


def test_a_failpoint_of_an_option_is_armed_in_the_first_life_only(folder):
    store = SupervisedStore(folder, options=("--failpoint", "dedup.after_insert=kill:1"))
    store.start()
    fifo = store.queue("q.fifo")
    with pytest.raises(GONE):
        store.send_fifo(fifo, "one")
    store.reconnect(2)
    store.send_fifo(fifo, "two")
    assert life(store.server) == 2
    store.end()


@pytest.mark.parametrize("trace", [True, False], ids=["in a file", "in memory"])
def test_events_of_before_the_crash_are_there_in_one_order(folder, trace):
    store = SupervisedStore(folder, options=("--trace", str(folder / "trace")) if trace else ())
    store.start()
    events(store.server)  # from the first reader on every detail is kept, in later lives too
    url = store.queue("q")
    store.send(url, "before")
    post(store.server, "/_quern/rules", {"rule": "on ReceiveMessage once do crash server as boom"})
    with pytest.raises(GONE):
        store.receive(url)
    store.reconnect(2)
    store.send(url, "after")
    seen = events(store.server)
    assert [event["seq"] for event in seen] == sorted(event["seq"] for event in seen)
    kinds = [event["kind"] for event in seen]
    assert [event["count"] for event in seen if event["kind"] == "boot"] == [1, 2]
    assert kinds.index("lease.grant") < kinds.index("fault") < len(kinds) - 1 - kinds[::-1].index("boot")
    (granted,) = [event["lsn"] for event in seen if event["kind"] == "lease.grant"]
    assert [event for event in seen if event["kind"] == "boot"][1]["lsn"] >= granted, "it has happened"
    assert kinds.count("msg.send") == 2
    assert all("params" in event for event in seen if event["kind"] == "api.in"), "in full"
    store.end()


def test_the_virtual_clock_goes_on_where_it_stood_and_at_its_pace(start):
    server = start("--queue", "q")
    server.advance_ms(90_000)
    before = info(server)["clock"]
    kill_server(server)
    await_life(server, 2)
    assert info(server)["clock"] == before
    post(server, "/_quern/clock", {"rate": 1})
    kill_server(server)
    await_life(server, 3)
    clock = info(server)["clock"]
    assert clock["rate"] == 1 and clock["now_ms"] >= before["now_ms"]


# Without a database


def test_in_memory_everything_is_lost_but_the_rules_and_that_is_said_once(start):
    server = start("--queue", "q", "--restart-after", "1ms", "--fault", "on any do mark x as kept")
    connection = Connection(server.port)
    first = connection.call("SendMessage", {"QueueUrl": "q", "MessageBody": "a"})["MessageId"]
    handle = connection.call("ReceiveMessage", {"QueueUrl": "q"})["Messages"][0]["ReceiptHandle"]
    for number in (2, 3):
        kill_server(server)
        await_life(server, number)
    assert server.log().count("comes back empty") == 1
    assert list(rules(server)) == ["kept"]
    connection = Connection(server.port)
    again = connection.call("SendMessage", {"QueueUrl": "q", "MessageBody": "b"})["MessageId"]
    assert again != first, "no id is drawn twice"
    with pytest.raises(Refused, match="ReceiptHandleIsInvalid"):
        connection.call("DeleteMessage", {"QueueUrl": "q", "ReceiptHandle": handle})
    assert info(server)["boot"] == 3


# Being down


def test_while_it_is_down_clients_are_refused_and_nobody_else_gets_the_port(start):
    server = start("--restart-after", "1h")
    kill_server(server)
    with socket.socket() as client:
        assert client.connect_ex(("127.0.0.1", server.port)) == errno.ECONNREFUSED
    with socket.socket() as thief:
        with pytest.raises(OSError, match="in use"):
            thief.bind(("127.0.0.1", server.port))
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(10) == 0
    assert "down_ms=3600000" in server.log()


@pytest.mark.parametrize("behind, down_ms", [
    ("then restart server after 300ms", 300),
    ("then after 100ms restart server after 200ms", 300),
    ("then restart server", 0),
    ("", 700),
])
def test_a_rule_says_how_long_it_stays_down(start, behind, down_ms):
    server = start("--restart-after", "700ms", "--fault", "on tick 1s once do crash server %s as boom" % behind)
    with pytest.raises(GONE):
        server.advance_ms(1000)
    began = time.monotonic()
    await_life(server, 2)
    assert time.monotonic() - began >= down_ms / 1000 - 0.05
    assert "by=boom life=1 down_ms=%d" % down_ms in server.log()


def test_a_rule_says_so_for_its_failpoint_too(start, folder):
    server = start("--restart-after", "1h", "--fault",
                   "on tick 1s once do crash server at lease_timer.after_commit then restart server after 3ms")
    server.advance_ms(1000)
    connection = Connection(server.port)
    connection.call("CreateQueue", {"QueueName": "q"})
    connection.call("SendMessage", {"QueueUrl": "q", "MessageBody": "x", "DelaySeconds": 5})
    with pytest.raises(GONE):
        server.advance_ms(5000)
    await_life(server, 2)
    assert "by=lease_timer.after_commit life=1 down_ms=3" in server.log()


def test_all_ports_are_those_of_before(start):
    server = start("--bind", "127.0.0.1:0", "--bind", "127.0.0.2:0", "--restart-after", "1ms")
    before = info(server)["listening"]
    assert len(set(before)) == 3
    kill_server(server)
    await_life(server, 2)
    assert info(server)["listening"] == before


# Clients


def test_boto3_with_its_retries_sees_no_more_than_a_delay(folder):
    store = SupervisedStore(folder, options=("--fault", "on SendMessage every 3 at arrive do crash server as boom"))
    store.start(clock="real")
    store.queue("q")
    sqs = boto3.client("sqs", endpoint_url=store.server.endpoint, region_name="us-east-1", aws_access_key_id="test",
                       aws_secret_access_key="test",
                       config=botocore.config.Config(retries={"mode": "standard", "max_attempts": 6}))
    for number in range(5):
        sqs.send_message(QueueUrl=store.server.endpoint + "/000000000000/q", MessageBody=str(number))
    assert sorted(m["body"] for m in store.peek("q")) == list("01234")
    assert life(store.server) == 3
    store.end()


# Ends


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda s: s.name)
def test_a_signal_ends_both_cleanly(folder, number):
    store = SupervisedStore(folder)
    store.start()
    url = store.queue("q")
    store.send(url, "kept")
    (pid,) = children(store.server.process.pid)
    store.server.process.send_signal(number)
    assert store.server.process.wait(20) == 0
    assert not is_alive(pid)
    assert "stopping signal=%d" % number in store.server.log()
    plain = Store(folder)
    plain.start()
    assert [m["body"] for m in plain.peek("q")] == ["kept"]
    plain.end()


def test_a_server_that_is_stopped_by_itself_ends_its_supervisor(start):
    server = start()
    (pid,) = children(server.process.pid)
    os.kill(pid, signal.SIGTERM)
    assert server.process.wait(20) == 0


def test_the_server_does_not_outlive_its_supervisor(start):
    server = start()
    (pid,) = children(server.process.pid)
    server.process.kill()
    server.process.wait()
    until(lambda: not is_alive(pid), "the end of the server")


def refusal(*options, status=2):
    """What a supervised server says that cannot start."""
    done = subprocess.run([program(), "serve", "--supervise", *options], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "QUERN_LOG": "info"})
    assert done.returncode == status, done.stderr
    return done.stderr


def test_a_server_that_cannot_start_is_not_started_again(folder):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert "in use" in refusal("--bind", "127.0.0.1:%d" % taken.getsockname()[1])
    (folder / "foreign").write_text("not a database, and long enough to be looked at" * 10)
    wrong = (["--fault", "nonsense"], ["--queue", "bad name"], ["--db", str(folder / "foreign")],
             ["--failpoint", "nowhere=kill"], ["--trace", str(folder / "foreign")])
    for options in wrong:
        lines = [line for line in refusal("--port", "0", *options).splitlines() if "comes back empty" not in line]
        assert len(lines) == 1, lines


@pytest.mark.parametrize("options", [["--restart-after", "1s"], ["--supervise", "--restart-after", "soon"],
                                     ["--supervise", "--restart-after", "2h"], ["--supervise", "--restart-after", "5"]],
                         ids=" ".join)
def test_a_wrong_option_is_refused(options):
    done = subprocess.run([program(), "serve", "--port", "0", *options], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "--restart-after" in done.stderr and done.stderr.count("\n") == 1


def test_a_server_that_dies_again_and_again_by_itself_is_given_up(start):
    server = start("--restart-after", "1ms")
    for number in range(1, 5):
        await_life(server, number)
        kill_server(server)
    await_life(server, 5)
    kill_server(server)
    assert server.process.wait(20) == 1
    assert "died 5 times within 10 s and no rule wanted it, giving up signal=9" in server.log()


def test_a_rule_may_kill_it_as_often_as_it_likes(start):
    server = start("--restart-after", "1ms", "--queue", "q", "--fault", "on SendMessage do crash server as boom")
    for number in range(1, 9):
        await_life(server, number)
        with pytest.raises(GONE):
            Connection(server.port).call("SendMessage", {"QueueUrl": "q", "MessageBody": "x"})
    await_life(server, 9)


def test_a_start_that_never_comes_to_an_end_is_given_up(folder):
    store = SupervisedStore(folder)
    store.start()
    post(store.server, "/_quern/failpoints", {"failpoints": ["boot.before_recovery=kill"]})
    kill_server(store.server)
    assert store.server.process.wait(20) == 1
    assert "5 starts in a row came to nothing, giving up" in store.server.log()
    assert store.server.log().count("by=boot.before_recovery") == 5
    plain = Store(folder)
    plain.start()
    plain.end()


# Nothing piles up


def test_neither_descriptors_nor_processes_pile_up(folder):
    store = SupervisedStore(folder, options=("--trace", str(folder / "trace")))
    store.start()
    pid = store.server.process.pid

    def files(process):
        folder = "/proc/%d/fd" % process
        return sorted(os.readlink(folder + "/" + name).split(":")[0] for name in os.listdir(folder))

    def figures():
        """Of both processes, when the server has nothing but its listener open."""
        store.connection.close()
        while True:
            try:
                found = [files(process) for process in (pid, *children(pid))]
            except FileNotFoundError:  # closed meanwhile
                continue
            if found[1].count("socket") == 1:
                return found

    post(store.server, "/_quern/rules", {"rule": "on ListQueues do crash server as boom"})
    before = figures()
    for number in range(2, 12):
        with pytest.raises(GONE):
            store.call("ListQueues")
        store.reconnect(number)
    assert figures() == before
    store.end()


def first_process(options):
    """A server as process 1 of a namespace of its own, like in a container: what holds it, and its port."""
    command = ["unshare", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*command, "true"], capture_output=True).returncode != 0:
        pytest.skip("no right to make a namespace")
    outer = subprocess.Popen([*command, program(), "serve", "--bind", "127.0.0.1:0", *options],
                             stderr=subprocess.PIPE, text=True)
    line = outer.stderr.readline()
    while line and "listening" not in line:
        line = outer.stderr.readline()
    return outer, int(re.search(r"127\.0\.0\.1:(\d+)", line)[1])


CRASH = ("--fault", "on GetQueueUrl do crash server then restart server as boom")


def test_as_the_first_process_of_a_container_it_reaps_its_servers():
    outer, port = first_process(["--supervise", *CRASH])
    with outer:
        (first,) = children(outer.pid)
        (server,) = children(first)
        with pytest.raises(GONE):
            Connection(port).call("GetQueueUrl", {"QueueName": "q"})
        until(lambda: children(first) not in ([], [server]), "the next server")
        assert len(children(first)) == 1 and not is_alive(server)
        os.kill(first, signal.SIGTERM)
        assert outer.wait(20) == 0


def test_the_first_process_of_a_container_that_crashes_ends_with_the_status_of_a_kill():
    """It cannot kill itself: the system takes no SIGKILL from inside."""
    outer, port = first_process(CRASH)
    with outer:
        with pytest.raises(GONE):
            Connection(port).call("GetQueueUrl", {"QueueName": "q"})
        assert outer.wait(20) == 137
