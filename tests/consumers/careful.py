"""A producer and a consumer that are right whatever the queue does to them, in plain Python.

Every call is made again until it is answered; what an answer says is believed only if its sums are
right. The consumer keeps the rules of reference.py that concern the queue: effect before delete, an
effect counts once, nothing is begun on a lapsed lease, nothing in a FIFO group behind a failure.
What they see goes into an Account (account.py), which knows what a queue may never do.
"""
import hashlib
import http.client
import json
import random
import threading
import time

ANSWER_S = 3  # beyond the wait of a long poll
PAUSE_FIRST_S, PAUSE_LAST_S = 0.02, 0.5
FINAL = ("ReceiptHandleIsInvalid", "InvalidParameterValue", "MessageNotInflight")
LEASE_MARGIN_S = 0.5
MANY_GROUPS = 6


class Unanswered(Exception):
    """No answer, or none that can be read: the call may or may not have happened."""


class Refused(Exception):
    """The server said no."""

    def __init__(self, status, code):
        super().__init__("%d %s" % (status, code))
        self.code = code


class Over(Exception):
    """It is time to end."""


def md5(text):
    return hashlib.md5(text.encode()).hexdigest()


class Caller:
    """Calls by AWS JSON on a connection that is made anew whenever it breaks."""

    def __init__(self, port, name, give_up, answer_s=ANSWER_S):
        self.port = port
        self.answer_s = answer_s
        self.give_up = give_up
        self.http = None
        self.calls = self.unanswered = self.refused = 0
        self.random = random.Random(name)
        self.authorization = (
            "AWS4-HMAC-SHA256 Credential=%s/20260101/us-east-1/sqs/aws4_request, "
            "SignedHeaders=host, Signature=%s" % (name, "0" * 64)
        )

    def ask(self, action, members, wait_s=0):
        """One attempt."""
        headers = {
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Target": "AmazonSQS." + action,
            "Authorization": self.authorization,
        }
        self.calls += 1
        try:
            if self.http is None:
                self.http = http.client.HTTPConnection("127.0.0.1", self.port)
            self.http.timeout = self.answer_s + wait_s
            if self.http.sock is not None:
                self.http.sock.settimeout(self.answer_s + wait_s)
            self.http.request("POST", "/", json.dumps(members).encode(), headers)
            answer = self.http.getresponse()
            document = json.loads(answer.read() or b"{}")
            if answer.status == 200:
                return document
            code = answer.getheader("x-amzn-query-error", "").split(";")[0]
            code = code or document.get("__type", "").split("#")[-1]
        except (OSError, http.client.HTTPException, ValueError, AttributeError) as problem:
            self.close()
            self.unanswered += 1
            raise Unanswered(repr(problem)) from problem
        self.refused += 1
        raise Refused(answer.status, code)

    def insist(self, action, members, wait_s=0, until=None):
        """Attempts until there is an answer, each pause longer; Over when it is time to end, Refused
        when the same call would only be refused again."""
        pause_s = PAUSE_FIRST_S
        while not self.give_up.is_set():
            try:
                return self.ask(action, members, wait_s)
            except Unanswered:
                pass
            except Refused as refusal:
                if refusal.code in FINAL:
                    raise
            if until is not None and time.monotonic() + pause_s > until:
                break
            self.give_up.wait(pause_s * self.random.uniform(0.5, 1))
            pause_s = min(PAUSE_LAST_S, 2 * pause_s)
        raise Over(action)

    def close(self):
        if self.http is not None:
            self.http.close()
            self.http = None


class Actor(threading.Thread):
    """Acts until `over`, and then ends as soon as nothing is half done."""

    def __init__(self, name, port, account, over, give_up):
        super().__init__(daemon=True, name=name)
        self.caller = Caller(port, name, give_up)
        self.random = self.caller.random
        self.account = account
        self.over = over

    def run(self):
        try:
            while not self.over.is_set():
                self.act()
        except Over:
            pass
        except Exception as problem:  # told by the test, whose thread is another
            self.account.wrong("%s: %s: %s", self.name, type(problem).__name__, problem)
        finally:
            self.caller.close()

    def act(self):
        raise NotImplementedError


class Producer(Actor):
    """Sends alone and in batches, and sends again what was not answered. On a FIFO queue the next
    message of a group goes when the one before it was answered."""

    def __init__(self, queue, pause_s, poison_every=0, **how):
        super().__init__("producer-" + queue, **how)
        self.queue = queue
        self.pause_s = pause_s
        self.poison_every = poison_every
        self.serial = 0
        self.write = plain

    def act(self):
        entries = [self.entry(n) for n in range(self.random.choice((1, 1, 2, 5)))]
        while entries:
            if len(entries) == 1:
                members = {k: v for k, v in entries[0].items() if k != "Id"}
                self.account.sending(self.queue, entries)
                answer = self.caller.insist("SendMessage", dict(members, QueueUrl=self.queue))
                done = [dict(answer, Id=entries[0]["Id"])]
            else:
                self.account.sending(self.queue, entries)
                answer = self.caller.insist("SendMessageBatch", {"QueueUrl": self.queue, "Entries": entries})
                done = answer.get("Successful", [])
            entries = self.left(entries, done)
        self.over.wait(self.pause_s)

    def left(self, entries, done):
        """Those that failed, or whose sum is not that of what was sent."""
        sums = {entry["Id"]: entry.get("MD5OfMessageBody") for entry in done}
        ids = {entry["Id"]: entry.get("MessageId") for entry in done}
        left = []
        for entry in entries:
            if entry["Id"] in sums and sums[entry["Id"]] in (None, md5(entry["MessageBody"])):
                self.account.sent(self.queue, entry["MessageBody"], ids[entry["Id"]])
            else:
                left.append(entry)
        return left

    def entry(self, number):
        self.serial += 1
        is_poison = self.poison_every and self.serial % self.poison_every == 0
        entry = {"Id": str(number), "MessageBody": self.write(self.queue, self.serial, is_poison)}
        if self.queue.endswith(".fifo"):
            entry["MessageDeduplicationId"] = "%s-%06d" % (self.name, self.serial)
            # No two of a group in one batch; and what never succeeds blocks a group of its own.
            entry["MessageGroupId"] = "p%d" % self.serial if is_poison else "g%d" % (self.serial % MANY_GROUPS)
        return entry


def plain(queue, serial, is_poison):
    return "%s %06d%s" % (queue, serial, " poison" if is_poison else "")


class Consumer(Actor):
    """Takes from a queue until the producer is done and the queue is empty, as far as it can see."""

    def __init__(self, queue, number, visibility_s, wait_s, **how):
        super().__init__("consumer-%s-%d" % (queue, number), **how)
        self.queue = queue
        self.visibility_s = visibility_s
        self.wait_s = wait_s

    def act(self):
        members = {
            "QueueUrl": self.queue,
            "MaxNumberOfMessages": self.random.choice((1, 10, 10)),
            "WaitTimeSeconds": self.random.choice((0, self.wait_s)),
            "MessageSystemAttributeNames": ["All"],
        }
        receive = self.account.receiving(self.queue)
        asked_at = time.monotonic()
        try:
            answer = self.caller.ask("ReceiveMessage", members, members["WaitTimeSeconds"])
        except (Unanswered, Refused):
            self.over.wait(PAUSE_LAST_S * self.random.uniform(0.2, 1))
            return
        good = [m for m in answer.get("Messages", []) if m.get("MD5OfBody") in (None, md5(m["Body"]))]
        self.account.received(receive, good)
        self.work_off(good, asked_at + self.visibility_s - LEASE_MARGIN_S)
        if not good and members["WaitTimeSeconds"] == 0:
            self.over.wait(0.1)

    def work_off(self, messages, ends_at):
        blocked = set()
        done = []
        for message in messages:
            group = message.get("Attributes", {}).get("MessageGroupId") if self.queue.endswith(".fifo") else None
            is_poison = message["Body"].endswith("poison")
            if group in blocked or is_poison or time.monotonic() >= ends_at:
                if group is not None:
                    blocked.add(group)
                self.hand_back(message, ends_at)
                continue
            self.account.effect(self.queue, message["Body"])
            done.append(message)
        if len(done) > 2:
            self.delete_batch(done, ends_at)
        else:
            for message in done:
                self.delete(message, ends_at)

    def delete(self, message, ends_at):
        members = {"QueueUrl": self.queue, "ReceiptHandle": message["ReceiptHandle"]}
        try:
            self.caller.insist("DeleteMessage", members, until=ends_at)
        except (Refused, Over):
            return  # it comes back
        self.account.deleted(self.queue, message)

    def delete_batch(self, messages, ends_at):
        left = {str(n): message for n, message in enumerate(messages)}
        while left and time.monotonic() < ends_at:
            entries = [{"Id": n, "ReceiptHandle": m["ReceiptHandle"]} for n, m in left.items()]
            try:
                answer = self.caller.insist(
                    "DeleteMessageBatch", {"QueueUrl": self.queue, "Entries": entries}, until=ends_at
                )
            except (Refused, Over):
                return
            for entry in answer.get("Successful", []):
                self.account.deleted(self.queue, left.pop(entry["Id"]))
            for entry in answer.get("Failed", []):
                if entry["Code"] in FINAL:
                    del left[entry["Id"]]

    def hand_back(self, message, ends_at):
        members = {"QueueUrl": self.queue, "ReceiptHandle": message["ReceiptHandle"], "VisibilityTimeout": 0}
        try:
            self.caller.insist("ChangeMessageVisibility", members, until=ends_at)
        except (Refused, Over):
            pass  # it comes back when the lease ends
