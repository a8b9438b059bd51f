"""The steps of behaviours/consuming.json: a consumer takes messages from a queue.

    {"send": QUEUE, "with": MEMBERS}         one message, by the client, or if it is a framework
                                             without a producer, by plain HTTP
    {"consume": QUEUE, "fail": {BODY: N}, "batch": N}   the client begins to poll the queue, up to N
                                             (10) messages at a time; its handler fails the first N
                                             times that it is given BODY
    {"handled": QUEUE, "bodies": [...], "failed": N}    waits until the handler was given exactly
                                             these so far, in any order, and failed N times (0)
                                             "groups": {G: [...]} instead: these in this order
                                             "see": {PATH: VALUE} of the first one
    {"counts": QUEUE, "visible": N, "in_flight": N}     waits until the queue holds so many (0 each)
    {"stop": QUEUE}                          the consumer ends; nothing more was handled meanwhile

A framework does this itself, over its runner. For a client of the API there is a plain loop here:
receive, hand over, delete what did not fail.
"""

import itertools
import threading
import time

WORDS = ("send", "consume", "handled", "counts", "stop")
LIMIT_S = 120
LONGEST_POLL_S = 20
numbers = itertools.count(1)


class Lacking(Exception):
    """The client has no way to say this."""


def answer_of(behaviour, reply, what):
    """The output of a call, judged like any other."""
    answer = reply.result(60)
    behaviour.judge({}, what, {}, answer)
    return answer["output"]


class Loop:
    """A consumer made of the calls of an API client."""

    def __init__(self, behaviour, url, fail, batch):
        self.behaviour = behaviour
        self.url = url
        self.left_to_fail = dict(fail)
        self.batch = batch
        self.handed = []
        self.trouble = None
        self.ending = False
        self.thread = threading.Thread(target=self.poll, daemon=True)
        self.thread.start()

    def call(self, action, members):
        client, server = self.behaviour.client, self.behaviour.server
        reply = client.call(server.endpoint, action, dict(members, QueueUrl=self.url))
        return answer_of(self.behaviour, reply, action)

    def poll(self):
        wish = {"MaxNumberOfMessages": self.batch, "WaitTimeSeconds": LONGEST_POLL_S}
        for member in ("SystemAttributeNames", "MessageAttributeNames"):
            if "ReceiveMessage." + member not in self.behaviour.client.lacks:
                wish[member] = ["All"]
        try:
            while not self.ending:
                output = self.call("ReceiveMessage", wish)
                self.take(output.get("Messages") or [])
        except Exception as error:  # told by the step that waits for this consumer
            self.trouble = error

    def take(self, messages):
        done = [message["ReceiptHandle"] for message in messages if self.handle(message)]
        if len(done) > 1 and "DeleteMessageBatch" not in self.behaviour.client.lacks:
            entries = [{"Id": str(n), "ReceiptHandle": h} for n, h in enumerate(done)]
            output = self.call("DeleteMessageBatch", {"Entries": entries})
            assert not output.get("Failed"), output
        else:
            for handle in done:
                self.call("DeleteMessage", {"ReceiptHandle": handle})

    def handle(self, message):
        for member in ("SystemAttributeNames", "MessageAttributeNames"):
            if "ReceiveMessage." + member in self.behaviour.client.lacks:
                message["lacks"] = "ReceiveMessage." + member
        left = self.left_to_fail.get(message["Body"], 0)
        self.left_to_fail[message["Body"]] = left - 1
        self.handed.append(dict(message, failed=left > 0))
        return left <= 0

    def seen(self):
        if self.trouble:
            raise self.trouble
        return list(self.handed)

    def stop(self):
        """The clock stands still, so a poll that is under way is ended by moving it."""
        self.ending = True
        while self.thread.is_alive():
            self.behaviour.server.advance(LONGEST_POLL_S * 1000)
            self.thread.join(0.2)


class Native:
    """A consumer of a framework, in its runner."""

    def __init__(self, behaviour, url, fail, batch):
        self.behaviour = behaviour
        self.name = "c%d" % next(numbers)
        members = {"queue_url": url, "queue_name": url.rsplit("/", 1)[1], "fail": fail}
        self.call("consume.start", dict(members, batch=batch))

    def call(self, action, members):
        client, server = self.behaviour.client, self.behaviour.server
        reply = client.call(server.endpoint, action, dict(members, consumer=self.name))
        return answer_of(self.behaviour, reply, action)

    def seen(self):
        return self.call("consume.seen", {})["seen"]

    def stop(self):
        self.call("consume.stop", {})


def until(condition, tell):
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, tell()
        time.sleep(0.03)


def send(behaviour, step, members):
    url = behaviour.variable("url:" + step["send"])
    members = dict(members, QueueUrl=url)
    client, server = behaviour.client, behaviour.server
    if client.kind == "api":
        answer_of(behaviour, client.call(server.endpoint, "SendMessage", members), "")
    elif client.sends:
        members["queue_name"] = step["send"]
        answer_of(behaviour, client.call(server.endpoint, "send", members), "")
    else:
        server.give("SendMessage", members)


def consume(behaviour, step):
    kind = Loop if behaviour.client.kind == "api" else Native
    url = behaviour.variable("url:" + step["consume"])
    behaviour.consumers[step["consume"]] = kind(
        behaviour, url, step.get("fail", {}), step.get("batch", 10)
    )


def of_group(bodies, group):
    """The bodies of the behaviours begin with the name of their group."""
    return [body for body in bodies if body.startswith(group)]


def handled(behaviour, step):
    consumer = behaviour.consumers[step["handled"]]
    groups = behaviour.fill(step.get("groups", {}))
    wanted = behaviour.fill(step.get("bodies", [])) + sum(groups.values(), [])
    so_far = []

    def enough():
        so_far[:] = consumer.seen()
        return len(so_far) >= len(wanted)

    def bodies():
        return [message["Body"] for message in so_far]

    until(enough, lambda: "wanted %s handled, got %s" % (wanted, bodies()))
    assert sorted(bodies()) == sorted(wanted), "wanted %s handled, got %s" % (wanted, bodies())
    failed = sum(message["failed"] for message in so_far)
    assert failed == step.get("failed", 0), "%d failed of %s" % (failed, so_far)
    for group, order in groups.items():
        assert of_group(bodies(), group) == order, "order of group %s: %s" % (group, bodies())
    if "see" in step and "lacks" in so_far[0]:
        raise Lacking(so_far[0]["lacks"])
    if "see" in step:
        behaviour.judge({"expect": step["see"]}, "", {}, {"output": so_far[0]})
    consumer.expected = len(wanted)


def counts(behaviour, step):
    wanted = {word: step.get(word, 0) for word in ("visible", "in_flight", "delayed")}
    got = {}

    def so():
        got.update(behaviour.server.counts(step["counts"]))
        return all(got[word] == wanted[word] for word in wanted)

    until(so, lambda: "wanted %s, got %s" % (wanted, {word: got[word] for word in wanted}))


def stop(behaviour, step):
    consumer = behaviour.consumers[step["stop"]]
    now = consumer.seen()
    assert len(now) == consumer.expected, "more was handled: %s" % now
    behaviour.consumers.pop(step["stop"]).stop()


def run_step(behaviour, step, members):
    if "send" in step:
        send(behaviour, step, members)
    elif "consume" in step:
        consume(behaviour, step)
    elif "handled" in step:
        handled(behaviour, step)
    elif "counts" in step:
        counts(behaviour, step)
    else:
        stop(behaviour, step)
