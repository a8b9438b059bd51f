"""Makes SQS calls with boto 2; lines in and out as sdk_clients.py says.

Only what the methods of boto.sqs can say is offered: what would need make_request() by hand is not.
"""

import json
import sys
import threading
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

import boto
from boto.exception import SQSError
from boto.sqs.connection import SQSConnection
from boto.sqs.message import RawMessage
from boto.sqs.queue import Queue
from boto.sqs.regioninfo import SQSRegionInfo

output_lock = threading.Lock()


class Lacking(Exception):
    pass


def connect(endpoint):
    at = urllib.parse.urlparse(endpoint)
    region = SQSRegionInfo(name="us-east-1", endpoint=at.hostname)
    return SQSConnection("test", "test", is_secure=False, port=at.port, region=region)


def queue_of(connection, members):
    return Queue(connection, members.pop("QueueUrl"), RawMessage)


def only(action, members, *known):
    """The values of the known members; whatever else there is cannot be said."""
    for name in members:
        if name not in known:
            raise Lacking("%s.%s" % (action, name))
    return [members.get(name) for name in known]


def attributes_in(given):
    """Binary values travel as the base64 text that boto's users make themselves."""
    if given is None:
        return None
    names = {"DataType": "data_type", "StringValue": "string_value", "BinaryValue": "binary_value"}
    return {
        name: {names[k]: v["$bytes"] if k == "BinaryValue" else v for k, v in value.items()}
        for name, value in given.items()
    }


def attributes_out(came):
    found = {}
    for name, value in came.items():
        found[name] = {"DataType": value["data_type"]}
        if "string_value" in value:
            found[name]["StringValue"] = value["string_value"]
        if "binary_value" in value:
            found[name]["BinaryValue"] = {"$bytes": value["binary_value"]}
    return found


def create_queue(connection, members):
    name, attributes = only("CreateQueue", members, "QueueName", "Attributes")
    attributes = attributes or {}
    timeout, = only("CreateQueue.Attributes", attributes, "VisibilityTimeout")
    return {"QueueUrl": connection.create_queue(name, timeout).url}


def get_queue_url(connection, members):
    name, owner = only("GetQueueUrl", members, "QueueName", "QueueOwnerAWSAccountId")
    queue = connection.get_queue(name, owner)
    if queue is None:
        raise Lacking("GetQueueUrl's error")  # the method turns each one into None
    return {"QueueUrl": queue.url}


def list_queues(connection, members):
    prefix, = only("ListQueues", members, "QueueNamePrefix")
    return {"QueueUrls": [queue.url for queue in connection.get_all_queues(prefix or "")]}


def list_sources(connection, members):
    queue = queue_of(connection, members)
    only("ListDeadLetterSourceQueues", members)
    return {"queueUrls": [found.url for found in connection.get_dead_letter_source_queues(queue)]}


def get_attributes(connection, members):
    queue = queue_of(connection, members)
    names, = only("GetQueueAttributes", members, "AttributeNames")
    if names and len(names) == 1:
        return {"Attributes": dict(connection.get_queue_attributes(queue, names[0]))}
    whole = dict(connection.get_queue_attributes(queue))
    return {"Attributes": {name: whole[name] for name in names or [] if name in whole}}


def set_attributes(connection, members):
    queue = queue_of(connection, members)
    attributes, = only("SetQueueAttributes", members, "Attributes")
    for name, value in attributes.items():  # one a call is all that there is
        connection.set_queue_attribute(queue, name, value)
    return {}


def send_message(connection, members):
    queue = queue_of(connection, members)
    known = ("MessageBody", "DelaySeconds", "MessageAttributes")
    body, delay_s, attributes = only("SendMessage", members, *known)
    if delay_s == 0:
        raise Lacking("SendMessage.DelaySeconds of 0")
    sent = connection.send_message(queue, body, delay_s, attributes_in(attributes))
    output = {"MessageId": sent.id, "MD5OfMessageBody": sent.MD5OfMessageBody}
    digest = getattr(sent, "md5_message_attributes", None)
    return dict(output, MD5OfMessageAttributes=digest) if digest else output


def receive_message(connection, members):
    queue = queue_of(connection, members)
    if "SystemAttributeNames" in members:
        members["AttributeNames"] = members.pop("SystemAttributeNames")
    known = ("MaxNumberOfMessages", "VisibilityTimeout", "AttributeNames")
    known += ("WaitTimeSeconds", "MessageAttributeNames")
    number, timeout_s, names, wait_s, message_names = only("ReceiveMessage", members, *known)
    came = connection.receive_message(
        queue, 1 if number is None else number, timeout_s, names, wait_s, message_names
    )
    return {"Messages": [message_out(message) for message in came]}


def message_out(message):
    found = {
        "MessageId": message.id,
        "ReceiptHandle": message.receipt_handle,
        "Body": message.get_body(),
        "MD5OfBody": message.md5,
        "Attributes": dict(message.attributes),
        "MessageAttributes": attributes_out(message.message_attributes),
    }
    if getattr(message, "md5_message_attributes", None):
        found["MD5OfMessageAttributes"] = message.md5_message_attributes
    return found


def message_in(queue, entry):
    message = RawMessage(queue)
    message.id = entry["Id"]
    message.receipt_handle = entry["ReceiptHandle"]
    return message


def batch_out(results):
    found = {}
    if results.results:
        found["Successful"] = [
            {
                name: item[key]
                for name, key in (("Id", "id"), ("MessageId", "message_id"))
                if item.get(key)
            }
            for item in results.results
        ]
        for item, entry in zip(results.results, found["Successful"]):
            if item.get("message_md5"):
                entry["MD5OfMessageBody"] = item["message_md5"]
    if results.errors:
        found["Failed"] = [
            {
                "Id": item["id"],
                "Code": item["error_code"],
                "SenderFault": item["sender_fault"] == "true",
                "Message": item.get("error_message"),
            }
            for item in results.errors
        ]
    return found


def send_batch(connection, members):
    queue = queue_of(connection, members)
    entries = []
    for entry in members["Entries"]:
        known = ("Id", "MessageBody", "DelaySeconds", "MessageAttributes")
        name, body, delay_s, attributes = only("SendMessageBatch", entry, *known)
        if attributes:
            raise Lacking("SendMessageBatch's digest of attributes")
        entries.append((name, body, delay_s or 0, attributes_in(attributes) or {}))
    return batch_out(connection.send_message_batch(queue, entries))


def delete_batch(connection, members):
    queue = queue_of(connection, members)
    messages = [message_in(queue, entry) for entry in members["Entries"]]
    return batch_out(connection.delete_message_batch(queue, messages))


def change_batch(connection, members):
    queue = queue_of(connection, members)
    pairs = [(message_in(queue, e), e["VisibilityTimeout"]) for e in members["Entries"]]
    results = connection.change_message_visibility_batch(queue, pairs)
    if len(results.results) + len(results.errors) < len(pairs):
        raise Lacking("ChangeMessageVisibilityBatch's answer")
    return batch_out(results)


def delete_message(connection, members):
    queue = queue_of(connection, members)
    connection.delete_message_from_handle(queue, members["ReceiptHandle"])
    return {}


def change_visibility(connection, members):
    queue = queue_of(connection, members)
    handle, timeout_s = members["ReceiptHandle"], members["VisibilityTimeout"]
    connection.change_message_visibility(queue, handle, timeout_s)
    return {}


def delete_queue(connection, members):
    connection.delete_queue(queue_of(connection, members))
    return {}


def purge_queue(connection, members):
    connection.purge_queue(queue_of(connection, members))
    return {}


def add_permission(connection, members):
    queue = queue_of(connection, members)
    if len(members["AWSAccountIds"]) != 1 or len(members["Actions"]) != 1:
        raise Lacking("AddPermission for several")
    connection.add_permission(
        queue, members["Label"], members["AWSAccountIds"][0], members["Actions"][0]
    )
    return {}


def remove_permission(connection, members):
    connection.remove_permission(queue_of(connection, members), members["Label"])
    return {}


CALLS = {
    "AddPermission": add_permission,
    "ChangeMessageVisibility": change_visibility,
    "ChangeMessageVisibilityBatch": change_batch,
    "CreateQueue": create_queue,
    "DeleteMessage": delete_message,
    "DeleteMessageBatch": delete_batch,
    "DeleteQueue": delete_queue,
    "GetQueueAttributes": get_attributes,
    "GetQueueUrl": get_queue_url,
    "ListDeadLetterSourceQueues": list_sources,
    "ListQueues": list_queues,
    "PurgeQueue": purge_queue,
    "ReceiveMessage": receive_message,
    "RemovePermission": remove_permission,
    "SendMessage": send_message,
    "SendMessageBatch": send_batch,
    "SetQueueAttributes": set_attributes,
}


def answer(request):
    reply = {"id": request["id"]}
    try:
        if request["action"] not in CALLS:
            raise Lacking(request["action"])
        connection = connect(request["endpoint"])
        reply["output"] = CALLS[request["action"]](connection, request["members"])
    except Lacking as what:
        reply["lacks"] = str(what)
    except SQSError as error:
        shown = {"code": error.error_code, "status": error.status, "fault": error.type}
        reply["error"] = dict(shown, message=error.message)
    except Exception as error:  # everything else is for the test to judge
        reply["broken"] = "%s: %s" % (type(error).__name__, error)
    with output_lock:
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


def main():
    print(json.dumps({"client": "boto %s" % boto.__version__}), flush=True)
    with ThreadPoolExecutor(max_workers=16) as pool:
        for line in sys.stdin:
            pool.submit(answer, json.loads(line))


if __name__ == "__main__":
    main()
