"""docker/compose.yaml as it stands: Quern, and a consumer that waits for its health."""
import pytest

from images import TOP
from server import STOP_S, sqs

ENDPOINT = "http://127.0.0.1:9324"


@pytest.fixture
def compose(engine):
    def composed(*words, timeout_s=60):
        return engine.run("docker-compose", "--file", TOP / "docker/compose.yaml", "--project-name", "quern",
                          *words, timeout_s=timeout_s)

    yield composed
    composed("down", "--volumes", "--timeout", STOP_S)


def test_the_consumer_beside_it_receives_what_is_sent(compose, engine):
    compose("up", "--detach", "--no-build")
    with engine.network():
        client = sqs(ENDPOINT)
        url = client.get_queue_url(QueueName="orders")["QueueUrl"]
        assert url == f"{ENDPOINT}/000000000000/orders"
        client.send_message(QueueUrl=url, MessageBody="hello")
    engine.wait_until(lambda: "received hello" in compose("logs", "--no-color", "consumer"), "received")
    log = compose("logs", "--no-color", "consumer")
    assert "receiving from http://quern:9324/000000000000/orders" in log

    compose("stop", "--timeout", STOP_S)
    names = compose("ps", "--quiet").split()
    assert [engine.inspect(name)["State"]["ExitCode"] for name in names] == [0, 0]
    assert "stopped" in compose("logs", "--no-color", "consumer")
