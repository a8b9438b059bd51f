"""Makes SQS calls with boto3, old or new; lines in and out as sdk_clients.py says.

"broken" is whatever is not an answer of the service: a check of the client itself that failed, a
connection that broke.
"""

import base64
import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import boto3
from botocore import xform_name
from botocore.config import Config
from botocore.exceptions import ClientError

session = boto3.Session()
clients = {}
clients_lock = threading.Lock()
output_lock = threading.Lock()


def client_of(endpoint, timeout_s=None):
    config = timeout_s and Config(connect_timeout=timeout_s, read_timeout=timeout_s)
    with clients_lock:  # sessions are not made for several threads, clients are
        if (endpoint, timeout_s) not in clients:
            clients[endpoint, timeout_s] = session.client("sqs", endpoint_url=endpoint, config=config)
        return clients[endpoint, timeout_s]


def from_wire(value):
    if isinstance(value, dict):
        if set(value) == {"$bytes"}:
            return base64.b64decode(value["$bytes"])
        return {k: from_wire(v) for k, v in value.items()}
    return [from_wire(v) for v in value] if isinstance(value, list) else value


def to_wire(value):
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode()}
    if isinstance(value, dict):
        return {k: to_wire(v) for k, v in value.items() if k != "ResponseMetadata"}
    return [to_wire(v) for v in value] if isinstance(value, list) else value


def shown(error):
    """What a program that catches the exception can see of it."""
    detail = error.response["Error"]
    return {
        "class": type(error).__name__,
        "code": detail.get("Code"),
        "shape": detail.get("QueryErrorCode"),
        "fault": detail.get("Type"),
        "status": error.response["ResponseMetadata"]["HTTPStatusCode"],
        "message": detail.get("Message"),
    }


def answer(request):
    reply = {"id": request["id"]}
    try:
        client = client_of(request["endpoint"], request.get("timeout_s"))
        members = from_wire(request["members"])
        known = client.meta.service_model.operation_model(request["action"]).input_shape.members
        if "SystemAttributeNames" in members:
            new = "MessageSystemAttributeNames"
            members[new if new in known else "AttributeNames"] = members.pop("SystemAttributeNames")
        reply["output"] = to_wire(getattr(client, xform_name(request["action"]))(**members))
    except ClientError as error:
        reply["error"] = shown(error)
    except Exception as error:  # everything else is for the test to judge
        reply["broken"] = "%s: %s" % (type(error).__name__, error)
        reply["thrown"] = {"class": type(error).__name__}
    say(reply)


def say(line):
    text = json.dumps(line)
    with output_lock:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def main():
    say({"client": "boto3 %s" % boto3.__version__})
    with ThreadPoolExecutor(max_workers=16) as pool:
        for line in sys.stdin:
            pool.submit(answer, json.loads(line))


if __name__ == "__main__":
    main()
