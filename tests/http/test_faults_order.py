"""Messages that come in another order by rules."""
import pytest

ALL = list("abcdefghijkl")


def one_by_one(party, queue):
    found = []
    while message := party.receive(queue, 1):
        found.append(message[0]["Body"])
    return found


@pytest.mark.parametrize("how, order", [
    ("reverse", ALL[9::-1] + ALL[10:]),
    ("reverse window=3", ["c", "b", "a"] + ALL[3:]),
    ("reverse window=100", ALL[::-1]),
])
@pytest.mark.parametrize("event", ["ReceiveMessage once", "SendMessage nth 12 at post-commit"])
def test_who_receives_one_by_one_sees_the_other_order(rules, party, queue, event, how, order):
    rules.add("on %s do reorder %s" % (event, how))
    party.send(queue, *ALL)
    assert one_by_one(party, queue) == order


def test_a_shuffle_is_the_same_each_time_for_a_seed(rules, party, name):
    orders = []
    for seed in (1, 1, 2):
        queue = party.call("CreateQueue", QueueName=name)["QueueUrl"]
        rules.add("on ReceiveMessage prob 1 seed %d do reorder shuffle window=12 as mixed" % seed)
        party.send(queue, *ALL)
        orders.append(party.bodies(queue))
        rules.remove()
        party.call("DeleteQueue", QueueUrl=queue)
    assert orders[0] == orders[1] != orders[2]
    assert orders[0] != ALL[:10]


def test_a_reordering_at_each_receive_loses_nothing(rules, party, queue, name):
    rules.add("on ReceiveMessage do reorder shuffle")
    party.send(queue, *ALL)
    assert sorted(one_by_one(party, queue)) == ALL
    assert rules.not_done() == []


@pytest.mark.parametrize("member", ['{"idempotencyKey":"k"}', '{"payload":{"id":"k"}}'])
def test_a_key_is_delayed(server, rules, party, queue, name, member):
    rules.add("on ReceiveMessage once do reorder delay k by 2s")
    party.send(queue, "a", member, "b")
    assert party.bodies(queue) == ["a", "b"] and rules.counts(name) == (0, 2, 1)
    server.advance_ms(1999)
    assert party.bodies(queue) == []
    server.advance_ms(1)
    assert party.bodies(queue) == [member]


def test_a_key_that_is_not_there_is_told(rules, party, queue):
    rules.add("on ReceiveMessage once do reorder delay k by 2s")
    party.send(queue, "a")
    assert party.bodies(queue) == ["a"]
    assert rules.not_done() == ["not done: no message with this key can be received"]


@pytest.mark.parametrize("how, bodies", [("reverse", ["b", "a"]), ("delay k by 1s", ["a", "b"])])
def test_a_group_is_reordered_only_by_a_rule_that_says_unsound(rules, party, name, how, bodies):
    queue = party.call("CreateQueue", QueueName=name + ".fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    rules.add("on ReceiveMessage do reorder " + how)
    for number, body in enumerate("abab"):
        party.send(queue, body, MessageGroupId="g%d" % (number // 2), MessageDeduplicationId=str(number))
    assert party.bodies(queue, 2) == ["a", "b"] and rules.fired() == 0
    rules.remove()
    rules.add("unsound on ReceiveMessage do reorder " + how)
    assert party.bodies(queue, 2) == bodies
    party.call("DeleteQueue", QueueUrl=queue)
