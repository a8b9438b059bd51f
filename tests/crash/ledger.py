"""What clients know of messages, and what a store may hold after its server was killed.

A request without an answer may have happened or not, but as a whole; whatever was answered must be
there. What contradicts the answers is kept as a sentence in `violations`.
"""
import collections
import threading

from hiding import NEVER, Hide, Hiding

DEDUPLICATION_MS = 5 * 60 * 1000
REMEMBERED = 1000  # deduplication ids


class Rules:
    """Of one queue, as far as they bear on what may be found in it."""

    def __init__(self, visibility_s=30, retention_s=None, limit=None, dead=None):
        self.visibility_s = visibility_s
        self.retention_s = retention_s  # only when it is short
        self.limit = limit
        self.dead = dead


class Message:
    """One body that somebody sent. Bodies are unique, so a body names a message."""

    def __init__(self, body, queue, group, key, original):
        self.body = body
        self.queue = queue  # to which it was sent
        self.group = group  # None on standard queues
        self.key = key  # deduplication id
        self.original = original  # the message of which this one may be a duplicate
        self.is_sent = False  # acknowledged, or seen
        self.sent_low_ms = 0
        self.sent_high_ms = NEVER
        self.message_id = None
        self.number = None  # SequenceNumber
        self.receives_seen = 0  # the largest count in an answer
        self.hiding = Hiding()
        self.history = collections.deque(maxlen=16)  # shown when something is wrong
        self.deletes_asked = set()  # (queue, count of the receive whose handle was given)
        self.deletes_answered = {}  # the same, and the place of the answer in the order
        self.is_gone = False  # was there, and is no longer: must never come back
        self.is_void = False  # its send stored nothing: a duplicate, or never executed

    def surely_duplicate(self, low_ms, high_ms):
        return self.original is not None and high_ms - self.original.sent_low_ms < DEDUPLICATION_MS

    def surely_new(self, low_ms, high_ms):
        return self.original is None or low_ms - self.original.sent_high_ms >= DEDUPLICATION_MS


class Receive:
    def __init__(self, queue, hide, attempt):
        self.queue = queue
        self.hide = hide
        self.attempt = attempt


class Ledger:
    """Shared by the client threads."""

    def __init__(self, instants, rules):
        self.lock = threading.Lock()
        self.instants = instants
        self.rules = rules  # name -> Rules
        self.order = 0
        self.messages = {}  # live ones
        self.finished = set()  # bodies that must not be seen any more
        self.groups = collections.defaultdict(list)
        self.accepted = collections.OrderedDict()  # deduplication id -> the latest message of it
        self.receives = []  # under way
        self.send_batches = []  # under way: messages
        self.delete_batches = []  # under way: (message, queue, count)
        self.risen = []  # received without an answer
        self.violations = []
        self.counts = collections.Counter()

    def _next(self):
        self.order += 1
        return self.order

    def wrong(self, text, *words):
        """The words name bodies; what is known of the first is added."""
        history = next((self.messages[w].history for w in words if isinstance(w, str) and w in self.messages), ())
        self.violations.append(text % words + "".join("\n    " + event for event in history))

    def _note(self, message, text, *words):
        message.history.append("%d: %s" % (self.order, text % words))

    def assert_sound(self, when):
        assert not self.violations, "%s: %d violations:\n%s" % (
            when,
            len(self.violations),
            "\n".join(self.violations[:20]),
        )

    # ---- sends ----

    def sending(self, body, queue="standard", group=None, key=None, original=None, delay_s=0):
        """To be called before the request; also before the same one is sent again."""
        with self.lock:
            message = self.messages.get(body)
            if message is None:
                self.finished.discard(body)
                message = self.messages[body] = Message(body, queue, group, key, original)
                message.sent_low_ms = self.instants.before()
                if group is not None:
                    self.groups[group].append(message)
            message.hiding.add(Hide(self._next(), self.instants.before(), delay_s * 1000, 0))
            self.counts["sends asked"] += 1
            self._note(message, "send to %s asked, delay %d s", queue, delay_s)
            return message

    def sent(self, message, answer):
        with self.lock:
            self.counts["sends"] += 1
            high_ms = self.instants.after()
            self._note(message, "sent at %d", high_ms)
            original = message.original
            if original is not None and answer["MessageId"] == original.message_id:
                self._duplicate(message, answer, high_ms)
                return
            if message.surely_duplicate(0, high_ms) and not message.is_sent:
                self.wrong("%s has the key of %s and became a second message", message.body, original.body)
            message.is_sent = True
            message.sent_high_ms = min(message.sent_high_ms, high_ms)
            message.number = answer.get("SequenceNumber", message.number)
            self._check_id(message, answer["MessageId"])
            if message.key is not None:
                self._accept(message)
            for hide in message.hiding.hides:
                if hide.count == 0 and not hide.is_sure:
                    message.hiding.answered(hide, self._next(), high_ms)

    def _accept(self, message):
        self.accepted[message.key] = message
        if len(self.accepted) > REMEMBERED:
            self.accepted.popitem(last=False)

    def _duplicate(self, message, answer, high_ms):
        original = message.original
        self.counts["duplicates"] += 1
        if message.surely_new(message.sent_low_ms, high_ms):
            self.wrong("%s was taken for %s, whose key had lapsed", message.body, original.body)
        if original.number is not None and answer.get("SequenceNumber") != original.number:
            self.wrong("%s has another sequence number than %s", message.body, original.body)
        self._finish(message, is_void=True)

    def sending_batch(self, messages):
        with self.lock:
            self.send_batches.append(messages)

    def sent_batch(self, messages):
        with self.lock:
            self.send_batches.remove(messages)

    # ---- receives ----

    def receiving(self, queue="standard", visibility_s=None, attempt=None):
        with self.lock:
            if visibility_s is None:
                visibility_s = self.rules[queue].visibility_s
            receive = Receive(queue, Hide(self._next(), self.instants.before(), visibility_s * 1000), attempt)
            self.receives.append(receive)
            return receive

    def received(self, receive, messages):
        """Returns what was received as (message, receipt handle, receive count)."""
        leases = []
        with self.lock:
            self.counts["receives"] += 1
            self.receives.remove(receive)
            answered, high_ms = self._next(), self.instants.after()
            before = []
            for got in messages:
                message = self._known(got["Body"])
                if message is None:
                    continue
                count = int(got["Attributes"]["ApproximateReceiveCount"])
                self._check_received(receive, message, got, count, high_ms, before)
                hide = Hide(receive.hide.asked, receive.hide.low_ms, receive.hide.for_ms, count)
                hide.answer(answered, high_ms)
                if count >= message.receives_seen:
                    message.hiding.add(hide)
                message.receives_seen = max(message.receives_seen, count)
                message.is_sent = True
                self._note(
                    message, "received from %s at %d: count %d, asked %d", receive.queue, high_ms, count, hide.asked
                )
                before.append(message)
                leases.append((message, got["ReceiptHandle"], count))
        return leases

    def _known(self, body):
        message = self.messages.get(body)
        if message is None:
            if body in self.finished:
                self.wrong("received %s after it was gone", body)
            else:
                self.wrong("received %r, which nobody sent", body)
        return message

    def _check_received(self, receive, message, got, count, high_ms, before):
        self._check_id(message, got["MessageId"])
        asked = receive.hide.asked
        if message.deletes_answered.get((receive.queue, count - 1), NEVER) < asked:
            self.wrong("received %s after the delete of receive %d was answered", message.body, count - 1)
        is_next = count == message.receives_seen + 1 and message.hiding.is_all_before(asked)
        if is_next and message.hiding.first_end_ms() > high_ms:
            self.wrong("received %s at %d, and it is hidden until %s", message.body, high_ms, message.hiding)
        if self._surely_expired(message, receive.queue, receive.hide.low_ms):
            self.wrong("received %s after it had expired", message.body)
        if message.group is not None and receive.queue == message.queue:
            for earlier in self.groups[message.group]:
                if earlier is message:
                    break
                if not self._may_be_missing_in_front(earlier, receive.queue, asked, before):
                    self.wrong("received %s before %s of its group", message.body, earlier.body)

    def _may_be_missing_in_front(self, earlier, queue, asked, before):
        limit = self.rules[queue].limit
        others = sum(1 for r in self.receives if r.queue == queue)
        return (
            earlier in before
            or earlier.deletes_asked
            or not earlier.is_sent
            or (limit is not None and earlier.receives_seen + others >= limit)
        )

    # ---- visibility and deletes ----

    def hiding(self, message, visibility_s):
        with self.lock:
            hide = Hide(self._next(), self.instants.before(), visibility_s * 1000)
            message.hiding.add(hide)
            self._note(message, "hiding for %d s asked", visibility_s)
            return hide

    def hidden(self, message, hide):
        with self.lock:
            self.counts["visibility changes"] += 1
            message.hiding.answered(hide, self._next(), self.instants.after())
            self._note(message, "hidden for %d s, asked %d", hide.for_ms // 1000, hide.asked)

    def not_hidden(self, message, hide):
        with self.lock:
            message.hiding.refused(hide)
            self._note(message, "not hidden for %d s, asked %d", hide.for_ms // 1000, hide.asked)

    def deleting(self, message, queue, count):
        with self.lock:
            message.deletes_asked.add((queue, count))
            self._note(message, "delete of receive %d from %s asked", count, queue)

    def deleted(self, message, queue, count):
        with self.lock:
            self.counts["deletes"] += 1
            message.deletes_answered[(queue, count)] = self._next()
            self._note(message, "delete of receive %d answered", count)

    def not_deleted(self, message, queue, count):
        """The server refused: the handle had expired."""
        with self.lock:
            message.deletes_asked.discard((queue, count))
            self._note(message, "delete of receive %d refused", count)

    def deleting_batch(self, entries):
        with self.lock:
            self.delete_batches.append(entries)

    def deleted_batch(self, entries):
        with self.lock:
            self.delete_batches.remove(entries)

    # ---- after a restart ----

    def unanswered_sends(self):
        return [m for m in self.messages.values() if not m.is_sent]

    def check(self, found, low_ms, high_ms):
        """`found` lists (queue, message as the control API shows it), right after a restart and
        between these instants. Afterwards the ledger knows what became of the requests without an
        answer. Returns the messages that were received without an answer: (message, queue, state)."""
        self.risen = []
        self._check_places(found)
        stored = {m["body"]: (queue, m) for queue, m in found}
        for batch in self.send_batches:
            self._check_whole_send(batch, stored)
        for batch in self.delete_batches:
            self._check_whole_delete(batch, stored)
        for message in list(self.messages.values()):
            if message.body in stored:
                self._check_stored(message, *stored[message.body], low_ms, high_ms)
            else:
                self._check_missing(message, high_ms)
        for group, bodies in _orders(found).items():
            self._check_order(group, bodies)
        self.receives, self.send_batches, self.delete_batches = [], [], []
        return self.risen

    def _check_places(self, found):
        places = collections.defaultdict(list)
        for queue, message in found:
            places[message["body"]].append(queue)
        for body, queues in places.items():
            if len(queues) > 1:
                self.wrong("%s is there %d times, in %s", body, len(queues), " and ".join(sorted(queues)))
            if body in self.finished:
                self.wrong("%s came back", body)
            elif body not in self.messages:
                self.wrong("%r is there, and nobody sent it", body)

    def _check_whole_send(self, batch, stored):
        happened = [m.is_sent or m.body in stored for m in batch]
        if any(happened) and not all(happened):
            self.wrong("of one batch, %s", ["%s: %s" % pair for pair in zip([m.body for m in batch], happened)])

    def _check_whole_delete(self, batch, stored):
        """Of standard queues: there the latest handle deletes whatever the message's state."""
        kept, gone = [], []
        for message, queue, count in batch:
            if message.group is not None or message.body not in self.messages:
                continue
            if message.body not in stored:
                if count == message.receives_seen and not self.rules[message.queue].retention_s:
                    gone.append(message.body)
            elif stored[message.body][0] == queue and stored[message.body][1]["receive_count"] == count:
                kept.append(message.body)
        if kept and gone:
            self.wrong("a batch deleted %s and not %s", gone, kept)

    def _surely_expired(self, message, queue, now_ms):
        retention_s = self.rules[queue].retention_s
        return retention_s is not None and message.sent_high_ms + retention_s * 1000 <= now_ms

    def _may_be_expired(self, message, now_ms):
        retention_s = self.rules[message.queue].retention_s
        return retention_s is not None and message.sent_low_ms + retention_s * 1000 <= now_ms

    def _check_missing(self, message, now_ms):
        """A handle deletes only as long as it is of the latest receive."""
        was_there = message.is_sent
        latest = max((count for _, count in message.deletes_asked), default=-1)
        if was_there and latest < message.receives_seen and not self._may_be_expired(message, now_ms):
            self.wrong(
                "%s was sent, received %d times, not deleted by the latest handle, and is lost",
                message.body,
                message.receives_seen,
            )
        self.counts["expired" if latest < 0 and was_there else "gone"] += 1
        self._finish(message, is_void=not was_there)

    def _finish(self, message, is_void):
        message.is_void = is_void
        message.is_gone = not is_void
        self.messages.pop(message.body, None)
        self.finished.add(message.body)
        if message.group is not None and message in self.groups[message.group]:
            self.groups[message.group].remove(message)

    def _check_stored(self, message, queue, stored, low_ms, high_ms):
        count = stored["receive_count"]
        self._note(message, "restart: %s in %s until %s, count %d", stored["state"], queue, stored["hidden_until_ms"], count)
        deleted = max((n for q, n in message.deletes_answered if q == queue), default=-1)
        if deleted >= count:
            self.wrong(
                "%s is there with %d receives, and was deleted by the handle of receive %d", message.body, count, deleted
            )
        if not message.is_sent and message.surely_duplicate(0, high_ms):
            self.wrong("%s has the key of %s and became a second message", message.body, message.original.body)
        if self._surely_expired(message, queue, low_ms):
            self.wrong("%s is there after it has expired", message.body)
        if stored["sent_at_ms"] > high_ms:
            self.wrong("%s was sent at %d, and it is %d", message.body, stored["sent_at_ms"], high_ms)
        self._check_place(message, queue, stored)
        unseen = [r for r in self.receives if r.queue in self._family(message.queue)]
        if not message.receives_seen <= count <= message.receives_seen + len(unseen):
            self.wrong(
                "%s has %d receives, %d were seen and %d had no answer",
                message.body,
                count,
                message.receives_seen,
                len(unseen),
            )
        self._check_hidden(message, stored, low_ms, high_ms, unseen if count > message.receives_seen else [])
        self._check_id(message, stored["message_id"])
        if count > message.receives_seen:
            self.risen.append((message, queue, stored["state"]))
        if message.key is not None and not message.is_sent:
            self._accept(message)
        message.is_sent = True
        message.sent_high_ms = min(message.sent_high_ms, high_ms)
        message.receives_seen = count
        message.deletes_asked = {d for d in message.deletes_asked if d in message.deletes_answered}

    def _family(self, queue):
        return (queue, self.rules[queue].dead)

    def _check_place(self, message, queue, stored):
        """A message is in its queue, or, after all its receives there, in the dead-letter queue."""
        rules = self.rules[message.queue]
        here = stored["receive_count_here"]
        if queue == message.queue:
            if here != stored["receive_count"]:
                self.wrong("%s counts %d receives, and %d here", message.body, stored["receive_count"], here)
            if rules.limit is not None and here > rules.limit:
                self.wrong("%s was received %d times from %s", message.body, here, queue)
        elif queue != rules.dead:
            self.wrong("%s was sent to %s, and is in %s", message.body, message.queue, queue)
        elif stored["receive_count"] - here != rules.limit or not (stored["source_arn"] or "").endswith(
            ":" + message.queue
        ):
            self.wrong("%s came to %s by %r", message.body, queue, stored)

    def _check_hidden(self, message, stored, low_ms, high_ms, unseen):
        """Its lease, or its delay, ends when the clients were told."""
        until_ms = stored["hidden_until_ms"]
        may_be = [r.hide for r in unseen]
        if stored["state"] == "visible":
            if message.hiding.first_end_ms() > high_ms and not any(h.first_end_ms <= high_ms for h in may_be):
                self.wrong("%s is visible at %d, and hidden until %s", message.body, high_ms, message.hiding)
            until_ms = high_ms
        elif until_ms <= low_ms:
            self.wrong("%s is %s at %d, and only until %d", message.body, stored["state"], low_ms, until_ms)
        elif not (message.hiding.may_end_at(until_ms) or any(h.may_end_at(until_ms) for h in may_be)):
            self.wrong("%s is hidden until %d, and should be until %s", message.body, until_ms, message.hiding)
        message.hiding.known(self._next(), until_ms)

    def _check_id(self, message, message_id):
        if message.message_id is None:
            message.message_id = message_id
        elif message.message_id != message_id:
            self.wrong("%s has another id than before", message.body)

    def _check_order(self, where, bodies):
        """FIFO_1: a group's messages stand in the order in which their one sender sent them."""
        places = {m.body: place for place, m in enumerate(self.groups[where[1]])}
        expected = sorted(bodies, key=lambda body: places.get(body, -1))
        if bodies != expected:
            self.wrong("%s of %s stands as %s", where[1], where[0], bodies)


def _orders(found):
    """The bodies of each FIFO queue and group, as they stand."""
    groups = collections.defaultdict(list)
    for queue, message in sorted(found, key=lambda pair: pair[1]["position"]):
        if queue.endswith(".fifo"):
            groups[(queue, message["group_id"])].append(message["body"])
    return groups
