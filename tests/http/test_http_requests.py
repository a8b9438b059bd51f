"""Which protocol a request speaks, which queue it means, and how it is answered."""
import gzip
import json
import re
from urllib.parse import quote

import pytest

from exchange import wire
from exchange.wire import FORM_TYPE, JSON_TYPE
from raw import Raw


def ask(server, request):
    with Raw(server) as raw:
        raw.send(request(raw))
        return raw.read()


def post(server, body, path="/", headers=(), content_type=FORM_TYPE):
    """A POST with exactly these headers."""
    body = body.encode() if isinstance(body, str) else body
    given = [("Content-Length", len(body)), *headers]
    if content_type is not None:
        given.append(("Content-Type", content_type))
    return ask(server, lambda raw: raw.head(path=path, headers=given) + body)


def get(server, path, headers=()):
    return ask(server, lambda raw: raw.head(method="GET", path=path, headers=list(headers)))


def path_of(queue):
    return "/" + queue.split("/", 3)[3]


def brief(value):
    """A short test id for a long value."""
    return repr(value)[1:31]


# Recognition of the protocol


@pytest.mark.parametrize(
    "content_type",
    [JSON_TYPE, JSON_TYPE + "; charset=utf-8", JSON_TYPE + ";charset=UTF-8", "Application/X-Amz-JSON-1.0"],
)
def test_json_by_content_type_and_target(server, content_type, name):
    reply = post(server, "{}", content_type=content_type, headers=[("X-Amz-Target", "AmazonSQS.ListQueues")])
    assert wire.read_json("ListQueues", reply).status == 200


@pytest.mark.parametrize("spelling", [str.lower, str.upper, str.title])
def test_header_names_in_any_case(server, spelling, name):
    body = json.dumps({"QueueName": name}).encode()
    headers = [
        (spelling("content-type"), JSON_TYPE),
        (spelling("x-amz-target"), "AmazonSQS.GetQueueUrl"),
        (spelling("content-length"), len(body)),
    ]
    answer = wire.read_json("GetQueueUrl", ask(server, lambda raw: raw.head(headers=headers) + body))
    assert answer.code == "AWS.SimpleQueueService.NonExistentQueue"


def test_content_type_decides_over_target(server, name):
    reply = post(
        server,
        "Action=ListQueues&QueueNamePrefix=" + name,
        headers=[("X-Amz-Target", "AmazonSQS.CreateQueue")],
    )
    assert wire.read_xml("ListQueues", reply).members == {}


def test_json_content_type_without_target_is_no_json_call(server):
    reply = post(server, "{}", content_type=JSON_TYPE)
    assert 400 <= reply.status < 500, str(reply)


@pytest.mark.parametrize(
    "target",
    [
        "",
        "AmazonSQS",
        "AmazonSQS.",
        ".ListQueues",
        "AmazonSNS.ListQueues",
        "ListQueues",
        "AmazonSQS.ListQueues.",
        "AmazonSQS.Dance",
    ],
)
def test_unknown_target_is_an_unknown_operation(server, target):
    reply = post(server, "{}", content_type=JSON_TYPE, headers=[("X-Amz-Target", target)])
    assert 400 <= reply.status < 500, str(reply)
    if target not in ("", "AmazonSNS.ListQueues"):
        answer = wire.read_json("ListQueues", reply)
        assert answer.type == "com.amazon.coral.service#UnknownOperationException" and answer.code is None


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "",
        "text/plain",
        "application/json",
        "application/x-amz-json-1.1",
        "text/xml",
        "multipart/form-data; boundary=x",
        ";;;",
    ],
)
def test_other_content_types_never_pass_for_json(server, content_type, name):
    reply = post(
        server,
        json.dumps({"QueueName": name}),
        content_type=content_type,
        headers=[("X-Amz-Target", "AmazonSQS.CreateQueue")],
    )
    assert 400 <= reply.status < 500, str(reply)
    reply = post(server, "Action=GetQueueUrl&QueueName=" + name)
    assert wire.read_xml("GetQueueUrl", reply).code == "AWS.SimpleQueueService.NonExistentQueue"


@pytest.mark.parametrize("suffix", ["; charset=utf-8", ";charset=UTF-8", ""])
def test_form_content_type_with_charset(server, suffix, name):
    reply = post(server, "Action=ListQueues&QueueNamePrefix=" + name, content_type=FORM_TYPE + suffix)
    assert wire.read_xml("ListQueues", reply).members == {}


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "BREW"])
def test_other_methods_are_refused(server, method):
    with Raw(server) as raw:
        raw.send(raw.head(method=method, headers=[("Content-Length", 0)]))
        try:
            assert 400 <= raw.read().status < 500 or method == "CONNECT"
        except (EOFError, ConnectionError):
            assert method == "CONNECT"


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "GZIP"])
@pytest.mark.parametrize("protocol", ["json", "query"])
def test_compressed_bodies_are_refused_in_clear_words(server, client, queue, encoding, protocol):
    if protocol == "json":
        body = gzip.compress(json.dumps({"QueueUrl": queue, "MessageBody": "x"}).encode())
        request = wire.json_request("SendMessage", body, headers={"Content-Encoding": encoding})
        answer = wire.read_json("SendMessage", client.send(request))
    else:
        body = gzip.compress(b"Action=SendMessage&MessageBody=x&QueueUrl=" + quote(queue, safe="").encode())
        request = wire.query_request(body, headers={"Content-Encoding": encoding})
        answer = wire.read_xml("SendMessage", client.send(request))
    assert 400 <= answer.status < 500
    assert re.search("encoding|compress|gzip", answer.message, re.I), answer.message
    assert client.call("json", "ReceiveMessage", {"QueueUrl": queue}).members == {}


def test_identity_encoding_is_no_encoding(client, queue):
    request = wire.json_request(
        "SendMessage", {"QueueUrl": queue, "MessageBody": "x"}, headers={"Content-Encoding": "identity"}
    )
    assert wire.read_json("SendMessage", client.send(request)).status == 200


# GET and the queue path (3.1)


def test_get_with_query_string(server, queue, name):
    reply = get(server, "/?Action=GetQueueUrl&Version=2012-11-05&QueueName=" + name)
    assert wire.read_xml("GetQueueUrl", reply).members == {"QueueUrl": queue}


def test_get_on_the_queue_path_needs_no_queue_url(server, queue):
    reply = get(server, path_of(queue) + "?Action=SendMessage&MessageBody=a+b%20c%2B")
    assert wire.read_xml("SendMessage", reply).status == 200
    reply = get(server, path_of(queue) + "?Action=ReceiveMessage&VisibilityTimeout=0")
    assert wire.read_xml("ReceiveMessage", reply).members["Messages"][0]["Body"] == "a b c+"


def test_post_on_the_queue_path_needs_no_queue_url(server, queue):
    reply = post(server, "Action=SendMessage&MessageBody=x", path=path_of(queue))
    assert wire.read_xml("SendMessage", reply).status == 200


def test_json_on_the_queue_path(server, client, queue):
    request = wire.json_request("SendMessage", {"QueueUrl": queue, "MessageBody": "x"})
    request.path = path_of(queue)
    assert wire.read_json("SendMessage", client.send(request)).status == 200


def test_queue_url_wins_over_the_path(server, client, queue, name):
    other = client.call("json", "CreateQueue", {"QueueName": name + "-other"}).members["QueueUrl"]
    reply = post(
        server, "Action=SendMessage&MessageBody=x&QueueUrl=" + quote(other, safe=""), path=path_of(queue)
    )
    assert wire.read_xml("SendMessage", reply).status == 200
    assert client.call("json", "ReceiveMessage", {"QueueUrl": queue}).members == {}
    assert len(client.call("json", "ReceiveMessage", {"QueueUrl": other}).members["Messages"]) == 1
    client.call("json", "DeleteQueue", {"QueueUrl": other})


def test_get_queue_url_on_a_queue_path_may_name_another(server, client, queue, name):
    other = client.call("json", "CreateQueue", {"QueueName": name + "-other"}).members["QueueUrl"]
    reply = get(server, path_of(queue) + "?Action=GetQueueUrl&QueueName=%s-other" % name)
    assert wire.read_xml("GetQueueUrl", reply).members == {"QueueUrl": other}
    client.call("json", "DeleteQueue", {"QueueUrl": other})


@pytest.mark.parametrize("action", ["CreateQueue", "ListQueues"])
def test_account_actions_are_not_for_queue_paths(server, queue, action, name):
    reply = get(server, path_of(queue) + "?Action=%s&QueueName=%s-new" % (action, name))
    answer = wire.read_xml(action, reply)
    assert (answer.status, answer.code) == (400, "InvalidAction")
    assert answer.message == "The action %s is not valid for this endpoint." % action


@pytest.mark.parametrize("accept", [None, "application/json"])
def test_queue_path_without_action_is_404(server, queue, accept):
    reply = get(server, path_of(queue), headers=[("Accept", accept)] if accept else [])
    assert reply.status == 404 and b"<UnknownOperationException" in reply.body, str(reply)


def test_path_of_an_unknown_queue(server, name):
    reply = get(server, "/000000000000/%s-nowhere?Action=ReceiveMessage" % name)
    assert wire.read_xml("ReceiveMessage", reply).code == "AWS.SimpleQueueService.NonExistentQueue"


def test_body_wins_over_the_query_string(server, queue):
    reply = post(server, "MessageBody=body", path=path_of(queue) + "?Action=SendMessage&MessageBody=string")
    assert wire.read_xml("SendMessage", reply).status == 200
    reply = get(server, path_of(queue) + "?Action=ReceiveMessage")
    assert wire.read_xml("ReceiveMessage", reply).members["Messages"][0]["Body"] == "body"


@pytest.mark.parametrize(
    "path",
    ["//", "/a/b/c/d/e/f", "/000000000000/", "/%", "/%00", "/..%2f..", "/000000000000/%ff", "/" + "x" * 5000],
    ids=brief,
)
def test_odd_paths_are_answered(server, path):
    assert 200 <= get(server, path + "?Action=ReceiveMessage").status < 500
    assert 200 <= post(server, "Action=ReceiveMessage", path=path).status < 500


# Queue URLs


@pytest.mark.parametrize(
    "form",
    [
        "http://sqs.us-east-1.localhost.localstack.cloud:4566/000000000000/{name}",
        "http://localhost:4566/000000000000/{name}",
        "http://localhost:4566/queue/us-east-1/000000000000/{name}",
        "http://queue.localhost.localstack.cloud:4566/000000000000/{name}",
        "https://sqs.us-east-1.amazonaws.com/000000000000/{name}",
        "https://queue.amazonaws.com/000000000000/{name}",
        "https://us-west-2.queue.amazonaws.com/000000000000/{name}",
        "http://[::1]:9324/000000000000/{name}",
        "http://elasticmq:9324/000000000000/{name}",
        "http://localhost:9324/123456789012/{name}",
        "{name}",
    ],
)
def test_queue_url_forms_name_the_same_queue(client, queue, name, form):
    url = form.format(name=name)
    answer = client.call("json", "SendMessage", {"QueueUrl": url, "MessageBody": "x"})
    assert answer.status == 200, answer
    assert len(client.call("json", "ReceiveMessage", {"QueueUrl": queue}).members["Messages"]) == 1


def test_localstack_path_form_as_request_path(server, queue, name):
    reply = post(server, "Action=SendMessage&MessageBody=x", path="/queue/us-east-1/000000000000/" + name)
    assert wire.read_xml("SendMessage", reply).status == 200


@pytest.mark.parametrize(
    "host", ["localhost:9324", "sqs.internal", "quern:80", "[::1]:4566", "example.com:65535"]
)
def test_queue_urls_carry_the_host_that_was_asked_ID_4(server, queue, name, host):
    body = "Action=GetQueueUrl&QueueName=" + name
    reply = post(server, body, headers=[("Host", host)])
    url = wire.read_xml("GetQueueUrl", reply).members["QueueUrl"]
    assert url == "http://%s/000000000000/%s" % (host, name)


@pytest.mark.parametrize("host", ["", "a b", "<script>", "x/y", "ä", "a" * 300, 'h"q'], ids=brief)
def test_odd_hosts_are_answered(server, queue, name, host):
    try:
        reply = post(server, "Action=GetQueueUrl&QueueName=" + name, headers=[("Host", host)])
    except EOFError:
        return
    assert 200 <= reply.status < 500
    if reply.status == 200:
        wire.read_xml("GetQueueUrl", reply)


# Who is asking


def test_unsigned_requests_work(server, queue, name):
    assert wire.read_xml("GetQueueUrl", post(server, "Action=GetQueueUrl&QueueName=" + name)).status == 200


@pytest.mark.parametrize(
    "value",
    [
        "",
        "AWS4-HMAC-SHA256",
        "Basic dTpw",
        "Bearer x",
        "AWS4-HMAC-SHA256 Credential=",
        "AWS4-HMAC-SHA256 Credential=a/b, SignedHeaders=, Signature=",
        "AWS4-HMAC-SHA256 Credential=////, x",
        "x" * 4000,
    ],
    ids=brief,
)
def test_odd_authorization_falls_back_to_the_defaults(server, queue, name, value):
    reply = post(server, "Action=GetQueueUrl&QueueName=" + name, headers=[("Authorization", value)])
    assert wire.read_xml("GetQueueUrl", reply).members == {"QueueUrl": queue}


def test_regions_are_apart_ID_8(client, queue, name):
    elsewhere = {"region": "eu-north-1"}
    assert client.call("json", "ListQueues", {"QueueNamePrefix": name}, **elsewhere).members == {}
    made = client.call(
        "query", "CreateQueue", {"QueueName": name, "Attributes": {"DelaySeconds": "9"}}, **elsewhere
    )
    assert made.status == 200
    asked = {"QueueUrl": queue, "AttributeNames": ["QueueArn", "DelaySeconds"]}
    here = client.call("query", "GetQueueAttributes", asked).members["Attributes"]
    there = client.call("json", "GetQueueAttributes", asked, **elsewhere).members["Attributes"]
    assert here == {"QueueArn": "arn:aws:sqs:us-east-1:000000000000:" + name, "DelaySeconds": "0"}
    assert there == {"QueueArn": "arn:aws:sqs:eu-north-1:000000000000:" + name, "DelaySeconds": "9"}
    client.call("json", "DeleteQueue", {"QueueUrl": queue}, **elsewhere)


@pytest.mark.parametrize(
    "region, partition", [("cn-north-1", "aws-cn"), ("us-gov-west-1", "aws-us-gov"), ("eu-central-1", "aws")]
)
def test_arn_partition_follows_the_region_ID_6(client, name, region, partition):
    how = {"region": region}
    url = client.call("json", "CreateQueue", {"QueueName": name}, **how).members["QueueUrl"]
    asked = {"QueueUrl": url, "AttributeNames": ["QueueArn"]}
    arn = client.call("json", "GetQueueAttributes", asked, **how).members["Attributes"]["QueueArn"]
    assert arn == "arn:%s:sqs:%s:000000000000:%s" % (partition, region, name)
    client.call("json", "DeleteQueue", {"QueueUrl": url}, **how)


def test_presigned_query_carries_the_region(server, client, name):
    credential = (
        "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKID%2F20260101%2Fap-east-1%2Fsqs%2Faws4_request"
    )
    reply = get(server, "/?Action=CreateQueue&QueueName=%s&%s" % (name, credential))
    url = wire.read_xml("CreateQueue", reply).members["QueueUrl"]
    assert client.call("json", "GetQueueUrl", {"QueueName": name}, region="ap-east-1").members == {
        "QueueUrl": url
    }
    assert client.call("json", "GetQueueUrl", {"QueueName": name}).status == 400
    client.call("json", "DeleteQueue", {"QueueUrl": url}, region="ap-east-1")


def test_access_key_of_12_digits_is_the_account_ID_7(server, client, queue, name):
    how = {"access_key": "123456789012"}
    url = client.call("json", "CreateQueue", {"QueueName": name}, **how).members["QueueUrl"]
    assert url == "%s/123456789012/%s" % (server.endpoint, name)
    asked = {"QueueUrl": url, "AttributeNames": ["QueueArn"]}
    arn = client.call("query", "GetQueueAttributes", asked).members["Attributes"]["QueueArn"]
    assert arn == "arn:aws:sqs:us-east-1:123456789012:" + name
    assert client.call("json", "ListQueues", {"QueueNamePrefix": name}).members == {"QueueUrls": [queue]}
    assert client.call("json", "ListQueues", {"QueueNamePrefix": name}, **how).members == {"QueueUrls": [url]}
    client.call("json", "DeleteQueue", {"QueueUrl": url}, **how)


@pytest.mark.parametrize("key", ["12345678901", "1234567890123", "12345678901x", "AKIAIOSFODNN7EXAMPLE"])
def test_other_access_keys_are_the_default_account(client, queue, name, key):
    answer = client.call("json", "GetQueueUrl", {"QueueName": name}, access_key=key)
    assert answer.members == {"QueueUrl": queue}


# Query answers as JSON (3.3)


def as_json(server, form, path="/", method="POST", accept="application/json"):
    headers = [("Accept", accept)]
    if method == "GET":
        reply = get(server, path + "?" + form, headers)
    else:
        reply = post(server, form, path, headers)
    assert "json" in reply.header("Content-Type"), str(reply)
    document = json.loads(reply.body)
    return reply, document


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_accept_json_renders_a_send(server, queue, method):
    reply, document = as_json(server, "Action=SendMessage&MessageBody=x", path_of(queue), method)
    assert reply.status == 200
    response = document["SendMessageResponse"]
    assert set(response["SendMessageResult"]) >= {"MessageId", "MD5OfMessageBody"}
    assert response["ResponseMetadata"]["RequestId"] == reply.header("x-amzn-RequestId")


def test_accept_json_renders_messages_and_attributes(server, client, queue):
    client.call("json", "SendMessage", {"QueueUrl": queue, "MessageBody": '<x> & "y"'})
    _, document = as_json(server, "Action=ReceiveMessage", path_of(queue))
    (message,) = document["ReceiveMessageResponse"]["ReceiveMessageResult"]["messages"]
    assert message["Body"] == '<x> & "y"'
    _, document = as_json(server, "Action=GetQueueAttributes&AttributeName.1=DelaySeconds", path_of(queue))
    attributes = document["GetQueueAttributesResponse"]["GetQueueAttributesResult"]["Attributes"]
    assert attributes == [{"Name": "DelaySeconds", "Value": "0"}]


def test_accept_json_renders_errors_with_the_status_of_xml(server, queue):
    reply, document = as_json(server, "Action=SendMessage&MessageBody=", path_of(queue))
    assert reply.status == 400
    assert document["Error"]["Code"] == "MissingParameter"
    assert document["Error"]["Message"] == "The request must contain the parameter MessageBody."
    reply, document = as_json(server, "Action=DeleteMessage&ReceiptHandle=x", path_of(queue), "GET")
    assert reply.status == 404 and document["Error"]["Code"] == "ReceiptHandleIsInvalid"


@pytest.mark.parametrize("accept", ["*/*", "text/xml", "application/xml", "text/html", ""])
def test_any_other_accept_is_answered_in_xml(server, queue, name, accept):
    reply = post(server, "Action=GetQueueUrl&QueueName=" + name, headers=[("Accept", accept)])
    assert wire.read_xml("GetQueueUrl", reply).status == 200


def test_accept_json_does_not_change_the_json_protocol(client, queue, name):
    request = wire.json_request("GetQueueUrl", {"QueueName": name}, headers={"Accept": "application/json"})
    assert wire.read_json("GetQueueUrl", client.send(request)).members == {"QueueUrl": queue}
