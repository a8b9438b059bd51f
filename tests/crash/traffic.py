"""Clients that use a server from several threads until it is gone, or until they are told to end."""
import http.client
import json
import random
import threading
import time

from durable import Connection, Refused, peek
from ledger import Ledger

GONE = (OSError, http.client.HTTPException)
STANDARD = ("standard", "limited", "limited-dead")
FIFO = "ordered.fifo"
QUEUES = STANDARD + (FIFO,)
CIRCLING = 120  # messages that go round between a queue and its dead-letter queue


class Client(threading.Thread):
    """Acts at random, but each time the same, until the server is gone or `over` is set."""

    def __init__(self, number, seed):
        super().__init__(daemon=True)
        self.number = number
        self.random = random.Random("%s %s" % (seed, number))
        self.connection = None
        self.over = None
        self.error = None

    def begin(self, port, over):
        self.connection = Connection(port)
        self.over = over
        self.start()

    def call(self, action, **members):
        return self.connection.call(action, members)

    def run(self):
        try:
            while not self.over.is_set():
                self.act()
        except GONE:
            pass
        except Exception as error:  # shown by the test, whose thread is another
            self.error = error
        finally:
            self.connection.close()

    def act(self):
        raise NotImplementedError


class Consumer(Client):
    """Sends, receives, deletes and changes visibilities, alone and in batches."""

    def __init__(self, number, seed, ledger):
        super().__init__(number, seed)
        self.ledger = ledger
        self.leases = []  # (queue, message, handle, count)
        self.serial = 0
        self.label = "%s-%s" % (seed, number)

    def act(self):
        choice = self.random.random()
        queue = self.random.choice(("standard", "limited", FIFO))
        if choice < 0.22:
            self.send(queue)
        elif choice < 0.30:
            self.send_batch(queue)
        elif choice < 0.55 or not self.leases:
            self.receive(self.random.choice(QUEUES))
        elif choice < 0.75:
            self.delete()
        elif choice < 0.90:
            self.delete_batch()
        elif choice < 0.95:
            self.hide()
        else:
            self.hide_batch()

    def entry(self, queue):
        self.serial += 1
        body = "%s-%06d" % (self.label, self.serial)
        entry = {"MessageBody": body}
        if queue == FIFO:
            entry["MessageGroupId"] = "group-%s-%d" % (self.number, self.serial % 2)
            entry["MessageDeduplicationId"] = body
        elif self.random.random() < 0.1:
            entry["MessageAttributes"] = {"n": {"DataType": "Number", "StringValue": str(self.serial)}}
        return entry

    def send(self, queue):
        entry = self.entry(queue)
        message = self.ledger.sending(entry["MessageBody"], entry.get("MessageGroupId"))
        self.ledger.sent(message, self.call("SendMessage", QueueUrl=queue, **entry))

    def send_batch(self, queue):
        entries = [dict(self.entry(queue), Id=str(n)) for n in range(self.random.randint(1, 6))]
        messages = [self.ledger.sending(e["MessageBody"], e.get("MessageGroupId")) for e in entries]
        answer = self.call("SendMessageBatch", QueueUrl=queue, Entries=entries)
        for success in answer["Successful"]:
            self.ledger.sent(messages[int(success["Id"])], success)

    def receive(self, queue):
        self.ledger.receiving()
        answer = self.call(
            "ReceiveMessage",
            QueueUrl=queue,
            MaxNumberOfMessages=self.random.randint(1, 10),
            WaitTimeSeconds=int(self.random.random() < 0.03),
            MessageSystemAttributeNames=["All"],
        )
        self.leases += [(queue, *lease) for lease in self.ledger.received(answer.get("Messages", []))]
        self.random.shuffle(self.leases)
        del self.leases[40:]

    def take(self, most):
        """Some leases of one queue."""
        queue = self.leases[-1][0]
        taken = [lease for lease in self.leases if lease[0] == queue][-most:]
        self.leases = [lease for lease in self.leases if lease not in taken]
        return queue, taken

    def delete(self):
        queue, ((_, message, handle, count),) = self.take(1)
        self.ledger.deleting(message, queue, count)
        try:
            self.call("DeleteMessage", QueueUrl=queue, ReceiptHandle=handle)
        except Refused:
            self.ledger.not_deleted(message, queue, count)
        else:
            self.ledger.deleted(message, queue, count)

    def delete_batch(self):
        queue, leases = self.take(self.random.randint(1, 10))
        for _, message, _, count in leases:
            self.ledger.deleting(message, queue, count)
        entries = [{"Id": str(n), "ReceiptHandle": lease[2]} for n, lease in enumerate(leases)]
        answer = self.call("DeleteMessageBatch", QueueUrl=queue, Entries=entries)
        for success in answer.get("Successful", []):
            _, message, _, count = leases[int(success["Id"])]
            self.ledger.deleted(message, queue, count)
        for failure in answer.get("Failed", []):
            _, message, _, count = leases[int(failure["Id"])]
            self.ledger.not_deleted(message, queue, count)

    def hide(self):
        queue, ((_, _, handle, _),) = self.take(1)
        try:
            self.call(
                "ChangeMessageVisibility",
                QueueUrl=queue,
                ReceiptHandle=handle,
                VisibilityTimeout=self.random.randint(0, 2),
            )
        except Refused:
            pass

    def hide_batch(self):
        queue, leases = self.take(self.random.randint(1, 10))
        entries = [
            {"Id": str(n), "ReceiptHandle": lease[2], "VisibilityTimeout": self.random.randint(0, 2)}
            for n, lease in enumerate(leases)
        ]
        self.call("ChangeMessageVisibilityBatch", QueueUrl=queue, Entries=entries)


class Owner(Client):
    """Makes, changes and deletes queues of its own. Its picture of them is exact but for the one
    call that had no answer."""

    def __init__(self, number, seed, picture):
        super().__init__(number, seed)
        self.picture = picture  # [state, state after the call under way]; a state: name -> queue
        self.serial = 0
        self.label = "%s-%s" % (seed, number)

    def act(self):
        state = self.picture[0]
        name = "own-%d" % self.random.randrange(6)
        if name not in state:
            timeout = str(self.random.randrange(100))
            fresh = {"timeout": timeout, "tags": {}, "labels": (), "bodies": ()}
            self.change(name, fresh, "CreateQueue", QueueName=name, Attributes={"VisibilityTimeout": timeout})
            return
        act = self.random.choice(
            (self.retime, self.tag, self.untag, self.permit, self.forbid, self.send, self.send, self.purge, self.remove)
        )
        act(name, state[name])

    def change(self, name, after, action, **members):
        state = {n: q for n, q in self.picture[0].items() if n != name}
        if after is not None:
            state[name] = after
        self.picture[1] = state
        self.call(action, **members)
        self.picture[0] = state

    def retime(self, name, queue):
        timeout = str(self.random.randrange(100))
        self.change(
            name,
            dict(queue, timeout=timeout),
            "SetQueueAttributes",
            QueueUrl=name,
            Attributes={"VisibilityTimeout": timeout},
        )

    def tag(self, name, queue):
        tags = {"k%d" % self.random.randrange(5): str(self.random.randrange(100)) for _ in range(2)}
        self.change(name, dict(queue, tags={**queue["tags"], **tags}), "TagQueue", QueueUrl=name, Tags=tags)

    def untag(self, name, queue):
        keys = ["k%d" % self.random.randrange(5)]
        tags = {k: v for k, v in queue["tags"].items() if k not in keys}
        self.change(name, dict(queue, tags=tags), "UntagQueue", QueueUrl=name, TagKeys=keys)

    def permit(self, name, queue):
        label = "l%d" % self.random.randrange(5)
        if label not in queue["labels"]:
            self.change(
                name,
                dict(queue, labels=(*queue["labels"], label)),
                "AddPermission",
                QueueUrl=name,
                Label=label,
                AWSAccountIds=["111122223333"],
                Actions=["*"],
            )

    def forbid(self, name, queue):
        if queue["labels"]:
            label = self.random.choice(queue["labels"])
            labels = tuple(other for other in queue["labels"] if other != label)
            self.change(name, dict(queue, labels=labels), "RemovePermission", QueueUrl=name, Label=label)

    def send(self, name, queue):
        self.serial += 1
        body = "%s-%d" % (self.label, self.serial)
        self.change(
            name,
            dict(queue, bodies=(*queue["bodies"], body)),
            "SendMessage",
            QueueUrl=name,
            MessageBody=body,
            DelaySeconds=self.random.choice((0, 900)),
        )

    def purge(self, name, queue):
        self.change(name, dict(queue, bodies=()), "PurgeQueue", QueueUrl=name)

    def remove(self, name, queue):
        self.change(name, None, "DeleteQueue", QueueUrl=name)


def read_owned(store):
    """The owner's queues as the server has them."""
    state = {}
    for url in store.call("ListQueues", QueueNamePrefix="own-").get("QueueUrls", []):
        name = url.rsplit("/", 1)[1]
        attributes = store.attributes(url)
        statements = json.loads(attributes.get("Policy", '{"Statement": []}'))["Statement"]
        state[name] = {
            "timeout": attributes["VisibilityTimeout"],
            "tags": store.call("ListQueueTags", QueueUrl=url).get("Tags", {}),
            "labels": tuple(s["Sid"] for s in statements),
            "bodies": tuple(m["body"] for m in store.peek(name)),
        }
    return state


class Mover(Client):
    """Lets messages die and moves them back."""

    def act(self):
        choice = self.random.random()
        if choice < 0.6:
            self.call("ReceiveMessage", QueueUrl="circle", MaxNumberOfMessages=10)
            return
        arn = "arn:aws:sqs:us-east-1:000000000000:circle-dead"
        try:
            if choice < 0.9:
                rate = self.random.choice(({}, {}, {"MaxNumberOfMessagesPerSecond": 500}))
                self.call("StartMessageMoveTask", SourceArn=arn, **rate)
            else:
                for task in self.call("ListMessageMoveTasks", SourceArn=arn).get("Results", []):
                    if "TaskHandle" in task:
                        self.call("CancelMessageMoveTask", TaskHandle=task["TaskHandle"])
        except Refused as refused:
            assert refused.code in ("InvalidParameterValue", "ResourceNotFoundException"), refused


class Traffic:
    """All the clients on one store, life after life."""

    def __init__(self, store, seed, consumers=4):
        self.store = store
        self.seed = seed
        self.consumers = consumers
        self.ledger = Ledger()
        self.owned = [{}, {}]
        self.life = 0
        self.threads = []
        self.over = threading.Event()

    def make_queues(self):
        store = self.store
        for name, limit, dead in (("limited", 2, "limited-dead"), ("circle", 1, "circle-dead")):
            arn = store.arn(store.queue(dead, VisibilityTimeout=0))
            policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": limit})
            store.queue(name, RedrivePolicy=policy, VisibilityTimeout=0)
        store.queue("standard", VisibilityTimeout=1)
        store.queue(FIFO, VisibilityTimeout=1)
        for start in range(0, CIRCLING, 10):
            entries = [{"Id": str(n), "MessageBody": "circling %d" % n} for n in range(start, start + 10)]
            store.call("SendMessageBatch", QueueUrl="circle", Entries=entries)

    def begin(self):
        self.life += 1
        seed = "%s.%d" % (self.seed, self.life)
        self.over = threading.Event()
        self.threads = [Consumer(n, seed, self.ledger) for n in range(self.consumers)]
        self.threads += [Owner("owner", seed, self.owned), Mover("mover", seed)]
        for thread in self.threads:
            thread.begin(self.store.server.port, self.over)

    def end(self):
        """To be called when the server is gone, or to let the clients end by themselves."""
        self.over.set()
        for thread in self.threads:
            thread.join(30)
            assert not thread.is_alive(), "a client got neither an answer nor an end"
            if thread.error is not None:
                raise thread.error

    def check(self, when):
        """The store, right after a restart, holds what its clients were told."""
        server = self.store.server
        unanswered = self.ledger.unanswered_sends()
        found = [(queue, message) for queue in QUEUES for message in peek(server, queue)]
        self.ledger.check(found, when)
        _check_order([m for queue, m in found if queue == FIFO], when)
        owned = read_owned(self.store)
        assert owned in self.owned, "%s:\nis   %r\nwas  %r\nnext %r" % (when, owned, *self.owned)
        self.owned[:] = [owned, owned]
        self._check_circle(when)
        self._send_again(unanswered)

    def _check_circle(self, when):
        """Each message is in one of the two queues; looked at when none is on its way."""
        dead = self.store.arn("circle-dead")
        deadline = time.monotonic() + 20
        while any(
            task["Status"] in ("RUNNING", "CANCELLING")
            for task in self.store.call("ListMessageMoveTasks", SourceArn=dead).get("Results", [])
        ):
            assert time.monotonic() < deadline, "%s: a move task does not end" % when
            time.sleep(0.01)
        found = [m["body"] for queue in ("circle", "circle-dead") for m in self.store.peek(queue)]
        assert sorted(found) == sorted("circling %d" % n for n in range(CIRCLING)), when

    def _send_again(self, messages):
        """What a client does that had no answer to a FIFO send: the same again. Whatever became of
        the first one, there is one message of it (DED_2)."""
        for message in messages:
            if message.group is not None:
                self.ledger.sending(message.body)
                answer = self.store.send_fifo(FIFO, message.body, message.group, key=message.body)
                self.ledger.sent(message, answer)


def _check_order(messages, when):
    """FIFO_1: a group's messages stand in the order in which their one sender sent them."""
    groups = {}
    for message in sorted(messages, key=lambda m: m["position"]):
        groups.setdefault(message["group_id"], []).append(message["body"])
    for group, bodies in groups.items():
        assert bodies == sorted(bodies, key=_age), "%s: order of %s: %s" % (when, group, bodies)


def _age(body):
    """Of "SEED.LIFE-CLIENT-SERIAL": lives and serials count upwards."""
    name, _, serial = body.rsplit("-", 2)
    return int(name.rsplit(".", 1)[1]), int(serial)
