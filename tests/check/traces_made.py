"""Traces for tests of the reports: what `quern check --keep` stores, made here with any number of
messages and any text."""
import json

START_MS = 1_000_000


def header(scenario="std.made", must=("ONCE",), **run):
    return {
        "kind": "header",
        "schema": 1,
        "scenario": {"id": scenario, "title": "made by a test", "severity": "must", "needs": ["none"],
                     "must": list(must), "should": [], "info": [], "dead": [],
                     "why": "why it matters", "fix": "how it is fixed"},
        "run": {"queue": "q", "dlq": "q-dlq", "self": "QUERNCHECK", "level": 2, "visibility_ms": 4000,
                "grace_ms": 10000, "concurrency": 1, "max_receive": 5, "faults": [], "seed": 42,
                "profile": "standard", "tempo": "fast", "command": ["python3", "worker.py"],
                "again": "quern check --only " + scenario + " --seed 42 -- python3 worker.py", **run},
    }


class Trace:
    """Events in order; the clock goes on by a step with each."""

    def __init__(self, step_ms=10, **head):
        self.lines = [header(**head)]
        self.step_ms = step_ms
        self.jumped_ms = 0
        self.lsn = 0
        self.runs = 0
        self.leases = {}
        self.proc("spawn", pid=10)
        self.proc("ready", pid=10)

    def add(self, kind, **fields):
        seq = len(self.lines)
        wall = START_MS + seq * self.step_ms
        self.lines.append({"seq": seq, "vt": wall + self.jumped_ms, "wt": wall, "kind": kind, **fields})
        return seq

    def now_ms(self):
        """Virtual time of the next event."""
        return START_MS + len(self.lines) * self.step_ms + self.jumped_ms

    def jump(self, by_ms):
        """The clock skips what nothing waits for."""
        now = self.now_ms()
        self.add("clock", **{"from": now, "to": now + by_ms})
        self.jumped_ms += by_ms

    def state(self, kind, **fields):
        self.lsn += 1
        return self.add(kind, lsn=self.lsn, queue="q", **fields)

    def proc(self, what, instance="QUERN0001", **fields):
        return self.add("proc", what=what, instance=instance, **fields)

    def log(self, text, instance="QUERN0001"):
        return self.add("log", instance=instance, reason=text)

    def send(self, k, **fields):
        self.state("msg.send", instance="QUERNCHECK", mid="id-" + k, k=k, **fields)
        return self.add("load", code="OK", queue="q", mid="id-" + k, k=k, **fields)

    def lease(self, k, instance="QUERN0001", visibility_ms=4000, **fields):
        n = self.leases[k] = self.leases.get(k, 0) + 1
        deadline = self.now_ms() + visibility_ms
        return self.state("lease.grant", mid="id-" + k, k=k, h=f"h-{k}-{n}", n=n, deadline=deadline,
                          instance=instance, **fields)

    def begin(self, k, instance="QUERN0001"):
        self.runs += 1
        return self.add("work.begin", k=k, run=self.runs, attempt=1, instance=instance, ik=k)

    def commit(self, k, instance="QUERN0001", **fields):
        return self.add("work.commit", k=k, run=self.runs, instance=instance, ik=k, **fields)

    def delete(self, k, instance="QUERN0001"):
        return self.state("msg.delete", mid="id-" + k, k=k, h=f"h-{k}-{self.leases[k]}", instance=instance)

    def work(self, k, instance="QUERN0001"):
        self.lease(k, instance)
        self.begin(k, instance)
        self.commit(k, instance)
        return self.delete(k, instance)

    def end(self):
        self.add("mark", reason="end", queue="q", visible=0, in_flight=0, delayed=0)
        self.proc("signal", pid=10, signal=15)
        self.proc("exit", pid=10, exit=0)
        return self

    def write(self, path):
        path.write_text("".join(json.dumps(line) + "\n" for line in self.lines))
        return path
