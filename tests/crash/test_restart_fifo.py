"""What a restart on the same file keeps of FIFO queues."""
import pytest


def test_a_sequence_goes_on_upwards_ID_11(store):
    url = store.queue("q.fifo")
    numbers = []
    for life in range(3):
        for n in range(5):
            numbers.append(int(store.send_fifo(url, "%d-%d" % (life, n))["SequenceNumber"]))
        for message in store.receive(url):
            assert int(message["Attributes"]["SequenceNumber"]) in numbers
            store.delete(url, message)
        store.restart()
        url = store.url("q.fifo")
    numbers.append(int(store.send_fifo(url, "last")["SequenceNumber"]))
    assert numbers == sorted(set(numbers))


def test_a_message_is_known_by_what_it_was_sent_with(store):
    url = store.queue("q.fifo", ContentBasedDeduplication="true")
    sent = store.send(url, "hello", MessageGroupId="g!")
    store.restart()
    (message,) = store.receive(store.url("q.fifo"))
    assert message["MessageId"] == sent["MessageId"]
    system = message["Attributes"]
    assert system["SequenceNumber"] == sent["SequenceNumber"]
    assert system["MessageGroupId"] == "g!"
    assert system["MessageDeduplicationId"] == "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"


def test_a_duplicate_is_known_for_five_minutes_DED_1_DED_3(store):
    url = store.queue("q.fifo")
    first = store.send_fifo(url, "first", key="k")
    store.advance_s(100)
    store.restart(pause_ms=199_999)
    url = store.url("q.fifo")
    again = store.send_fifo(url, "other text", key="k")
    assert (again["MessageId"], again["SequenceNumber"]) == (first["MessageId"], first["SequenceNumber"])
    assert store.counts(url) == (1, 0, 0)
    store.advance_ms(1)
    later = store.send_fifo(url, "later", key="k")
    assert later["MessageId"] != first["MessageId"]
    assert store.bodies(url) == ["first", "later"]


def test_a_window_that_ended_meanwhile_is_over(store):
    url = store.queue("q.fifo", ContentBasedDeduplication="true")
    store.send(url, "same", MessageGroupId="g")
    store.restart(pause_ms=300_000)
    url = store.url("q.fifo")
    store.send(url, "same", MessageGroupId="g")
    assert store.counts(url) == (2, 0, 0)


def test_an_id_stays_known_after_the_deletion_DED_4(store):
    url = store.queue("q.fifo")
    store.send_fifo(url, "m", key="k")
    (message,) = store.receive(url)
    store.delete(url, message)
    store.restart()
    url = store.url("q.fifo")
    store.send_fifo(url, "m", key="k")
    assert store.counts(url) == (0, 0, 0)


def test_a_purge_forgets_the_ids_DED_4(store):
    url = store.queue("q.fifo")
    before = store.send_fifo(url, "m", key="k")
    store.call("PurgeQueue", QueueUrl=url)
    store.restart()
    url = store.url("q.fifo")
    after = store.send_fifo(url, "m", key="k")
    assert int(after["SequenceNumber"]) > int(before["SequenceNumber"])
    assert store.counts(url) == (1, 0, 0)


def test_a_deleted_queue_forgets_its_ids_DED_9(store):
    url = store.queue("q.fifo")
    store.send_fifo(url, "m", key="k")
    store.call("DeleteQueue", QueueUrl=url)
    store.restart()
    url = store.queue("q.fifo")
    store.send_fifo(url, "m", key="k")
    assert store.counts(url) == (1, 0, 0)


def test_the_scope_of_deduplication_is_that_of_the_creation(store):
    url = store.queue("q.fifo", DeduplicationScope="messageGroup")
    store.call("SetQueueAttributes", QueueUrl=url, Attributes={"DeduplicationScope": "queue"})
    store.send_fifo(url, "a", "a", key="k")
    store.restart()
    url = store.url("q.fifo")
    assert store.attributes(url)["DeduplicationScope"] == "queue"
    store.send_fifo(url, "b", "b", key="k")
    store.send_fifo(url, "c", "a", key="k")
    assert sorted(store.bodies(url)) == ["a", "b"]


def test_an_attempt_is_answered_as_before_RRA_2_RRA_3(store):
    url = store.queue("q.fifo", VisibilityTimeout=30)
    for n in range(3):
        store.send_fifo(url, "m%d" % n)
    first = store.receive(url, 2, ReceiveRequestAttemptId="try")
    store.restart(pause_ms=20_000)
    url = store.url("q.fifo")
    again = store.receive(url, 2, ReceiveRequestAttemptId="try")
    assert again == first
    store.advance_s(29)
    assert store.bodies(url) == []  # the lease began anew with the replay
    store.delete(url, first[0])
    store.advance_s(1)
    assert store.bodies(url) == ["m1", "m2"]


def test_an_attempt_is_over_after_five_minutes_RRA_1(store):
    url = store.queue("q.fifo", VisibilityTimeout=1000)
    for n in range(2):
        store.send_fifo(url, "m%d" % n, "group-%d" % n)
    first = store.receive(url, 1, ReceiveRequestAttemptId="try")
    store.restart(pause_ms=300_000)
    second = store.receive(store.url("q.fifo"), 1, ReceiveRequestAttemptId="try")
    assert [first[0]["Body"], second[0]["Body"]] == ["m0", "m1"]


@pytest.mark.parametrize("change", ["deleted before", "changed before", "deleted after"])
def test_an_attempt_whose_messages_changed_is_refused_RRA_4(store, change):
    url = store.queue("q.fifo", VisibilityTimeout=30)
    store.send_fifo(url, "m")
    (message,) = store.receive(url, ReceiveRequestAttemptId="try")
    if change == "deleted before":
        store.delete(url, message)
    elif change == "changed before":
        store.hide(url, message, 60)
    store.restart()
    url = store.url("q.fifo")
    if change == "deleted after":
        store.delete(url, message)
    refused = store.refusal("ReceiveMessage", QueueUrl=url, ReceiveRequestAttemptId="try")
    assert refused.code == "InvalidParameterValue" and "not retryable" in refused.message


def test_an_attempt_whose_lease_ended_is_an_ordinary_receive_RRA_5(store):
    url = store.queue("q.fifo", VisibilityTimeout=30)
    store.send_fifo(url, "m")
    (first,) = store.receive(url, ReceiveRequestAttemptId="try")
    store.restart(pause_ms=30_000)
    (second,) = store.receive(store.url("q.fifo"), ReceiveRequestAttemptId="try")
    assert second["ReceiptHandle"] != first["ReceiptHandle"]
    assert second["Attributes"]["ApproximateReceiveCount"] == "2"


def test_twelve_hours_of_a_replay_count_from_the_first_receive_RRA_8(store):
    url = store.queue("q.fifo", VisibilityTimeout=43200)
    store.send_fifo(url, "m")
    store.receive(url, ReceiveRequestAttemptId="try")
    store.restart(pause_ms=200_000)
    url = store.url("q.fifo")
    store.receive(url, ReceiveRequestAttemptId="try")
    store.advance_ms(43_200_000 - 200_001)
    assert store.counts(url) == (0, 1, 0)
    store.advance_ms(1)
    assert store.counts(url) == (1, 0, 0)


def test_a_group_stays_blocked_by_its_head_in_flight_FIFO_2(store):
    url = store.queue("q.fifo", VisibilityTimeout=100)
    for n in range(4):
        store.send_fifo(url, "a%d" % n, "a")
    store.send_fifo(url, "b0", "b")
    taken = store.receive(url, 2)
    store.restart()
    url = store.url("q.fifo")
    assert store.bodies(url) == ["b0"]
    store.delete(url, taken[0])
    assert store.bodies(url) == []
    store.restart()
    url = store.url("q.fifo")
    assert store.bodies(url) == []
    store.delete(url, taken[1])
    assert store.bodies(url) == ["a2", "a3"]


def test_a_released_head_comes_alone_before_those_in_flight(store):
    url = store.queue("q.fifo", VisibilityTimeout=100)
    for n in range(3):
        store.send_fifo(url, "m%d" % n)
    first, _ = store.receive(url, 2)
    store.hide(url, first, 0)
    store.restart()
    assert store.bodies(store.url("q.fifo")) == ["m0"]


def test_a_handle_ends_with_its_lease_SM_F5_SM_F6(store):
    url = store.queue("q.fifo", VisibilityTimeout=30)
    for group in ("late", "extended"):
        store.send_fifo(url, group, group)
    taken = {m["Body"]: m for m in store.receive(url)}
    store.hide(url, taken["extended"], 60)
    store.restart(pause_ms=30_000)
    url = store.url("q.fifo")
    handle = taken["late"]["ReceiptHandle"]
    refused = store.refusal("DeleteMessage", QueueUrl=url, ReceiptHandle=handle)
    assert refused.code == "InvalidParameterValue" and "expired" in refused.message
    refused = store.refusal("ChangeMessageVisibility", QueueUrl=url, ReceiptHandle=handle, VisibilityTimeout=1)
    assert refused.code == "InvalidParameterValue" and "expired" in refused.message
    store.delete(url, taken["extended"])
    assert store.bodies(url) == ["late"]


def test_served_groups_stay_behind_untouched_ones(store):
    url = store.queue("q.fifo", VisibilityTimeout=0)
    for body in ("a1", "a2", "b1", "b2", "c1"):
        store.send_fifo(url, body, body[0])
    assert store.bodies(url, 3) == ["a1", "a2", "b1"]
    store.restart()
    url = store.url("q.fifo")
    assert store.bodies(url) == ["c1", "a1", "a2", "b1", "b2"]


def test_a_blocked_group_keeps_its_place_in_the_service_order(store):
    url = store.queue("q.fifo", VisibilityTimeout=100)
    for body in ("a1", "a2", "b1", "b2", "c1"):
        store.send_fifo(url, body, body[0])
    taken = store.receive(url, 3)
    store.restart()
    url = store.url("q.fifo")
    for message in taken:
        store.hide(url, message, 0)
    assert store.bodies(url) == ["c1", "a1", "a2", "b1", "b2"]


def test_many_groups_are_served_in_the_order_before(store):
    url = store.queue("q.fifo", VisibilityTimeout=0)
    names = ["g%02d" % (n * 7 % 20) for n in range(20)]
    for name in names:
        store.send_fifo(url, name, name)
    assert store.bodies(url) == names[:10]
    store.restart()
    url = store.url("q.fifo")
    assert store.bodies(url) == names[10:]
    store.restart()
    assert store.bodies(store.url("q.fifo")) == names[:10]


def test_a_delay_of_the_queue_is_counted_from_the_send_SM_F2(store):
    url = store.queue("q.fifo", DelaySeconds=100)
    store.send_fifo(url, "m")
    store.restart(pause_ms=50_000)
    url = store.url("q.fifo")
    assert store.counts(url) == (0, 0, 1)
    store.call("SetQueueAttributes", QueueUrl=url, Attributes={"DelaySeconds": "60"})
    store.restart(pause_ms=9_999)
    url = store.url("q.fifo")
    assert store.bodies(url) == []
    store.advance_ms(1)
    assert store.bodies(url) == ["m"]


def test_a_dead_letter_has_its_id_and_time_of_the_move_DLQ_5_DLQ_7(store):
    url, _ = store.dead_letters("q.fifo", 1, VisibilityTimeout=0)
    sent = store.send_fifo(url, "m", "g", key="k")
    assert store.bodies(url) == ["m"]
    store.advance_s(5)
    assert store.bodies(url) == []
    moved_ms = store.now_ms
    store.restart(pause_ms=1000)
    (message,) = store.receive(store.url("q-dlq.fifo"))
    system = message["Attributes"]
    assert message["MessageId"] == system["MessageDeduplicationId"] == sent["MessageId"]
    assert system["SentTimestamp"] == str(moved_ms)
    assert system["ApproximateReceiveCount"] == "2"
    assert system["MessageGroupId"] == "g"
