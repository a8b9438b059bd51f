"""Messages that come twice by rules: to whom, and within what the consumer asked for."""
import pytest

from faulty import Party, Rules, count_of

PROTOCOLS = ["json", "query"]


@pytest.fixture
def rules(server):
    kept = Rules(server)
    yield kept
    kept.remove()


@pytest.fixture(params=PROTOCOLS)
def party(request, server):
    """Clients by their access keys; None has none."""
    opened = []

    def new(key="test"):
        opened.append(Party(server, request.param, key))
        return opened[-1]

    yield new
    for one in opened:
        one.client.close()


def grants(rules):
    return [(event["mid"], event["n"]) for event in rules.events("lease.grant")]


@pytest.mark.parametrize("event", ["lease.grant", "ReceiveMessage", "ReceiveMessage at post-response"])
def test_a_second_lease_lives_beside_the_first(rules, party, queue, name, event):
    rules.add("on %s once do deliver-again" % event)
    one, two = party("A"), party("B")
    (mid,) = one.send(queue, "m", MessageAttributes={"a": {"DataType": "String", "StringValue": "v"}})
    (first,) = one.receive(queue)
    (second,) = two.receive(queue)
    for message in (first, second):
        assert (message["MessageId"], message["Body"]) == (mid, "m")
        assert message["MessageAttributes"]["a"]["StringValue"] == "v"
    assert (count_of(first), count_of(second)) == (1, 2)
    assert grants(rules) == [(mid, 1), (mid, 2)] and len(rules.events("msg.dupcopy")) == 1
    one.delete(queue, first)
    two.hide(queue, second, 100)
    assert rules.counts(name) == (0, 1, 0)
    two.delete(queue, second)
    assert rules.counts(name) == (0, 0, 0)


WHOM = [
    ("to other", {"A": False, "B": True}),
    ("to same", {"A": True, "B": False}),
    ("to instance=QUERN0002", {"A": False, "QUERN0003": False, "QUERN0002": True}),
    ("to instance=2", {"A": False, "QUERN0003": False, "QUERN0002": True}),
    ("", {"A": True}),
    ("", {"B": True}),
]


@pytest.mark.parametrize("to, gets", WHOM)
@pytest.mark.parametrize("event", ["lease.grant", "ReceiveMessage"])
def test_a_copy_is_for_whom_the_rule_says(rules, party, queue, event, to, gets):
    rules.add("on %s once do deliver-again %s" % (event, to))
    party("A").send(queue, "m")
    assert party("A").bodies(queue) == ["m"]
    for key, whether in gets.items():
        assert party(key).bodies(queue) == (["m"] if whether else []), key


@pytest.mark.parametrize("to", ["to same", "to other"])
@pytest.mark.parametrize("event", ["lease.grant", "ReceiveMessage"])
def test_who_has_no_access_key_is_known_by_the_connection(rules, party, queue, event, to):
    rules.add("on %s once do deliver-again %s" % (event, to))
    one, two = party(None), party(None)
    one.send(queue, "m")
    one.receive(queue)
    mine, others = one.bodies(queue), two.bodies(queue)
    assert (mine, others) == ((["m"], []) if to == "to same" else ([], ["m"]))


def test_a_copy_that_nobody_fetches_is_for_all_after_the_visibility_timeout(server, rules, party, queue):
    rules.add("on lease.grant once do deliver-again to instance=nobody")
    one = party("A")
    one.send(queue, "m")
    (message,) = one.receive(queue)
    one.delete(queue, message)
    server.advance_ms(29_999)
    assert one.bodies(queue) == []
    server.advance_ms(1)
    assert one.bodies(queue) == ["m"]


def test_a_waiting_poll_gets_the_copy_that_is_for_it(server, rules, party, queue, name):
    one, two = party("A"), party("B")
    one.send(queue, "m")
    one.receive(queue)
    polls = [party(key).later("ReceiveMessage", QueueUrl=queue, WaitTimeSeconds=20) for key in ("A", "C", "A")]
    while server.control("GET", "/_quern/queues/" + name)[1]["waiting_polls"] < 3:
        pass
    rules.add("on lease.grant once do deliver-again to instance=C")
    two.send(queue, "other")
    assert [m["Body"] for m in polls[0].result()["Messages"]] == ["other"]
    assert [m["Body"] for m in polls[1].result()["Messages"]] == ["other"]
    assert polls[2].is_waiting()
    server.advance_ms(20_000)
    polls[2].result()


@pytest.mark.parametrize("most, bodies, rest", [(2, "aa", "bc"), (3, "aab", "c"), (4, "aabb", "c"), (10, "aabbcc", "")])
def test_an_answer_with_doubles_holds_what_was_asked_for(rules, party, queue, most, bodies, rest):
    rules.add("on ReceiveMessage once do dup-in-batch")
    one = party()
    one.send(queue, "a", "b", "c")
    assert "".join(one.bodies(queue, most)) == bodies
    assert "".join(one.bodies(queue)) == rest


def test_a_receive_of_one_message_is_not_doubled(rules, party, queue):
    rules.add("on ReceiveMessage once do dup-in-batch")
    one = party()
    one.send(queue, "a", "b")
    assert one.bodies(queue, 1) == ["a"] and rules.fired() == 0
    assert one.bodies(queue, 2) == ["b", "b"] and rules.fired() == 1


def test_only_the_named_messages_are_doubled(rules, party, queue):
    rules.add('on ReceiveMessage where body."k"=2 do dup-in-batch')
    one = party()
    one.send(queue, '{"k":1}', '{"k":2}', '{"k":3}')
    assert one.bodies(queue) == ['{"k":1}', '{"k":2}', '{"k":2}', '{"k":3}']


def test_the_named_messages_are_doubled_behind_a_delay_too(rules, party, queue):
    rules.add('on ReceiveMessage where body."k"=2 at pre-commit do delay 10ms then dup-in-batch')
    one = party()
    one.send(queue, '{"k":1}', '{"k":2}')
    assert one.bodies(queue) == ['{"k":1}', '{"k":2}', '{"k":2}']


@pytest.mark.parametrize("rule", [
    "on lease.grant do deliver-again",
    "on ReceiveMessage do dup-in-batch",
])
def test_a_fifo_message_comes_twice_only_by_a_rule_that_says_unsound(rules, party, name, rule):
    one = party()
    made = one.call("CreateQueue", QueueName=name + ".fifo", Attributes={"FifoQueue": "true"})
    queue = made["QueueUrl"]
    rules.add(rule)
    one.send(queue, "m", MessageGroupId="g", MessageDeduplicationId="d")
    (message,) = one.receive(queue)
    assert one.receive(queue) == [] and rules.fired() == 0
    one.delete(queue, message)
    rules.remove()
    rules.add("unsound " + rule.replace(" do", " once do"))
    one.send(queue, "n", MessageGroupId="g", MessageDeduplicationId="e")
    messages = one.receive(queue) + one.receive(queue)
    assert [(m["Body"], count_of(m)) for m in messages] == [("n", 1), ("n", 2)]
    for message in messages:
        one.delete(queue, message)
    assert rules.counts(name + ".fifo") == (0, 0, 0)
    one.call("DeleteQueue", QueueUrl=queue)
