"""The judges of the careful clients can say no: each is given what must not be, and what may."""
import pytest
from account import Account
from history import History, happened

DEAD = {"q": "q-dead", "q.fifo": "q-dead.fifo"}


def message(body, mid="m1", count=1, group=None):
    attributes = {"ApproximateReceiveCount": str(count), **({"MessageGroupId": group} if group else {})}
    return {"Body": body, "MessageId": mid, "Attributes": attributes}


def account(queue="q", bodies=("a",), group=None):
    made = Account(DEAD)
    for number, body in enumerate(bodies):
        made.sending(queue, [{"MessageBody": body, **({"MessageGroupId": group} if group else {})}])
        made.sent(queue, body, "m%d" % (number + 1))
    return made


def receive(made, *messages, queue="q"):
    made.received(made.receiving(queue), list(messages))


def stored(mid="m1", body="a"):
    return {"message_id": mid, "body": body}


def only(problems, word):
    assert len(problems) == 1 and word in problems[0], problems


def test_a_message_that_was_handled_and_deleted_is_no_problem():
    made = account()
    receive(made, message("a"))
    made.effect("q", "a")
    made.deleted("q", message("a"))
    made.settle({"q": []})
    assert made.problems == [] and made.returned == []


def test_a_lost_message_is_found():
    made = account()
    made.settle({"q": [], "q-dead": []})
    only(made.problems, "is lost")


def test_a_send_without_an_answer_may_be_lost():
    made = Account(DEAD)
    made.sending("q", [{"MessageBody": "a"}])
    made.settle({"q": []})
    assert made.problems == []


@pytest.mark.parametrize("body, queue", [("b", "q"), ("a", "other")])
def test_a_phantom_is_found(body, queue):
    made = account()
    receive(made, message(body), queue=queue)
    only(made.problems, "nobody sent")


def test_a_phantom_that_lies_in_a_queue_is_found():
    made = account()
    made.effect("q", "a")
    made.settle({"q": [stored("m9", "b")]})
    only(made.problems, "nobody sent it")


@pytest.mark.parametrize("count", [1, 2])
def test_a_count_that_falls_or_stands_still_is_found(count):
    made = account()
    receive(made, message("a", count=2))
    receive(made, message("a", count=count))
    made.effect("q", "a")
    made.settle({}, copied={"m1"})
    assert made.problems == []
    made.settle({})
    only(made.problems, "count %d after 2" % count)


def test_counts_of_receives_at_once_may_come_in_any_order():
    made = account()
    first, second = made.receiving("q"), made.receiving("q")
    made.received(second, [message("a", count=2)])
    made.received(first, [message("a", count=1)])
    assert made.fallen == []


def test_a_fifo_send_that_became_two_is_found():
    made = account("q.fifo", group="g")
    receive(made, message("a", "m2", group="g"), queue="q.fifo")
    only(made.problems, "became two")


def test_a_batch_out_of_order_is_found():
    made = account("q.fifo", ("a", "b"), group="g")
    receive(made, message("b", "m2", group="g"), message("a", "m1", group="g"), queue="q.fifo")
    only(made.problems, "out of order")


def test_a_later_one_of_a_group_is_found_unless_the_earlier_is_a_dead_letter():
    made = account("q.fifo", ("a", "b"), group="g")
    made.effect("q.fifo", "b")
    assert made.settle({"q.fifo": [], "q-dead.fifo": [stored()]}) == {"a"} and made.problems == []
    made.settle({"q.fifo": [stored()], "q-dead.fifo": []})
    only(made.problems, "before 'a'")


@pytest.mark.parametrize("second", ["q", "q-dead"])
def test_one_that_is_there_twice_is_found(second):
    made = account()
    twice = [("q", stored()), (second, stored())]
    made.settle({queue: [m for q, m in twice if q == queue] for queue in ("q", "q-dead")})
    only(made.problems, "more than once")


def test_what_never_succeeds_is_missed_among_the_dead_letters():
    made = account(bodies=("a poison",))
    made.settle({"q": [stored(body="a poison")], "q-dead": []})
    only(made.problems, "is not in q-dead")


def test_what_comes_back_behind_its_delete_is_noted():
    made = account()
    receive(made, message("a"))
    made.deleted("q", message("a"))
    receive(made, message("a", count=2))
    ((mid, count, _),) = made.returned
    assert (mid, count) == ("m1", 1)


# ---- the trace ----


def events(*rows, fifo=False):
    """Rows (kind, message, more): with numbers and times, and the place of a FIFO message."""
    place = {"grp": "g"} if fifo else {}
    made = []
    for seq, (kind, mid, more) in enumerate(rows, 1):
        serial = {"sn": mid[1:]} if fifo and mid else {}
        made.append({"seq": seq, "vt": seq, "wt": 1000 + seq, "kind": kind, "queue": "q", "mid": mid, **place, **serial, **more})
    return made


def judged(*rows, fifo=False, returned=()):
    history = History({"q": 2})
    history.judge(events(*rows, fifo=fifo))
    return history.explain(returned)


SENT = ("msg.send", "m1", {})
GRANT = ("lease.grant", "m1", {"n": 1, "deadline": 100})
AGAIN = ("lease.grant", "m1", {"n": 2, "deadline": 200})
DELETED = ("msg.delete", "m1", {"n": 1})
BACK = ("fault", "m1", {"rule": "back", "code": "resurrect", "target": "m1"})
TWICE = ("fault", "m1", {"rule": "back", "code": "deliver-again", "target": "m1"})
COPY = ("msg.dupcopy", "m1", {})
OTHER = ("msg.send", "m2", {})
OTHER_GRANT = ("lease.grant", "m2", {"n": 1, "deadline": 100})
BETWEEN = ("api.out", None, {})


@pytest.mark.parametrize(
    "rows",
    [
        (SENT, GRANT, DELETED),
        (SENT, GRANT, DELETED, BACK, COPY, AGAIN),
        (SENT, GRANT, AGAIN, ("msg.dlq", "m1", {"n": 2})),
        (SENT, GRANT, TWICE, COPY, GRANT, AGAIN),
        (SENT, OTHER, GRANT, OTHER_GRANT),
    ],
)
def test_a_sound_history_is_no_problem(rows):
    assert judged(*rows, fifo=COPY not in rows) == []


@pytest.mark.parametrize(
    "rows, word",
    [
        ((SENT, GRANT, DELETED, AGAIN), "was deleted or never sent"),
        ((SENT, GRANT, DELETED, COPY), "no fault names it"),
        ((GRANT,), "never sent"),
        ((SENT, AGAIN, AGAIN), "count 2 after 2"),
        ((SENT, AGAIN, GRANT, TWICE, COPY, AGAIN, AGAIN), "count 2 after 2"),
        ((SENT, GRANT, DELETED, DELETED), "deleted twice"),
        ((SENT, GRANT, ("msg.dlq", "m1", {"n": 1})), "dead letter after 1"),
    ],
)
def test_an_unsound_history_is_found(rows, word):
    only(judged(*rows), word)


def test_a_message_behind_a_lease_of_its_group_is_found():
    assert "is leased" in judged(SENT, OTHER, GRANT, BETWEEN, OTHER_GRANT, fifo=True)[0]


def test_a_message_before_an_earlier_one_of_its_group_is_found():
    only(judged(SENT, OTHER, OTHER_GRANT, fifo=True), "before m1")


def test_a_return_is_explained_by_a_fault_or_by_a_newer_handle():
    rows = (SENT, GRANT, AGAIN)
    only(judged(*rows, returned=[("m1", 1, 1002)]), "no fault names it")
    assert judged(*rows, returned=[("m1", 1, 1003)]) == []
    lost = ("fault", "m1", {"rule": "lost", "code": "fake-success", "target": "m1"})
    assert judged(SENT, GRANT, lost, AGAIN, returned=[("m1", 1, 1002)]) == []


def test_a_change_beyond_the_boot_did_not_happen():
    before = {"seq": 1, "kind": "msg.send", "lsn": 5, "mid": "m1"}
    kept = {"seq": 2, "kind": "msg.send", "lsn": 4, "mid": "m2"}
    boot = {"seq": 3, "kind": "boot", "lsn": 4}
    assert happened([before, kept, boot]) == [kept, boot]
