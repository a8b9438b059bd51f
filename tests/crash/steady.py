"""Clients of a server that may refuse changes or die, each with queues of its own: so each knows exactly
what must be there. A refusal has changed nothing; only a request without an answer may or may not have
happened, and as a whole."""
import random
import threading

from client import Client
from durable import Refused, peek

LEASE_S = 3600  # no lease ends by itself


class Kept:
    """A message that is in a queue."""

    def __init__(self, receives=0, handle=None):
        self.receives = receives
        self.handle = handle


class Worker(Client):
    """Sends, receives, deletes and changes visibilities on one queue until `over` is set."""

    def __init__(self, number, life, state):
        super().__init__(number, life)
        self.state = state
        self.random = random.Random("%d in life %d" % (number, life))
        self.label = "%d.%d" % (number, life)
        self.serial = 0
        self.answers = 0
        self.refusals = 0

    def ask(self, kind, bodies, action, **members):
        """The answer, or None for a refusal for want of room."""
        self.state.pending = (kind, bodies)
        try:
            answer = self.connection.call(action, dict(members, QueueUrl=self.state.queue))
        except Refused as refusal:
            assert (refusal.status, refusal.code) == (503, "ServiceUnavailable"), refusal
            self.refusals += 1
            answer = None
        else:
            self.answers += 1
        self.state.pending = None
        return answer

    def act(self):
        leased = [body for body, kept in self.state.messages.items() if kept.handle is not None]
        choice = self.random.random()
        if choice < 0.45:
            self.send(self.random.choice((1, 1, 3, 10)))
        elif choice < 0.65 or not leased:
            self.receive()
        elif choice < 0.90:
            self.delete(self.random.sample(leased, min(len(leased), self.random.choice((1, 1, 10)))))
        else:
            self.show(self.random.choice(leased))

    def entry(self, number):
        self.serial += 1
        entry = {"Id": str(number), "MessageBody": "%s.%06d" % (self.label, self.serial)}
        if self.state.is_fifo:
            entry["MessageGroupId"] = "g%d" % self.random.randrange(3)
            entry["MessageDeduplicationId"] = entry["MessageBody"]
        return entry

    def send(self, count):
        entries = [self.entry(n) for n in range(count)]
        bodies = [entry["MessageBody"] for entry in entries]
        if count == 1:
            del entries[0]["Id"]
            answer = self.ask("send", bodies, "SendMessage", **entries[0])
        else:
            answer = self.ask("send", bodies, "SendMessageBatch", Entries=entries)
            assert answer is None or len(answer.get("Successful", [])) == count, answer
        if answer is not None:
            self.state.messages.update((body, Kept()) for body in bodies)

    def receive(self):
        asked = {"MaxNumberOfMessages": 10, "MessageSystemAttributeNames": ["ApproximateReceiveCount"]}
        answer = self.ask("receive", [], "ReceiveMessage", **asked)
        for message in (answer or {}).get("Messages", []):
            kept = self.state.messages[message["Body"]]
            kept.receives += 1
            kept.handle = message["ReceiptHandle"]
            assert int(message["Attributes"]["ApproximateReceiveCount"]) == kept.receives, message["Body"]

    def delete(self, bodies):
        handles = [self.state.messages[body].handle for body in bodies]
        if len(bodies) == 1:
            answer = self.ask("delete", bodies, "DeleteMessage", ReceiptHandle=handles[0])
        else:
            entries = [{"Id": str(n), "ReceiptHandle": handle} for n, handle in enumerate(handles)]
            answer = self.ask("delete", bodies, "DeleteMessageBatch", Entries=entries)
            assert answer is None or len(answer.get("Successful", [])) == len(bodies), answer
        if answer is not None:
            for body in bodies:
                del self.state.messages[body]

    def show(self, body):
        """Lets another receive have it."""
        kept = self.state.messages[body]
        if (
            self.ask("show", [], "ChangeMessageVisibility", ReceiptHandle=kept.handle, VisibilityTimeout=0)
            is not None
        ):
            kept.handle = None


class State:
    """What one worker after the other knows of its queue."""

    def __init__(self, number):
        self.is_fifo = number % 2 == 1
        self.queue = "work-%d%s" % (number, ".fifo" if self.is_fifo else "")
        self.messages = {}
        self.pending = None  # (kind, bodies) of the request without an answer

    def problems(self, found):
        """Of what is in the queue: all messages, as the control API shows them."""
        receives = {message["body"]: message["receive_count"] for message in found}
        if len(receives) != len(found):
            yield "%s: a message is there twice" % self.queue
        kind, pending = self.pending or ("nothing", [])
        present = [body for body in pending if body in receives]
        if kind in ("send", "delete") and len(present) not in (0, len(pending)):
            yield "%s: a %s was half done: %s of %s" % (self.queue, kind, present, pending)
        maybe = set(pending)
        lost = sorted(set(self.messages) - set(receives) - (maybe if kind == "delete" else set()))
        more = sorted(set(receives) - set(self.messages) - (maybe if kind == "send" else set()))
        if lost:
            yield "%s: lost: %s" % (self.queue, lost[:10])
        if more:
            yield "%s: there though nobody sent it, or deleted: %s" % (self.queue, more[:10])
        for body in set(receives) & set(self.messages):
            low = self.messages[body].receives
            if not low <= receives[body] <= low + (kind == "receive"):
                yield "%s: %s has %d receives, not %d" % (self.queue, body, receives[body], low)
        if self.is_fifo:
            yield from self._order_problems(found)

    def _order_problems(self, found):
        groups = {}
        for message in sorted(found, key=lambda m: m["position"]):
            groups.setdefault(message["group_id"], []).append(message["body"])
        for group, bodies in groups.items():
            if bodies != sorted(bodies, key=lambda body: [int(part) for part in body.split(".")]):
                yield "%s: order of %s: %s" % (self.queue, group, bodies)

    def adopt(self, found):
        """Goes on from what is there. A receive without an answer took the handle with it."""
        known, self.messages = self.messages, {}
        for message in found:
            body, receives = message["body"], message["receive_count"]
            handle = known[body].handle if body in known and known[body].receives == receives else None
            self.messages[body] = Kept(receives, handle)
        self.pending = None


class Load:
    """All the workers on one store, life after life of its servers."""

    def __init__(self, store, workers=4):
        self.store = store
        self.states = [State(number) for number in range(workers)]
        self.workers = []
        self.over = None
        self.life = 0

    def make_queues(self):
        for state in self.states:
            self.store.queue(state.queue, VisibilityTimeout=LEASE_S)

    def begin(self):
        self.life += 1
        self.over = threading.Event()
        self.workers = [Worker(number, self.life, state) for number, state in enumerate(self.states)]
        for worker in self.workers:
            worker.begin(self.store.server.port, self.over)

    def end(self):
        """To be called when the server is gone, or to let the workers end by themselves."""
        self.over.set()
        for worker in self.workers:
            worker.join(30)
            assert not worker.is_alive(), "a client got neither an answer nor an end"
            if worker.error is not None:
                raise worker.error

    def answers(self):
        return sum(worker.answers for worker in self.workers)

    def refusals(self):
        return sum(worker.refusals for worker in self.workers)

    def check(self, when):
        """While no worker is at work."""
        problems = []
        for state in self.states:
            found = peek(self.store.server, state.queue)
            problems += state.problems(found)
            state.adopt(found)
        assert not problems, "%s:\n%s" % (when, "\n".join(problems[:20]))
