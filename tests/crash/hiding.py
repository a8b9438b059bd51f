"""Until when a message may be hidden, as far as its clients can know.

Every request that hides a message (a delayed send, a receive, a change of visibility) is kept with
bounds: of its place in the order of requests, and of its instant. What was surely followed by
another one no longer counts.
"""
NEVER = float("inf")


class Hide:
    """One request that hides a message for a time from its own instant on."""

    def __init__(self, asked, low_ms, for_ms, count=None):
        self.asked = asked  # place in the order of requests and answers
        self.answered = NEVER
        self.low_ms = low_ms  # not before this instant
        self.high_ms = NEVER
        self.for_ms = for_ms
        self.count = count  # of a receive

    def answer(self, answered, high_ms):
        self.answered = answered
        self.high_ms = high_ms

    @property
    def is_sure(self):
        return self.answered != NEVER

    @property
    def first_end_ms(self):
        return self.low_ms + self.for_ms

    def may_end_at(self, ms):
        return self.low_ms + self.for_ms <= ms <= self.high_ms + self.for_ms

    def is_before(self, other):
        if self.count is not None and other.count is not None:
            return self.count < other.count
        return self.answered < other.asked


class Hiding:
    """All that may count for one message."""

    def __init__(self):
        self.hides = []

    def add(self, hide):
        self.hides.append(hide)
        self._forget()

    def refused(self, hide):
        if hide in self.hides:
            self.hides.remove(hide)

    def answered(self, hide, answered, high_ms):
        hide.answer(answered, high_ms)
        self._forget()

    def _forget(self):
        self.hides = [h for h in self.hides if not any(o.is_sure and h.is_before(o) for o in self.hides)]

    def first_end_ms(self):
        """The message is not handed out again before this instant."""
        return min((h.first_end_ms for h in self.hides), default=0)

    def is_all_before(self, asked):
        """Whether all that counts was answered before this place in the order. Otherwise what was
        forgotten may still have counted there."""
        return all(h.answered < asked for h in self.hides)

    def may_end_at(self, ms):
        return any(h.may_end_at(ms) for h in self.hides)

    def known(self, order, until_ms):
        """The store was looked at: this is what counts now."""
        hide = Hide(order, until_ms, 0)
        hide.answer(order, until_ms)
        self.hides = [hide]

    def __str__(self):
        return ", ".join("%s..%s" % (h.first_end_ms, h.high_ms + h.for_ms) for h in self.hides) or "never"
