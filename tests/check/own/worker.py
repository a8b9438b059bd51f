"""A consumer of orders with a store of its own. It knows nothing of Quern; its queue is called orders."""
import json
import os
import signal
import sqlite3
import sys

import boto3

store = sqlite3.connect(os.environ["STORE"], isolation_level=None, timeout=10)
unique = "" if "--naive" in sys.argv else " UNIQUE"
store.execute("CREATE TABLE IF NOT EXISTS done (number TEXT%s)" % unique)
stopped = []
signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
sqs = boto3.client("sqs")
url = sqs.get_queue_url(QueueName="orders")["QueueUrl"]
while not stopped:
    for message in sqs.receive_message(QueueUrl=url, WaitTimeSeconds=1).get("Messages", []):
        try:
            order = json.loads(message["Body"])
            store.execute("INSERT OR IGNORE INTO done VALUES (?)", (order["number"],))
        except (ValueError, KeyError) as reason:
            print("left:", reason)
            continue
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
