"""What clients rely on, seen from a real one: each assumption made, and the same done as AWS asks."""
import boto3
import pytest
from botocore import UNSIGNED
from botocore.config import Config

from parties import events

COUNTS = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]


class Run:
    """A server that looks from its start on, and clients with one connection each."""

    def __init__(self, start, *options):
        self.server = start("--assumptions", *options)
        self.clients = []
        self.sqs = self.client()

    def client(self, key="AKIDEXAMPLE", region="us-east-1", signed=True):
        config = Config(retries={"total_max_attempts": 1}, max_pool_connections=1,
                        **({} if signed else {"signature_version": UNSIGNED}))
        client = boto3.session.Session().client(
            "sqs", endpoint_url=self.server.endpoint, region_name=region, aws_access_key_id=key,
            aws_secret_access_key="x", config=config)
        self.clients.append(client)
        return client

    def queue(self, name="q", client=None, ready=True, **attributes):
        """A new queue, and the second that it needs."""
        url = (client or self.sqs).create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        if ready:
            self.wait(1)
        return url

    def wait(self, seconds):
        self.server.advance_ms(int(seconds * 1000))

    def receive(self, url, client=None, **members):
        return (client or self.sqs).receive_message(QueueUrl=url, **members).get("Messages", [])

    def counts(self, url, client=None):
        return (client or self.sqs).get_queue_attributes(QueueUrl=url, AttributeNames=COUNTS)["Attributes"]

    def report(self):
        status, report = self.server.control("GET", "/_quern/assumptions")
        assert status == 200
        return report

    def found(self):
        return {one["name"]: one for one in self.report()["assumptions"]}

    def close(self):
        for client in self.clients:
            client.close()


def name_reused(run, right):
    run.sqs.delete_queue(QueueUrl=run.queue())
    if right:
        run.wait(60)
    run.queue()


def use_after_create(run, right):
    run.sqs.send_message(QueueUrl=run.queue(ready=right), MessageBody="x")


def queue_not_created(run, right):
    url = run.queue() if right else run.server.endpoint + "/000000000000/q"
    run.sqs.send_message(QueueUrl=url, MessageBody="x")


queue_not_created.options = ["--auto-create"]


def purge_again(run, right):
    url = run.queue()
    run.sqs.purge_queue(QueueUrl=url)
    if right:
        run.wait(60)
    run.sqs.purge_queue(QueueUrl=url)


def send_after_purge(run, right):
    url = run.queue()
    run.sqs.purge_queue(QueueUrl=url)
    if right:
        run.wait(60)
    run.sqs.send_message(QueueUrl=url, MessageBody="x")


def deduplication_after_purge(run, right):
    url = run.queue("q.fifo", FifoQueue="true")
    message = {"QueueUrl": url, "MessageBody": "x", "MessageGroupId": "g", "MessageDeduplicationId": "id"}
    run.sqs.send_message(**message)
    run.sqs.purge_queue(QueueUrl=url)
    run.wait(60)
    run.sqs.send_message(**{**message, "MessageDeduplicationId": "other"} if right else message)


def counts_after_change(run, right):
    url = run.queue()
    run.sqs.send_message(QueueUrl=url, MessageBody="x")
    if right:
        run.wait(60)
    assert run.counts(url)["ApproximateNumberOfMessages"] == "1"


def counts_until_zero(run, right):
    url, worker = run.queue(), run.client()
    worker.send_message(QueueUrl=url, MessageBody="x")
    (message,) = run.receive(url, worker)
    assert run.counts(url)["ApproximateNumberOfMessagesNotVisible"] == "1"
    worker.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    for _ in range(10 if right else 1):
        assert run.counts(url)["ApproximateNumberOfMessagesNotVisible"] == "0"
        if right:
            run.wait(20)
    run.sqs.delete_queue(QueueUrl=url)


def empty_poll(run, right):
    url, producer = run.queue(), run.client()
    for _ in range(2):
        producer.send_message(QueueUrl=url, MessageBody="x")
    while messages := run.receive(url, WaitTimeSeconds=1 if right else 0):
        run.sqs.delete_message(QueueUrl=url, ReceiptHandle=messages[0]["ReceiptHandle"])
    run.sqs.delete_queue(QueueUrl=url)


empty_poll.options = ["--fault", "on ReceiveMessage nth 2 do false-empty"]


def full_batch(run, right):
    url, producer = run.queue(), run.client()
    for _ in range(3):
        producer.send_message(QueueUrl=url, MessageBody="x")
    while messages := run.receive(url, MaxNumberOfMessages=10):
        for message in messages:
            run.sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        if not right and len(messages) < 10:
            break
    run.sqs.delete_queue(QueueUrl=url)


full_batch.options = ["--fault", "on ReceiveMessage once do short 2"]


def sent_and_received(run):
    url = run.queue()
    run.client().send_message(QueueUrl=url, MessageBody="x")
    return url, run.receive(url)[0]["ReceiptHandle"]


def expired_handle(run, right):
    url, handle = sent_and_received(run)
    run.wait(29 if right else 32)
    run.sqs.delete_message(QueueUrl=url, ReceiptHandle=handle)


def lapsed_extension(run, right):
    url, handle = sent_and_received(run)
    run.wait(29 if right else 32)
    run.sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=handle, VisibilityTimeout=30)


def older_handle_change(run, right):
    url, handle = sent_and_received(run)
    run.wait(32)
    (again,) = run.receive(url, run.client())
    if right:
        handle = again["ReceiptHandle"]
    run.sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=handle, VisibilityTimeout=30)


def older_handle_delete(run, right):
    url, handle = sent_and_received(run)
    run.wait(32)
    (again,) = run.receive(url)
    if right:
        handle = again["ReceiptHandle"]
    run.sqs.delete_message(QueueUrl=url, ReceiptHandle=handle)


def attribute_at_once(run, right):
    url = run.queue()
    run.sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "2"})
    if right:
        run.wait(60)
    run.client().send_message(QueueUrl=url, MessageBody="x")
    assert run.receive(url)
    run.wait(2)
    assert run.receive(url)


def bare_queue_name(run, right):
    url = run.queue()
    run.sqs.send_message(QueueUrl=url if right else "q", MessageBody="x")


def unsigned_request(run, right):
    run.client(signed=right).list_queues()


def other_account(run, right):
    url = run.queue(client=run.client("111111111111"))
    run.client("111111111111" if right else "222222222222").send_message(QueueUrl=url, MessageBody="x")


def other_region(run, right):
    url = run.queue(client=run.client(region="eu-west-1"))
    run.client(region="eu-west-1" if right else "eu-north-1").send_message(QueueUrl=url, MessageBody="x")


other_region.options = ["--region", "any"]


def short_retention(run, right):
    run.queue(MessageRetentionPeriod="60" if right else "59")


short_retention.options = ["--limit", "retention-min=1"]

def standard_order(run, right):
    """In a fair queue the messages of a tenant with 30 in flight are passed by those of the others. The
    wrong client fails on a message that comes before an older one."""
    url, producer = run.queue(), run.client()
    for _ in range(3):
        producer.send_message_batch(QueueUrl=url, Entries=[
            {"Id": str(i), "MessageBody": "x", "MessageGroupId": "noisy"} for i in range(10)])
        assert len(run.receive(url, producer, MaxNumberOfMessages=10, VisibilityTimeout=3600)) == 10
    for tenant in "abc":
        for group in ("noisy", tenant):
            producer.send_message(QueueUrl=url, MessageBody=group, MessageGroupId=group)
        (message,) = run.receive(url)
        assert message["Body"] == tenant
        if not right:
            run.sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=5)
            (older,) = run.receive(url)
            assert older["Body"] == "noisy"
            run.sqs.delete_message(QueueUrl=url, ReceiptHandle=older["ReceiptHandle"])
            run.wait(5)
            (message,) = run.receive(url)
        run.sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


MADE = [name_reused, use_after_create, queue_not_created, purge_again, send_after_purge,
        deduplication_after_purge, counts_after_change, counts_until_zero, empty_poll, full_batch,
        expired_handle, lapsed_extension, older_handle_change, older_handle_delete, attribute_at_once,
        bare_queue_name, unsigned_request, other_account, other_region, short_retention, standard_order]


@pytest.fixture
def run(start):
    runs = []

    def made(*options):
        runs.append(Run(start, *options))
        return runs[-1]

    yield made
    for one in runs:
        one.close()


@pytest.mark.parametrize("make", MADE, ids=lambda make: make.__name__)
def test_an_assumption_is_found_with_the_requests_that_show_it(run, make):
    made = run(*getattr(make, "options", []))
    make(made, False)
    found = made.found()
    name = make.__name__.replace("_", "-")
    assert set(found) == {name}
    one = found[name]
    assert one["count"] == 1 and one["title"] and one["promise"] and one["fix"]
    assert one["source"].startswith("https://docs.aws.amazon.com/")
    (example,) = one["examples"]
    asked = {e["req"]: e for e in events(made.server) if e["kind"] == "api.in"}
    assert example["requests"] and set(example["requests"]) <= set(asked)
    last = example["events"][-1]
    call = asked[last["req"]]
    assert (last["conn"], last.get("instance")) == (call["conn"], call.get("instance"))
    assert example["queue"] == call.get("queue", "")
    assert one["first"] == one["last"] == last["at"]


@pytest.mark.parametrize("make", MADE, ids=lambda make: make.__name__)
def test_who_does_as_aws_asks_is_not_named(run, make):
    made = run(*getattr(make, "options", []))
    make(made, True)
    assert made.found() == {}


# ---- the page ----


def test_the_answer_says_what_was_looked_at(run):
    made = run()
    use_after_create(made, False)
    report = made.report()
    assert report["live"] is True and report["watched"] == len(MADE)
    assert report["missed"] == report["undetailed"] == report["forgotten"] == 0
    assert report["events"] >= 6 and report["from"] <= report["until"]
    assert made.report() == report


def test_without_the_option_the_trace_is_looked_through_when_asked(start):
    server = start()
    assert server.control("GET", "/_quern/assumptions")[1]["assumptions"] == []
    client = boto3.client("sqs", endpoint_url=server.endpoint, region_name="us-east-1",
                          aws_access_key_id="a", aws_secret_access_key="b")
    url = client.create_queue(QueueName="q")["QueueUrl"]
    for _ in range(2):
        client.purge_queue(QueueUrl=url)
    for _ in range(2):
        report = server.control("GET", "/_quern/assumptions")[1]
        assert report["live"] is False
        assert {one["name"] for one in report["assumptions"]} == {"purge-again", "use-after-create"}
    client.close()


def test_calls_that_came_before_anybody_asked_are_counted_and_show_nothing(start):
    server = start()
    client = boto3.client("sqs", endpoint_url=server.endpoint, region_name="us-east-1",
                          aws_access_key_id="a", aws_secret_access_key="b")
    url = client.create_queue(QueueName="q")["QueueUrl"]
    client.purge_queue(QueueUrl=url)
    client.close()
    report = server.control("GET", "/_quern/assumptions")[1]
    assert (report["assumptions"], report["undetailed"]) == ([], 2)


def test_a_long_run_loses_nothing_while_it_is_watched(run):
    made = run()
    name_reused(made, False)
    url = made.queue("other")
    for _ in range(40):
        made.sqs.send_message_batch(QueueUrl=url, Entries=[
            {"Id": str(i), "MessageBody": '{"idempotencyKey":"%s"}' % ("k" * 30000)} for i in range(10)])
    assert events(made.server)[0]["seq"] > 1, "the ring has not turned over"
    report = made.report()
    assert [one["name"] for one in report["assumptions"]] == ["name-reused"]
    assert report["missed"] == 0


def test_events_that_are_gone_are_told(start):
    server = start()
    server.control("GET", "/_quern/assumptions")
    client = boto3.client("sqs", endpoint_url=server.endpoint, region_name="us-east-1",
                          aws_access_key_id="a", aws_secret_access_key="b")
    url = client.create_queue(QueueName="q")["QueueUrl"]
    for _ in range(40):
        client.send_message_batch(QueueUrl=url, Entries=[
            {"Id": str(i), "MessageBody": '{"idempotencyKey":"%s"}' % ("k" * 30000)} for i in range(10)])
    client.close()
    report = server.control("GET", "/_quern/assumptions")[1]
    assert report["missed"] > 0 and report["live"] is False


def test_the_run_before_a_kill_is_looked_at_too(start, tmp_path):
    options = ("--db", str(tmp_path / "q.db"), "--trace", str(tmp_path / "trace"), "--assumptions")
    server = start(*options)
    client = boto3.client("sqs", endpoint_url=server.endpoint, region_name="us-east-1",
                          aws_access_key_id="a", aws_secret_access_key="b")
    url = client.create_queue(QueueName="q")["QueueUrl"]
    server.advance_ms(1000)
    for _ in range(2):
        client.purge_queue(QueueUrl=url)
    client.close()
    server.kill()
    report = start(*options).control("GET", "/_quern/assumptions")[1]
    assert [one["name"] for one in report["assumptions"]] == ["purge-again"]


def test_the_page_knows_no_parameters(server):
    assert server.control("GET", "/_quern/assumptions?x=1")[0] == 400
    assert server.control("POST", "/_quern/assumptions", {})[0] == 405
