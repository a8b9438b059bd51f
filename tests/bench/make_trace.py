#!/usr/bin/env python3
"""A trace as `quern check --keep` stores it, with as many events as asked for: what quern judge is
measured with. make_trace.py EVENTS > trace.jsonl"""

import json
import random
import sys
import uuid

START_MS = 1_800_000_000_000
BATCH = 10
PER_BATCH = 9 * BATCH + 2


def dump(document):
    return json.dumps(document, separators=(",", ":"))


class Trace:
    def __init__(self, out):
        self.out = out
        self.seq = self.lsn = self.run = 0
        self.random = random.Random(1)

    def id(self):
        return str(uuid.UUID(int=self.random.getrandbits(128)))

    def add(self, kind, **fields):
        self.seq += 1
        now = START_MS + self.seq
        self.out.write(dump({"seq": self.seq, "vt": now, "wt": now, "kind": kind, **fields}) + "\n")

    def state(self, kind, **fields):
        self.lsn += 1
        self.add(kind, lsn=self.lsn, account="000000000000", queue="q", **fields)

    def call(self, kind, request, action, **fields):
        self.add(kind, req=request, action=action, account="000000000000", queue="q", instance="QUERN0001",
                 port=48911, conn=2, **fields)

    def batch(self, first):
        """Ten messages from send to delete."""
        mids = [self.id() for _ in range(BATCH)]
        keys = ["k-%03d" % (first + i) for i in range(BATCH)]
        handles = [self.id() + "AAAAAAA=" for _ in range(BATCH)]
        for mid, key in zip(mids, keys):
            self.state("msg.send", req=self.id(), instance="QUERNCHECK", mid=mid, k=key, n=0)
            self.add("load", queue="q", code="OK", what="ok", mid=mid, k=key, work_ms=20)
        request = self.id()
        self.call("api.in", request, "ReceiveMessage", invocation=self.id(), attempt=1,
                  params={"QueueUrl": "http://127.0.0.1:48911/000000000000/q", "MaxNumberOfMessages": 10})
        for mid, key, handle in zip(mids, keys, handles):
            self.state("lease.grant", req=request, instance="QUERN0001", mid=mid, k=key, h=handle, n=1,
                       deadline=START_MS + self.seq + 30_000)
        self.call("api.out", request, "ReceiveMessage", params={"Messages": 10}, code="OK", status=200, bytes=6274)
        for mid, key, handle in zip(mids, keys, handles):
            self.run += 1
            work = {"instance": "QUERN0001", "mid": mid, "k": key, "ik": key, "attempt": 1, "n": 1, "run": self.run}
            self.add("work.begin", **work)
            self.add("work.commit", **work)
            self.add("work.reply", **work, status=200)
            request = self.id()
            self.call("api.in", request, "DeleteMessage", invocation=self.id(), attempt=1, region="us-east-1",
                      params={"QueueUrl": "http://127.0.0.1:48911/000000000000/q", "ReceiptHandle": handle})
            self.state("msg.delete", req=request, instance="QUERN0001", mid=mid, k=key, h=handle, n=1)
            self.call("api.out", request, "DeleteMessage", code="OK", status=200, bytes=0)


def main(count):
    out = sys.stdout
    must = ["NO-LOSS", "ONCE", "ACK-AFTER-EFFECT", "DRAINED", "DLQ-EXACT", "LEASE-COVER", "max(leases) == 1"]
    scenario = {"id": "made", "title": "made to be measured", "severity": "must", "needs": ["none"], "must": must}
    run = {"queue": "q", "dlq": "q-dlq", "self": "QUERNCHECK", "level": 2, "visibility_ms": 30000,
           "grace_ms": 10000, "concurrency": 1, "max_receive": 5, "faults": [], "profile": "standard"}
    out.write(dump({"kind": "header", "schema": 1, "scenario": scenario, "run": run}) + "\n")
    trace = Trace(out)
    trace.add("proc", what="spawn", instance="QUERN0001", pid=10)
    trace.add("proc", what="ready", instance="QUERN0001", pid=10)
    for i in range((count - 3) // PER_BATCH):
        trace.batch(i * BATCH)
    trace.add("mark", reason="end", queue="q", visible=0, in_flight=0, delayed=0)


if __name__ == "__main__":
    main(int(sys.argv[1]))
