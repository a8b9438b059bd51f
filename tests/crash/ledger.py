"""What clients know of messages, and what a store may hold after its server was killed.

A request without an answer may have happened or not; whatever was answered must be there.
"""
import collections
import threading


class Message:
    """One body that somebody sent. Bodies are unique, so a body names a message."""

    def __init__(self, body, group):
        self.body = body
        self.group = group  # None on standard queues
        self.is_sent = False  # acknowledged, or seen
        self.message_id = None
        self.receives_seen = 0  # the largest count in an answer
        self.deletes_asked = set()  # (queue, count of the receive whose handle was given)
        self.deletes_answered = set()
        self.is_gone = False  # was there, and after a restart no longer: must never come back
        self.is_void = False  # its send was not answered, and it was not there after the restart


class Ledger:
    """Shared by the client threads."""

    def __init__(self):
        self.lock = threading.Lock()
        self.messages = {}
        self.receives_asked = 0
        self.receives_answered = 0
        self.violations = []

    def sending(self, body, group=None):
        """To be called before the request; also before the same one is sent again."""
        with self.lock:
            message = self.messages.setdefault(body, Message(body, group))
            message.is_void = False
            return message

    def sent(self, message, answer):
        with self.lock:
            message.is_sent = True
            self._check_id(message, answer["MessageId"])

    def unanswered_sends(self):
        return [m for m in self.messages.values() if not m.is_sent]

    def receiving(self):
        with self.lock:
            self.receives_asked += 1

    def received(self, messages):
        """Returns what was received as (message, receipt handle, receive count)."""
        leases = []
        with self.lock:
            self.receives_answered += 1
            for got in messages:
                message = self.messages.get(got["Body"])
                if message is None:
                    self.violations.append("received %r, which nobody sent" % got["Body"])
                    continue
                if message.is_gone or message.is_void:
                    self.violations.append("received %s after it was gone" % message.body)
                self._check_id(message, got["MessageId"])
                count = int(got["Attributes"]["ApproximateReceiveCount"])
                message.receives_seen = max(message.receives_seen, count)
                leases.append((message, got["ReceiptHandle"], count))
        return leases

    def deleting(self, message, queue, count):
        with self.lock:
            message.deletes_asked.add((queue, count))

    def deleted(self, message, queue, count):
        with self.lock:
            message.deletes_answered.add((queue, count))

    def not_deleted(self, message, queue, count):
        """The server refused: the handle had expired."""
        with self.lock:
            message.deletes_asked.discard((queue, count))

    def _check_id(self, message, message_id):
        if message.message_id is None:
            message.message_id = message_id
        elif message.message_id != message_id:
            self.violations.append("%s has another id than before" % message.body)

    def check(self, found, when):
        """`found` lists (queue, message as the control API shows it), right after a restart.
        Afterwards the ledger knows what became of the requests without an answer."""
        counted = collections.Counter(m["body"] for _, m in found)
        for body, count in counted.items():
            if count > 1:
                self.violations.append("%s is there %d times" % (body, count))
            if body not in self.messages:
                self.violations.append("%r is there, and nobody sent it" % body)
        stored = {m["body"]: (queue, m) for queue, m in found}
        unanswered = self.receives_asked - self.receives_answered
        for message in self.messages.values():
            if message.body in stored:
                self._check_stored(message, *stored[message.body], unanswered)
            else:
                self._check_missing(message)
        self.receives_answered = self.receives_asked
        assert not self.violations, "%s:\n%s" % (when, "\n".join(self.violations[:20]))

    def _check_missing(self, message):
        """A handle deletes only as long as it is of the latest receive."""
        if message.is_gone or message.is_void:
            return
        was_there = message.is_sent or message.receives_seen > 0
        latest = max((count for _, count in message.deletes_asked), default=-1)
        if was_there and latest < message.receives_seen:
            self.violations.append(
                "%s was sent, received %d times, not deleted by the latest handle, and is lost"
                % (message.body, message.receives_seen)
            )
        message.is_gone = was_there
        message.is_void = not was_there

    def _check_stored(self, message, queue, stored, unanswered):
        count = stored["receive_count"]
        if message.is_gone or message.is_void:
            self.violations.append("%s came back" % message.body)
        deleted = max((n for q, n in message.deletes_answered if q == queue), default=-1)
        if deleted >= count:
            self.violations.append(
                "%s is there with %d receives, and was deleted by the handle of receive %d"
                % (message.body, count, deleted)
            )
        if not message.receives_seen <= count <= message.receives_seen + unanswered:
            self.violations.append(
                "%s has %d receives, %d were seen and %d had no answer"
                % (message.body, count, message.receives_seen, unanswered)
            )
        self._check_id(message, stored["message_id"])
        message.is_sent = True
        message.receives_seen = count
        message.deletes_asked = {d for d in message.deletes_asked if d in message.deletes_answered}
