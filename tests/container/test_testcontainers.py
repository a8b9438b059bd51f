"""Testcontainers' generic container, from its real library for Python."""
from server import PORT, bodies, sqs


def test_a_generic_container_waits_for_health_and_answers(engine, monkeypatch):
    for name, value in engine.environment.items():
        monkeypatch.setenv(name, value)
    # The image of its reaper cannot be had without a registry; the context manager removes what it began.
    monkeypatch.setenv("TESTCONTAINERS_RYUK_DISABLED", "true")
    with engine.network():
        from testcontainers.core.container import DockerContainer
        from testcontainers.core.wait_strategies import HealthcheckWaitStrategy

        quern = DockerContainer("quern").with_exposed_ports(PORT).with_env("QUERN_QUEUE", "orders")
        with quern.waiting_for(HealthcheckWaitStrategy()):
            client = sqs(f"http://{quern.get_container_host_ip()}:{quern.get_exposed_port(PORT)}")
            url = client.get_queue_url(QueueName="orders")["QueueUrl"]
            client.send_message(QueueUrl=url, MessageBody="hello")
            assert bodies(client, url) == ["hello"]
    assert engine.docker("ps", "--all", "--quiet", "--filter", "ancestor=quern") == ""
