"""`quern consume`: any command becomes a consumer."""
import base64
import json
import pathlib
import resource
import signal
import subprocess
import time

import pytest

from commands import environment, refused
from exchange import process
from exchange.client import Client

LIMIT_S = 40


@pytest.fixture
def server(start):
    return start("--queue", "orders", "--queue", "kept", "--queue", "jobs.fifo", clock="real")


@pytest.fixture
def send(quern):
    def one(*words, **how):
        answer = quern("send", *words, **how)
        assert answer.returncode == 0, answer
    return one


class Consumer:
    def __init__(self, server, words, variables=None, **how):
        self.process = subprocess.Popen([process.program(), "consume", *words], text=True,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        env=environment(AWS_ENDPOINT_URL=server.endpoint, **(variables or {})), **how)

    def stop(self, number=signal.SIGTERM):
        """Exit code and the lines that it wrote."""
        self.process.send_signal(number)
        _, written = self.process.communicate(timeout=LIMIT_S)
        assert process.SANITIZER.search(written) is None, written
        return self.process.returncode, [json.loads(line) for line in written.splitlines()]


@pytest.fixture
def consume(server):
    started = []

    def start_one(*words, **how):
        started.append(Consumer(server, words, **how))
        return started[-1]

    yield start_one
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()


def until(holds):
    deadline = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def script(tmp_path, text):
    path = tmp_path / "work.sh"
    path.write_text("out=%s\n%s\n" % (tmp_path, text))
    return ["--", "sh", str(path)]


def counts(server, queue):
    found = server.control("GET", "/_quern/queues/" + queue)[1]
    return sum(found[kind] for kind in ("visible", "in_flight", "delayed"))


def test_the_command_gets_the_body_on_stdin_and_the_rest_in_its_environment(server, send, consume, tmp_path):
    send("jobs.fifo", 'a "body" \u20ac', "--group", "g-1", "--deduplication", "d")
    one = consume("jobs.fifo", *script(tmp_path, """
        cat >$out/body
        env | grep ^QUERN_ | sort >$out/env
        mv $out/env $out/done"""))
    until(lambda: (tmp_path / "done").exists())
    until(lambda: counts(server, "jobs.fifo") == 0)
    assert one.stop()[0] == 0
    assert (tmp_path / "body").read_text() == 'a "body" \u20ac'
    told = dict(line.split("=", 1) for line in (tmp_path / "done").read_text().splitlines())
    assert told["QUERN_MESSAGE_RECEIVE_COUNT"] == "1"
    assert told["QUERN_MESSAGE_GROUP"] == "g-1"
    assert told["QUERN_MESSAGE_DEDUPLICATION"] == "d"
    assert len(told["QUERN_MESSAGE_ID"]) == 36
    assert told["QUERN_QUEUE_URL"].endswith("/jobs.fifo")


def test_exit_code_75_and_any_other_is_a_retry(server, send, consume, tmp_path):
    send("orders", "m")
    one = consume("orders", *script(tmp_path, """
        echo >>$out/calls
        case $(wc -l <$out/calls) in 1) exit 75;; 2) kill -9 $$;; 3) exit 3;; esac"""))
    until(lambda: counts(server, "orders") == 0)
    code, lines = one.stop()
    assert code == 0
    failures = [line for line in lines if line["event"] == "message.failed"]
    assert [line["reason"] for line in failures] == ["exit code 75", "ended by signal 9", "exit code 3"]
    assert [line["receive_count"] for line in failures] == [1, 2, 3]
    assert {line["decision"] for line in failures} == {"retry"}


def test_exit_code_65_goes_to_the_quarantine(server, quern, send, consume, tmp_path):
    send("orders", "bad")
    one = consume("orders", "--quarantine", "kept", *script(tmp_path, "exit 65"))
    until(lambda: counts(server, "orders") == 0)
    assert one.stop()[0] == 0
    message = received(quern, "kept")
    assert message["Body"] == "bad"
    assert message["MessageAttributes"]["quern.reason"]["StringValue"] == "exit code 65"


def received(quern, queue):
    kept = json.loads(quern("receive", queue, "--json").stdout)
    return kept["Messages"][0] if isinstance(kept, dict) else kept[0]


def send_with(server, queue, body, **attributes):
    client = Client(server)
    answer = client.call("json", "SendMessage", {"QueueUrl": server.endpoint + "/000000000000/" + queue, "MessageBody": body,
                                                 "MessageAttributes": attributes})
    client.close()
    assert answer.status == 200, answer


def text(value):
    return {"DataType": "String", "StringValue": value}


FULL = 1024 * 1024  # bytes of a message, its attributes included


@pytest.mark.parametrize("attributes, kept, left_out", [
    ({}, set(), ["quern.reason"]),
    ({"tenant": text("A")}, {"tenant"}, ["quern.reason"]),
], ids=["none", "one"])
def test_a_message_of_maximum_size_is_put_away_without_what_does_not_fit(server, quern, consume, tmp_path, attributes, kept,
                                                                         left_out):
    own = sum(len(name) + len("String") + len(one["StringValue"]) for name, one in attributes.items())
    send_with(server, "orders", "x" * (FULL - own), **attributes)
    one = consume("orders", "--quarantine", "kept", *script(tmp_path, "exit 65"))
    until(lambda: counts(server, "orders") == 0)
    code, lines = one.stop()
    message = received(quern, "kept")
    assert (code, len(message["Body"])) == (0, FULL - own)
    assert set(message.get("MessageAttributes", {})) == kept
    (told,) = [line for line in lines if line["event"] == "quarantine.shortened"]
    assert (told["left_out"], told["level"], len(told["message_id"])) == (left_out, "warn", 36)


def test_a_message_that_a_smaller_quarantine_takes_without_attributes_goes_without_them(server, quern, consume, tmp_path):
    client = Client(server)
    client.call("json", "SetQueueAttributes", {"QueueUrl": server.endpoint + "/000000000000/kept",
                                               "Attributes": {"MaximumMessageSize": "1024"}})
    client.close()
    send_with(server, "orders", "x" * 1024, tenant=text("A"))
    one = consume("orders", "--quarantine", "kept", *script(tmp_path, "exit 65"))
    until(lambda: counts(server, "orders") == 0)
    _, lines = one.stop()
    assert "MessageAttributes" not in received(quern, "kept")
    assert [line["left_out"] for line in lines if line["event"] == "quarantine.shortened"] == [["tenant", "quern.reason"]]


def test_a_message_that_cannot_be_put_away_is_told_and_not_deleted(server, consume, tmp_path):
    client = Client(server)
    client.call("json", "SetQueueAttributes", {"QueueUrl": server.endpoint + "/000000000000/kept",
                                               "Attributes": {"MaximumMessageSize": "1024"}})
    client.close()
    send_with(server, "orders", "x" * 1025)
    one = consume("orders", "--quarantine", "kept", *script(tmp_path, "echo >>$out/calls; exit 65"))
    until(lambda: (tmp_path / "calls").exists() and len((tmp_path / "calls").read_text()) >= 2)
    _, lines = one.stop()
    told = [line for line in lines if line["event"] == "quarantine.failed"]
    assert told and told[0]["code"] == "InvalidParameterValueException" and "1024" in told[0]["message"]
    assert told[0]["queue"].endswith("/kept") and len(told[0]["message_id"]) == 36 and told[0]["receive_count"] == 1
    assert (counts(server, "orders"), counts(server, "kept")) == (1, 0)


def test_an_attribute_too_long_for_the_environment_is_given_in_a_file(server, consume, tmp_path):
    long = "\u20ac" * 70_000
    binary = bytes(range(256)) * 600
    send_with(server, "orders", "m", long=text(long), short=text("s"),
              blob={"DataType": "Binary", "BinaryValue": base64.b64encode(binary).decode()})
    one = consume("orders", *script(tmp_path, """
        cat "$QUERN_ATTRIBUTE_LONG_FILE" >$out/long
        cat <"$QUERN_ATTRIBUTE_BLOB_FILE" >$out/blob
        env | grep ^QUERN_ATTRIBUTE | cut -d= -f1 | sort >$out/env"""))
    until(lambda: counts(server, "orders") == 0)
    code, lines = one.stop()
    assert code == 0
    assert (tmp_path / "long").read_text() == long
    assert (tmp_path / "blob").read_bytes() == binary
    assert (tmp_path / "env").read_text().split() == ["QUERN_ATTRIBUTE_BLOB_FILE", "QUERN_ATTRIBUTE_LONG_FILE",
                                                      "QUERN_ATTRIBUTE_SHORT"]
    (told,) = [line for line in lines if line["event"] == "attributes.in_files"]
    assert (sorted(told["names"]), len(told["message_id"])) == (["blob", "long"], 36)


@pytest.mark.parametrize("size, variable", [(131_071 - len("QUERN_ATTRIBUTE_A="), "QUERN_ATTRIBUTE_A"),
                                            (131_072 - len("QUERN_ATTRIBUTE_A="), "QUERN_ATTRIBUTE_A_FILE")])
def test_what_the_environment_bears_stays_there(server, consume, tmp_path, size, variable):
    send_with(server, "orders", "m", a=text("x" * size))
    one = consume("orders", *script(tmp_path, "env | grep ^QUERN_ATTRIBUTE | cut -d= -f1 >$out/env"))
    until(lambda: counts(server, "orders") == 0)
    assert one.stop()[0] == 0
    assert (tmp_path / "env").read_text().split() == [variable]


def test_attributes_that_are_too_long_together_are_given_in_files(server, consume, tmp_path):
    names = [chr(ord("a") + n) for n in range(8)]
    send_with(server, "orders", "m", **{name: text(name * 100_000) for name in names})
    limit = lambda: resource.setrlimit(resource.RLIMIT_STACK, (1024 * 1024,) * 2)  # so 256 KiB of environment
    one = consume("orders", *script(tmp_path, 'cat $(env | grep ^QUERN_ATTRIBUTE_._FILE= | cut -d= -f2) | wc -c >$out/size'),
                  preexec_fn=limit)
    until(lambda: counts(server, "orders") == 0)
    assert one.stop()[0] == 0
    assert (tmp_path / "size").read_text().strip() == "800000"


def test_exit_code_65_without_a_quarantine_is_left_to_the_redrive_policy(server, send, consume, tmp_path):
    send("orders", "bad")
    one = consume("orders", *script(tmp_path, "echo >>$out/calls; exit 65"))
    until(lambda: (tmp_path / "calls").exists() and len((tmp_path / "calls").read_text()) >= 2)
    assert one.stop()[0] == 0
    assert counts(server, "orders") == 1


def test_a_command_that_reads_nothing_of_a_large_body_is_no_trouble(server, send, consume, tmp_path):
    send("orders", stdin="x" * 900_000)
    one = consume("orders", *script(tmp_path, "exec <&-; exit 0"))
    until(lambda: counts(server, "orders") == 0)
    assert one.stop()[0] == 0


def test_what_takes_too_long_is_ended_with_all_its_processes(server, send, consume, tmp_path):
    send("orders", "m")
    one = consume("orders", "--timeout", "300ms", *script(tmp_path, """
        [ $QUERN_MESSAGE_RECEIVE_COUNT = 1 ] || exit 0
        trap '' TERM
        sleep 1000 & echo $! >$out/pid
        wait; sleep 1000"""))
    until(lambda: counts(server, "orders") == 0)
    assert one.stop()[0] == 0
    until(lambda: not runs((tmp_path / "pid").read_text().strip()))


def runs(pid):
    stat = pathlib.Path("/proc", pid, "stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"  # nobody may reap it
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize("code", [0, 75])
def test_what_a_command_leaves_behind_is_told_to_end_before_its_message_is_settled(server, send, consume, tmp_path, code):
    send("orders", "m")
    one = consume("orders", *script(tmp_path, f"""
        [ $QUERN_MESSAGE_RECEIVE_COUNT = 1 ] || exit 0
        export out=$out
        sh -c 'trap "touch $out/told; exit" TERM; echo $$ >$out/new; mv $out/new $out/pid; while :; do sleep 0.1; done' 2>/dev/null &
        until [ -e $out/pid ]; do :; done
        exit {code}"""))
    until(lambda: counts(server, "orders") == 0 or (tmp_path / "told").exists())
    assert (tmp_path / "told").exists()
    until(lambda: counts(server, "orders") == 0)
    assert not runs((tmp_path / "pid").read_text().strip())
    assert one.stop()[0] == 0


def test_what_is_left_behind_and_does_not_listen_is_killed_before_its_message_is_settled(server, send, consume, tmp_path):
    send("orders", "m")
    one = consume("orders", *script(tmp_path, """
        (trap '' TERM; exec sleep 1000) & echo $! >$out/pid"""))
    until(lambda: counts(server, "orders") == 0)
    assert not runs((tmp_path / "pid").read_text().strip())
    assert one.stop()[0] == 0


def test_what_ends_with_its_command_is_left_to_end(server, send, consume, tmp_path):
    send("orders", "m")
    one = consume("orders", *script(tmp_path, """
        mkfifo $out/pipe
        sh -c 'read line; echo "$line" >$0/log' $out <$out/pipe &
        exec >$out/pipe
        echo last words"""))
    until(lambda: counts(server, "orders") == 0)
    assert (tmp_path / "log").read_text() == "last words\n"
    assert one.stop()[0] == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_the_command_finish_and_ends_the_long_poll(server, send, consume, tmp_path, number):
    send("orders", "m")
    one = consume("orders", *script(tmp_path, "touch $out/begun; sleep 1; touch $out/done"))
    until(lambda: (tmp_path / "begun").exists())
    code, lines = one.stop(number)
    assert code == 0
    assert (tmp_path / "done").exists()
    assert counts(server, "orders") == 0
    assert [line["to"] for line in lines if line["event"] == "state"] == ["running", "draining", "stopped"]


def test_a_second_sigterm_says_nothing_new(server, send, consume, tmp_path):
    send("orders", "m")
    one = consume("orders", *script(tmp_path, "touch $out/begun; sleep 2; touch $out/done"))
    until(lambda: (tmp_path / "begun").exists())
    one.process.send_signal(signal.SIGTERM)
    one.process.send_signal(signal.SIGINT)  # with the first: the same wish, as timeout(1) forwards it
    time.sleep(0.7)
    assert one.stop(signal.SIGTERM)[0] == 0
    assert (tmp_path / "done").exists()


def test_a_second_ctrl_c_ends_it_at_once_with_its_commands(server, send, consume, tmp_path):
    send("orders", "m")
    one = consume("orders", *script(tmp_path, "echo $$ >$out/pid; touch $out/begun; exec sleep 1000"))
    until(lambda: (tmp_path / "begun").exists())
    one.process.send_signal(signal.SIGINT)
    time.sleep(0.7)
    assert one.stop(signal.SIGINT)[0] == 130
    until(lambda: not pathlib.Path("/proc", (tmp_path / "pid").read_text().strip(), "exe").exists())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP])
def test_killed_it_leaves_no_command_nor_what_that_has_started(server, send, consume, tmp_path, number):
    send("orders", "m")
    one = consume("orders", *script(tmp_path, """
        sleep 1000 & echo $! >$out/child
        echo $$ >$out/pid; touch $out/begun; wait"""))
    until(lambda: (tmp_path / "begun").exists())
    one.process.send_signal(number)
    assert one.process.wait(timeout=LIMIT_S) == -number
    for name in ("pid", "child"):
        stat = pathlib.Path("/proc", (tmp_path / name).read_text().strip(), "stat")
        until(lambda: not stat.exists() or stat.read_text().split()[2] == "Z")


def test_unfinished_work_is_given_back_at_the_end_of_the_grace(server, send, consume, tmp_path):
    send("orders", "m")
    one = consume("orders", "--grace", "1s", *script(tmp_path, "touch $out/begun; sleep 1000"))
    until(lambda: (tmp_path / "begun").exists())
    begun = time.monotonic()
    assert one.stop()[0] == 0
    until(lambda: server.control("GET", "/_quern/queues/orders")[1]["visible"] == 1)
    assert time.monotonic() - begun < 20  # its lease was of 30 s


def test_lines_never_show_a_payload(server, send, consume, tmp_path):
    send("orders", "CANARY")
    one = consume("orders", *script(tmp_path, "echo >>$out/calls; exit 75"))
    until(lambda: (tmp_path / "calls").exists())
    _, lines = one.stop()
    assert lines and "CANARY" not in json.dumps(lines)


@pytest.mark.parametrize("words", [
    ["orders"],
    ["orders", "--"],
    ["orders", "--heartbeat", "soon", "--", "true"],
    ["orders", "--workers", "0", "--", "true"],
    ["orders", "--rate", "fast", "--", "true"],
    ["orders", "--grace", "10", "--", "true"],
])
def test_wrong_words_are_refused(words):
    refused("consume", *words)


@pytest.mark.parametrize("command, said", [
    ("./nosuch", "No such file or directory"),
    ("no-such-program", "No such file or directory"),
    ("./plain", "Permission denied (chmod +x makes it a program)"),
    (".", "Permission denied (it is a folder)"),
    ("./script", "its first line names /no/such/shell: No such file or directory"),
])
def test_a_command_that_cannot_be_started_is_refused_before_the_first_receive(server, send, tmp_path, command, said):
    send("orders", "m")
    (tmp_path / "plain").write_text("")
    (tmp_path / "script").write_text("#!/no/such/shell -e\n")
    (tmp_path / "script").chmod(0o755)
    told = refused("consume", "orders", "--", command, AWS_ENDPOINT_URL=server.endpoint, cwd=tmp_path)
    assert told == "quern consume: cannot start %s: %s\n" % (command, said)
    assert server.control("GET", "/_quern/queues/orders")[1]["visible"] == 1


def test_a_command_that_goes_away_ends_the_consumer_and_leaves_the_messages(server, send, consume, tmp_path):
    work = tmp_path / "work"
    work.write_text("#!/bin/sh\nrm %s\n" % work)
    work.chmod(0o755)
    for _ in range(20):
        send("orders", "m")
    one = consume("orders", "--workers", "1", "--quiet", "--", str(work))
    _, said = one.process.communicate(timeout=LIMIT_S)
    assert one.process.returncode == 1
    assert said == "quern consume: ended, because it cannot start %s: No such file or directory\n" % work
    found = server.control("GET", "/_quern/queues/orders")[1]
    assert (found["visible"], found["in_flight"]) == (19, 0)


def test_a_heartbeat_that_comes_too_late_for_the_queue_is_refused(server):
    said = refused("consume", "orders", "--heartbeat", "26s", "--", "true", AWS_ENDPOINT_URL=server.endpoint)
    assert "25000 ms" in said


def test_a_heartbeat_for_a_short_lease_is_borne_up_to_half_of_it(server, consume):
    one = consume("orders", "--visibility", "4", "--heartbeat", "2s", "--", "true")
    assert json.loads(one.process.stderr.readline())["to"] == "running"
    assert one.stop()[0] == 0
    said = refused("consume", "orders", "--visibility", "4", "--heartbeat", "2001ms", "--", "true",
                   AWS_ENDPOINT_URL=server.endpoint)
    assert said.endswith(": a heartbeat every 2001 ms is too late for a visibility timeout of 4 s: at most every 2000 ms\n")


@pytest.mark.parametrize("both", [("orders", "orders"), ("orders", "{}orders"), ("{}orders", "orders"), ("{}orders", "{}orders")],
                         ids=["names", "url", "consumed-by-url", "urls"])
def test_the_quarantine_must_be_another_queue(server, both):
    queue, kept = (word.format(server.endpoint + "/000000000000/") for word in both)
    said = refused("consume", queue, "--quarantine", kept, "--", "true", AWS_ENDPOINT_URL=server.endpoint)
    assert said == f"quern consume: --quarantine {kept} is the queue that is consumed: say another one\n"


def test_a_queue_that_comes_later_is_waited_for_when_that_is_said(server, quern, consume, send, tmp_path):
    one = consume(server.endpoint + "/000000000000/later", "--wait-for-queue", *script(tmp_path, "touch $out/done"))
    assert json.loads(one.process.stderr.readline())["code"] == "QueueDoesNotExist"
    assert server.control("GET", "/_quern/queues/later")[0] == 404
    client = Client(server)
    client.call("json", "CreateQueue", {"QueueName": "later"})
    client.close()
    send("later", "m")
    until(lambda: (tmp_path / "done").exists())
    assert one.stop()[0] == 0


@pytest.mark.parametrize("visibility", [[], ["--visibility", "30"]], ids=["of-the-queue", "given"])
def test_a_queue_that_is_deleted_ends_its_consumer(server, quern, send, consume, tmp_path, visibility):
    send("orders", "m")
    one = consume("orders", *visibility, *script(tmp_path, "touch $out/done"))
    until(lambda: counts(server, "orders") == 0)
    assert quern("delete", "orders", "--whole-queue").returncode == 0
    _, written = one.process.communicate(timeout=LIMIT_S)
    *lines, last = written.splitlines()
    place = server.endpoint
    assert last == f"quern consume: there is no queue orders at {place} (quern queues --endpoint {place} lists them)"
    assert one.process.returncode == 1
    events = [json.loads(line) for line in lines]
    assert [line["level"] for line in events if line["event"] == "queue.gone"] == ["error"]
    assert [line["to"] for line in events if line["event"] == "state"] == ["running", "draining", "stopped"]
