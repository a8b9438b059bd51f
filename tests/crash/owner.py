"""A client that makes, changes and deletes queues of its own, and knows exactly what they hold."""
import json

from client import Client


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
