#!/usr/bin/env python3
"""The reference consumer with a database of its own and no effect sink: the row of the inbox and the
row of the business stand in one transaction. It works as the message tells it (`instr`), and what it
has done is told by the same file:

    quern check --effects-cmd 'inbox.py --effects' -- inbox.py
"""

import argparse
import json
import os
import pathlib
import signal
import sqlite3
import sys
import tempfile
import threading
import time

import reference

BUSY_S = 30
TABLES = """
CREATE TABLE IF NOT EXISTS inbox (key TEXT PRIMARY KEY, message TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS orders (key TEXT NOT NULL, item TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS rejects (message TEXT NOT NULL, reason TEXT NOT NULL);
"""


def database():
    """One for each run and scenario, shared by its instances."""
    names = [os.environ.get(name, "0") for name in ("QUERN_RUN_ID", "QUERN_SCENARIO", "QUERN_SEED")]
    path = pathlib.Path(tempfile.gettempdir()) / ("quern-inbox-%s.sqlite" % "-".join(names))
    connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
    connection.executescript("PRAGMA journal_mode=WAL;" + TABLES)
    return connection


class Refused(Exception):
    """It can never succeed."""


class Inbox(reference.Worker):
    store = None

    def handle(self, message):
        if self.store is None:  # made by the thread that uses it
            self.store = database()
        try:
            body = json.loads(message["Body"])
            key, item = body["idempotencyKey"], body["payload"]["id"]
            if body["schemaVersion"] != 1:
                raise Refused("not a message of version 1")
            return self.order(key, item, message, body.get("instr", {}))
        except (ValueError, KeyError, TypeError, Refused) as reason:
            row = (message["MessageId"], str(reason))
            self.store.execute("INSERT INTO rejects VALUES (?, ?)", row)
            return False

    def order(self, key, item, message, instructions):
        """The lock on the row makes a second delivery wait for the first."""
        self.store.execute("BEGIN IMMEDIATE")
        try:
            row = (key, message["MessageId"])
            fresh = self.store.execute("INSERT OR IGNORE INTO inbox VALUES (?, ?)", row).rowcount
            if fresh:
                self.work(instructions, int(message["Attributes"]["ApproximateReceiveCount"]))
                self.store.execute("INSERT INTO orders VALUES (?, ?)", (key, item))
            self.store.execute("COMMIT")
        except BaseException:
            self.store.execute("ROLLBACK")
            raise
        return not fresh

    def work(self, instructions, receive_count):
        time.sleep(instructions.get("work_ms", 0) / 1000)
        outcomes = instructions.get("outcome") or ["ok"]
        outcome = outcomes[min(receive_count, len(outcomes)) - 1]
        if outcome == "permanent":
            raise Refused(outcome)
        if outcome != "ok":
            raise reference.Retry(outcome)


def print_effects():
    for key, count in database().execute("SELECT key, COUNT(*) FROM orders GROUP BY key"):
        print("%s\t%d" % (key, count))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--effects", action="store_true", help="print key, tab, count and end")
    if parser.parse_args().effects:
        return print_effects()
    queue_url = os.environ.get("QUEUE_URL")
    if not queue_url:
        parser.error("QUEUE_URL must be set: start it with `quern check -- ...`")
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    worker = Inbox(reference.make_sqs, queue_url, None, stop)
    thread = threading.Thread(target=worker.run)
    thread.start()
    left_s = float(os.environ.get("QUERN_GRACE", 10)) - reference.GRACE_MARGIN_S
    while thread.is_alive():
        thread.join(0.2)
        left_s -= 0.2 if stop.is_set() else 0
        if left_s <= 0:
            worker.give_up()
            os._exit(0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
