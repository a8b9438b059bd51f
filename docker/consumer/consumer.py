"""Receives from one queue, prints each body, deletes what it printed; ends on SIGTERM."""
import os
import signal
import threading

import boto3

stop = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: stop.set())

sqs = boto3.client("sqs", endpoint_url=os.environ["AWS_ENDPOINT_URL"])
queue_url = sqs.get_queue_url(QueueName=os.environ["QUEUE_NAME"])["QueueUrl"]
print("receiving from", queue_url)

while not stop.is_set():
    answer = sqs.receive_message(QueueUrl=queue_url, MaxNumberOfMessages=10, WaitTimeSeconds=2)
    for message in answer.get("Messages", []):
        print("received", message["Body"])
        sqs.delete_message(QueueUrl=queue_url, ReceiptHandle=message["ReceiptHandle"])
print("stopped")
