"""Clients of a server with fault rules: each has a connection, a protocol and an access key of its own."""
import http.client
import json
import threading

from exchange.client import Client


class Party:
    """One client; without a key it does not sign."""

    def __init__(self, server, protocol, key="test"):
        self.client = Client(server)
        self.protocol = protocol
        self.how = {"headers": {"Authorization": None}} if key is None else {"access_key": key}

    def answer(self, action, **members):
        return self.client.call(self.protocol, action, members, **self.how)

    def call(self, action, **members):
        answer = self.answer(action, **members)
        assert answer.status == 200, answer
        return answer.members

    def later(self, action, **members):
        """The same beside what the test does meanwhile: ask for .result()."""
        return Later(self, action, members)

    def send(self, queue, *bodies, **members):
        """The ids of one message for each body."""
        return [self.call("SendMessage", QueueUrl=queue, MessageBody=body, **members)["MessageId"] for body in bodies]

    def receive(self, queue, most=10, **members):
        asked = {"MessageSystemAttributeNames": ["All"], "MessageAttributeNames": ["All"], **members}
        return self.call("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=most, **asked).get("Messages", [])

    def bodies(self, queue, most=10, **members):
        return [message["Body"] for message in self.receive(queue, most, **members)]

    def delete(self, queue, message):
        self.call("DeleteMessage", QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])

    def hide(self, queue, message, seconds):
        self.call(
            "ChangeMessageVisibility",
            QueueUrl=queue,
            ReceiptHandle=message["ReceiptHandle"],
            VisibilityTimeout=seconds,
        )


class Later:
    def __init__(self, party, action, members):
        self.members = None
        self.error = None
        self.thread = threading.Thread(target=self._run, args=(party, action, members), daemon=True)
        self.thread.start()

    def _run(self, party, action, members):
        try:
            self.members = party.call(action, **members)
        except Exception as error:  # shown where the result is asked for
            self.error = error

    def is_waiting(self):
        return self.thread.is_alive()

    def result(self, within_s=20):
        self.thread.join(within_s)
        assert not self.thread.is_alive(), "no answer within %d s" % within_s
        if self.error is not None:
            raise self.error
        return self.members


def count_of(message):
    return int(message["Attributes"]["ApproximateReceiveCount"])


class Rules:
    """The rules of a server, and what its trace tells from now on."""

    def __init__(self, server):
        self.server = server
        self.since = 0
        self.since = max([0] + [event["seq"] for event in self.events()])

    def add(self, *rules):
        status, answer = self.server.control("POST", "/_quern/rules", {"rules": list(rules)})
        assert status == 200, answer

    def refusal(self, rule):
        status, answer = self.server.control("POST", "/_quern/rules", {"rule": rule})
        assert status == 400, answer
        return answer["error"]

    def fired(self):
        return sum(rule["fired"] for rule in self.server.control("GET", "/_quern/rules")[1]["rules"])

    def events(self, kind=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        try:
            connection.request("GET", "/_quern/trace?since=%d" % self.since)
            found = [json.loads(line) for line in connection.getresponse().read().splitlines()]
        finally:
            connection.close()
        return [event for event in found if kind in (None, event["kind"])]

    def not_done(self):
        """What effects say that could not be carried out."""
        reasons = [event.get("reason", "") for event in self.events("fault")]
        return [reason for reason in reasons if reason.startswith("not done")]

    def counts(self, name):
        """Visible, in flight, delayed."""
        status, seen = self.server.control("GET", "/_quern/queues/" + name)
        assert status == 200, seen
        return seen["visible"], seen["in_flight"], seen["delayed"]

    def remove(self):
        assert self.server.control("DELETE", "/_quern/rules")[0] == 200
