"""What is known of the server's clock, from outside: bounds for the instant of a request."""
import time

REAL_SLACK_MS = 1000  # a pass of the loop reads the clock once, and may be kept from running


class RealInstants:
    """The clock of the machine."""

    def before(self):
        """Nothing that is asked from now on happens before this instant."""
        return int(time.time() * 1000) - REAL_SLACK_MS

    def after(self):
        """Nothing that was answered until now happened behind this instant."""
        return int(time.time() * 1000) + 1

    def restarted(self, now_ms):
        """The clock of the next server; returns what is wrong with it, or None."""
        return None


class VirtualInstants:
    """A clock that one client moves: it stands between what was answered and what was asked."""

    def __init__(self, now_ms):
        self.low = self.high = now_ms

    def before(self):
        return self.low

    def after(self):
        return self.high

    def moving(self, by_ms):
        self.high += by_ms

    def moved(self, now_ms):
        self.low = now_ms

    def restarted(self, now_ms):
        problem = None
        if not self.low <= now_ms <= self.high:
            problem = "the clock stands at %d, and stood between %d and %d" % (now_ms, self.low, self.high)
        self.low = self.high = now_ms
        return problem
