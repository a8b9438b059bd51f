"""Celery on SQS with late acknowledgement, as its documentation on the SQS broker shows it.

KEEP_FAILED=1 adds what that documentation says of failed tasks: they are not acknowledged, so the queue's
redrive policy decides about them. The messages come from a producer that is not Celery: _envelope_payload
gives those that are JSON the form in which app.send_task() writes them; all else is the library's.
"""
import json
import os
import urllib.parse

from celery import Celery
from kombu.transport.SQS import Channel

from quern_adapter import handle

ADDRESS = urllib.parse.urlparse(os.environ["QUEUE_URL"])
NAME = os.environ["QUERN_QUEUE_NAME"]

app = Celery("worker")
app.conf.update(
    broker_url="sqs://%s:%s@%s//" % (
        os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"], ADDRESS.netloc),
    broker_transport_options={
        "region": os.environ["AWS_REGION"],
        "is_secure": False,
        "predefined_queues": {NAME: {"url": os.environ["QUEUE_URL"]}},
    },
    task_default_queue=NAME,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_acks_on_failure_or_timeout="KEEP_FAILED" not in os.environ,
    worker_enable_remote_control=False,
    broker_connection_retry_on_startup=True,
)


@app.task(name="work")
def work(body):
    handle(body)


library = Channel._envelope_payload


def as_task(self, payload, raw_text, message, q_url):
    if not payload:  # no JSON
        return library(self, payload, raw_text, message, q_url)
    embed = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}
    task = {
        "body": json.dumps([[raw_text], {}, embed]),
        "content-type": "application/json",
        "content-encoding": "utf-8",
        "headers": {"lang": "py", "task": "work", "id": message["MessageId"], "root_id": message["MessageId"]},
        "properties": {"correlation_id": message["MessageId"],
                       "delivery_info": {"exchange": "", "routing_key": NAME}},
    }
    return library(self, task, raw_text, message, q_url)


Channel._envelope_payload = as_task
