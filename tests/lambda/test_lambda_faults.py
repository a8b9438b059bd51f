"""`quern lambda` beside a server, a network and a function that fail."""
import json

REPORT = "--report-batch-item-failures"


def numbers(world):
    return [json.loads(record["body"])["n"] for one in world.seen() for record in one["event"]["Records"]]


def fault(world, rule):
    status, answer = world.server.control("POST", "/_quern/rules", {"rule": rule})
    assert status < 300, answer


def test_a_damaged_message_is_told_and_left_for_its_lease(world):
    world.queue()
    fault(world, 'on ReceiveMessage where body."n" = 1 and rc = 1 at post-commit do bad-md5')
    ids = world.send(*({"n": n, "is": "secret"} for n in range(3)))
    world.start(REPORT)
    world.until(lambda: world.counts() == (0, 1) and sum(one["records"] for one in world.told()) == 2)
    assert sorted(numbers(world)) == [0, 2]
    assert [one["id"] for one in world.told("damaged")] == [ids[1]]
    assert "secret" not in world.pollers[-1].log.read_text()
    world.server.advance_ms(30500)
    world.until(lambda: world.counts() == (0, 0))
    assert sorted(numbers(world)) == [0, 1, 2]


def test_nothing_overtakes_a_damaged_message_of_its_group(world):
    world.queue("q.fifo")
    fault(world, 'on ReceiveMessage where body."n" = 0 and rc = 1 at post-commit do bad-md5')
    for n, group in enumerate("aab"):
        world.send({"n": n}, group=group)
    world.start(REPORT)
    world.until(lambda: numbers(world) == [2] and world.told())
    world.server.advance_ms(30500)
    world.until(lambda: world.counts() == (0, 0))
    assert numbers(world) == [2, 0, 1]


def test_until_empty_ends_with_a_queue_that_is_deleted(world):
    world.queue()
    world.send({"n": 0}, {"do": "fail"})  # the second stays in flight, so the queue does not get empty
    process = world.start(REPORT, "--until-empty")
    world.until(lambda: world.counts() == (0, 1))
    world.sqs.delete_queue(QueueUrl=world.url)
    assert process.wait(30) == 1
    assert [one["code"] for one in world.told("queue-gone")] == ["QueueDoesNotExist"]
    world.pollers.remove(process)


def test_a_queue_that_is_gone_is_told_once_and_asked_for_until_it_is_there_again(world):
    world.queue()
    world.send({"n": 0})
    world.start()
    world.until(lambda: world.told())
    world.sqs.delete_queue(QueueUrl=world.url)
    world.until(lambda: world.told("queue-gone"))
    world.server.advance_ms(61000)  # the name is free again
    world.queue()
    world.send({"n": 1})
    world.until(lambda: len(world.told()) == 2)
    world.until(lambda: world.told("receive-works"))
    assert numbers(world) == [0, 1]
    assert [one["code"] for one in world.told("queue-gone")] == ["QueueDoesNotExist"]


def test_a_message_that_cannot_be_deleted_is_told_after_its_tries(world):
    world.queue()
    fault(world, "on DeleteMessageBatch do fail-entries 10 InternalFailure")
    (message,) = world.send({"n": 0})
    world.start(REPORT)
    world.until(lambda: world.told("entry-failed"))
    (told,) = world.told("entry-failed")
    assert (told["action"], told["id"], told["code"]) == ("DeleteMessageBatch", message, "InternalFailure")
    (rule,) = world.server.control("GET", "/_quern/rules")[1]["rules"]
    assert rule["fired"] == 3 and world.counts() == (0, 1)


def test_a_delete_that_can_never_succeed_is_tried_once(world):
    """The lease of a message of a FIFO queue is over when the function is done: its handle is worth nothing."""
    world.queue("q.fifo")
    # Done later the second time: with the message gone, an old handle would be as good as any.
    (message,) = world.send({"do": "slow", "s": 1.5, "longer_again": 3}, group="a")
    world.start(REPORT)
    world.until(lambda: world.counts() == (0, 1))
    world.server.advance_ms(30500)
    world.until(lambda: world.told("entry-failed"))
    (told,) = world.told("entry-failed")
    assert (told["id"], told["code"]) == (message, "InvalidParameterValue")


def test_what_waits_for_longer_than_its_lease_is_left(world):
    """Seven do not fit into one event; the first makes the function hang for as long as the lease lasts."""
    world.queue(VisibilityTimeout="1")
    ids = world.send(*({"do": "hang" if n == 0 else "", "n": n, "padding": "x" * 1000000} for n in range(7)))
    world.start(REPORT, "--timeout", "1", "--max-concurrency", "2")
    world.until(lambda: world.told("lapsed"))
    assert world.told("lapsed")[0]["ids"] == [ids[6]]
    assert 6 not in numbers(world)

    def is_done():
        world.server.advance_ms(1500)
        return world.counts() == (0, 0)

    world.until(is_done)
    assert set(numbers(world)) == set(range(7))
