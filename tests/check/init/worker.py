"""A small consumer around the adapter that `quern check init` writes."""
import os
import signal

import boto3
import quern_adapter

stopped = []
signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
sqs, url = boto3.client("sqs"), os.environ["QUEUE_URL"]
while not stopped:
    for message in sqs.receive_message(QueueUrl=url, WaitTimeSeconds=1).get("Messages", []):
        try:
            quern_adapter.handle(message["Body"])
        except Exception as reason:
            print("left:", reason)
            continue
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
