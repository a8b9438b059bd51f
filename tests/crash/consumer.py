"""A client that sends, receives, deletes and changes visibilities, alone and in batches."""
from client import Client
from durable import Refused

FIFO = "ordered.fifo"
SENT_TO = ("standard", "standard", "brief", "limited", FIFO, FIFO)
RECEIVED_FROM = ("standard", "standard", "brief", "limited", "limited", "limited-dead", FIFO, FIFO, "ordered-dead.fifo")
VISIBILITIES_S = (0, 0, 1, 2, 5, 30, 120)
GROUPS = 2  # of each consumer


class Consumer(Client):
    """What it is told goes into the ledger, which all consumers share."""

    def __init__(self, number, seed, ledger):
        super().__init__(number, seed)
        self.ledger = ledger
        self.leases = []  # (queue, message, handle, count)
        self.serial = 0
        self.keys = []  # deduplication ids of its latest sends
        self.label = "%s-%s" % (seed, number)

    def act(self):
        choice = self.random.random()
        if choice < 0.20:
            self.send(self.random.choice(SENT_TO))
        elif choice < 0.24 and self.keys:
            self.send_again()
        elif choice < 0.32:
            self.send_batch(self.random.choice(SENT_TO))
        elif choice < 0.55 or not self.leases:
            self.receive(self.random.choice(RECEIVED_FROM))
        elif choice < 0.72:
            self.delete()
        elif choice < 0.85:
            self.delete_batch()
        elif choice < 0.95:
            self.hide()
        else:
            self.hide_batch()

    # ---- sends ----

    def entry(self, queue):
        self.serial += 1
        body = "%s-%06d" % (self.label, self.serial)
        entry = {"MessageBody": body}
        if queue == FIFO:
            entry["MessageGroupId"] = "group-%s-%d" % (self.number, self.random.randrange(GROUPS))
            entry["MessageDeduplicationId"] = body
            self.keys = [*self.keys[-30:], body]
        else:
            entry["DelaySeconds"] = self.random.choice((0, 0, 0, 1, 20))
            if self.random.random() < 0.1:
                entry["MessageAttributes"] = {"n": {"DataType": "Number", "StringValue": str(self.serial)}}
        return entry

    def sending(self, queue, entry, original=None):
        return self.ledger.sending(
            entry["MessageBody"],
            queue,
            entry.get("MessageGroupId"),
            entry.get("MessageDeduplicationId"),
            original,
            entry.get("DelaySeconds", 0),
        )

    def send(self, queue):
        entry = self.entry(queue)
        message = self.sending(queue, entry)
        self.ledger.sent(message, self.call("SendMessage", QueueUrl=queue, **entry))

    def send_again(self):
        """Another body under a deduplication id of before."""
        original = self.ledger.accepted.get(self.random.choice(self.keys))
        if original is None:
            return
        self.serial += 1
        entry = {
            "MessageBody": "%s-%06d" % (self.label, self.serial),
            "MessageGroupId": original.group,
            "MessageDeduplicationId": original.key,
        }
        message = self.sending(FIFO, entry, original)
        self.ledger.sent(message, self.call("SendMessage", QueueUrl=FIFO, **entry))

    def send_batch(self, queue):
        entries = [dict(self.entry(queue), Id=str(n)) for n in range(self.random.randint(1, 10))]
        messages = [self.sending(queue, entry) for entry in entries]
        self.ledger.sending_batch(messages)
        answer = self.call("SendMessageBatch", QueueUrl=queue, Entries=entries)
        assert len(answer["Successful"]) == len(entries), answer
        for success in answer["Successful"]:
            self.ledger.sent(messages[int(success["Id"])], success)
        self.ledger.sent_batch(messages)

    # ---- receives ----

    def receive(self, queue):
        members = {}
        visibility_s = None
        if self.random.random() < 0.7:
            visibility_s = members["VisibilityTimeout"] = self.random.choice(VISIBILITIES_S)
        if queue.endswith(".fifo") and self.random.random() < 0.5:
            self.serial += 1
            members["ReceiveRequestAttemptId"] = "%s-%d" % (self.label, self.serial)
        receive = self.ledger.receiving(queue, visibility_s, members.get("ReceiveRequestAttemptId"))
        answer = self.call(
            "ReceiveMessage",
            QueueUrl=queue,
            MaxNumberOfMessages=self.random.randint(1, 10),
            WaitTimeSeconds=int(self.random.random() < 0.03),
            MessageSystemAttributeNames=["All"],
            **members,
        )
        self.leases += [(queue, *lease) for lease in self.ledger.received(receive, answer.get("Messages", []))]
        self.random.shuffle(self.leases)
        del self.leases[40:]

    def take(self, most):
        """Some leases of one queue."""
        queue = self.leases[-1][0]
        taken = [lease for lease in self.leases if lease[0] == queue][-most:]
        self.leases = [lease for lease in self.leases if lease not in taken]
        return queue, taken

    # ---- deletes ----

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
        batch = [(message, queue, count) for _, message, _, count in leases]
        for entry in batch:
            self.ledger.deleting(*entry)
        self.ledger.deleting_batch(batch)
        entries = [{"Id": str(n), "ReceiptHandle": lease[2]} for n, lease in enumerate(leases)]
        answer = self.call("DeleteMessageBatch", QueueUrl=queue, Entries=entries)
        for success in answer.get("Successful", []):
            self.ledger.deleted(*batch[int(success["Id"])])
        for failure in answer.get("Failed", []):
            self.ledger.not_deleted(*batch[int(failure["Id"])])
        self.ledger.deleted_batch(batch)

    # ---- visibility ----

    def hide(self):
        queue, ((_, message, handle, _),) = self.take(1)
        visibility_s = self.random.choice(VISIBILITIES_S)
        hide = self.ledger.hiding(message, visibility_s)
        try:
            self.call("ChangeMessageVisibility", QueueUrl=queue, ReceiptHandle=handle, VisibilityTimeout=visibility_s)
        except Refused:
            self.ledger.not_hidden(message, hide)
        else:
            self.ledger.hidden(message, hide)

    def hide_batch(self):
        queue, leases = self.take(self.random.randint(1, 10))
        entries, hides = [], []
        for number, (_, message, handle, _) in enumerate(leases):
            visibility_s = self.random.choice(VISIBILITIES_S)
            hides.append((message, self.ledger.hiding(message, visibility_s)))
            entries.append({"Id": str(number), "ReceiptHandle": handle, "VisibilityTimeout": visibility_s})
        answer = self.call("ChangeMessageVisibilityBatch", QueueUrl=queue, Entries=entries)
        for success in answer.get("Successful", []):
            self.ledger.hidden(*hides[int(success["Id"])])
        for failure in answer.get("Failed", []):
            self.ledger.not_hidden(*hides[int(failure["Id"])])
