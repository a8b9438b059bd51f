"""The program that users get, under valgrind: no invalid access, nothing used before it was set, no
definite leak, over a fixed mixed load, faults, restarts and stops."""
import http.client
import subprocess
import time

import load
import memcheck
import pytest

RATE = 200  # of the virtual clock: valgrind is slow, and long polls are to end
TURNS = 8
RULES = ("on SendMessage nth 2 do error InternalFailure",
         "on ReceiveMessage nth 2 do false-empty",
         "on SendMessageBatch nth 2 do fail-entries 2 InternalError",
         "on DeleteMessageBatch nth 2 do fake-success",
         "on ReceiveMessage nth 4 do short 1",
         "on GetQueueAttributes once do delay 20ms",
         "on DeleteMessage nth 2 at pre-commit do expire-lease",
         "on msg.delete once do after 1s resurrect",
         "on ListQueues once do reset 0.5",
         "on CreateQueue nth 3 do close 10B",
         "on ListQueueTags do hold as held")


class Turns(load.Load):
    """The actors of the soak, one after the other in this thread."""

    def __init__(self, port, kinds=None):
        super().__init__(port)
        self.actors = [actor for actor in self.actors if kinds is None or isinstance(actor, kinds)]

    def run(self, turns=TURNS):
        for actor in self.actors:
            actor.prepare()
        for _ in range(turns):
            for actor in self.actors:
                actor.turns += 1
                actor.turn()
        for actor in self.actors:
            actor.client.close()
        assert self.complaints == []
        assert self.calls() > turns * len(self.actors) / 2


@pytest.fixture
def valgrind(tmp_path, monkeypatch):
    return memcheck.Memcheck(tmp_path, monkeypatch)


def hurry(server):
    status, answer = server.control("POST", "/_quern/clock", {"rate": RATE})
    assert status == 200, answer


def test_memcheck_is_heard(tmp_path, monkeypatch):
    """A program that reads what was freed ends with a complaint."""
    source = tmp_path / "wrong.c"
    source.write_text("#include <stdlib.h>\nint main(void)\n{\n    char *volatile text = malloc(1);\n"
                      "    free(text);\n    return *text;\n}\n")
    program = tmp_path / "wrong"
    subprocess.run(["gcc", "-O0", "-w", "-o", program, source], check=True, timeout=60)
    monkeypatch.setenv("QUERN_PROGRAM", str(program))
    with pytest.raises(RuntimeError, match="ended with 99"):
        memcheck.Memcheck(tmp_path, monkeypatch).start()


def test_in_memory(valgrind):
    server = valgrind.start("--queue", "given,VisibilityTimeout=3", "--auto-create")
    hurry(server)
    Turns(server.port).run()
    memcheck.end(server)


@pytest.mark.parametrize("sync", ["normal", "full"])
def test_with_a_database_over_restarts(valgrind, tmp_path, sync):
    options = ("--db", str(tmp_path / "q.db"), "--sync", sync, "--trace", str(tmp_path / "trace"))
    server = valgrind.start(*options)
    hurry(server)
    Turns(server.port).run()
    memcheck.end(server)
    server = valgrind.start(*options)
    hurry(server)
    Turns(server.port, (load.Worker, load.FifoWorker, load.Redriver)).run(3)
    server.kill()
    server = valgrind.start(*options)
    client = load.Client(server.port, [])
    assert "/stock" in str(client.call("ListQueues"))
    memcheck.end(server)


def test_with_faults(valgrind):
    server = valgrind.start(*[word for rule in RULES for word in ("--fault", rule)])
    hurry(server)
    client = load.Client(server.port, [])
    get_into_trouble(client)
    held = load.Client(server.port, [])  # until the server ends
    held.http.request("POST", "/", b'{"QueueUrl":"q"}', {
        "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS.ListQueueTags"})
    until = time.monotonic() + 30
    while time.monotonic() < until and idle_rules(server):
        client.request("GET", "/_quern/health", None, {})
    assert idle_rules(server) == []
    client.close()
    memcheck.end(server)
    held.close()


def idle_rules(server):
    rules = server.control("GET", "/_quern/rules")[1]["rules"]
    assert len(rules) == len(RULES)
    return [rule["text"] for rule in rules if rule["fired"] == 0]


def get_into_trouble(client):
    """Each rule fires; two answers are cut off on their way."""
    for name in ("q", "r"):
        client.call("CreateQueue", QueueName=name)
    with pytest.raises((OSError, http.client.HTTPException)):
        client.call("CreateQueue", QueueName="cut")
    client.http.close()
    for turn in range(3):
        client.call("SendMessage", QueueUrl="q", MessageBody="m%d" % turn)
        client.call("SendMessageBatch", QueueUrl="q", Entries=[
            {"Id": str(i), "MessageBody": "n%d" % i} for i in range(4)])
    handles = []
    for _ in range(6):
        got = client.call("ReceiveMessage", QueueUrl="q", MaxNumberOfMessages=4)
        handles += [message["ReceiptHandle"] for message in got.get("Messages", [])]
    assert len(handles) > 6
    for handle in handles[:3]:
        client.call("DeleteMessage", QueueUrl="q", ReceiptHandle=handle)
    for handle in handles[3:6]:
        client.call("DeleteMessageBatch", QueueUrl="q", Entries=[{"Id": "1", "ReceiptHandle": handle}])
    client.call("GetQueueAttributes", QueueUrl="q", AttributeNames=["All"])
    with pytest.raises((OSError, http.client.HTTPException)):
        client.call("ListQueues")
    client.http.close()
