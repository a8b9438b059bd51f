"""Clients that use a server from several threads until it is gone, and what a store must hold then."""
import json
import threading
import time

from client import Client
from consumer import FIFO, Consumer
from durable import Refused, peek
from instants import RealInstants, VirtualInstants
from ledger import Ledger, Rules
from mover import Circle, Mover, Task, judge
from owner import Owner, read_owned

RULES = {
    "standard": Rules(visibility_s=1),
    "brief": Rules(visibility_s=2, retention_s=60),
    "limited": Rules(visibility_s=0, limit=2, dead="limited-dead"),
    "limited-dead": Rules(visibility_s=0),
    FIFO: Rules(visibility_s=1, limit=5, dead="ordered-dead.fifo"),
    "ordered-dead.fifo": Rules(visibility_s=1),
}
QUEUES = tuple(RULES)  # a dead-letter queue after its source
CIRCLING = 120  # messages that go round between a queue and its dead-letter queue
STEPS_MS = (1, 10, 100, 500, 1500)
LONGEST_S = 150  # beyond every delay and lease


class Advancer(Client):
    """Moves the server's clock on."""

    def __init__(self, number, seed, instants):
        super().__init__(number, seed)
        self.instants = instants

    def act(self):
        by_ms = self.random.choice(STEPS_MS)
        self.instants.moving(by_ms)
        self.instants.moved(self.connection.control("POST", "/_quern/clock", {"advance_ms": by_ms})["now_ms"])
        self.over.wait(0.02)


class Traffic:
    """All the clients on one store, life after life."""

    def __init__(self, store, seed, consumers=4, is_virtual=False):
        self.store = store
        self.seed = seed
        self.consumers = consumers
        self.instants = VirtualInstants(store.now_ms) if is_virtual else RealInstants()
        self.ledger = Ledger(self.instants, RULES)
        self.owned = [{}, {}]
        self.circles = [Circle("circle", CIRCLING), Circle("circle.fifo", CIRCLING // 2)]
        self.life = 0
        self.threads = []
        self.over = threading.Event()

    def make_queues(self):
        store = self.store
        for name in ("standard", "brief"):
            store.queue(name, VisibilityTimeout=RULES[name].visibility_s)
        store.call("SetQueueAttributes", QueueUrl="brief", Attributes={"MessageRetentionPeriod": "60"})
        for name in ("limited", FIFO):
            self._make_pair(name, RULES[name].dead, RULES[name].limit, RULES[name].visibility_s)
        for circle in self.circles:
            self._make_pair(circle.name, circle.dead, 1, 0)
            entries = list(circle.entries())
            for start in range(0, len(entries), 10):
                store.call("SendMessageBatch", QueueUrl=circle.name, Entries=entries[start : start + 10])

    def _make_pair(self, name, dead, limit, visibility_s):
        arn = self.store.arn(self.store.queue(dead, VisibilityTimeout=visibility_s))
        policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": limit})
        self.store.queue(name, RedrivePolicy=policy, VisibilityTimeout=visibility_s)

    # ---- load ----

    def begin(self):
        self.life += 1
        seed = "%s.%d" % (self.seed, self.life)
        self.over = threading.Event()
        self.threads = [Consumer(n, seed, self.ledger) for n in range(self.consumers)]
        self.threads += [Owner("owner", seed, self.owned)]
        self.threads += [Mover(circle.name, seed, circle) for circle in self.circles]
        if isinstance(self.instants, VirtualInstants):
            self.threads.append(Advancer("advancer", seed, self.instants))
        for thread in self.threads:
            thread.begin(self.store.server.port, self.over)

    def end(self):
        """To be called when the server is gone, or to let the clients end by themselves."""
        self.over.set()
        for thread in self.threads:
            thread.join(30)
            assert not thread.is_alive(), "a client got neither an answer nor an end"
            if thread.error is not None:
                raise thread.error
        if isinstance(self.instants, VirtualInstants):
            self.store.now_ms = self.instants.low

    # ---- what must be there ----

    def check(self, when):
        """The store, right after a restart, holds what its clients were told."""
        low_ms = self.store.clock_ms()
        problem = self.instants.restarted(low_ms)
        if problem is not None:
            self.ledger.wrong("%s", problem)
        self.store.now_ms = max(self.store.now_ms, low_ms)
        unanswered = self.ledger.unanswered_sends()
        receives = list(self.ledger.receives)
        risen = self.ledger.check(self._found(), low_ms, self.store.clock_ms())
        self._check_owned()
        for circle in self.circles:
            self._check_circle(circle)
        self._repeat_receives(receives, risen)
        self._send_again(unanswered)
        self.ledger.assert_sound(when)

    def _found(self):
        server = self.store.server
        return [(queue, message) for queue in QUEUES for message in peek(server, queue)]

    def _check_owned(self):
        owned = read_owned(self.store)
        if owned not in self.owned:
            self.ledger.wrong("the owner's queues\nare  %r\nwere %r\nnext %r", owned, *self.owned)
        self.owned[:] = [owned, owned]

    def _tasks(self, circle):
        arn = self.store.arn(circle.dead)
        return self.store.call("ListMessageMoveTasks", SourceArn=arn, MaxResults=10).get("Results", [])

    def _check_circle(self, circle):
        """Each message is in one of the two queues; looked at when none is on its way."""
        self._judge_task(circle, self._when_at_rest(circle, self._is_on_the_way))
        if isinstance(self.instants, RealInstants):
            self._cancel_task(circle)
        found = sorted(m["body"] for queue in (circle.name, circle.dead) for m in self.store.peek(queue))
        if found != circle.bodies:
            lost, more = list(circle.bodies), []
            for body in found:
                (lost.remove if body in lost else more.append)(body)
            self.ledger.wrong("of the circling messages of %s %s are lost, %s too many", circle.name, lost, more)

    def _is_on_the_way(self, task):
        """A task with a rate does nothing while the clock stands still, and goes on by itself if the
        clock is real."""
        return task["Status"] == "CANCELLING" or (
            task["Status"] == "RUNNING" and "MaxNumberOfMessagesPerSecond" not in task
        )

    def _when_at_rest(self, circle, is_on_the_way):
        deadline = time.monotonic() + 20
        while True:
            tasks = self._tasks(circle)
            if not any(is_on_the_way(task) for task in tasks):
                return tasks
            assert time.monotonic() < deadline, "a move task does not end: %r" % tasks
            time.sleep(0.01)

    def _cancel_task(self, circle):
        for task in self._tasks(circle):
            if task["Status"] == "RUNNING":
                circle.task.cancel_is_asked = True
                try:
                    self.store.call("CancelMessageMoveTask", TaskHandle=task["TaskHandle"])
                except Refused as refused:  # it has just ended
                    assert refused.code == "ResourceNotFoundException", refused
        self._when_at_rest(circle, lambda task: task["Status"] in ("RUNNING", "CANCELLING"))

    def _judge_task(self, circle, tasks):
        """A start without an answer may have happened, before all others in the list."""
        problem = judge(circle.task, tasks) if circle.task is not None else None
        if circle.start_is_open and tasks and (circle.task is None or problem is not None):
            problem = judge(circle.task, tasks[1:]) if circle.task is not None else None
            rate = {k: tasks[0][k] for k in ("MaxNumberOfMessagesPerSecond",) if k in tasks[0]}
            circle.task = Task(tasks[0].get("TaskHandle"), rate)
        circle.start_is_open = False
        if problem is not None:
            self.ledger.wrong("%s; all are %r", problem, tasks)

    def _repeat_receives(self, receives, risen):
        """What a client does that had no answer to a FIFO receive: the same attempt again. If the first
        one happened, it brings the same messages, and is no further receive (RRA_2, RRA_3)."""
        repeated = []
        for receive in (r for r in receives if r.attempt is not None):
            again = self.ledger.receiving(receive.queue, LONGEST_S, receive.attempt)
            answer = self.store.receive(
                receive.queue, VisibilityTimeout=LONGEST_S, ReceiveRequestAttemptId=receive.attempt
            )
            known = {message.body: message.receives_seen for message in self.ledger.messages.values()}
            for message, _, count in self.ledger.received(again, answer):
                if count == known[message.body]:
                    repeated.append(message)
        for queue in {r.queue for r in receives if r.attempt is not None}:
            if all(r.attempt is not None for r in receives if r.queue == queue):
                for message in (m for m, place, state in risen if place == queue and state == "in-flight"):
                    if message not in repeated:
                        self.ledger.wrong("%s was received without an answer, and cannot be again", message.body)

    def _send_again(self, messages):
        """What a client does that had no answer to a FIFO send: the same again. Whatever became of
        the first one, there is one message of it (DED_2). And of some that were answered: another body
        under the same deduplication id stores nothing."""
        for message in messages:
            if message.group is not None and message.original is None:
                self.ledger.sending(message.body, FIFO, message.group, message.key)
                answer = self.store.send_fifo(FIFO, message.body, message.group, key=message.key)
                self.ledger.sent(self.ledger.messages[message.body], answer)
        for number, original in enumerate(list(self.ledger.accepted.values())[-40::10]):
            body = "%s.%d-again-%d" % (self.seed, self.life, number)
            again = self.ledger.sending(body, FIFO, original.group, original.key, original)
            self.ledger.sent(again, self.store.send_fifo(FIFO, body, original.group, key=original.key))

    def drain(self, when):
        """Beyond every delay and lease all that is there is handed out, and deleted for good."""
        self.instants.moving(LONGEST_S * 1000)
        self.store.advance_s(LONGEST_S)
        self.instants.moved(self.store.clock_ms())
        self.store.now_ms = self.instants.low
        for queue in QUEUES:
            while self._take_all(queue):
                pass
        self.ledger.check(self._found(), self.instants.low, self.instants.low)
        if self.ledger.messages:
            self.ledger.wrong("not handed out when all was due: %s", sorted(self.ledger.messages))
        for circle in self.circles:
            if any(t["Status"] in ("RUNNING", "CANCELLING") for t in self._tasks(circle)):
                self.ledger.wrong("a move task of %s does not end: %r", circle.name, self._tasks(circle))
        self.ledger.assert_sound(when)

    def _take_all(self, queue):
        receive = self.ledger.receiving(queue, LONGEST_S)
        leases = self.ledger.received(receive, self.store.receive(queue, VisibilityTimeout=LONGEST_S))
        for message, handle, count in leases:
            self.ledger.deleting(message, queue, count)
            self.store.delete(queue, {"ReceiptHandle": handle})
            self.ledger.deleted(message, queue, count)
        return leases
