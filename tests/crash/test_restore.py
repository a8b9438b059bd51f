"""`restore D`: a server that comes back on a snapshot of its store that is D old. What was sent since then is
lost, and what was deleted since then is there again; nothing else has changed."""
import json
import random
import time

import pytest
from durable import Refused
from exchange.process import Server
from supervised import GONE, SupervisedStore, info, life, post, rules, until

AGE_S = 8
STEP_S = AGE_S // 4  # so often a snapshot is taken
RULE = "unsound on GetQueueUrl do restore %ds then restart server as back" % AGE_S


@pytest.fixture(params=["normal", "full"])
def store(request, folder):
    opened = SupervisedStore(folder, options=("--sync", request.param))
    opened.start()
    yield opened
    opened.end()


def go_back(store):
    """The rule fires, and the next server is there."""
    number = life(store.server)
    with pytest.raises(GONE):
        store.call("GetQueueUrl", QueueName="q")
    store.reconnect(number + 1)


def snapshots(store):
    return sorted(path.name for path in store.folder.glob("*snapshot*"))


def bodies(store, name="q"):
    return sorted(message["body"] for message in store.peek(name))


def picture(store, *names):
    """All that a queue says of its messages."""
    return {name: store.peek(name) for name in names}


def test_sends_of_the_last_seconds_are_lost_and_deletes_come_back(store):
    url = store.queue("q", VisibilityTimeout=600)
    post(store.server, "/_quern/rules", {"rule": RULE})
    for body in ("kept", "deleted-before", "deleted-since"):
        store.send(url, body)
    leased = {message["Body"]: message for message in store.receive(url)}
    store.delete(url, leased["deleted-before"])
    store.advance_s(AGE_S)
    store.delete(url, leased["deleted-since"])
    store.send(url, "lost")
    store.advance_s(AGE_S - 1)
    assert bodies(store) == ["kept", "lost"]
    go_back(store)
    assert bodies(store) == ["deleted-since", "kept"]
    (again,) = [message for message in store.peek("q") if message["body"] == "deleted-since"]
    assert (again["message_id"], again["receive_count"]) == (leased["deleted-since"]["MessageId"], 1)
    store.delete(url, leased["deleted-since"])
    assert bodies(store) == ["kept"], "the handle of then is good"
    assert store.clock_ms() == store.now_ms, "the clock does not go back"


class Model:
    """What a store held after each change, and when that was."""

    def __init__(self, store, seed):
        self.store = store
        self.chance = random.Random(seed)
        self.past = []
        self.serial = 0
        self.handles = []
        for name in ("q", "ordered.fifo"):
            store.queue(name, VisibilityTimeout=5)
        self.note()

    def note(self):
        self.past.append((self.store.now_ms, picture(self.store, "q", "ordered.fifo")))

    def act(self):
        store, chance = self.store, self.chance
        for _ in range(chance.randint(1, 4)):
            self.serial += 1
            choice = chance.random()
            if choice < 0.35:
                store.send("q", "plain-%d" % self.serial, DelaySeconds=chance.choice((0, 0, 3)))
            elif choice < 0.55:
                store.send_fifo("ordered.fifo", "ordered-%d" % self.serial, group="g%d" % chance.randrange(3))
            elif choice < 0.75:
                name = chance.choice(("q", "ordered.fifo"))
                self.handles += [(name, message) for message in store.receive(name, chance.randint(1, 3))]
            elif self.handles:
                name, message = self.handles.pop(chance.randrange(len(self.handles)))
                try:
                    store.delete(name, message)
                except Refused:  # of a FIFO queue, when its lease is over
                    pass
        self.note()

    def then(self, at_ms):
        return [what for when, what in self.past if when <= at_ms][-1]

    def went_back(self, to_ms):
        """What came behind that instant did not happen."""
        self.past = [pair for pair in self.past if pair[0] <= to_ms]
        self.handles = []


def stored(messages):
    """Without what passes with time: whether a lease is over."""
    passing = ("state", "hidden_until_ms", "position")
    return [{k: v for k, v in message.items() if k not in passing} for message in messages]


@pytest.mark.parametrize("seed", range(6))
def test_the_store_is_exactly_that_of_then(folder, seed):
    """Time moves in steps as long as the time between snapshots, so each state has its own."""
    store = SupervisedStore(folder)
    store.start()
    model = Model(store, seed)
    post(store.server, "/_quern/rules", {"rule": RULE})
    for _ in range(4):
        for _ in range(model.chance.randint(5, 9)):
            store.advance_s(STEP_S)
            model.act()
        then = model.then(store.now_ms - AGE_S * 1000)
        go_back(store)
        for name, messages in then.items():
            assert stored(store.peek(name)) == stored(messages)
        model.went_back(store.now_ms - AGE_S * 1000)
    store.end()


def test_a_lost_send_leaves_no_trace_in_deduplication(store):
    fifo = store.queue("q.fifo")
    post(store.server, "/_quern/rules", {"rule": RULE})
    store.send_fifo(fifo, "early")
    store.advance_s(AGE_S)
    first = store.send_fifo(fifo, "late")
    go_back(store)
    assert bodies(store, "q.fifo") == ["early"]
    assert store.send_fifo(fifo, "early")["MessageId"] == store.peek("q.fifo")[0]["message_id"], "it is known"
    second = store.send_fifo(fifo, "late")
    assert bodies(store, "q.fifo") == ["early", "late"]
    assert second["MessageId"] != first["MessageId"], "no id is drawn twice"


def test_the_trace_says_what_did_not_happen(store):
    url = store.queue("q")
    store.connection.http.request("GET", "/_quern/trace")  # from now on with every detail
    store.connection.http.getresponse().read()
    post(store.server, "/_quern/rules", {"rule": RULE})
    kept = store.send(url, "kept")["MessageId"]
    store.advance_s(AGE_S)
    lost = store.send(url, "lost")["MessageId"]
    go_back(store)
    later = store.send(url, "later")["MessageId"]
    store.connection.http.request("GET", "/_quern/trace?since=0")
    happened = []
    for event in map(json.loads, store.connection.http.getresponse().read().splitlines()):
        if event["kind"] == "boot":
            happened = [e for e in happened if e["lsn"] <= event["lsn"]]
        elif event["kind"] == "msg.send":
            happened.append(event)
    assert [event["mid"] for event in happened] == [kept, later] and lost not in (kept, later)


def test_before_there_is_one_old_enough_it_is_the_oldest(store):
    url = store.queue("q")
    store.send(url, "before the rule")
    post(store.server, "/_quern/rules", {"rule": RULE})
    store.advance_s(1)
    store.send(url, "after it")
    go_back(store)
    assert bodies(store) == ["before the rule"]


def test_it_can_go_back_again_and_never_to_what_did_not_happen(store):
    url = store.queue("q")
    post(store.server, "/_quern/rules", {"rule": RULE})
    for number in range(5):
        store.send(url, "first-%d" % number)
        store.advance_s(STEP_S)
    go_back(store)
    assert bodies(store) == ["first-0", "first-1"]
    store.advance_s(1)
    store.send(url, "second")
    store.advance_s(2)
    go_back(store)
    assert bodies(store) == ["first-0", "first-1"], "as it was since then"
    store.advance_s(AGE_S)
    store.send(url, "third")
    store.advance_s(AGE_S)
    go_back(store)
    assert bodies(store) == ["first-0", "first-1", "third"]
    assert rules(store.server)["back"]["fired"] == 3


def test_the_rule_may_be_there_from_the_start(folder):
    store = SupervisedStore(folder, options=("--queue", "q", "--fault", RULE))
    store.start()
    store.send("q", "a")
    store.advance_s(AGE_S)
    store.send("q", "b")
    go_back(store)
    assert bodies(store) == ["a"]
    store.end()


def test_it_can_come_later_than_the_rule_fires(store):
    url = store.queue("q")
    rule = "unsound on GetQueueUrl once at arrive do after %ds restore %ds as back" % (STEP_S, AGE_S)
    post(store.server, "/_quern/rules", {"rule": rule})
    store.send(url, "a")
    store.advance_s(AGE_S)
    store.send(url, "b")
    store.call("GetQueueUrl", QueueName="q")
    post(store.server, "/_quern/rules", {"rule": "on PurgeQueue do mark x"})  # with which it is looked at again
    with pytest.raises(GONE):
        store.server.advance_ms(STEP_S * 1000)
    store.now_ms += STEP_S * 1000
    store.reconnect(2)
    assert bodies(store) == ["a"]


def test_a_crash_in_between_leaves_the_snapshots(store):
    url = store.queue("q")
    post(store.server, "/_quern/rules", {"rule": RULE})
    post(store.server, "/_quern/rules", {"rule": "on ListQueues do crash server then restart server as boom"})
    store.send(url, "a")
    store.advance_s(AGE_S)
    store.send(url, "b")
    until(lambda: info(store.server)["journal"]["snapshots"] == 2, "both snapshots")
    with pytest.raises(GONE):
        store.call("ListQueues")
    store.reconnect(2)
    assert bodies(store) == ["a", "b"]
    go_back(store)
    assert bodies(store) == ["a"]


def test_how_old_a_state_is_outlives_a_crash(store):
    """A store knows the last instant of its clock, and not when it was changed last."""
    url = store.queue("q")
    post(store.server, "/_quern/rules", {"rule": RULE})
    post(store.server, "/_quern/rules", {"rule": "on ListQueues do crash server then restart server as boom"})
    store.advance_s(1)
    store.send(url, "a")
    post(store.server, "/_quern/failpoints", {"failpoints": ["writer.before_commit=error"]})  # no snapshot of that
    store.advance_s(2 * AGE_S)
    with pytest.raises(GONE):
        store.call("ListQueues")
    store.reconnect(2)
    store.server.control("DELETE", "/_quern/failpoints")
    go_back(store)
    assert bodies(store) == ["a"], "%d seconds after the last change" % (2 * AGE_S)


def test_a_return_that_is_killed_is_begun_anew(store):
    url = store.queue("q")
    post(store.server, "/_quern/rules", {"rule": RULE})
    store.send(url, "a")
    store.advance_s(AGE_S)
    store.send(url, "b")
    post(store.server, "/_quern/failpoints", {"failpoints": ["boot.before_recovery=kill:1"]})
    with pytest.raises(GONE):
        store.call("GetQueueUrl", QueueName="q")
    store.reconnect(3)
    assert bodies(store) == ["a"]


def test_files_are_there_only_while_a_rule_wants_them_and_are_few(folder):
    store = SupervisedStore(folder)
    store.start()
    url = store.queue("q")
    store.send(url, "x")
    assert snapshots(store) == []

    def add():
        post(store.server, "/_quern/rules", {"rule": RULE})
        until(lambda: snapshots(store), "a snapshot")

    add()
    for number in range(60):
        store.send(url, str(number))
        store.advance_s(STEP_S)
        assert len(snapshots(store)) <= 12
    until(lambda: len(snapshots(store)) >= 4, "the last ones")
    store.server.control("DELETE", "/_quern/rules?name=back")
    until(lambda: not snapshots(store), "the end of the snapshots")
    add()
    post(store.server, "/_quern/rules/back/disable", {})
    until(lambda: not snapshots(store), "the end of the snapshots")
    post(store.server, "/_quern/rules/back/enable", {})
    until(lambda: snapshots(store), "a snapshot")
    store.end()
    assert snapshots(store) == []
    assert sorted(path.name for path in folder.iterdir()) == ["quern.db", "quern.db-ring"]


def test_a_once_that_has_fired_takes_no_more_of_them(folder):
    store = SupervisedStore(folder)
    store.start()
    store.queue("q")
    post(store.server, "/_quern/rules", {"rule": RULE.replace("do", "once do", 1)})
    go_back(store)
    store.send("q", "x")
    store.advance_s(10 * AGE_S)
    until(lambda: not snapshots(store), "the end of the snapshots")
    assert store.call("GetQueueUrl", QueueName="q")
    store.end()


def test_what_an_earlier_supervisor_left_is_removed(folder):
    (folder / "quern.db-snapshot-3").write_text("left behind")
    store = SupervisedStore(folder)
    store.start()
    assert snapshots(store) == []
    store.end()


@pytest.mark.parametrize("options, rule, sentence", [
    (["--supervise", "--db"], RULE.removeprefix("unsound "), "say \"unsound\" to do it all the same"),
    (["--supervise"], RULE, "run with --db FILE and --supervise"),
    (["--db"], RULE, "run with --db FILE and --supervise"),
    (["--supervise", "--db"], RULE + " then throttle", "expected"),
], ids=["sound", "in memory", "alone", "more behind"])
def test_it_is_refused_where_it_cannot_be_or_must_not_be(folder, options, rule, sentence):
    server = Server(*[word for option in options for word in ([option, str(folder / "q.db")]
                                                              if option == "--db" else [option])])
    status, answer = server.control("POST", "/_quern/rules", {"rule": rule})
    assert status == 400 and sentence in answer["error"], answer
    server.stop()


def test_a_busy_server_goes_on_while_snapshots_are_taken(folder):
    """On the real clock, with a store of some megabytes: each answer comes within a moment."""
    store = SupervisedStore(folder)
    store.start(clock="real")
    url = store.queue("q")
    entries = [{"Id": str(n), "MessageBody": "x" * 20_000} for n in range(10)]
    for _ in range(100):
        store.call("SendMessageBatch", QueueUrl=url, Entries=entries)
    post(store.server, "/_quern/rules", {"rule": "unsound on GetQueueUrl do restore 1s then restart server as back"})
    sent, slowest, began = {}, 0, time.monotonic()
    while time.monotonic() < began + 3:
        asked = time.monotonic()
        body = "late-%d" % len(sent)
        store.send(url, body)
        sent[body] = time.monotonic()
        slowest = max(slowest, sent[body] - asked)
    assert len(snapshots(store)) >= 2
    gone = time.monotonic()
    go_back(store)
    assert slowest < 1, "one answer took %.3f s" % slowest
    found = {message["body"] for message in store.peek("q")}
    back = [gone - at for body, at in sent.items() if body in found]
    lost = [gone - at for body, at in sent.items() if body not in found]
    assert back and lost and max(lost) < 1.25 + 1 and min(back) >= 1 - 0.01, (max(lost), min(back))
    store.end()
