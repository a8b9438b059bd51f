"""Batch processing by Powertools as its documentation has it; what is done stands in the file SEEN."""
import json
import os

from aws_lambda_powertools.utilities.batch import (
    BatchProcessor,
    EventType,
    SqsFifoPartialProcessor,
    process_partial_response,
)

standard = BatchProcessor(event_type=EventType.SQS)
fifo = SqsFifoPartialProcessor()
fifo_by_group = SqsFifoPartialProcessor(skip_group_on_error=True)


def work(record):
    order = json.loads(record.body)
    if order["do"] == "fail" or order["do"] == "fail-once" and record.attributes.approximate_receive_count == "1":
        raise ValueError("no such order")
    with open(os.environ["SEEN"], "a", encoding="utf-8") as seen:
        seen.write(json.dumps({"done": order["name"]}) + "\n")


def handler(event, context):
    return process_partial_response(event=event, record_handler=work, processor=standard, context=context)


def fifo_handler(event, context):
    return process_partial_response(event=event, record_handler=work, processor=fifo, context=context)


def group_handler(event, context):
    return process_partial_response(event=event, record_handler=work, processor=fifo_by_group, context=context)
