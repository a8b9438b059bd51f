"""What a restart on the same file keeps of queues."""
import json

from durable import Connection

EVERY_ATTRIBUTE = {
    "VisibilityTimeout": "71",
    "MaximumMessageSize": "2048",
    "MessageRetentionPeriod": "86400",
    "DelaySeconds": "3",
    "ReceiveMessageWaitTimeSeconds": "4",
    "KmsMasterKeyId": "alias/a-key",
    "KmsDataKeyReusePeriodSeconds": "600",
}


def policy_for(arn):
    statement = {"Sid": "s", "Effect": "Deny", "Principal": "*", "Action": "SQS:*", "Resource": arn}
    return json.dumps({"Version": "2012-10-17", "Id": "p", "Statement": [statement]})


def test_a_queue_and_its_attributes_are_as_before(store):
    dlq = store.queue("dead")
    arn = store.arn(dlq)
    redrive = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 7})
    url = store.queue("q", RedrivePolicy=redrive, Policy=policy_for(arn), **EVERY_ATTRIBUTE)
    allow = json.dumps({"redrivePermission": "byQueue", "sourceQueueArns": [store.arn(url)]})
    store.call("SetQueueAttributes", QueueUrl=dlq, Attributes={"RedriveAllowPolicy": allow})
    before = store.attributes(url), store.attributes(dlq)

    store.restart(pause_ms=5000)

    assert (store.attributes(store.url("q")), store.attributes(store.url("dead"))) == before
    sources = store.call("ListDeadLetterSourceQueues", QueueUrl=store.url("dead"))["queueUrls"]
    assert [u.rsplit("/", 1)[1] for u in sources] == ["q"]
    assert (
        store.refusal("CreateQueue", QueueName="other", Attributes={"RedrivePolicy": redrive}).code
        == "InvalidParameterValue"
    )


def test_a_fifo_queue_and_its_attributes_are_as_before(store):
    url = store.queue(
        "q.fifo",
        ContentBasedDeduplication="true",
        DeduplicationScope="messageGroup",
        FifoThroughputLimit="perMessageGroupId",
    )
    before = store.attributes(url)
    store.restart()
    assert store.attributes(store.url("q.fifo")) == before


def test_changes_and_removals_of_attributes_stay(store):
    store.dead_letters("q", 3, KmsMasterKeyId="k")
    url = store.url("q")
    store.advance_s(100)
    store.call(
        "SetQueueAttributes",
        QueueUrl=url,
        Attributes={"RedrivePolicy": "", "KmsMasterKeyId": "", "VisibilityTimeout": "5"},
    )
    before = store.attributes(url)
    store.restart(pause_ms=60_000)
    after = store.attributes(store.url("q"))
    assert after == before
    assert "RedrivePolicy" not in after and after["SqsManagedSseEnabled"] == "false"
    assert int(after["LastModifiedTimestamp"]) == int(after["CreatedTimestamp"]) + 100


def test_tags_stay_and_removed_ones_stay_away(store):
    url = store.call("CreateQueue", QueueName="q", tags={"a": "1", "b": "2"})["QueueUrl"]
    store.call("TagQueue", QueueUrl=url, Tags={"b": "3", "c": "", "größe": "mit Leerzeichen"})
    store.call("UntagQueue", QueueUrl=url, TagKeys=["a"])
    store.restart()
    tags = store.call("ListQueueTags", QueueUrl=store.url("q"))["Tags"]
    assert tags == {"b": "3", "c": "", "größe": "mit Leerzeichen"}


def test_permissions_stay_and_removed_ones_stay_away(store):
    url = store.queue("q")
    for label in ("first", "second"):
        store.call("AddPermission", QueueUrl=url, Label=label, AWSAccountIds=["111122223333"], Actions=["SendMessage"])
    store.call("RemovePermission", QueueUrl=url, Label="first")
    before = store.attributes(url)["Policy"]
    store.restart()
    url = store.url("q")
    assert store.attributes(url)["Policy"] == before
    assert [s["Sid"] for s in json.loads(before)["Statement"]] == ["second"]
    store.call("RemovePermission", QueueUrl=url, Label="second")
    store.restart()
    assert "Policy" not in store.attributes(store.url("q"))


def test_queues_of_accounts_and_regions_stay_apart_ID_8(store):
    callers = [
        ("us-east-1", "test"),
        ("eu-west-1", "test"),
        ("us-east-1", "111122223333"),
        ("eu-west-1", "111122223333"),
    ]
    for region, key in callers:
        connection = Connection(store.server.port, region, key)
        url = connection.call("CreateQueue", {"QueueName": "q"})["QueueUrl"]
        connection.call("SendMessage", {"QueueUrl": url, "MessageBody": region + key})
        connection.close()
    store.restart()
    for region, key in callers:
        connection = Connection(store.server.port, region, key)
        urls = connection.call("ListQueues", {})["QueueUrls"]
        assert len(urls) == 1
        messages = connection.call("ReceiveMessage", {"QueueUrl": urls[0], "MaxNumberOfMessages": 10})["Messages"]
        assert [m["Body"] for m in messages] == [region + key]
        connection.close()


def test_all_of_many_queues_are_listed_in_order_and_paged_on(store):
    names = ["q-%03d" % n for n in range(130)]
    for name in reversed(names):
        store.queue(name)
    first = store.call("ListQueues", MaxResults=60)
    store.restart()
    rest = store.call("ListQueues", MaxResults=1000, NextToken=first["NextToken"])
    listed = [u.rsplit("/", 1)[1] for u in first["QueueUrls"] + rest["QueueUrls"]]
    assert listed == names and "NextToken" not in rest


def test_a_deleted_queue_does_not_come_back(store):
    url = store.queue("gone")
    store.send(url, "with its message")
    (message,) = store.receive(url)
    store.call("DeleteQueue", QueueUrl=url)
    store.restart()
    assert store.refusal("GetQueueUrl", QueueName="gone").code == "AWS.SimpleQueueService.NonExistentQueue"
    again = store.queue("gone")
    assert store.counts(again) == (0, 0, 0) and store.bodies(again) == []
    assert store.call("ListQueueTags", QueueUrl=again) == {}
    refused = store.refusal("DeleteMessage", QueueUrl=again, ReceiptHandle=message["ReceiptHandle"])
    assert (refused.status, refused.code) == (404, "ReceiptHandleIsInvalid")
    store.restart()
    assert store.counts(store.url("gone")) == (0, 0, 0)


def test_a_queue_made_again_keeps_only_what_it_got_since(store):
    for generation in ("a", "b", "c"):
        url = store.queue("q", VisibilityTimeout=30)
        for n in range(5):
            store.send(url, "%s%d" % (generation, n))
        if generation != "c":
            store.call("DeleteQueue", QueueUrl=url)
    store.restart()
    assert store.bodies(store.url("q")) == ["c0", "c1", "c2", "c3", "c4"]


def test_purged_messages_do_not_come_back_and_later_ones_stay_SM_14(store):
    url = store.queue("q", VisibilityTimeout=30)
    for n in range(30):
        store.send(url, "old %d" % n, DelaySeconds=20 if n % 3 == 0 else 0)
    old = store.receive(url)
    store.call("PurgeQueue", QueueUrl=url)
    store.send(url, "new")
    store.restart()
    url = store.url("q")
    assert store.counts(url) == (1, 0, 0)
    store.delete(url, old[0])
    refused = store.refusal(
        "ChangeMessageVisibility", QueueUrl=url, ReceiptHandle=old[1]["ReceiptHandle"], VisibilityTimeout=0
    )
    assert refused.code == "InvalidParameterValue"
    assert "available for visibility timeout change" in refused.message
    store.advance_s(60)
    assert store.bodies(url) == ["new"]


def test_messages_purged_in_several_generations_stay_away(store):
    url = store.queue("q")
    for generation in range(4):
        store.send(url, "of generation %d" % generation)
        store.restart()
        url = store.url("q")
        assert store.counts(url) == (1, 0, 0)
        store.call("PurgeQueue", QueueUrl=url)
    store.restart()
    assert store.counts(store.url("q")) == (0, 0, 0)


def test_with_aws_waits_a_purge_is_remembered_for_60_seconds(store):
    store.restart("--aws-waits")
    url = store.queue("q")
    store.call("PurgeQueue", QueueUrl=url)
    store.restart("--aws-waits", pause_ms=59_999)
    refused = store.refusal("PurgeQueue", QueueUrl=store.url("q"))
    assert (refused.status, refused.code) == (403, "AWS.SimpleQueueService.PurgeQueueInProgress")
    store.advance_ms(1)
    store.call("PurgeQueue", QueueUrl=store.url("q"))


def test_with_aws_waits_a_deleted_name_is_remembered_for_60_seconds_CQ_4(store):
    store.restart("--aws-waits")
    store.call("DeleteQueue", QueueUrl=store.queue("q"))
    store.restart("--aws-waits", pause_ms=59_999)
    refused = store.refusal("CreateQueue", QueueName="q")
    assert (refused.status, refused.code) == (400, "AWS.SimpleQueueService.QueueDeletedRecently")
    store.advance_ms(1)
    store.queue("q")


def test_queues_of_options_and_configuration_may_be_there_already(store, folder):
    config = folder / "queues.json"
    config.write_text(
        json.dumps(
            {
                "queues": [
                    {"name": "dead"},
                    {
                        "name": "main",
                        "attributes": {"VisibilityTimeout": "11"},
                        "redrive": {"to": "dead", "max": 2},
                        "tags": {"team": "a"},
                    },
                ]
            }
        )
    )
    options = ("--queue", "plain,DelaySeconds=1", "--config", str(config))
    store.restart(*options)
    store.send(store.url("main"), "stays")
    before = store.attributes(store.url("main"))
    assert before["VisibilityTimeout"] == "11" and "RedrivePolicy" in before
    store.restart(*options)
    assert store.attributes(store.url("main")) == before
    assert store.attributes(store.url("plain"))["DelaySeconds"] == "1"
    assert store.bodies(store.url("main")) == ["stays"]
    assert store.call("ListQueueTags", QueueUrl=store.url("main"))["Tags"] == {"team": "a"}
