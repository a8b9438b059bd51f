"""Queues with their figures, a look at messages, and resetting."""
import base64

import pytest

from parties import Waiting, parked, until


def figures(server, name):
    (queue,) = [q for q in server.control("GET", "/_quern/queues")[1]["queues"] if q["name"] == name]
    return queue


def peek(server, name, query=""):
    status, answer = server.control("GET", "/_quern/queues/%s/messages%s" % (name, query))
    assert status == 200, answer
    return answer


def test_queues_are_listed_with_their_counts(server, sqs, queue, name):
    for n in range(3):
        sqs("SendMessage", QueueUrl=queue, MessageBody="m%d" % n)
    sqs("SendMessage", QueueUrl=queue, MessageBody="delayed", DelaySeconds=60)
    sqs("ReceiveMessage", QueueUrl=queue)
    server.advance_ms(7000)
    seen = figures(server, name)
    assert (seen["visible"], seen["in_flight"], seen["delayed"]) == (2, 1, 1)
    assert seen["oldest_age_s"] == 7
    assert seen["arn"] == "arn:aws:sqs:us-east-1:000000000000:" + name and not seen["fifo"]


def test_where_dead_letters_go(server, sqs, queue, name):
    assert figures(server, name)["dead_letter_arn"] is None
    dead = sqs("CreateQueue", QueueName=name + "-dead")["QueueUrl"]
    arn = sqs("GetQueueAttributes", QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    policy = '{"deadLetterTargetArn":"%s","maxReceiveCount":2}' % arn
    sqs("SetQueueAttributes", QueueUrl=queue, Attributes={"RedrivePolicy": policy})
    assert figures(server, name)["dead_letter_arn"] == arn


def test_metrics_have_their_names(server, sqs, queue, name):
    sqs("SendMessage", QueueUrl=queue, MessageBody="12345")
    sqs("SendMessage", QueueUrl=queue, MessageBody="123")
    (message,) = sqs("ReceiveMessage", QueueUrl=queue)["Messages"]
    sqs("DeleteMessage", QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
    sqs("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=10)
    sqs("ReceiveMessage", QueueUrl=queue)
    metrics = figures(server, name)["metrics"]
    assert metrics["NumberOfMessagesSent"] == 2 and metrics["SentMessageSize"] == 8
    assert metrics["NumberOfMessagesReceived"] == 2 and metrics["NumberOfMessagesDeleted"] == 1
    assert metrics["NumberOfEmptyReceives"] == 1
    assert metrics["ApproximateNumberOfMessagesVisible"] == 0
    assert metrics["ApproximateNumberOfMessagesNotVisible"] == 1


def test_fifo_metrics(server, sqs, name):
    url = sqs("CreateQueue", QueueName=name + ".fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    for n in (1, 1, 2):
        sqs("SendMessage", QueueUrl=url, MessageBody="x", MessageGroupId="g",
            MessageDeduplicationId=str(n))
    sqs("ReceiveMessage", QueueUrl=url)
    seen = figures(server, name + ".fifo")
    assert seen["fifo"] and seen["groups"] == 1
    assert seen["metrics"]["NumberOfDeduplicatedSentMessages"] == 1
    assert seen["metrics"]["ApproximateNumberOfGroupsWithInflightMessages"] == 1


def test_one_queue_by_name(server, queue, name):
    status, seen = server.control("GET", "/_quern/queues/" + name)
    assert status == 200 and seen == figures(server, name)


def test_waiting_polls_are_counted(server, queue, name):
    poll = Waiting(server, "ReceiveMessage", QueueUrl=queue, WaitTimeSeconds=20)
    until(lambda: figures(server, name)["waiting_polls"] == 1)
    poll.hang_up()
    until(lambda: figures(server, name)["waiting_polls"] == 0)


def test_peek_shows_messages_and_changes_nothing(server, sqs, queue, name):
    attributes = {
        "s": {"DataType": "String", "StringValue": "ä"},
        "b": {"DataType": "Binary", "BinaryValue": base64.b64encode(b"\0\xff").decode()},
    }
    sent = sqs("SendMessage", QueueUrl=queue, MessageBody="<body> \u2028", MessageAttributes=attributes)
    for _ in range(2):
        (message,) = peek(server, name)["messages"]
        assert message["message_id"] == sent["MessageId"] and message["body"] == "<body> \u2028"
        assert message["state"] == "visible" and message["receive_count"] == 0
        assert message["first_received_at_ms"] is None and message["hidden_until_ms"] is None
        assert message["attributes"] == attributes
    (received,) = sqs("ReceiveMessage", QueueUrl=queue,
                      MessageSystemAttributeNames=["ApproximateReceiveCount"])["Messages"]
    assert received["Attributes"]["ApproximateReceiveCount"] == "1"
    (message,) = peek(server, name)["messages"]
    assert message["state"] == "in-flight" and message["receive_count"] == 1
    assert message["hidden_until_ms"] > message["first_received_at_ms"]


def test_peek_is_paged(server, sqs, queue, name):
    for n in range(7):
        sqs("SendMessage", QueueUrl=queue, MessageBody=str(n), DelaySeconds=n % 2)
    bodies, after = [], 0
    while after is not None:
        page = peek(server, name, "?limit=3&after=%d" % after)
        assert len(page["messages"]) <= 3
        bodies += [m["body"] for m in page["messages"]]
        after = page["next"]
    assert bodies == [str(n) for n in range(7)]


@pytest.mark.parametrize("query", ["?limit=x", "?limit=-1", "?limit=1001", "?after=-1", "?after="])
def test_bad_page_is_400(server, queue, name, query):
    assert server.control("GET", "/_quern/queues/%s/messages%s" % (name, query))[0] == 400


def test_unknown_queue_is_404(server):
    for path in ("/_quern/queues/nope", "/_quern/queues/nope/messages"):
        status, answer = server.control("GET", path)
        assert status == 404 and "nope" in answer["error"]


def test_same_name_in_several_accounts_must_be_told_apart(server, sqs, queue, name):
    from exchange import client

    connection = client.Client(server)
    for how in ({"access_key": "123456789012"}, {"region": "eu-west-1"}):
        assert connection.call("json", "CreateQueue", {"QueueName": name}, **how).status == 200
    connection.close()
    status, answer = server.control("GET", "/_quern/queues/" + name)
    assert status == 409 and "account" in answer["error"]
    status, answer = server.control("GET", "/_quern/queues/%s?account=123456789012" % name)
    assert (status, answer["account"]) == (200, "123456789012")
    query = "?account=000000000000&region=eu-west-1"
    status, answer = server.control("GET", "/_quern/queues/%s%s" % (name, query))
    assert (status, answer["region"]) == (200, "eu-west-1")
    query = "?account=000000000000&region=us-east-1"
    assert server.control("POST", "/_quern/reset" + query, {"queue": name})[0] == 200


def test_reset_of_a_queue_empties_it(server, sqs, queue, name):
    other = sqs("CreateQueue", QueueName=name + "-other")["QueueUrl"]
    for url in (queue, other):
        sqs("SendMessage", QueueUrl=url, MessageBody="x")
    assert server.control("POST", "/_quern/reset", {"queue": name}) == (200, {"purged": name})
    assert sqs("ReceiveMessage", QueueUrl=queue) == {}
    assert len(sqs("ReceiveMessage", QueueUrl=other)["Messages"]) == 1


def test_reset_of_all_deletes_queues_and_rules(server, sqs, queue, name):
    server.control("POST", "/_quern/rules", {"rule": "on SendMessage do error InternalFailure"})
    poll = Waiting(server, "ReceiveMessage", QueueUrl=queue, WaitTimeSeconds=20)
    until(lambda: parked(server) == 1)
    assert server.control("POST", "/_quern/reset") == (200, {"queues_deleted": 1})
    status, answer = poll.result()
    assert status == 400 and "QueueDoesNotExist" in answer["__type"]
    assert server.control("GET", "/_quern/queues")[1] == {"queues": []}
    assert server.control("GET", "/_quern/rules")[1] == {"rules": []}
    assert sqs("ListQueues") == {}
    url = sqs("CreateQueue", QueueName=name)["QueueUrl"]
    assert "MessageId" in sqs("SendMessage", QueueUrl=url, MessageBody="x")


@pytest.mark.parametrize("body, status", [({"queue": 7}, 400), ({"queue": "nope"}, 404)])
def test_reset_of_no_queue_is_refused(server, sqs, queue, body, status):
    assert server.control("POST", "/_quern/reset", body)[0] == status
    assert sqs("ListQueues") == {"QueueUrls": [queue]}


def test_reset_outlives_a_kill(start, tmp_path):
    from exchange import client

    db = ("--db", str(tmp_path / "q.db"))
    server = start(*db)
    connection = client.Client(server)
    connection.call("json", "CreateQueue", {"QueueName": "gone"})
    connection.close()
    server.control("POST", "/_quern/reset")
    server.kill()
    assert start(*db).control("GET", "/_quern/queues")[1] == {"queues": []}


def test_localstack_health(server):
    status, answer = server.control("GET", "/_localstack/health")
    assert status == 200 and answer["services"]["sqs"] == "running"


@pytest.mark.parametrize("form", ["?QueueUrl={url}", "/us-east-1/000000000000/{name}"])
def test_localstack_messages_show_all_without_receiving(server, sqs, queue, name, form):
    import http.client
    import xml.etree.ElementTree

    sent = sqs("SendMessage", QueueUrl=queue, MessageBody="<&>")["MessageId"]
    path = "/_aws/sqs/messages" + form.format(url=queue, name=name)
    for _ in range(2):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        connection.request("GET", path)
        answer = connection.getresponse()
        assert answer.getheader("Content-Type") == "text/xml"
        tree = xml.etree.ElementTree.fromstring(answer.read())
        connection.close()
        (message,) = tree.findall("ReceiveMessageResult/Message")
        assert message.findtext("MessageId") == sent and message.findtext("Body") == "<&>"
    received = sqs("ReceiveMessage", QueueUrl=queue)["Messages"]
    assert received[0]["MessageId"] == sent


def test_localstack_messages_as_json(server, sqs, queue):
    import http.client
    import json

    sqs("SendMessage", QueueUrl=queue, MessageBody="seen")
    sqs("SendMessage", QueueUrl=queue, MessageBody="delayed", DelaySeconds=10)
    for query, bodies in (("", ["seen"]), ("&ShowDelayed=true", ["seen", "delayed"])):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        connection.request("GET", "/_aws/sqs/messages?QueueUrl=" + queue + query,
                           headers={"Accept": "application/json"})
        document = json.loads(connection.getresponse().read())
        connection.close()
        messages = document["ReceiveMessageResponse"]["ReceiveMessageResult"]["Message"]
        assert [m["Body"] for m in messages] == bodies
        attributes = {a["Name"]: a["Value"] for a in messages[0]["Attribute"]}
        assert attributes["ApproximateReceiveCount"] == "0"


def test_localstack_messages_of_no_queue(server):
    assert server.control("GET", "/_aws/sqs/messages")[0] == 400
    assert server.control("GET", "/_aws/sqs/messages?QueueUrl=http://x/000000000000/no")[0] == 404


def test_peek_shows_fifo_names_in_paths(server, sqs, name):
    url = sqs("CreateQueue", QueueName=name + ".fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    sqs("SendMessage", QueueUrl=url, MessageBody="x", MessageGroupId="g", MessageDeduplicationId="d")
    (message,) = peek(server, name + ".fifo")["messages"]
    assert (message["group_id"], message["deduplication_id"]) == ("g", "d")
