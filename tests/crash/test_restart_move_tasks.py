"""Move tasks go on after a restart, and are remembered."""
import time


def _prepared(store, count, name="q"):
    """Both URLs; so many dead letters in the second."""
    url, dlq = store.dead_letters(name, 1, VisibilityTimeout=0)
    for n in range(count):
        if name.endswith(".fifo"):
            store.send_fifo(url, "m%03d" % n, "g%d" % (n % 3))
        else:
            store.send(url, "m%03d" % n)
    while store.receive(url):
        pass
    assert store.counts(dlq) == (count, 0, 0)
    return url, dlq


def _tasks(store, dlq_name="q-dlq"):
    arn = store.arn(store.url(dlq_name))
    return store.call("ListMessageMoveTasks", SourceArn=arn, MaxResults=10).get("Results", [])


def test_a_running_task_goes_on_at_its_rate_MV_3(store):
    _, dlq = _prepared(store, 10)
    handle = store.call("StartMessageMoveTask", SourceArn=store.arn(dlq), MaxNumberOfMessagesPerSecond=1)["TaskHandle"]
    store.advance_ms(3500)
    (before,) = _tasks(store)
    assert before["Status"] == "RUNNING" and before["ApproximateNumberOfMessagesMoved"] == 4
    store.restart()
    (after,) = _tasks(store)
    assert after == before and after["TaskHandle"] == handle
    store.advance_ms(500)
    assert store.counts(store.url("q"))[0] == 5
    store.restart()
    store.advance_ms(4999)
    assert store.counts(store.url("q"))[0] == 9
    store.advance_ms(1001)
    (ended,) = _tasks(store)
    assert ended["Status"] == "COMPLETED" and "TaskHandle" not in ended
    assert ended["ApproximateNumberOfMessagesMoved"] == ended["ApproximateNumberOfMessagesToMove"] == 10
    assert ended["StartedTimestamp"] == before["StartedTimestamp"]
    assert store.counts(store.url("q-dlq")) == (0, 0, 0)
    assert sorted(m["body"] for m in store.peek("q")) == ["m%03d" % n for n in range(10)]


def test_a_task_with_a_destination_goes_on_to_it(store):
    _, dlq = _prepared(store, 5)
    target = store.queue("target")
    store.call(
        "StartMessageMoveTask",
        SourceArn=store.arn(dlq),
        DestinationArn=store.arn(target),
        MaxNumberOfMessagesPerSecond=1,
    )
    store.restart(pause_ms=2000)
    store.advance_s(3)
    assert store.counts(store.url("target"))[0] == 5 and store.counts(store.url("q"))[0] == 0
    (task,) = _tasks(store)
    assert task["DestinationArn"] == store.arn(store.url("target"))
    assert task["MaxNumberOfMessagesPerSecond"] == 1


def test_a_fifo_task_goes_on_in_order(store):
    _, dlq = _prepared(store, 9, "q.fifo")
    store.call("StartMessageMoveTask", SourceArn=store.arn(dlq), MaxNumberOfMessagesPerSecond=2)
    store.advance_s(1)
    store.restart()
    store.advance_s(10)
    url = store.url("q.fifo")
    by_group = {}
    for message in store.receive(url, 10, VisibilityTimeout=100):
        by_group.setdefault(message["Attributes"]["MessageGroupId"], []).append(message["Body"])
    assert by_group == {"g%d" % g: ["m%03d" % n for n in range(g, 9, 3)] for g in range(3)}


def test_a_task_is_cancelled_by_its_handle_from_before(store):
    _, dlq = _prepared(store, 6)
    handle = store.call("StartMessageMoveTask", SourceArn=store.arn(dlq), MaxNumberOfMessagesPerSecond=1)["TaskHandle"]
    store.advance_ms(1500)
    store.restart()
    moved = store.call("CancelMessageMoveTask", TaskHandle=handle)["ApproximateNumberOfMessagesMoved"]
    assert moved == 2
    store.advance_s(10)
    store.restart()
    (task,) = _tasks(store)
    assert task["Status"] == "CANCELLED" and task["ApproximateNumberOfMessagesMoved"] == 2
    assert store.counts(store.url("q"))[0] == 2 and store.counts(store.url("q-dlq"))[0] == 4
    assert store.refusal("CancelMessageMoveTask", TaskHandle=handle).code == "ResourceNotFoundException"


def test_one_task_at_a_time_also_after_a_restart_MV_12(store):
    _, dlq = _prepared(store, 5)
    store.call("StartMessageMoveTask", SourceArn=store.arn(dlq), MaxNumberOfMessagesPerSecond=1)
    store.restart()
    refused = store.refusal("StartMessageMoveTask", SourceArn=store.arn(store.url("q-dlq")))
    assert refused.code == "InvalidParameterValue" and "already a task running" in refused.message


def test_the_history_is_kept_newest_first(store):
    _, dlq = _prepared(store, 3)
    arn = store.arn(dlq)
    store.call("StartMessageMoveTask", SourceArn=arn)
    store.advance_s(1)
    store.send(dlq, "from nowhere")
    store.call("StartMessageMoveTask", SourceArn=arn)
    store.advance_s(1)
    for _ in range(12):
        store.call("StartMessageMoveTask", SourceArn=arn)
        store.advance_s(1)
    before = _tasks(store)
    assert len(before) == 10
    assert {t["Status"] for t in before} == {"FAILED"}
    assert before[0]["FailureReason"] == "CouldNotDetermineMessageSource"
    started = [t["StartedTimestamp"] for t in before]
    assert started == sorted(started, reverse=True)
    store.restart()
    assert _tasks(store) == before


def test_moved_messages_are_new_ones_also_across_a_restart_MV_4(store):
    url, dlq = _prepared(store, 4)
    old = {m["message_id"] for m in store.peek("q-dlq")}
    store.call("StartMessageMoveTask", SourceArn=store.arn(dlq), MaxNumberOfMessagesPerSecond=1)
    store.advance_ms(1500)
    store.restart()
    store.advance_s(10)
    new = [m["message_id"] for m in store.peek("q")]
    assert len(set(new)) == 4 and not old & set(new)
    messages = store.receive(store.url("q"))
    assert {m["Attributes"]["ApproximateReceiveCount"] for m in messages} == {"1"}
    assert not any("DeadLetterQueueSourceArn" in m["Attributes"] for m in messages)


def test_a_fast_task_that_was_killed_loses_and_doubles_nothing(store):
    _, dlq = _prepared(store, 400)
    arn = store.arn(dlq)
    for _ in range(5):
        bodies = sorted(m["body"] for m in store.peek("q") + store.peek("q-dlq"))
        assert bodies == ["m%03d" % n for n in range(400)]
        if not any(t["Status"] == "RUNNING" for t in _tasks(store)):
            store.call("StartMessageMoveTask", SourceArn=arn)
        time.sleep(0.002)
        store.restart(by="kill")
    store.advance_s(1)
    assert sorted(m["body"] for m in store.peek("q")) == ["m%03d" % n for n in range(400)]
    assert store.counts(store.url("q-dlq")) == (0, 0, 0)
