"""The image in a real Docker engine."""
import datetime
import json
import os
import re
import time

import pytest

from commands import Failed
from server import PORT, bodies, sqs

LOCKED = ("--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges")
MEBIBYTE = 1024 * 1024
PUBLISH = ("--publish", f"127.0.0.1::{PORT}")


def instant(text):
    """Docker writes nanoseconds; UTC throughout."""
    return datetime.datetime.fromisoformat(re.sub(r"\.(\d{6})\d*", r".\1", text).replace("Z", "+00:00"))


def test_it_becomes_healthy_by_itself(containers, engine, figures):
    began = time.monotonic()
    name = containers.start()
    figures["docker run to healthy, s"] = round(time.monotonic() - began, 2)
    state = engine.inspect(name)["State"]
    first = next(probe for probe in state["Health"]["Log"] if probe["ExitCode"] == 0)
    figures["started to healthy, s"] = (instant(first["End"]) - instant(state["StartedAt"])).total_seconds()
    figures["health check takes, s"] = (instant(first["End"]) - instant(first["Start"])).total_seconds()


def test_health_follows_another_port(containers):
    containers.start("--env", "QUERN_PORT=4566")


def test_a_server_that_answers_no_more_is_unhealthy_until_it_does(containers, engine):
    name = containers.start("--health-timeout", "1s", "--health-retries", "1")
    engine.docker("kill", "--signal", "STOP", name)
    engine.wait_until(lambda: containers.health(name) == "unhealthy", "unhealthy")
    engine.docker("kill", "--signal", "CONT", name)
    containers.wait_until_healthy(name)


def test_a_published_port_answers_with_queue_urls_that_work(containers, engine):
    name = containers.start(*PUBLISH)
    endpoint = containers.published(name)
    with engine.network():
        client = sqs(endpoint)
        url = client.create_queue(QueueName="orders")["QueueUrl"]
        client.send_message(QueueUrl=url, MessageBody="hello")
        assert url.startswith(endpoint + "/")
        assert bodies(client, url) == ["hello"]


def test_it_runs_as_nobody_on_a_read_only_root_without_capabilities(containers, engine):
    volume = containers.volume()
    name = containers.start(*LOCKED, *PUBLISH, "--volume", f"{volume}:/data")
    process = engine.docker("inspect", "--format", "{{.State.Pid}}", name)
    status = engine.run("nsenter", "--target", engine.first_process(), "--pid", "--mount", "cat",
                        f"/proc/{process}/status")
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert fields["Uid"].split() == ["65532"] * 4
    assert int(fields["CapEff"], 16) == int(fields["CapBnd"], 16) == 0
    assert fields["NoNewPrivs"] == "1"
    with engine.network():
        client = sqs(containers.published(name))
        url = client.create_queue(QueueName="orders")["QueueUrl"]
        client.send_message(QueueUrl=url, MessageBody="kept")
        assert bodies(client, url) == ["kept"]


def test_a_folder_of_the_machine_is_used_as_its_owner(containers, tmp_path):
    owner = 1000
    os.chown(tmp_path, owner, owner)
    containers.start(*LOCKED, "--user", f"{owner}:{owner}", "--volume", f"{tmp_path}:/data")
    assert (tmp_path / "quern.db").stat().st_uid == owner


def test_sigterm_ends_it_with_status_0(containers):
    assert containers.stop(containers.start()) == 0


def test_messages_survive_a_kill_on_the_same_volume(containers, engine):
    volume = containers.volume()
    first = containers.start(*LOCKED, *PUBLISH, "--volume", f"{volume}:/data")
    sent = [f"message {number}" for number in range(100)]
    with engine.network():
        client = sqs(containers.published(first))
        url = client.create_queue(QueueName="orders")["QueueUrl"]
        for body in sent:
            client.send_message(QueueUrl=url, MessageBody=body)
    engine.docker("kill", "--signal", "KILL", first)
    assert engine.inspect(first)["State"]["ExitCode"] == 137

    second = containers.start(*LOCKED, *PUBLISH, "--volume", f"{volume}:/data")
    with engine.network():
        client = sqs(containers.published(second))
        url = client.get_queue_url(QueueName="orders")["QueueUrl"]
        assert sorted(bodies(client, url)) == sorted(sent)


def test_the_same_container_goes_on_after_a_kill(containers, engine):
    name = containers.start("--env", "QUERN_QUEUE=orders")
    engine.docker("exec", name, "/usr/bin/quern", "send", "orders", "kept")
    engine.docker("kill", "--signal", "KILL", name)
    engine.docker("start", name)
    containers.wait_until_healthy(name)
    answer = json.loads(engine.docker("exec", name, "/usr/bin/quern", "queues", "--json"))
    assert [queue["visible"] for queue in answer["queues"]] == [1]


def test_another_container_reaches_it_by_name(containers, engine):
    network = containers.network()
    name = containers.start("--network", network, "--network-alias", "queue", "--env", "QUERN_QUEUE=orders")
    answer = engine.docker("run", "--rm", "--network", network, "quern", "send", "orders", "from next door",
                           "--endpoint", f"http://queue:{PORT}")
    assert answer
    found = json.loads(engine.docker("exec", name, "/usr/bin/quern", "queues", "--json"))
    assert [queue["visible"] for queue in found["queues"]] == [1]


def test_stored_messages_are_bounded_by_the_memory_of_the_container(containers, engine):
    name = containers.start("--memory", "128m", "--env", "QUERN_QUEUE=orders", "--env", "QUERN_DB=", *PUBLISH)
    with engine.network():
        client = sqs(containers.published(name))
        url = client.get_queue_url(QueueName="orders")["QueueUrl"]
        accepted = 0
        with pytest.raises(client.exceptions.ClientError) as refused:
            while accepted < 128:
                client.send_message(QueueUrl=url, MessageBody="x" * MEBIBYTE)
                accepted += 1
        assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 503
        assert 64 < accepted <= 96
        assert client.receive_message(QueueUrl=url)["Messages"]
    assert engine.inspect(name)["State"]["OOMKilled"] is False


CRASH = "on SendMessage every 2 do crash server then restart server after 300ms as crash"


def test_a_supervised_server_that_was_killed_comes_back_in_the_same_container(containers, engine):
    name = containers.start(*LOCKED, *PUBLISH, "--env", "QUERN_SUPERVISE=true", "--env", "QUERN_QUEUE=orders",
                            "--env", f"QUERN_FAULT={CRASH}")
    started = engine.inspect(name)["State"]["StartedAt"]
    with engine.network():
        # Its pauses are of random length: with three attempts it may give up before the server is back.
        client = sqs(containers.published(name), retries={"mode": "standard", "total_max_attempts": 10})
        url = client.get_queue_url(QueueName="orders")["QueueUrl"]
        for number in range(5):
            client.send_message(QueueUrl=url, MessageBody=str(number))
        # Behind its answer's crash a send is stored, and boto3 sends it once more.
        assert sorted(set(bodies(client, url))) == list("01234")
    state = engine.inspect(name)["State"]
    assert (state["StartedAt"], state["Status"]) == (started, "running")
    containers.wait_until_healthy(name)
    processes = engine.docker("top", name, "-o", "pid,stat,args").splitlines()[1:]
    assert len(processes) == 2 and not any(" Z" in line for line in processes), processes
    assert containers.stop(name) == 0


def test_without_a_supervisor_a_crash_is_the_end_of_the_container(containers, engine):
    """The first process of a container cannot be killed by itself: it ends with the status that a kill has."""
    name = containers.start("--env", "QUERN_QUEUE=orders", "--env", "QUERN_FAULT=on SendMessage do crash server")
    with pytest.raises(Failed):
        engine.docker("exec", name, "/usr/bin/quern", "send", "orders", "last words")
    engine.wait_until(lambda: engine.inspect(name)["State"]["Status"] == "exited", "gone")
    assert engine.inspect(name)["State"]["ExitCode"] == 137
