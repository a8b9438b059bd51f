#!/usr/bin/env python3
"""A consumer that does everything an at-least-once SQS consumer has to do. Needs boto3 only.

It long-polls a standard or a FIFO queue and hands each message to the effect sink of `quern
check`, which stands for the database or the service that a real consumer would write to. The rules
it keeps:

- the delete comes after the effect, and a failed effect is not deleted: it comes back by itself;
- the effect carries the idempotency key of the message, so that a message that comes twice counts
  once, and is deleted then as well;
- what can never succeed is written down in a quarantine record before it is deleted;
- leases of messages that wait or are worked on are extended, and work never begins on a lapsed one;
- in a FIFO group nothing is begun after a failure: the rest of the group is handed back;
- when the queue or the sink cannot be reached it waits, longer each time, and goes on;
- on SIGTERM it receives no more, finishes what is begun, hands back the rest, and ends, at the
  latest shortly before the grace period does: what is not finished then is handed back too.

    reference.py [--workers N]        one loop of receive and work per worker; 1 unless given
"""

import argparse
import json
import os
import random
import signal
import sys
import threading
import time
import urllib.error
import urllib.request

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

BATCH = 10
WAIT_S = 5  # well below the grace period: a poll under way at SIGTERM is waited for
LEASE_MARGIN_S = 0.5  # the lease began a little before its message arrived here
WORK_LEASES, WORK_LEAST_S = 8, 20  # so long may the sink take
RETRY_BEAT_S = 0.5  # after an extension that failed
GRACE_MARGIN_S = 2  # before SIGKILL what cannot be finished is given back
DELETE_ATTEMPTS = 4
BACKOFF_FIRST_S, BACKOFF_LAST_S = 0.5, 8.0
API_ERRORS = (BotoCoreError, ClientError, ResponseParserError)  # the last: a cut answer


class Retry(Exception):
    """The effect did not happen, or nobody knows: the message must come back."""


def log(event, **fields):
    """One line, never with a body in it."""
    print(json.dumps(dict(event=event, **fields)), file=sys.stderr, flush=True)


def backoff_s(attempt):
    longest = min(BACKOFF_LAST_S, BACKOFF_FIRST_S * 2**attempt)
    return longest * random.uniform(0.5, 1.0)


class Sink:
    """The world that the consumer changes."""

    def __init__(self, url):
        self.url = url
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        self.timeout_s = WORK_LEAST_S

    def post(self, path, data, headers=None):
        """Status, headers and text of the answer; Retry if there is none."""
        request = urllib.request.Request(self.url + path, data=data, headers=headers or {})
        request.add_header("Content-Type", "application/json")
        try:
            with self.opener.open(request, timeout=self.timeout_s) as answer:
                return answer.status, answer.headers, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read().decode(errors="replace")
        except OSError as error:
            raise Retry("no answer: %s" % error) from error


class Lease:
    """A message that is ours for a while."""

    def __init__(self, message, visibility_s):
        self.message = message
        self.handle = message["ReceiptHandle"]
        self.group = message.get("Attributes", {}).get("MessageGroupId")
        self.renew(visibility_s)

    def renew(self, visibility_s):
        self.ends_at = time.monotonic() + visibility_s - LEASE_MARGIN_S

    def is_live(self):
        return time.monotonic() < self.ends_at


class Heartbeat:
    """Extends the leases in its care. None is extended once it was taken out: take_out() waits for
    a call under way, so a delete that follows it is the last word on the message."""

    def __init__(self, sqs, queue_url, visibility_s):
        self.sqs = sqs
        self.queue_url = queue_url
        self.visibility_s = visibility_s
        self.leases = {}
        self.lock = threading.Lock()
        threading.Thread(target=self.run, daemon=True).start()

    def put_in(self, leases):
        with self.lock:
            self.leases.update((id(lease), lease) for lease in leases)

    def take_out(self, lease):
        with self.lock:
            self.leases.pop(id(lease), None)

    def run(self):
        failed = False
        while True:
            time.sleep(RETRY_BEAT_S if failed else max(0.3, self.visibility_s / 3))
            with self.lock:
                held = list(self.leases.values())
                batches = [held[at : at + 10] for at in range(0, len(held), 10)]
                failed = not all([self.extend(batch) for batch in batches])

    def extend(self, leases):
        entries = [
            {"Id": str(n), "ReceiptHandle": lease.handle, "VisibilityTimeout": self.visibility_s}
            for n, lease in enumerate(leases)
        ]
        try:
            answer = self.sqs.change_message_visibility_batch(
                QueueUrl=self.queue_url, Entries=entries
            )
        except API_ERRORS as error:  # tried again soon; an expired lease is not begun
            log("extension failed", error=type(error).__name__)
            return False
        for entry in answer.get("Successful", []):
            leases[int(entry["Id"])].renew(self.visibility_s)
        return True


class Worker:
    def __init__(self, make_sqs, queue_url, sink, stop, batch=BATCH):
        self.make_sqs = make_sqs
        self.batch = batch
        self.sqs = make_sqs(attempts=3, answer_s=WAIT_S + 10)
        self.queue_url = queue_url
        self.sink = sink
        self.stop = stop
        self.visibility_s = None
        self.heartbeat = None

    # What a user of this file would replace

    def headers(self, key, message):
        return {
            "Idempotency-Key": key,
            "X-Quern-Message-Id": message["MessageId"],
            "X-Quern-Receive-Count": message["Attributes"]["ApproximateReceiveCount"],
        }

    def handle(self, message):
        """Does the work of one message. True if it had been done before."""
        try:
            body = json.loads(message["Body"])
            key, name = body["idempotencyKey"], body["payload"]["id"]
            known = body["schemaVersion"] == 1
        except (ValueError, KeyError, TypeError):
            key, name, known = None, message["MessageId"], False
        if not known:
            self.quarantine(name, "not a message of version 1")
            return False
        data = message["Body"].encode()
        status, headers, text = self.sink.post("/v1/effects", data, self.headers(key, message))
        if status == 422:
            self.quarantine(name, text)
        elif status != 200:
            raise Retry("status %d" % status)
        return headers.get("Idempotency-Replayed") == "true"

    def quarantine(self, name, reason):
        record = json.dumps({"id": name, "reason": reason}).encode()
        status, _, _ = self.sink.post("/v1/rejects", record)
        if status != 200:
            raise Retry("quarantine refused with %d" % status)

    # The loop

    def finish(self, lease):
        """Effect, then delete. False if the message is going to come back."""
        try:
            self.handle(lease.message)
        except Retry as reason:
            log("retry", message=lease.message["MessageId"], reason=str(reason))
            return False
        return self.delete(lease)

    def delete(self, lease):
        self.heartbeat.take_out(lease)
        for attempt in range(DELETE_ATTEMPTS):
            try:
                self.sqs.delete_message(QueueUrl=self.queue_url, ReceiptHandle=lease.handle)
                return True
            except API_ERRORS as error:
                log("delete failed", message=lease.message["MessageId"], error=str(error))
                if isinstance(error, ClientError) and is_our_fault(error):
                    return False  # the same handle would fail again; the message comes back
                time.sleep(backoff_s(attempt))
        return False

    def hand_back(self, lease, sqs=None):
        """False if it is left to come back when its lease ends."""
        self.heartbeat.take_out(lease)
        try:
            (sqs or self.sqs).change_message_visibility(
                QueueUrl=self.queue_url, ReceiptHandle=lease.handle, VisibilityTimeout=0
            )
        except API_ERRORS as error:
            log("handing back failed", error=type(error).__name__)
            return False
        return True

    def give_up(self):
        """Called by another thread while this one is at work that will not end in time. When SQS
        does not answer there is no time to ask it for each lease."""
        sqs = self.make_sqs(attempts=1, answer_s=1)
        for lease in list(self.heartbeat.leases.values()) if self.heartbeat else []:
            if not self.hand_back(lease, sqs):
                return

    def work_off(self, leases):
        blocked = set()
        for lease in leases:
            if lease.group in blocked or self.stop.is_set():
                self.hand_back(lease)
            elif not lease.is_live() or not self.finish(lease):
                self.heartbeat.take_out(lease)
                if self.is_fifo():
                    blocked.add(lease.group)

    def is_fifo(self):
        return self.queue_url.endswith(".fifo")

    def receive(self):
        answer = self.sqs.receive_message(
            QueueUrl=self.queue_url,
            MaxNumberOfMessages=self.batch,
            WaitTimeSeconds=WAIT_S,
            AttributeNames=["ApproximateReceiveCount", "MessageGroupId"],
        )
        leases = [Lease(message, self.visibility_s) for message in answer.get("Messages", [])]
        self.heartbeat.put_in(leases)
        return leases

    def learn_visibility(self):
        answer = self.sqs.get_queue_attributes(
            QueueUrl=self.queue_url, AttributeNames=["VisibilityTimeout"]
        )
        self.visibility_s = int(answer["Attributes"]["VisibilityTimeout"])
        if self.sink is not None:
            self.sink.timeout_s = max(WORK_LEAST_S, WORK_LEASES * self.visibility_s)
        self.heartbeat = self.make_heartbeat()

    def make_heartbeat(self):
        beat = self.make_sqs(attempts=1, answer_s=2)  # deletes wait for a beat under way
        return Heartbeat(beat, self.queue_url, self.visibility_s)

    def run(self):
        failures = 0
        while not self.stop.is_set():
            try:
                if self.heartbeat is None:
                    self.learn_visibility()
                leases = self.receive()
            except API_ERRORS as error:
                log("receive failed", error=str(error))
                self.stop.wait(backoff_s(failures))
                failures += 1
                continue
            failures = 0
            self.work_off(leases)


def is_our_fault(error):
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return 400 <= status < 500 and status not in (403, 429)


def make_sqs(attempts, answer_s):
    """A client of its own for each use. Old versions of boto3 do not look for the endpoint."""
    retries = {"mode": "standard", "total_max_attempts": attempts}
    return boto3.session.Session().client(
        "sqs",
        endpoint_url=os.environ.get("AWS_ENDPOINT_URL_SQS") or os.environ.get("AWS_ENDPOINT_URL"),
        config=Config(retries=retries, connect_timeout=3, read_timeout=answer_s),
    )


def main(worker_class=Worker, parser=None):
    parser = parser or argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--workers", type=int, default=1, metavar="N")
    options = parser.parse_args()
    queue_url = os.environ.get("QUEUE_URL")
    sink_url = os.environ.get("QUERN_SINK_URL")
    if not queue_url or not sink_url:
        parser.error("QUEUE_URL and QUERN_SINK_URL must be set: start it with `quern check -- ...`")

    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    batch = max(1, BATCH // options.workers)  # what one loop holds, the others cannot begin
    workers = [
        worker_class(make_sqs, queue_url, Sink(sink_url), stop, batch)
        for _ in range(options.workers)
    ]
    threads = [threading.Thread(target=worker.run) for worker in workers]
    for thread in threads:
        thread.start()
    give_up_at = None
    for thread in threads:
        while thread.is_alive():  # in pieces, so that signals are seen
            thread.join(0.2)
            if stop.is_set() and give_up_at is None:
                give_up_at = time.monotonic() + float(os.environ.get("QUERN_GRACE", 10)) - GRACE_MARGIN_S
            if give_up_at is not None and time.monotonic() >= give_up_at:
                for worker in workers:
                    worker.give_up()
                os._exit(0)  # work that hangs does not end by being asked


if __name__ == "__main__":
    main()
