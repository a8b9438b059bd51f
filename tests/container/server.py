"""Containers that run Quern, as a test sees them."""
import uuid

import boto3
from botocore.config import Config

from commands import Failed

PORT = 9324
STOP_S = 10


def sqs(endpoint, **config):
    return boto3.client("sqs", endpoint_url=endpoint, region_name="us-east-1",
                        aws_access_key_id="test", aws_secret_access_key="test", config=Config(**config))


def bodies(client, url):
    """All that can be received at once, each deleted."""
    found = []
    while True:
        messages = client.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
        if not messages:
            return found
        for message in messages:
            found.append(message["Body"])
            client.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


class Containers:
    def __init__(self, engine):
        self.engine = engine
        self.names, self.volumes, self.networks = [], [], []

    def start(self, *options, image="quern", command=()):
        """A container that reports itself healthy; its name."""
        name = f"quern-{uuid.uuid4().hex[:8]}"
        self.names.append(name)
        self.engine.docker("run", "--detach", "--name", name, *options, image, *command)
        self.wait_until_healthy(name)
        return name

    def wait_until_healthy(self, name):
        try:
            self.engine.wait_until(lambda: self.health(name) == "healthy", "healthy")
        except Failed as late:
            probes = self.engine.inspect(name)["State"]["Health"]["Log"]
            raise Failed(f"{late}; the checks said {probes}") from late

    def health(self, name):
        return self.engine.inspect(name)["State"]["Health"]["Status"]

    def volume(self):
        name = f"data-{uuid.uuid4().hex[:8]}"
        self.volumes.append(name)
        self.engine.docker("volume", "create", name)
        return name

    def network(self):
        name = f"network-{uuid.uuid4().hex[:8]}"
        self.networks.append(name)
        self.engine.docker("network", "create", name)
        return name

    def published(self, name):
        """The endpoint on the loopback address that --publish made."""
        ports = self.engine.inspect(name)["NetworkSettings"]["Ports"][f"{PORT}/tcp"]
        return f"http://127.0.0.1:{ports[0]['HostPort']}"

    def stop(self, name):
        """Exit code after SIGTERM; 137 says that it had to be killed."""
        self.engine.docker("stop", "--time", STOP_S, name)
        return self.engine.inspect(name)["State"]["ExitCode"]

    def remove(self):
        if self.names:
            self.engine.docker("rm", "--force", "--volumes", *self.names)
        for kind, names in (("volume", self.volumes), ("network", self.networks)):
            if names:
                self.engine.docker(kind, "rm", *names)
