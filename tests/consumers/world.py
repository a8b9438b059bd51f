"""Queues of both kinds, careful clients on them, and what must hold when they are done."""
import http.client
import json
import threading
import time
import urllib.parse

from account import Account
from careful import Caller, Consumer, Producer
from history import History, Reader

FIFO = {"FifoQueue": "true"}
DRAIN_S = 60


class Kind:
    """A queue, its dead-letter queue, and who uses it."""

    def __init__(self, name, consumers=2, limit=None, visibility_s=3, poison_every=0, pause_s=0.05):
        self.name = name
        self.is_fifo = name.endswith(".fifo")
        self.consumers = consumers
        self.limit = limit
        self.dead = None if limit is None else name.replace(".fifo", "") + "-dead" + (".fifo" if self.is_fifo else "")
        self.visibility_s = visibility_s
        self.poison_every = poison_every
        self.pause_s = pause_s


# So many receives that only what never succeeds becomes a dead letter by itself; a healthy message
# whose answers are lost again and again may, and the trace says so.
KINDS = (
    Kind("work"),
    Kind("work.fifo"),
    Kind("risky", limit=6, poison_every=40, pause_s=0.1, consumers=1),
    Kind("risky.fifo", limit=6, poison_every=40, pause_s=0.1, consumers=1),
)


class World:
    def __init__(self, port, kinds=KINDS):
        self.port = port
        self.kinds = kinds
        self.over, self.done, self.give_up = (threading.Event() for _ in range(3))
        self.account = Account({kind.name: kind.dead for kind in kinds if kind.dead})
        self.history = History({kind.name: kind.limit for kind in kinds if kind.limit})
        self.reader = Reader(port)
        self.letters = set()
        how = {"port": port, "account": self.account, "give_up": self.give_up}
        self.producers = [Producer(k.name, k.pause_s, k.poison_every, over=self.over, **how) for k in kinds]
        self.consumers = [
            Consumer(k.name, n, k.visibility_s, 1, over=self.done, **how) for k in kinds for n in range(k.consumers)
        ]

    def control(self, method, path, document=None):
        """Asked again until it is answered: the server may just be starting."""
        until = time.monotonic() + DRAIN_S
        while True:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
            try:
                body = None if document is None else json.dumps(document)
                connection.request(method, "/_quern/" + path, body, {"Content-Type": "application/json"})
                answer = connection.getresponse()
                text = answer.read()
                assert answer.status == 200, (path, answer.status, text)
                return json.loads(text)
            except (OSError, http.client.HTTPException, ValueError):
                assert time.monotonic() < until, "the control API does not answer"
                time.sleep(0.05)
            finally:
                connection.close()

    def caller(self, name, **how):
        return Caller(self.port, name, self.give_up, **how)

    def make_queues(self):
        caller = self.caller("founder")
        for kind in self.kinds:
            attributes = {"VisibilityTimeout": str(kind.visibility_s), **(FIFO if kind.is_fifo else {})}
            if kind.dead is not None:
                caller.insist("CreateQueue", {"QueueName": kind.dead, "Attributes": FIFO if kind.is_fifo else {}})
                asked = {"QueueUrl": kind.dead, "AttributeNames": ["QueueArn"]}
                arn = caller.insist("GetQueueAttributes", asked)["Attributes"]["QueueArn"]
                policy = {"deadLetterTargetArn": arn, "maxReceiveCount": str(kind.limit)}
                attributes["RedrivePolicy"] = json.dumps(policy)
            caller.insist("CreateQueue", {"QueueName": kind.name, "Attributes": attributes})
        caller.close()

    def begin(self):
        self.reader.start()
        self.make_queues()
        for actor in (*self.producers, *self.consumers):
            actor.start()

    def end(self, rules_go=True):
        """Producers end, rules go, consumers drain, and all is judged. The problems."""
        self.over.set()
        if rules_go:
            for rule in self.rules():  # calls go on until the counts are read
                self.control("POST", "rules/%s/disable" % urllib.parse.quote(rule["name"]))
        fired = self.rules()
        if rules_go:
            self.control("DELETE", "rules")
        self._join(self.producers, DRAIN_S)
        until = time.monotonic() + DRAIN_S
        while time.monotonic() < until and not self._is_drained():
            time.sleep(0.2)
        self.done.set()
        self._join(self.consumers, 30)
        self.give_up.set()
        stored = self.stored()
        events = self.reader.stop()
        if self.reader.missed:
            self.account.wrong("%d events of the trace were missed", self.reader.missed)
        self.history.judge(events)
        self.history.explain(self.account.returned)
        self.letters = self.account.settle(stored, self.history.copied())
        return self.account.problems + self.history.problems, fired

    def rules(self):
        return self.control("GET", "rules")["rules"]

    def _join(self, actors, for_s):
        until = time.monotonic() + for_s
        for actor in actors:
            actor.join(max(0, until - time.monotonic()))
            if actor.is_alive():
                self.account.wrong("%s does not end", actor.name)

    def _is_drained(self):
        queues = {queue["name"]: queue for queue in self.control("GET", "queues")["queues"]}
        return all(
            queues[kind.name]["visible"] + queues[kind.name]["in_flight"] + queues[kind.name]["delayed"] == 0
            for kind in self.kinds
        )

    def stored(self):
        names = [name for kind in self.kinds for name in (kind.name, kind.dead) if name is not None]
        return {name: list(self._messages(name)) for name in names}

    def _messages(self, name):
        after = 0
        while True:
            page = self.control("GET", "queues/%s/messages?after=%d&limit=1000" % (name, after))["messages"]
            yield from page
            if not page:
                return
            after = page[-1]["position"]

    def figures(self):
        actors = (*self.producers, *self.consumers)
        return {
            "calls": sum(actor.caller.calls for actor in actors),
            "unanswered": sum(actor.caller.unanswered for actor in actors),
            "refused": sum(actor.caller.refused for actor in actors),
            "sent": sum(sent.is_answered for sent in self.account.sends.values()),
            "receives": self.account.receives,
            "effects": self.account.effects,
            "duplicates": self.account.duplicates,
            "came_back": len(self.account.returned),
            "dead_letters": len(self.letters),
            "events": len(self.reader.events),
            "boots": self.history.boots,
        }


