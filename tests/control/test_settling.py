"""What falls due for very many messages at one instant is done in slices, also when a change of
attributes makes it due: the server neither stalls nor outgrows an entry of its journal."""
import time

import pytest

COUNT = 40000
GROUP = "g" * 128


@pytest.fixture
def server(start, tmp_path):
    return start("--db", tmp_path / "q.db")


@pytest.fixture
def queue(sqs, name):
    return sqs("CreateQueue", QueueName=name + ".fifo",
               Attributes={"FifoQueue": "true", "DelaySeconds": "900"})["QueueUrl"]


def send(sqs, queue, count):
    for first in range(0, count, 10):
        sqs("SendMessageBatch", QueueUrl=queue, Entries=[
            {"Id": str(i), "MessageBody": str(i), "MessageGroupId": GROUP,
             "MessageDeduplicationId": str(i)} for i in range(first, first + 10)])


def counts(sqs, queue):
    given = sqs("GetQueueAttributes", QueueUrl=queue, AttributeNames=["All"])["Attributes"]
    return [int(given["ApproximateNumberOfMessages" + which])
            for which in ("", "NotVisible", "Delayed")]


def received(sqs, queue):
    answer = sqs("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=10)
    return [message["Body"] for message in answer.get("Messages", [])]


def test_SM_F2_a_shorter_delay_ends_that_of_very_many_in_order(sqs, queue):
    send(sqs, queue, COUNT)
    began = time.monotonic()
    sqs("SetQueueAttributes", QueueUrl=queue, Attributes={"DelaySeconds": "0"})
    sqs("SendMessage", QueueUrl=queue, MessageBody="last", MessageGroupId=GROUP,
        MessageDeduplicationId="last")
    assert time.monotonic() - began < 1
    assert counts(sqs, queue) == [COUNT + 1, 0, 0]
    assert received(sqs, queue) == [str(i) for i in range(10)]


def test_SM_13_a_shorter_retention_ends_very_many_of_a_served_group(server, sqs, queue):
    sqs("SetQueueAttributes", QueueUrl=queue, Attributes={"DelaySeconds": "0"})
    send(sqs, queue, COUNT)
    assert len(received(sqs, queue)) == 10
    server.advance_ms(61000)
    sqs("SetQueueAttributes", QueueUrl=queue, Attributes={"MessageRetentionPeriod": "60"})
    assert counts(sqs, queue) == [0, 0, 0]


def test_what_was_due_by_the_old_delay_is_done_before_it_grows(server, sqs, queue):
    send(sqs, queue, 1000)
    sqs("SetQueueAttributes", QueueUrl=queue, Attributes={"DelaySeconds": "0"})
    sqs("SetQueueAttributes", QueueUrl=queue, Attributes={"DelaySeconds": "900"})
    assert counts(sqs, queue) == [1000, 0, 0]
