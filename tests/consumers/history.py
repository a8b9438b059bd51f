"""A server's trace, read while it grows and over its restarts, and what it may never show."""
import http.client
import json
import threading

LEASE_ENDS = ("lease.release", "lease.expire", "msg.delete", "msg.dlq", "msg.move", "msg.purge")
COPIES = ("resurrect", "deliver-again", "dup-in-batch", "deliver-to-both")
RETURNS = (*COPIES, "fake-success")  # after these a message may come though its delete was answered


class Reader(threading.Thread):
    """Keeps all events of a server that may go away and come back."""

    def __init__(self, port):
        super().__init__(daemon=True, name="trace")
        self.port = port
        self.over = threading.Event()
        self.events = []
        self.missed = 0
        self.error = None

    def run(self):
        try:
            while not self.over.is_set():
                self.read()
            self.read(wait_ms=0)
        except Exception as problem:  # told by the test, whose thread is another
            self.error = problem

    def read(self, wait_ms=500):
        since = self.events[-1]["seq"] if self.events else 0
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", "/_quern/trace?since=%d&wait_ms=%d" % (since, wait_ms))
            lines = connection.getresponse().read().decode().splitlines()
        except (OSError, http.client.HTTPException):
            self.over.wait(0.1)
            return
        finally:
            connection.close()
        for event in map(json.loads, lines):
            if "missed" in event:
                self.missed += event["missed"]
            else:
                self.events.append(event)

    def stop(self):
        self.over.set()
        self.join(60)
        if self.error is not None:
            raise self.error
        return happened(self.events)


def happened(events):
    """Without the changes that a boot says the store did not come back to."""
    kept = []
    for event in events:
        if event["kind"] == "boot":
            kept = [e for e in kept if e.get("lsn", 0) <= event["lsn"] or e["kind"] == "boot"]
        kept.append(event)
    return kept


class Message:
    def __init__(self):
        self.queue = None
        self.group = self.serial = None
        self.there = 0  # more than once when a fault made copies
        self.copies = 0
        self.lease_end = None
        self.grants = []  # (receive count, wall milliseconds)
        self.named = set()  # the faults that named it


class History:
    """Judges the events one by one, in their order."""

    def __init__(self, limits):
        self.limits = limits  # queue -> maxReceiveCount
        self.problems = []
        self.messages = {}
        self.groups = {}  # (queue, group) -> message ids that are there
        self.batch = set()  # what the receive under way was granted
        self.fired = {}
        self.boots = 0

    def wrong(self, event, text, *values):
        self.problems.append("%s (event %d)" % (text % values, event["seq"]))

    def judge(self, events):
        for event in events:
            kind = event["kind"]
            if kind != "lease.grant":
                self.batch = set()
            handler = getattr(self, "on_" + kind.replace(".", "_"), None)
            if handler is not None:
                handler(event)
            elif kind in LEASE_ENDS:
                self.message(event).lease_end = None
        return self.problems

    def message(self, event):
        return self.messages.setdefault(event["mid"], Message())

    def on_boot(self, _event):
        self.boots += 1

    def on_fault(self, event):
        if "rule" in event:
            self.fired[event["rule"]] = self.fired.get(event["rule"], 0) + 1
            named = event.get("target", "").split(",") + [event.get("mid")]
            for mid in named:
                if mid in self.messages:
                    self.messages[mid].named.add(event.get("code"))

    def on_msg_send(self, event):
        message = self.message(event)
        message.queue, message.group, message.serial = event["queue"], event.get("grp"), event.get("sn")
        self._there(message, event["mid"])

    def _there(self, message, mid):
        message.there += 1
        if message.serial is not None:
            self.groups.setdefault((message.queue, message.group), set()).add(mid)

    def _gone(self, message, mid):
        message.there -= 1
        message.lease_end = None
        self.groups.get((message.queue, message.group), set()).discard(mid)

    def on_msg_dupcopy(self, event):
        message = self.message(event)
        if not message.named & set(COPIES):
            self.wrong(event, "%s has a copy, and no fault names it", event["mid"])
        message.copies += 1
        self._there(message, event["mid"])

    def on_lease_grant(self, event):
        message, mid = self.message(event), event["mid"]
        if message.there <= 0:
            self.wrong(event, "%s is handed out, and was deleted or never sent", mid)
        before = [n for n, _ in message.grants]
        # Each copy counts for itself from where it was made.
        if max(before, default=0) >= event["n"] and not before.count(event["n"]) <= message.copies:
            self.wrong(event, "%s has count %d after %d", mid, event["n"], max(before))
        message.grants.append((event["n"], event["wt"]))
        if message.serial is not None:
            self._check_group(event, message)
            self.batch.add(mid)
        message.lease_end = event["deadline"]

    def _check_group(self, event, message):
        for other in self.groups[(message.queue, message.group)] - self.batch - {event["mid"]}:
            lease_end = self.messages[other].lease_end
            if lease_end is not None and lease_end > event["vt"]:
                self.wrong(event, "%s is handed out while %s of its group is leased", event["mid"], other)
            if int(self.messages[other].serial) < int(message.serial):
                self.wrong(event, "%s is handed out before %s of its group", event["mid"], other)

    def on_lease_extend(self, event):
        self.message(event).lease_end = event["deadline"]

    def on_msg_delete(self, event):
        message = self.message(event)
        if message.there <= 0:
            self.wrong(event, "%s is deleted twice", event["mid"])
        self._gone(message, event["mid"])

    def on_msg_dlq(self, event):
        message = self.message(event)
        limit = self.limits.get(message.queue)
        if event["n"] != limit:
            self.wrong(event, "%s becomes a dead letter after %d receives of %s", event["mid"], event["n"], limit)
        self._gone(message, event["mid"])

    # ---- with what the clients say ----

    def copied(self):
        """The ids of messages that are, or were, there more than once."""
        return {mid for mid, message in self.messages.items() if message.copies}

    def explain(self, returned):
        """Each (message id, count of the handle that deleted it, wall milliseconds of the answer) that
        came back: a fault named it, or the handle was no longer the newest one."""
        for mid, count, answered_ms in returned:
            message = self.messages.get(mid, Message())
            was_stale = any(n > count and wall_ms <= answered_ms for n, wall_ms in message.grants)
            if not was_stale and not message.named & set(RETURNS):
                self.problems.append("%s was deleted by handle %d and came back; no fault names it" % (mid, count))
        return self.problems
