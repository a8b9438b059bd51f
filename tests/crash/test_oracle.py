"""What judges a store after a kill sees what it is for: stores from an older copy, answers that the
server never gave, and clients that were told less than happened are each reported, by the right name."""
import re
import shutil

import pytest
from consumer import FIFO, Consumer
from durable import Store
from mover import Mover
from traffic import Traffic


class Case:
    """A store with its ledger, and one client at rest."""

    def __init__(self, folder):
        self.store = Store(folder, ends_by="kill")
        self.copy = folder / "copy"
        self.store.start()
        self.traffic = Traffic(self.store, "oracle.1", is_virtual=True)
        self.traffic.make_queues()
        self.ledger = self.traffic.ledger
        self.client = Consumer("c", "oracle.1", self.ledger)
        self.client.connection = self.store.connection

    def save(self):
        """A copy of the store as it is now, of the kind that a power cut or a bug would leave."""
        self.store.end()
        self.copy.mkdir()
        for file in self.store.folder.glob("quern.db*"):
            shutil.copy(file, self.copy)
        self.restart()

    def restore(self):
        self.store.end()
        for file in self.store.folder.glob("quern.db*"):
            file.unlink()
        for file in self.copy.iterdir():
            shutil.copy(file, self.store.folder)
        self.restart()

    def restart(self):
        self.store.end()
        self.store.start()
        self.client.connection = self.store.connection

    def advance_s(self, seconds):
        self.traffic.instants.moving(seconds * 1000)
        self.store.advance_s(seconds)
        self.traffic.instants.moved(self.store.clock_ms())

    def sound(self):
        self.traffic.check("a sound store")

    def reported(self, pattern):
        with pytest.raises(AssertionError) as caught:
            self.traffic.check("a bad store")
        assert re.search(pattern, str(caught.value)), caught.value

    # ---- what the client does ----

    def send(self, queue="standard"):
        self.client.send(queue)
        return list(self.ledger.messages.values())[-1]

    def receive(self, queue="standard", visibility_s=30):
        """Returns its leases."""
        receive = self.ledger.receiving(queue, visibility_s)
        return self.ledger.received(receive, self.store.receive(queue, VisibilityTimeout=visibility_s))

    def delete(self, queue="standard"):
        self.client.leases = [(queue, *lease) for lease in self.receive(queue)]
        assert len(self.client.leases) == 1
        self.client.delete()

    def hide(self, lease, visibility_s, queue="standard"):
        message, handle, _ = lease
        hide = self.ledger.hiding(message, visibility_s)
        self.store.hide(queue, {"ReceiptHandle": handle}, visibility_s)
        self.ledger.hidden(message, hide)


@pytest.fixture
def case(folder):
    opened = Case(folder)
    # Without delays of its own, so that each test says what is hidden.
    entry = opened.client.entry
    opened.client.entry = lambda queue: {k: v for k, v in entry(queue).items() if k != "DelaySeconds"}
    yield opened
    opened.store.end()


def test_a_sound_history_is_not_reported(case):
    case.send()
    case.delete()
    case.send()
    case.hide(case.receive()[0], 120)
    case.send("limited")
    for _ in range(4):
        case.receive("limited", 0)
    case.send(FIFO)
    case.delete(FIFO)
    case.send("brief")
    case.advance_s(61)
    for _ in range(3):
        case.restart()
        case.sound()
    case.traffic.drain("at the end")


def test_a_lost_message_is_reported(case):
    case.save()
    case.send()
    case.restore()
    case.reported("was sent, received 0 times, .* and is lost")


def test_a_delete_that_comes_back_is_reported(case):
    case.send()
    case.save()
    case.delete()
    case.restore()
    case.reported("was deleted by the handle of receive 1")


def test_a_delete_that_comes_back_later_is_reported(case):
    case.send()
    case.save()
    case.delete()
    case.restart()
    case.sound()
    case.restore()
    case.reported("came back")


def test_a_receive_count_that_fell_is_reported(case):
    case.send()
    case.save()
    case.receive(visibility_s=0)
    case.restore()
    case.reported("has 0 receives, 1 were seen")


def test_a_receive_too_many_is_reported(case):
    case.send()
    case.store.receive("standard", VisibilityTimeout=0)
    case.restart()
    case.reported("has 1 receives, 0 were seen and 0 had no answer")


def test_a_lease_with_another_end_is_reported(case):
    case.send()
    (lease,) = case.receive(visibility_s=30)
    case.save()
    case.hide(lease, 120)
    case.restore()
    case.reported("is hidden until .*, and should be until")


def test_a_lease_that_is_gone_is_reported(case):
    case.send()
    (lease,) = case.receive(visibility_s=0)
    case.save()
    case.hide(lease, 120)
    case.restore()
    case.reported("is visible at .*, and hidden until")


def test_a_lease_that_was_broken_while_the_server_ran_is_reported(case):
    case.send()
    (lease,) = case.receive(visibility_s=30)
    case.store.hide("standard", {"ReceiptHandle": lease[1]}, 0)
    case.receive()
    case.reported("received .* and it is hidden until")


def test_an_expired_message_that_is_received_is_reported(case):
    message = case.send("brief")
    case.traffic.instants.low += 61_000
    case.traffic.instants.high += 61_000
    assert case.receive("brief")[0][0] is message
    case.traffic.instants.low -= 61_000
    case.reported("received .* after it had expired")


def test_a_message_that_nobody_sent_is_reported(case):
    case.store.send("standard", "stranger")
    case.restart()
    case.reported("'stranger' is there, and nobody sent it")


def test_another_message_under_the_same_body_is_reported(case):
    message = case.send()
    case.store.send("standard", message.body)
    case.restart()
    case.reported("is there 2 times, in standard and standard")


def test_a_dead_letter_in_both_queues_is_reported(case):
    message = case.send("limited")
    case.store.send("limited-dead", message.body)
    case.restart()
    case.reported("is there 2 times, in limited and limited-dead")


def test_a_dead_letter_in_neither_queue_is_reported(case):
    case.send("limited")
    case.receive("limited", 0)
    case.receive("limited", 0)
    assert case.receive("limited", 0) == []
    (message,) = case.store.receive("limited-dead")
    case.store.delete("limited-dead", message)
    case.restart()
    case.reported("received 2 times, .* and is lost")


def test_a_dead_letter_that_came_too_soon_is_reported(case):
    message = case.send("limited")
    case.receive("limited", 0)
    (taken,) = case.store.receive("limited")
    case.store.delete("limited", taken)
    case.store.send("limited-dead", message.body)
    case.restart()
    case.reported("came to limited-dead by")


def test_a_forgotten_deduplication_id_is_reported(case):
    case.save()
    case.send(FIFO)
    case.delete(FIFO)
    case.restore()
    case.reported("has the key of .* and became a second message")


def test_a_group_out_of_order_is_reported(case):
    first, second = (case.ledger.sending("order.1-c-%d" % n, FIFO, "g", "order-%d" % n) for n in (1, 2))
    for message in (second, first):
        case.ledger.sent(message, case.store.send_fifo(FIFO, message.body, "g", key=message.key))
    case.restart()
    case.reported("g of ordered.fifo stands as")


def test_a_message_that_overtakes_its_group_is_reported(case):
    first, second = (case.ledger.sending("order.1-c-%d" % n, FIFO, "g", "order-%d" % n) for n in (1, 2))
    case.ledger.sent(first, {"MessageId": "never sent"})
    case.ledger.sent(second, case.store.send_fifo(FIFO, second.body, "g", key=second.key))
    assert len(case.receive(FIFO)) == 1
    case.restart()
    case.reported("received order.1-c-2 before order.1-c-1 of its group")


def test_half_a_batch_of_sends_is_reported(case):
    messages = [case.ledger.sending("half.1-c-%d" % n) for n in (1, 2)]
    case.ledger.sending_batch(messages)
    case.store.send("standard", messages[0].body)
    case.restart()
    case.reported("of one batch, .*: True.*: False")


def test_half_a_batch_of_deletes_is_reported(case):
    case.send()
    case.send()
    leases = case.receive()
    batch = [(message, "standard", count) for message, _, count in leases]
    for entry in batch:
        case.ledger.deleting(*entry)
    case.ledger.deleting_batch(batch)
    case.store.delete("standard", {"ReceiptHandle": leases[0][1]})
    case.restart()
    case.reported("a batch deleted .* and not")


def test_a_receive_that_cannot_be_repeated_is_reported(case):
    case.send(FIFO)
    case.ledger.receiving(FIFO, 30, "an-attempt")
    assert len(case.store.receive(FIFO, VisibilityTimeout=30)) == 1
    case.restart()
    case.reported("was received without an answer, and cannot be again")


def test_a_receive_without_an_answer_is_repeated(case):
    case.send(FIFO)
    case.ledger.receiving(FIFO, 30, "an-attempt")
    assert len(case.store.receive(FIFO, VisibilityTimeout=30, ReceiveRequestAttemptId="an-attempt")) == 1
    case.restart()
    case.sound()


def test_a_forgotten_move_task_is_reported(case):
    case.save()
    mover = Mover("m", "oracle", case.traffic.circles[0])
    mover.connection = case.store.connection
    mover.move()
    case.restore()
    case.reported("the move task is not listed any more")


def test_a_lost_circling_message_is_reported(case):
    (message,) = case.store.receive("circle", most=1)
    case.store.delete("circle", message)
    case.restart()
    case.reported(r"of the circling messages of circle \['circling \d+'\] are lost, \[\] too many")


def test_a_change_of_a_queue_that_is_undone_is_reported(case):
    queue = {"timeout": "7", "tags": {}, "labels": (), "bodies": ()}
    case.store.queue("own-1", VisibilityTimeout=7)
    case.save()
    case.store.call("SetQueueAttributes", QueueUrl="own-1", Attributes={"VisibilityTimeout": "8"})
    case.traffic.owned[:] = [{"own-1": dict(queue, timeout="8")}] * 2
    case.restore()
    case.reported("the owner's queues")


def test_a_clock_that_went_back_is_reported(case):
    case.traffic.instants.low += 1000
    case.traffic.instants.high += 1000
    case.restart()
    case.reported("the clock stands at")
