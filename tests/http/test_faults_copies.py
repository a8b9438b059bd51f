"""Messages that come twice by rules: to whom, and within what the consumer asked for."""
import pytest

from faulty import Party, count_of

PROTOCOLS = ["json", "query"]


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
    polls = []
    for key in ("A", "C", "A"):
        polls.append(party(key).later("ReceiveMessage", QueueUrl=queue, WaitTimeSeconds=20))
        while server.control("GET", "/_quern/queues/" + name)[1]["waiting_polls"] < len(polls):
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


# To both


def waiting(rules, one, queue, **members):
    """A receive that waits for another one."""
    fired = rules.fired()
    first = one.later("ReceiveMessage", QueueUrl=queue, **members)
    while rules.fired() == fired:
        assert first.is_waiting()
    return first


def bodies_of(members):
    return [message["Body"] for message in members.get("Messages", [])]


def test_two_receives_get_the_same_messages(rules, party, queue, name):
    rules.add("on ReceiveMessage once do deliver-to-both")
    party().send(queue, "a", "b", "c")
    first = waiting(rules, party("A"), queue, MaxNumberOfMessages=2)
    second = party("B").receive(queue)
    assert bodies_of(first.result()) == ["a", "b"]
    assert [m["Body"] for m in second] == ["a", "b", "c"] and [count_of(m) for m in second] == [2, 2, 1]
    assert rules.counts(name) == (0, 5, 0)
    for message in first.result()["Messages"] + second:
        party().delete(queue, message)
    assert rules.counts(name) == (0, 0, 0)


def test_the_second_gets_no_more_than_it_asked_for(rules, party, queue, name):
    rules.add("on ReceiveMessage once do deliver-to-both")
    party().send(queue, "a", "b")
    first = waiting(rules, party("A"), queue, MaxNumberOfMessages=2)
    assert party("B").bodies(queue, 1) == ["a"]
    assert bodies_of(first.result()) == ["a", "b"]
    assert rules.counts(name) == (0, 3, 0)


def test_only_the_named_messages_go_to_both(rules, party, queue):
    rules.add('on ReceiveMessage where body."k"=2 once do deliver-to-both')
    party().send(queue, '{"k":1}', '{"k":2}')
    first = waiting(rules, party("A"), queue, MaxNumberOfMessages=10)
    assert party("B").bodies(queue) == ['{"k":2}']
    assert bodies_of(first.result()) == ['{"k":1}', '{"k":2}']


def test_a_rule_for_each_receive_pairs_them(rules, party, queue, name):
    rules.add("on ReceiveMessage do deliver-to-both")
    party().send(queue, "m")
    first = waiting(rules, party("A"), queue)
    assert party("B").bodies(queue) == bodies_of(first.result()) == ["m"]
    assert rules.fired() == 2


def test_two_polls_that_wait_are_paired_at_once(server, rules, party, queue, name):
    rules.add("on ReceiveMessage once do deliver-to-both")
    polls = [party(key).later("ReceiveMessage", QueueUrl=queue, WaitTimeSeconds=20) for key in "AB"]
    while server.control("GET", "/_quern/queues/" + name)[1]["waiting_polls"] < 2:
        pass
    party().send(queue, "m")
    assert [bodies_of(poll.result()) for poll in polls] == [["m"], ["m"]]
    assert rules.counts(name) == (0, 2, 0)


def test_a_client_that_leaves_meanwhile_takes_nothing_with_it(server, rules, party, queue, name):
    rules.add("on ReceiveMessage once do deliver-to-both")
    party().send(queue, "m")
    with server.connect() as gone:
        body = b'{"QueueUrl":"%s"}' % queue.encode()
        head = b"POST / HTTP/1.1\r\nHost: x\r\nX-Amz-Target: AmazonSQS.ReceiveMessage\r\n"
        head += b"Content-Type: application/x-amz-json-1.0\r\nContent-Length: %d\r\n\r\n" % len(body)
        gone.sendall(head + body)
        while rules.fired() == 0:
            pass
    (message,) = party("B").receive(queue)
    assert count_of(message) == 1 and rules.counts(name) == (0, 1, 0)


def test_alone_a_receive_goes_on_after_five_seconds(rules, party, queue, name):
    rules.add("on ReceiveMessage once do deliver-to-both")
    party().send(queue, "m")
    first = waiting(rules, party("A"), queue)
    assert rules.counts(name) == (1, 0, 0)
    assert bodies_of(first.result()) == ["m"]
    assert rules.counts(name) == (0, 1, 0)


@pytest.mark.parametrize("is_unsound", [False, True])
def test_two_receives_of_a_fifo_queue_get_the_same_only_unsound(rules, party, name, is_unsound):
    made = party().call("CreateQueue", QueueName=name + ".fifo", Attributes={"FifoQueue": "true"})
    queue = made["QueueUrl"]
    rules.add("%son ReceiveMessage once do deliver-to-both" % ("unsound " if is_unsound else ""))
    party().send(queue, "m", MessageGroupId="g", MessageDeduplicationId="d")
    if is_unsound:
        first = waiting(rules, party("A"), queue)
        assert party("B").bodies(queue) == bodies_of(first.result()) == ["m"]
    else:
        assert (party("A").bodies(queue), party("B").bodies(queue), rules.fired()) == (["m"], [], 0)
    party().call("DeleteQueue", QueueUrl=queue)


def test_a_receive_of_another_queue_is_no_partner(rules, party, queue, name):
    rules.add("on ReceiveMessage where queue=%s once do deliver-to-both" % name)
    other = party().call("CreateQueue", QueueName=name + "-other")["QueueUrl"]
    party().send(queue, "m")
    party().send(other, "n")
    first = waiting(rules, party("A"), queue)
    assert party("B").bodies(other) == ["n"] and first.is_waiting()
    assert party("B").bodies(queue) == bodies_of(first.result()) == ["m"]
    party().call("DeleteQueue", QueueUrl=other)
