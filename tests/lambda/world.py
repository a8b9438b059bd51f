"""A queue with messages on a real server, `quern lambda` on it, and what came of both."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import boto3
from exchange import process

HERE = pathlib.Path(__file__).resolve().parent
KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"}
FUNCTION = (sys.executable, str(HERE / "function.py"))
LIMIT_S = 60


class World:
    def __init__(self, server, folder):
        self.server = server
        self.folder = folder
        self.seen_file = folder / "seen"
        self.sqs = boto3.client(
            "sqs",
            endpoint_url=server.endpoint,
            region_name="us-east-1",
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )
        self.url = None
        self.pollers = []

    def queue(self, name="q", **attributes):
        attributes = {"VisibilityTimeout": "30", **attributes}
        if name.endswith(".fifo"):
            attributes = {"FifoQueue": "true", "ContentBasedDeduplication": "true", **attributes}
        self.url = self.sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        return self.url

    def send(self, *orders, group=None, **more):
        ids = []
        for order in orders:
            body = order if isinstance(order, str) else json.dumps(order)
            extra = {} if group is None else {"MessageGroupId": group}
            ids.append(self.sqs.send_message(QueueUrl=self.url, MessageBody=body, **extra, **more)["MessageId"])
        return ids

    def counts(self):
        """(visible, in flight)"""
        given = self.sqs.get_queue_attributes(QueueUrl=self.url, AttributeNames=["All"])["Attributes"]
        return (
            int(given["ApproximateNumberOfMessages"]),
            int(given["ApproximateNumberOfMessagesNotVisible"]),
        )

    def command(self, *options, function=FUNCTION):
        behind = ("--", *function) if function else ()
        return [process.program(), "lambda", "--endpoint", self.server.endpoint, "--queue", self.url or "q",
                *options, *behind]

    def environment(self, more):
        return {**os.environ, **KEYS, "SEEN": str(self.seen_file), **more}

    def start(self, *options, function=FUNCTION, **environment):
        """Runs beside the test until it is stopped."""
        log = self.folder / ("log-%d" % len(self.pollers))
        with open(log, "wb") as out:
            poller = subprocess.Popen(
                self.command("--json", *options, function=function),
                stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=self.environment(environment))
        poller.log = log
        self.pollers.append(poller)
        return poller

    def run(self, *options, function=FUNCTION, **environment):
        """Runs until the queue is empty, or until it ends by itself."""
        return subprocess.run(
            self.command(*options, function=function), stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=LIMIT_S, env=self.environment(environment), check=False)

    def told(self, event="invocation"):
        """What the poller that was started last has told."""
        lines = self.pollers[-1].log.read_text(errors="replace").splitlines()
        documents = [json.loads(line) for line in lines if line.startswith("{")]
        return [document for document in documents if document.get("event") == event]

    def seen(self):
        if not self.seen_file.exists():
            return []
        return [json.loads(line) for line in self.seen_file.read_text().splitlines()]

    def until(self, condition):
        limit = time.monotonic() + LIMIT_S
        while not condition():
            assert time.monotonic() < limit, self.pollers[-1].log.read_text() if self.pollers else "too late"
            time.sleep(0.02)

    def stop(self):
        """All pollers end as they should."""
        for poller in self.pollers:
            if poller.poll() is None:
                poller.send_signal(signal.SIGTERM)
        for poller in self.pollers:
            try:
                code = poller.wait(LIMIT_S)
            except subprocess.TimeoutExpired:
                poller.kill()
                raise
            assert code == 0, (code, poller.log.read_text()[-4000:])
        self.pollers = []
