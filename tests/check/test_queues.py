"""The queues that are declared are there when the consumer starts."""
import sys

from commands import refused, run

ASKS = ("import os, boto3, time\n"
        "sqs = boto3.client('sqs')\n"
        "for name, variable in (('done.fifo', 'OUTPUT'), ('later', 'RETRY'), ('orders', '')):\n"
        "    url = os.environ['QUERN_' + variable + '_QUEUE_URL'.lstrip('_' if not variable else '')]\n"
        "    assert sqs.get_queue_url(QueueName=name)['QueueUrl'] == url, url\n"
        "    print('there:', name)\n"
        "time.sleep(60)\n")


def test_declared_queues_are_there_and_their_urls_told(tmp_path):
    answer = run("check", "--only", "base.ack-after-effect", "--output-queue", "done.fifo", "--retry-queue", "later",
                 "--queue-name", "orders", "--startup-timeout", "6s", "--grace", "100ms", "--keep", str(tmp_path), "--",
                 sys.executable, "-c", ASKS)
    assert answer.returncode == 3, answer.stdout
    log = (tmp_path / "base.ack-after-effect.instance-1.log").read_text()
    assert [line for line in log.splitlines() if line.startswith("there")] == [
        "there: done.fifo", "there: later", "there: orders"], log


def test_a_name_that_no_queue_can_have_is_told_before_the_run():
    for option in ("--queue-name", "--output-queue", "--retry-queue"):
        for name in ("no name", "", "x" * 71):
            assert option + " takes 1 to 70 letters" in refused("check", option, name, "--", "x")
