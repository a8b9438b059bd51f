"""What a restart on the same file keeps of the messages of standard queues."""
import base64
import hashlib

import pytest
from durable import START_MS

BODIES = {
    "one character": "x",
    "line ends": "a\rb\r\nc\nd\te",
    "beyond the first plane": "Grüße \U0001f680 \u65e5\u672c\u8a9e \ufffd \ue000",
    "looks like markup": '<a b="c">&amp;</a>]]>\'\\u0041',
    "as long as it may be": "0123456789abcdef" * 65536,
}
ATTRIBUTES = {
    "text": {"DataType": "String", "StringValue": "väl\nue"},
    "number": {"DataType": "Number.int", "StringValue": "-007.50e2"},
    "bytes": {"DataType": "Binary.png", "BinaryValue": base64.b64encode(bytes(range(256))).decode()},
}
TRACE = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_a_body_comes_back_byte_for_byte_MSG_6(store, body):
    sent = store.send(store.queue("q"), body)
    store.restart()
    (message,) = store.receive(store.url("q"))
    assert message["Body"] == body
    assert message["MessageId"] == sent["MessageId"]
    assert message["MD5OfBody"] == sent["MD5OfMessageBody"] == hashlib.md5(body.encode()).hexdigest()


def test_attributes_and_system_attributes_come_back(store):
    sent = store.send(
        store.queue("q"),
        "b",
        MessageAttributes=ATTRIBUTES,
        MessageSystemAttributes={"AWSTraceHeader": {"DataType": "String", "StringValue": TRACE}},
        MessageGroupId="tenant",
    )
    store.restart(pause_ms=1000)
    (message,) = store.receive(store.url("q"))
    assert message["MessageAttributes"] == ATTRIBUTES
    assert message["MD5OfMessageAttributes"] == sent["MD5OfMessageAttributes"]
    system = message["Attributes"]
    assert system.pop("SenderId")
    assert system == {
        "SentTimestamp": str(START_MS),
        "ApproximateReceiveCount": "1",
        "ApproximateFirstReceiveTimestamp": str(START_MS + 1000),
        "AWSTraceHeader": TRACE,
        "MessageGroupId": "tenant",
    }


def test_what_was_said_of_a_message_is_said_again(store):
    url = store.queue("q", VisibilityTimeout=0)
    store.send(url, "b", MessageAttributes=ATTRIBUTES)
    store.advance_ms(10)
    (first,) = store.receive(url)
    store.restart()
    (second,) = store.receive(store.url("q"))
    assert first.pop("ReceiptHandle") != second.pop("ReceiptHandle")
    assert first["Attributes"].pop("ApproximateReceiveCount") == "1"
    assert second["Attributes"].pop("ApproximateReceiveCount") == "2"
    assert first == second


def test_the_order_is_the_order_of_sending_RCV_9(store):
    url = store.queue("q", VisibilityTimeout=30)
    for n in range(10):
        store.send(url, "m%d" % n)
    taken = store.receive(url, 4)
    for message in (taken[3], taken[1]):
        store.hide(url, message, 0)
    store.restart()
    url = store.url("q")
    for n in range(10, 12):
        store.send(url, "m%d" % n)
    assert store.bodies(url) == ["m1", "m3", "m4", "m5", "m6", "m7", "m8", "m9", "m10", "m11"]


def test_counts_are_as_before(store):
    url = store.queue("q")
    for n in range(10):
        store.send(url, str(n), DelaySeconds=5 if n < 3 else 0)
    store.receive(url, 2)
    assert store.counts(url) == (5, 2, 3)
    store.restart()
    assert store.counts(store.url("q")) == (5, 2, 3)


def test_a_lease_ends_when_it_would_have_ended_SM_6(store):
    url = store.queue("q", VisibilityTimeout=30)
    store.send(url, "m")
    store.receive(url)
    store.advance_s(10)
    store.restart(pause_ms=19_999)
    url = store.url("q")
    assert store.bodies(url) == []
    store.advance_ms(1)
    (message,) = store.receive(url)
    assert message["Attributes"]["ApproximateReceiveCount"] == "2"
    assert message["Attributes"]["ApproximateFirstReceiveTimestamp"] == str(START_MS)


def test_a_changed_lease_ends_at_its_new_end_SM_7(store):
    url = store.queue("q", VisibilityTimeout=30)
    for body in ("longer", "shorter"):
        store.send(url, body)
    longer, shorter = store.receive(url)
    store.hide(url, longer, 100)
    store.hide(url, shorter, 10)
    store.restart()
    url = store.url("q")
    store.advance_ms(9_999)
    assert store.bodies(url, VisibilityTimeout=43200) == []
    store.advance_ms(1)
    assert store.bodies(url, VisibilityTimeout=43200) == ["shorter"]
    store.advance_ms(89_999)
    assert store.bodies(url) == []
    store.advance_ms(1)
    assert store.bodies(url) == ["longer"]


def test_a_lease_that_ended_meanwhile_is_over(store):
    url = store.queue("q", VisibilityTimeout=30)
    store.send(url, "m")
    (before,) = store.receive(url)
    store.restart(pause_ms=30_000)
    url = store.url("q")
    assert store.counts(url) == (1, 0, 0)
    store.delete(url, before)
    assert store.counts(url) == (0, 0, 0)


def test_twelve_hours_count_from_the_receive_before(store):
    url = store.queue("q", VisibilityTimeout=43200)
    store.send(url, "m")
    (message,) = store.receive(url)
    store.restart(pause_ms=11 * 3_600_000)
    url = store.url("q")
    refused = store.refusal(
        "ChangeMessageVisibility", QueueUrl=url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=3601
    )
    assert "Total VisibilityTimeout for the message is beyond the limit [43200 seconds]" in refused.message
    store.hide(url, message, 3600)


def test_a_handle_from_before_deletes_SM_9(store):
    url = store.queue("q")
    store.send(url, "m")
    (message,) = store.receive(url)
    store.restart()
    url = store.url("q")
    store.delete(url, message)
    store.delete(url, message)
    assert store.counts(url) == (0, 0, 0)
    store.restart()
    url = store.url("q")
    assert store.counts(url) == (0, 0, 0)
    store.delete(url, message)


def test_handles_from_several_lives_all_work(store):
    url = store.queue("q", VisibilityTimeout=1000)
    taken = []
    for life in range(4):
        store.send(url, "life %d" % life)
        taken += store.receive(url)
        store.restart()
        url = store.url("q")
    assert [m["Body"] for m in taken] == ["life 0", "life 1", "life 2", "life 3"]
    for message in taken[::-1]:
        store.delete(url, message)
    assert store.counts(url) == (0, 0, 0)


def test_a_handle_from_before_changes_the_visibility_SM_8_SM_19(store):
    url = store.queue("q", VisibilityTimeout=30)
    for body in ("a", "b"):
        store.send(url, body)
    a, b = store.receive(url)
    store.hide(url, b, 0)
    store.restart()
    url = store.url("q")
    store.hide(url, a, 0)
    store.hide(url, b, 50)
    assert store.counts(url) == (1, 1, 0)
    store.advance_s(49)
    assert store.bodies(url) == ["a"]


def test_an_older_handle_stays_older_SM_11(store):
    url = store.queue("q", VisibilityTimeout=0)
    store.send(url, "m")
    (older,) = store.receive(url)
    (newer,) = store.receive(url, VisibilityTimeout=100)
    store.restart()
    url = store.url("q")
    store.delete(url, older)
    assert store.counts(url) == (0, 1, 0)
    store.delete(url, newer)
    assert store.counts(url) == (0, 0, 0)


def test_a_handle_from_before_becomes_older_by_a_receive_after(store):
    url = store.queue("q", VisibilityTimeout=0)
    store.send(url, "m")
    (older,) = store.receive(url)
    store.restart()
    url = store.url("q")
    (newer,) = store.receive(url)
    assert newer["ReceiptHandle"] != older["ReceiptHandle"]
    store.delete(url, older)
    assert store.counts(url) == (1, 0, 0)
    store.delete(url, newer)
    assert store.counts(url) == (0, 0, 0)


def test_forged_and_foreign_handles_are_still_refused(store):
    url = store.queue("q")
    store.queue("other")
    store.send(url, "m")
    (message,) = store.receive(url)
    store.restart()
    handle = message["ReceiptHandle"]
    middle = len(handle) // 2
    forged = handle[:middle] + ("A" if handle[middle] != "A" else "B") + handle[middle + 1 :]
    for queue, text in (("other", handle), ("q", forged), ("q", "garbage")):
        refused = store.refusal("DeleteMessage", QueueUrl=store.url(queue), ReceiptHandle=text)
        assert (refused.status, refused.code) == (404, "ReceiptHandleIsInvalid")
    assert store.counts(store.url("q")) == (0, 1, 0)


def test_deleted_messages_do_not_come_back(store):
    url = store.queue("q", VisibilityTimeout=1)
    for n in range(40):
        store.send(url, str(n))
    kept = []
    for _ in range(4):
        for message in store.receive(url):
            if int(message["Body"]) % 2:
                store.delete(url, message)
            else:
                kept.append(message["Body"])
    store.restart(pause_ms=2000)
    url = store.url("q")
    assert store.counts(url) == (20, 0, 0)
    assert store.bodies(url) + store.bodies(url) == kept


def test_a_delay_ends_when_it_would_have_ended_SM_3(store):
    url = store.queue("q", DelaySeconds=20)
    store.send(url, "of the queue")
    store.send(url, "its own", DelaySeconds=40)
    store.send(url, "none", DelaySeconds=0)
    store.call("SetQueueAttributes", QueueUrl=url, Attributes={"DelaySeconds": "900"})
    store.restart(pause_ms=19_999)
    url = store.url("q")
    assert store.bodies(url, VisibilityTimeout=1000) == ["none"]
    store.advance_ms(1)
    assert store.bodies(url, VisibilityTimeout=1000) == ["of the queue"]
    store.restart(pause_ms=20_000)
    assert store.bodies(store.url("q")) == ["its own"]


def test_retention_counts_from_the_send_before_SM_13(store):
    url = store.queue("q", MessageRetentionPeriod=60, VisibilityTimeout=1000)
    for body in ("taken", "stored"):
        store.send(url, body)
    (taken,) = store.receive(url, 1)
    store.restart(pause_ms=59_999)
    url = store.url("q")
    assert store.counts(url) == (1, 1, 0)
    store.advance_ms(1)
    assert store.counts(url) == (0, 0, 0)
    store.delete(url, taken)
    store.restart()
    assert store.counts(store.url("q")) == (0, 0, 0)


def test_what_expired_meanwhile_is_gone(store):
    url = store.queue("q", MessageRetentionPeriod=60)
    for n in range(25):
        store.send(url, str(n))
    store.restart(pause_ms=60_000)
    url = store.url("q")
    assert store.bodies(url) == [] and store.counts(url) == (0, 0, 0)


def test_a_changed_retention_applies_to_stored_messages_after_a_restart(store):
    url = store.queue("q")
    store.send(url, "m")
    store.restart(pause_ms=60_000)
    url = store.url("q")
    store.call("SetQueueAttributes", QueueUrl=url, Attributes={"MessageRetentionPeriod": "60"})
    assert store.counts(url) == (0, 0, 0)


def test_receives_before_count_for_the_dead_letter_queue_DLQ_1(store):
    url, _ = store.dead_letters("q", 2, VisibilityTimeout=0)
    store.send(url, "m")
    assert store.bodies(url) == ["m"]
    store.restart()
    url, dlq = store.url("q"), store.url("q-dlq")
    assert store.bodies(url) == ["m"]
    store.restart()
    url, dlq = store.url("q"), store.url("q-dlq")
    assert store.counts(dlq) == (0, 0, 0)
    assert store.bodies(url) == []
    assert store.counts(dlq) == (1, 0, 0)


def test_a_dead_letter_keeps_what_it_is_known_by_DLQ_3_to_DLQ_9(store):
    url, _ = store.dead_letters("q", 1, VisibilityTimeout=0)
    arn = store.arn(url)
    sent = store.send(url, "m", MessageAttributes=ATTRIBUTES)
    store.advance_s(3)
    (old,) = store.receive(url)
    assert store.bodies(url) == []
    store.restart(pause_ms=1000)
    url, dlq = store.url("q"), store.url("q-dlq")
    assert store.counts(url) == (0, 0, 0)
    store.delete(url, old)
    (message,) = store.receive(dlq)
    assert message["MessageId"] == sent["MessageId"]
    assert message["MessageAttributes"] == ATTRIBUTES
    system = message["Attributes"]
    assert system["DeadLetterQueueSourceArn"] == arn
    assert system["ApproximateReceiveCount"] == "2"
    assert system["SentTimestamp"] == str(START_MS)
    assert system["ApproximateFirstReceiveTimestamp"] == str(START_MS + 3000)


def test_batches_are_kept_whole(store):
    url = store.queue("q")
    entries = [{"Id": str(n), "MessageBody": "m%d" % n} for n in range(10)]
    sent = store.call("SendMessageBatch", QueueUrl=url, Entries=entries)["Successful"]
    store.restart()
    url = store.url("q")
    messages = store.receive(url)
    assert [m["MessageId"] for m in messages] == [s["MessageId"] for s in sent]
    entries = [{"Id": str(n), "ReceiptHandle": m["ReceiptHandle"]} for n, m in enumerate(messages)]
    hidden = [dict(entry, VisibilityTimeout=0) for entry in entries[5:]]
    store.restart()
    url = store.url("q")
    assert len(store.call("DeleteMessageBatch", QueueUrl=url, Entries=entries[:5])["Successful"]) == 5
    assert len(store.call("ChangeMessageVisibilityBatch", QueueUrl=url, Entries=hidden)["Successful"]) == 5
    store.restart()
    assert store.bodies(store.url("q")) == ["m5", "m6", "m7", "m8", "m9"]
