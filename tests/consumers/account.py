"""What careful clients saw, and what a queue may never do, whatever faults are armed.

The invariants of a queue (lost, phantom, counts, FIFO order, dead letters) are judged here from the
clients' side; what only the server knows is judged from its trace, in history.py.
"""
import threading
import time


class Sent:
    def __init__(self, queue, group, serial):
        self.queue = queue
        self.group = group
        self.serial = serial
        self.attempts = 0
        self.is_answered = False
        self.is_done = False
        self.ids = set()  # message ids that the sender or a receiver was told


class Account:
    """One for all clients. dead: queue -> its dead-letter queue."""

    def __init__(self, dead):
        self.lock = threading.Lock()
        self.dead = dead
        self.problems = []
        self.order = 0
        self.sends = {}  # by body
        self.groups = {}  # (queue, group) -> [Sent] in order
        self.counts = {}  # message id -> [(receive count, order of the answer)]
        self.deletes = {}  # message id -> [(receive count, order and wall milliseconds of the answer)]
        self.returned = []  # (message id, count, wall milliseconds) of a delete behind which it came again
        self.fallen = []  # (message id, what is wrong) of a count that is not above the ones before
        self.early = []  # (earlier body, body): begun before the earlier one of its group was done
        self.receives = self.effects = self.duplicates = 0

    def wrong(self, text, *values):
        self.problems.append(text % values)

    def _next(self):
        self.order += 1
        return self.order

    # ---- sends ----

    def sending(self, queue, entries):
        with self.lock:
            for entry in entries:
                body, group = entry["MessageBody"], entry.get("MessageGroupId")
                if body not in self.sends:
                    self.sends[body] = Sent(queue, group, len(self.sends))
                    if group is not None:
                        self.groups.setdefault((queue, group), []).append(body)
                self.sends[body].attempts += 1

    def sent(self, queue, body, message_id):
        with self.lock:
            self.sends[body].is_answered = True
            self._identify(queue, body, message_id)

    def _identify(self, queue, body, message_id):
        sent = self.sends[body]
        sent.ids.add(message_id)
        if queue.endswith(".fifo") and len(sent.ids) > 1:
            self.wrong("%r on %s became two messages: %s", body, queue, sorted(sent.ids))

    # ---- receives ----

    def receiving(self, queue):
        with self.lock:
            return queue, self._next()

    def received(self, receive, messages):
        queue, asked = receive
        with self.lock:
            answered = self._next()
            last = {}
            for message in messages:
                self._receive(queue, asked, answered, message)
                group = message.get("Attributes", {}).get("MessageGroupId")
                if queue.endswith(".fifo"):
                    serial = self.sends[message["Body"]].serial if message["Body"] in self.sends else -1
                    if serial <= last.get(group, -1):
                        self.wrong("%s gave %r of group %s out of order", queue, message["Body"], group)
                    last[group] = serial

    def _receive(self, queue, asked, answered, message):
        self.receives += 1
        body, mid = message["Body"], message["MessageId"]
        if body not in self.sends or self.sends[body].queue != queue:
            self.wrong("%s gave %r, which nobody sent there", queue, body)
            return
        self._identify(queue, body, mid)
        count = int(message["Attributes"]["ApproximateReceiveCount"])
        before = max((n for n, order in self.counts.get(mid, ()) if order < asked), default=0)
        if count <= before:
            self.fallen.append((mid, "%r of %s came with count %d after %d" % (body, queue, count, before)))
        self.counts.setdefault(mid, []).append((count, answered))
        for deleted, order, wall_ms in self.deletes.get(mid, ()):
            if order < asked:
                self.returned.append((mid, deleted, wall_ms))

    def effect(self, queue, body):
        with self.lock:
            sent = self.sends.get(body)
            if sent is None:
                return  # already told
            self.duplicates += sent.is_done
            self.effects += not sent.is_done
            if sent.group is not None and not sent.is_done:
                for earlier in self.groups[(queue, sent.group)]:
                    if earlier == body:
                        break
                    if not self.sends[earlier].is_done:
                        self.early.append((earlier, body))
            sent.is_done = True

    def deleted(self, queue, message):
        with self.lock:
            count = int(message["Attributes"]["ApproximateReceiveCount"])
            delete = (count, self._next(), int(time.time() * 1000))
            self.deletes.setdefault(message["MessageId"], []).append(delete)

    # ---- the end ----

    def open_bodies(self):
        """What was sent and answered, and had no effect yet."""
        with self.lock:
            return [b for b, s in self.sends.items() if s.is_answered and not s.is_done and not is_poison(b)]

    def settle(self, stored, copied=()):
        """stored: queue -> its messages as the control API shows them, dead-letter queues too, when
        nothing is under way any more. copied: the ids of which a fault made copies; each counts its
        receives, and becomes a dead letter, for itself. The bodies that are dead letters."""
        self.problems += [text for mid, text in self.fallen if mid not in copied]
        places = {}
        for queue, messages in stored.items():
            for message in messages:
                places.setdefault(message["message_id"], []).append((queue, message["body"]))
        for mid, found in places.items():
            if len(found) > 1 and mid not in copied:
                self.wrong("%s is there more than once: %s", mid, found)
        kept = {}
        for found in places.values():
            kept.setdefault(found[0][1], set()).update(queue for queue, _ in found)
        for body, sent in self.sends.items():
            if sent.is_answered and not sent.is_done and body not in kept:
                self.wrong("%r was sent to %s, answered, and is lost", body, sent.queue)
        for body, queues in kept.items():
            if body not in self.sends:
                self.wrong("%r is in %s, and nobody sent it", body, sorted(queues))
        letters = {body for body, queues in kept.items() if queues & set(self.dead.values())}
        for body, sent in self.sends.items():
            if is_poison(body) and sent.is_answered and sent.queue in self.dead and body not in letters:
                self.wrong("%r never succeeds, and is not in %s", body, self.dead[sent.queue])
        for earlier, body in self.early:
            if earlier not in letters and (self.sends[earlier].is_answered or self.sends[earlier].is_done):
                self.wrong("%r was handed out before %r of its group was done", body, earlier)
        return letters


def is_poison(body):
    return body.endswith("poison")
