"""What a rule can ask about at each point of each action, and whose queue it acts on."""
import json

import pytest

from exchange import client as exchange_client
from parties import events
from test_rules import add, rules

BODY = json.dumps({"idempotencyKey": "K", "tenantId": "T", "tag": "N", "p": {"q": 1}})
MESSAGE = {"MessageBody": BODY, "MessageGroupId": "g",
           "MessageAttributes": {"colour": {"DataType": "String", "StringValue": "red"}, "size": {"DataType": "Number", "StringValue": "7"}}}
OF_MESSAGE = ["key = K", "group = g", "tag = N", 'body."p.q" = 1', 'attr."colour" = red', 'attr."size" > 6', "mid ~ *-*-*"]


def calls(call, queue):
    """Each action about messages once, on messages that all tests fit."""
    call("SendMessage", QueueUrl=queue, **MESSAGE)
    call("SendMessageBatch", QueueUrl=queue, Entries=[{"Id": "a", **MESSAGE}])
    got = call("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=10).members["Messages"]
    one, other = [{"ReceiptHandle": m["ReceiptHandle"]} for m in got]
    call("ChangeMessageVisibility", QueueUrl=queue, VisibilityTimeout=30, **one)
    call("ChangeMessageVisibilityBatch", QueueUrl=queue, Entries=[{"Id": "a", "VisibilityTimeout": 30, **one}])
    call("DeleteMessage", QueueUrl=queue, **one)
    call("DeleteMessageBatch", QueueUrl=queue, Entries=[{"Id": "a", **other}])


@pytest.mark.parametrize("point", ["arrive", "pre-commit", "post-commit", "mid-response"])
@pytest.mark.parametrize("action", ["SendMessage", "SendMessageBatch", "ReceiveMessage", "ChangeMessageVisibility",
                                    "ChangeMessageVisibilityBatch", "DeleteMessage", "DeleteMessageBatch"])
def test_message_fields_are_known(server, call, queue, action, point):
    """All but those that are not there yet: a message has its id once it was sent."""
    if (action, point) == ("ReceiveMessage", "arrive"):  # nothing is known of its messages
        status, answer = server.control("POST", "/_quern/rules", {"rule": "on ReceiveMessage where rc = 1 at arrive do mark seen"})
        assert status == 400 and "pre-commit" in answer["error"]
        return
    tests = list(OF_MESSAGE) + ([] if action.startswith("Send") else ["rc = 1"])
    if action.startswith("Send") and point in ("arrive", "pre-commit"):
        tests.remove("mid ~ *-*-*")
    add(server, *("on %s where %s at %s do mark seen" % (action, test, point) for test in tests))
    calls(call, queue)
    assert [r["text"] for r in rules(server) if r["matched"] == 0] == []


def test_attribute_picks_the_entries_of_a_batch(server, call, queue):
    add(server, 'on SendMessageBatch where attr."colour" = red do fail-entries 10 InternalError')
    entries = [{"Id": "a", "MessageBody": "x"}, {"Id": "b", **MESSAGE}]
    answer = call("SendMessageBatch", QueueUrl=queue, Entries=entries).members
    assert [e["Id"] for e in answer["Successful"]] == ["a"] and [e["Id"] for e in answer["Failed"]] == ["b"]


IN_ITS_REGION = [("GetQueueAttributes", "purge"), ("lease.grant", "purge"), ("GetQueueAttributes", "set-attr DelaySeconds=7"),
                 ("ReceiveMessage", "expire-lease"), ("lease.grant", "expire-lease"), ("SendMessage", "dup-send"),
                 ("ListQueues", "purge of %s"), ("msg.delete", "resurrect")]


@pytest.mark.parametrize("event, action", IN_ITS_REGION)
@pytest.mark.parametrize("here, elsewhere", [("us-east-1", "eu-west-1"), ("eu-west-1", "us-east-1")])
def test_rule_acts_in_the_region_of_its_event(server, name, event, action, here, elsewhere):
    """Two queues of one name: that of the other region is left alone."""
    connection = exchange_client.Client(server)

    def run(region, action, **members):
        answer = connection.call("json", action, members, region=region)
        assert answer.status == 200, answer
        return answer.members

    def look(region):
        seen = server.control("GET", "/_quern/queues")[1]["queues"]
        return [{k: one[k] for k in ("visible", "in_flight", "delayed")} for one in seen if one["region"] == region]

    for region in (here, elsewhere):
        url = run(region, "CreateQueue", QueueName=name)["QueueUrl"]
        run(region, "SendMessage", QueueUrl=url, MessageBody=region)
    before = look(elsewhere)
    add(server, "on %s once do %s" % (event, action % name if "%" in action else action))
    run(here, "GetQueueAttributes", QueueUrl=url, AttributeNames=["All"])
    run(here, "ListQueues")
    received = run(here, "ReceiveMessage", QueueUrl=url)
    for message in received.get("Messages", []):
        run(here, "DeleteMessage", QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    run(here, "SendMessage", QueueUrl=url, MessageBody="x")
    connection.close()
    assert [e.get("reason") for e in events(server) if e["kind"] == "fault"] == [action.split("%")[0] + (name if "%" in action else "")]
    assert rules(server)[0]["fired"] == 1 and look(elsewhere) == before
