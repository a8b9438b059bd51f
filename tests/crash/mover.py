"""A client that lets messages die and moves them back, round and round, and knows of its move tasks."""
from client import Client
from durable import Refused

RATES = ({}, {}, {"MaxNumberOfMessagesPerSecond": 500}, {"MaxNumberOfMessagesPerSecond": 20})
REFUSALS = ("InvalidParameterValue", "ResourceNotFoundException")


def arn(queue):
    return "arn:aws:sqs:us-east-1:000000000000:" + queue


class Task:
    """What the answers said of one move task."""

    def __init__(self, handle, rate):
        self.handle = handle
        self.rate = rate.get("MaxNumberOfMessagesPerSecond")
        self.moved = 0  # at least
        self.to_move = None
        self.cancel_is_asked = False
        self.cancel_is_answered = False


class Circle:
    """A queue, its dead-letter queue, the messages in them, and the latest move task back."""

    def __init__(self, name, count):
        self.name = name
        self.dead = name.replace(".fifo", "") + "-dead" + (".fifo" if name.endswith(".fifo") else "")
        self.bodies = sorted("circling %d" % n for n in range(count))
        self.task = None  # answered
        self.start_is_open = False  # asked, and not answered

    def entries(self):
        for number, body in enumerate(self.bodies):
            entry = {"Id": "e%d" % number, "MessageBody": body}
            if self.name.endswith(".fifo"):
                entry.update(MessageGroupId="g%d" % (number % 7), MessageDeduplicationId="d%d" % number)
            yield entry


class Mover(Client):
    def __init__(self, number, seed, circle):
        super().__init__(number, seed)
        self.circle = circle

    def act(self):
        choice = self.random.random()
        try:
            if choice < 0.6:
                self.call("ReceiveMessage", QueueUrl=self.circle.name, MaxNumberOfMessages=10)
            elif choice < 0.8:
                self.move()
            elif choice < 0.95:
                self.look()
            else:
                self.cancel()
        except Refused as refused:
            assert refused.code in REFUSALS, refused

    def move(self):
        circle = self.circle
        rate = self.random.choice(RATES)
        circle.start_is_open = True
        try:
            answer = self.call("StartMessageMoveTask", SourceArn=arn(circle.dead), **rate)
        except Refused:
            circle.start_is_open = False
            raise
        circle.task = Task(answer["TaskHandle"], rate)
        circle.start_is_open = False

    def look(self):
        results = self.call("ListMessageMoveTasks", SourceArn=arn(self.circle.dead)).get("Results", [])
        if self.circle.task is not None:
            problem = judge(self.circle.task, results)
            assert problem is None, problem

    def cancel(self):
        task = self.circle.task
        if task is not None and task.handle is not None:
            was_asked = task.cancel_is_asked
            task.cancel_is_asked = True
            try:
                answer = self.call("CancelMessageMoveTask", TaskHandle=task.handle)
            except Refused:
                task.cancel_is_asked = was_asked
                raise
            task.cancel_is_answered = True
            task.moved = max(task.moved, answer["ApproximateNumberOfMessagesMoved"])


def judge(task, results):
    """What is wrong with the list of tasks, newest first, of which the first is `task`; or None. From
    here on the task is known as it is listed."""
    if not results:
        return "the move task is not listed any more"
    listed = results[0]
    status = listed["Status"]
    if listed.get("MaxNumberOfMessagesPerSecond") != task.rate:
        return "the move task is listed with another rate: %r" % listed
    if status in ("RUNNING", "CANCELLING") and listed.get("TaskHandle") not in (task.handle, None):
        return "another move task is listed: %r" % listed
    if listed["ApproximateNumberOfMessagesMoved"] < task.moved:
        return "%d messages were moved, and are counted as %r" % (task.moved, listed)
    if task.to_move not in (None, listed["ApproximateNumberOfMessagesToMove"]):
        return "%d messages were to move, now %r" % (task.to_move, listed)
    if status == "FAILED" or (status in ("CANCELLING", "CANCELLED") and not task.cancel_is_asked):
        return "the move task has ended as %r" % listed
    if status == "RUNNING" and task.cancel_is_answered:
        return "the cancelled move task runs: %r" % listed
    task.moved = listed["ApproximateNumberOfMessagesMoved"]
    task.to_move = listed["ApproximateNumberOfMessagesToMove"]
    return None
