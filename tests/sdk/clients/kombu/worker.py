"""One consumer or producer of kombu or celery in a process of its own; runner.py starts it.

    worker.py kombu|celery consume|produce

The first line of the input has the settings. A consumer writes a line when it is about to poll and one
for each message that its handler is given; a producer sends what each further line says.
"""

import json
import os
import sys
import urllib.parse

import kombu
from celery import Celery

LINES = os.dup(1)
os.dup2(2, 1)  # celery greets on the standard output
kind, role = sys.argv[1:]
settings = json.loads(sys.stdin.readline())
address = urllib.parse.urlparse(settings["endpoint"])
BROKER = "sqs://test:test@%s:%d//" % (address.hostname, address.port)


def transport_options(queue_name, queue_url):
    return {
        "region": "us-east-1",
        "is_secure": False,
        "wait_time_seconds": 20,
        "predefined_queues": {queue_name: {"url": queue_url}},
    }


def say(line):
    os.write(LINES, (json.dumps(line) + "\n").encode())


class Failed(Exception):
    pass


class Handler:
    """Throws as often as it was told for a body."""

    def __init__(self):
        self.left = dict(settings.get("fail", {}))

    def __call__(self, body):
        left = self.left.get(body, 0)
        self.left[body] = left - 1
        say({"Body": body, "failed": left > 0})
        if left > 0:
            raise Failed(body)


def celery_app(queue_name, queue_url):
    app = Celery("quern", broker=BROKER)
    app.conf.update(
        broker_transport_options=transport_options(queue_name, queue_url),
        broker_connection_retry=False,
        task_acks_late=True,
        task_acks_on_failure_or_timeout=False,  # a failed task's message stays in the queue
        task_create_missing_queues=True,
        worker_enable_remote_control=False,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        task_ignore_result=True,
    )
    return app


def consume_with_celery():
    name = settings["queue_name"]
    app = celery_app(name, settings["queue_url"])
    app.conf.worker_prefetch_multiplier = settings["batch"]
    handler = Handler()
    app.task(name="handle")(handler.__call__)
    say({})
    app.worker_main(
        ["worker", "-P", "solo", "-Q", name, "-l", "CRITICAL", "--without-gossip"]
        + ["--without-mingle", "--without-heartbeat"]
    )


def produce_with_celery(members):
    name = members["queue_name"]
    app = celery_app(name, members["QueueUrl"])
    group = {k: members[k] for k in ("MessageGroupId",) if k in members}
    app.send_task("handle", args=[members["MessageBody"]], queue=name, **group)


def kombu_connection(name, url):
    return kombu.Connection(BROKER, transport_options=transport_options(name, url))


def consume_with_kombu():
    name = settings["queue_name"]
    handler = Handler()

    def on_message(body, message):
        try:
            handler(body)
        except Failed:
            message.reject()  # without requeue: its visibility timeout brings it back
        else:
            message.ack()

    with kombu_connection(name, settings["queue_url"]) as connection:
        queue = kombu.Queue(name, routing_key=name)
        with connection.Consumer(queue, callbacks=[on_message], accept=["json"],
                                 prefetch_count=settings["batch"]):
            say({})
            while True:
                connection.drain_events()


def produce_with_kombu(members):
    name = members["queue_name"]
    group = {k: members[k] for k in ("MessageGroupId",) if k in members}
    with kombu_connection(name, members["QueueUrl"]) as connection:
        producer = connection.Producer(serializer="json")
        producer.publish(members["MessageBody"], exchange="", routing_key=name, **group)


def main():
    if role == "consume":
        {"celery": consume_with_celery, "kombu": consume_with_kombu}[kind]()
    for line in sys.stdin:
        {"celery": produce_with_celery, "kombu": produce_with_kombu}[kind](json.loads(line))
        say({})


if __name__ == "__main__":
    main()
