"""client/permissions.md: its policies name actions that there are, and are enough for what they are for; its commands run."""
import json
import pathlib
import re
import signal

import botocore.session
import pytest

from commands import run
from exchange.client import Client
from test_chaos_readme import free_port, run_script
from test_consume import Consumer, counts, script, until

PAGE = (pathlib.Path(__file__).resolve().parents[2] / "client" / "permissions.md").read_text()
POLICIES = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE, re.S)]
NAMES = ("CONSUMER", "PRODUCER", "OPERATOR")
QUEUES = ("orders", "orders-bad", "orders-dlq")
ACTIONS = botocore.session.get_session().get_service_model("sqs").operation_names
# Calls of which a rule knows the queue.
OF_A_QUEUE = ("SendMessage", "ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility", "GetQueueAttributes")


def allowed(policy):
    """Pairs of queue and action."""
    return {(statement["Resource"].rsplit(":", 1)[1], action.removeprefix("sqs:"))
            for statement in policy["Statement"] for action in statement["Action"]}


def test_the_actions_are_those_of_sqs():
    assert len(POLICIES) == len(NAMES)
    for policy in POLICIES:
        assert {action for _, action in allowed(policy)} <= set(ACTIONS)


def enforce(name, policy):
    """A rule for each call that the policy does not name; a batch call needs what its single call needs."""
    pairs = allowed(policy)
    for action in ACTIONS:
        single = action.removesuffix("Batch")
        queues = {queue for queue, named in pairs if named == single}
        if not queues:
            yield f"on {action} where instance = {name} do 403 as {name}-{action}"
        elif single in OF_A_QUEUE:
            for queue in set(QUEUES) - queues:
                yield f"on {action} where queue = {queue} and instance = {name} do 403 as {name}-{action}-{queue}"


@pytest.fixture
def server(start):
    rules = [word for name, policy in zip(NAMES, POLICIES) for rule in enforce(name, policy) for word in ("--fault", rule)]
    assert len(rules) > 60
    server = start(*[word for queue in QUEUES for word in ("--queue", queue)], *rules, clock="real")
    client = Client(server)
    arn = client.call("json", "GetQueueAttributes", {"QueueUrl": server.endpoint + "/000000000000/orders-dlq",
                                                     "AttributeNames": ["QueueArn"]}).members["Attributes"]["QueueArn"]
    client.call("json", "SetQueueAttributes", {
        "QueueUrl": server.endpoint + "/000000000000/orders",
        "Attributes": {"RedrivePolicy": json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1}), "VisibilityTimeout": "3"}})
    client.close()
    return server


def as_(server, name, *words, **how):
    return run(*words, AWS_ENDPOINT_URL=server.endpoint, AWS_ACCESS_KEY_ID=name, AWS_SECRET_ACCESS_KEY="s", **how)


def test_each_can_do_its_work_and_not_that_of_the_others(server, tmp_path):
    for body in ("good", "bad", "dead"):
        assert as_(server, "PRODUCER", "send", "orders", body).returncode == 0
    assert "AccessDenied" in as_(server, "PRODUCER", "receive", "orders").stderr
    one = Consumer(server, ["orders", "--quarantine", "orders-bad", "--retry-delay", "1", "--heartbeat", "500ms", *script(tmp_path, """
        case $(cat) in good) sleep 2;; bad) exit 65;; *) exit 75;; esac""")], {"AWS_ACCESS_KEY_ID": "CONSUMER", "AWS_SECRET_ACCESS_KEY": "s"})
    until(lambda: counts(server, "orders") == 0)
    code, lines = one.stop(signal.SIGTERM)
    assert code == 0
    assert {line["event"] for line in lines} <= {"state", "ready", "message.failed", "counters"}
    assert [counts(server, queue) for queue in ("orders-bad", "orders-dlq")] == [1, 1]
    for words in (["redrive", "orders-dlq"], ["send", "orders", "m"], ["purge", "orders"]):
        assert as_(server, "CONSUMER", *words).returncode != 0
    assert as_(server, "OPERATOR", "redrive", "orders-dlq").returncode == 0
    assert [counts(server, queue) for queue in ("orders", "orders-dlq")] == [1, 0]


def test_the_commands_run_and_the_rule_refuses(tmp_path):
    (block,) = re.findall(r"```sh\n(.*?)```", PAGE, re.S)
    printed = run_script(block, tmp_path, free_port())
    assert printed.count("AccessDenied") == 1, printed
    assert printed.rstrip().endswith("refused, as it should be"), printed
