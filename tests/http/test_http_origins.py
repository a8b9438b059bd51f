"""Browsers: SDKs in a page may speak SQS to us, a page may not drive the control API."""
import json

import pytest

from exchange import wire
from raw import Raw

PAGE = "https://app.example"
WANTED = "authorization,content-type,x-amz-date,x-amz-target,x-amz-user-agent,x-amz-security-token,amz-sdk-invocation-id,amz-sdk-request,x-amzn-query-mode"


def ask(server, method, path, headers, body=b""):
    with Raw(server) as raw:
        raw.send(raw.head(method=method, path=path, headers=[*headers, ("Content-Length", len(body))]) + body)
        return raw.read()


def preflight(server, path, method="POST"):
    headers = [
        ("Origin", PAGE),
        ("Access-Control-Request-Method", method),
        ("Access-Control-Request-Headers", WANTED),
    ]
    return ask(server, "OPTIONS", path, headers)


@pytest.mark.parametrize("path", ["/", "/000000000000/some-queue"])
def test_preflight_on_sqs_paths(server, path):
    reply = preflight(server, path)
    assert reply.status in (200, 204), str(reply)
    assert reply.header("Access-Control-Allow-Origin") in ("*", PAGE)
    methods = [m.strip() for m in reply.header("Access-Control-Allow-Methods").split(",")]
    assert "POST" in methods
    allowed = {h.strip().lower() for h in reply.header("Access-Control-Allow-Headers").split(",")}
    assert set(WANTED.split(",")) <= allowed


def test_answers_to_a_page_may_be_read_by_it(server, name):
    body = json.dumps({"QueueName": name}).encode()
    headers = [("Origin", PAGE), ("Content-Type", wire.JSON_TYPE), ("X-Amz-Target", "AmazonSQS.GetQueueUrl")]
    reply = ask(server, "POST", "/", headers, body)
    assert reply.status == 400
    assert reply.header("Access-Control-Allow-Origin") in ("*", PAGE)


@pytest.mark.parametrize("path", ["/_quern/health", "/_quern/reset", "/_quern/clock", "/_quern/queues"])
def test_no_preflight_on_control_paths(server, path):
    reply = preflight(server, path)
    assert reply.header("Access-Control-Allow-Origin") is None, str(reply)
    assert 400 <= reply.status < 500, str(reply)


@pytest.mark.parametrize(
    "origin", [PAGE, "null", "http://localhost.evil.example", "http://127.0.0.1.evil.example:9324", "file://"]
)
@pytest.mark.parametrize(
    "method, path",
    [
        ("GET", "/_quern/info"),
        ("GET", "/_quern/queues"),
        ("POST", "/_quern/reset"),
        ("POST", "/_quern/clock"),
    ],
)
def test_control_api_refuses_a_foreign_origin(server, client, queue, name, origin, method, path):
    body = b"{}" if method == "POST" else b""
    reply = ask(server, method, path, [("Origin", origin), ("Content-Type", "text/plain")], body)
    assert 400 <= reply.status < 500, str(reply)
    assert reply.header("Access-Control-Allow-Origin") is None
    assert client.call("json", "GetQueueUrl", {"QueueName": name}).members == {"QueueUrl": queue}


@pytest.mark.parametrize(
    "path", ["/_quern/../_quern/reset", "//_quern/reset", "/%5Fquern/reset", "/000000000000/../_quern/reset"]
)
def test_control_api_has_no_other_spelling_for_pages(server, client, queue, name, path):
    ask(server, "POST", path, [("Origin", PAGE), ("Content-Type", "text/plain")], b"{}")
    assert client.call("json", "GetQueueUrl", {"QueueName": name}).members == {"QueueUrl": queue}


@pytest.mark.parametrize("url", ["http://localhost/_quern/reset", "http://localhost/_quern/queues", "_quern"])
@pytest.mark.parametrize("action", ["PurgeQueue", "DeleteQueue", "ReceiveMessage"])
def test_control_api_is_out_of_reach_of_queue_urls(client, queue, name, url, action):
    answer = client.call("json", action, {"QueueUrl": url})
    assert answer.code in ("InvalidAddress", "AWS.SimpleQueueService.NonExistentQueue")
    assert client.call("json", "GetQueueUrl", {"QueueName": name}).members == {"QueueUrl": queue}


def test_control_paths_do_not_speak_sqs(server, client, name):
    request = wire.json_request("CreateQueue", {"QueueName": name})
    request.path = "/_quern/queues"
    assert 400 <= client.send(request).status < 500
    assert client.call("json", "GetQueueUrl", {"QueueName": name}).status == 400
