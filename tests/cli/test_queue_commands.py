"""attributes, delete, and what send takes: a queue by hand."""
import json

import pytest

from commands import refused, succeeds


@pytest.fixture
def server(start):
    return start("--queue", "orders", "--queue", "dead")


def cells(answer):
    return [line.split() for line in succeeds(answer).splitlines()]


# ---- attributes ----


def test_attributes_are_shown_as_table_and_json(quern):
    table = cells(quern("attributes", "orders"))
    assert table[0] == ["ATTRIBUTE", "VALUE"] and ["VisibilityTimeout", "30"] in table
    assert json.loads(succeeds(quern("attributes", "orders", "--json")))["VisibilityTimeout"] == "30"


def test_attributes_that_are_named_are_shown_alone(quern):
    assert cells(quern("attributes", "orders", "DelaySeconds")) == [["ATTRIBUTE", "VALUE"], ["DelaySeconds", "0"]]


def test_attributes_are_set_and_shown(quern):
    policy = json.dumps({"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:dead", "maxReceiveCount": 3})
    assert cells(quern("attributes", "orders", "VisibilityTimeout=60", "DelaySeconds=5"))[1:] == [
        ["VisibilityTimeout", "60"],
        ["DelaySeconds", "5"],
    ]
    succeeds(quern("send", "orders", "x"))
    kept = json.loads(succeeds(quern("attributes", "orders", "--json")))
    assert kept["DelaySeconds"] == "5" and kept["ApproximateNumberOfMessagesDelayed"] == "1"
    assert "maxReceiveCount" in succeeds(quern("attributes", "orders", "RedrivePolicy=" + policy))


def test_a_value_may_contain_an_equals_sign(quern):
    answer = quern("attributes", "orders", "KmsMasterKeyId=a=b", "--json")
    assert json.loads(succeeds(answer)) == {"KmsMasterKeyId": "a=b"}


@pytest.mark.parametrize("words", [["VisibilityTimeout", "DelaySeconds=1"], ["=1"], [""]])
def test_attributes_that_are_no_attributes(words):
    assert "NAME=VALUE" in refused("attributes", "orders", *words)


def test_attributes_that_the_server_refuses(quern):
    answer = quern("attributes", "orders", "VisibilityTimeout=43201")
    assert answer.returncode == 1 and answer.stdout == "" and "VisibilityTimeout" in answer.stderr
    answer = quern("attributes", "nope")
    assert answer.returncode == 1 and answer.stderr.startswith("quern attributes: there is no queue nope at ")


# ---- delete ----


def receive(quern, count):
    return json.loads(succeeds(quern("receive", "orders", "--max", str(count), "--json")))


def left(quern):
    return len(json.loads(succeeds(quern("peek", "orders", "--json")))["messages"])


def test_a_message_is_deleted_by_its_handle(quern):
    for body in "ab":
        succeeds(quern("send", "orders", body))
    first, second = receive(quern, 10)
    assert succeeds(quern("delete", "orders", first["ReceiptHandle"])) == "deleted 1 message\n"
    answer = json.loads(succeeds(quern("delete", "orders", second["ReceiptHandle"], "--json")))
    assert answer == {"deleted": 1, "failed": 0} and left(quern) == 0


def test_handles_come_from_stdin_as_lines_or_as_receive_prints_them(quern):
    for body in "abcdefghijkl":
        succeeds(quern("send", "orders", body))
    ten = succeeds(quern("receive", "orders", "--max", "10", "--json"))
    two = "".join(m["ReceiptHandle"] + "\n" for m in receive(quern, 10))
    assert succeeds(quern("delete", "orders", "-", stdin=ten + "\n" + two)) == "deleted 12 messages\n"
    assert left(quern) == 0


def test_a_handle_that_is_none_is_named_and_the_others_are_deleted(quern):
    succeeds(quern("send", "orders", "x"))
    (message,) = receive(quern, 1)
    answer = quern("delete", "orders", "nonsense", message["ReceiptHandle"])
    assert (answer.returncode, answer.stdout) == (1, "deleted 1 message\n")
    assert answer.stderr == ('quern delete: handle nonsense: ReceiptHandleIsInvalid: The input receipt handle "nonsense" '
                             "is not a valid receipt handle.\n")
    assert left(quern) == 0


@pytest.mark.parametrize("line", ["[1]", "[{}]", "[{", '[{"ReceiptHandle": 3}]'])
def test_a_line_that_is_no_message_is_refused(quern, line):
    answer = quern("delete", "orders", "-", stdin="\n" + line + "\n")
    assert answer.returncode == 2 and "stdin: line 2" in answer.stderr, answer


def test_a_queue_is_deleted_only_when_it_is_said(quern):
    assert "--whole-queue" in refused("delete", "orders")
    assert "--whole-queue" in refused("delete", "orders", "handle", "--whole-queue")
    assert succeeds(quern("delete", "orders", "--whole-queue")).startswith("deleted http")
    assert "there is no queue orders" in quern("attributes", "orders").stderr


def test_delete_from_a_queue_that_is_not_there(quern):
    answer = quern("delete", "nope", "x")
    assert (answer.returncode, answer.stdout) == (1, "") and answer.stderr.count("\n") == 1


# ---- send ----


def test_message_attributes_are_sent(quern):
    given = ["kind=a=b", "n:Number.price=1.5", "raw:Binary=AAH/", "odd:String.x=c:d"]
    succeeds(quern("send", "orders", "x", *[word for one in given for word in ("--attribute", one)]))
    (message,) = receive(quern, 1)
    assert message["MessageAttributes"] == {
        "kind": {"DataType": "String", "StringValue": "a=b"},
        "n": {"DataType": "Number.price", "StringValue": "1.5"},
        "raw": {"DataType": "Binary", "BinaryValue": "AAH/"},
        "odd": {"DataType": "String.x", "StringValue": "c:d"},
    }


@pytest.mark.parametrize("attribute, instead", [("x", "NAME:TYPE=VALUE"), ("=x", "NAME:TYPE=VALUE"), ("a:Binary=?", "not base64")])
def test_what_is_no_message_attribute_is_refused(attribute, instead):
    assert instead in refused("send", "orders", "x", "--attribute", attribute)


def test_an_attribute_that_the_server_refuses(quern):
    answer = quern("send", "orders", "x", "--attribute", "n:Number=many")
    assert (answer.returncode, answer.stdout, answer.stderr.count("\n")) == (1, "", 1)
