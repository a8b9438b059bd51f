"""kombu and celery, from Debian. They send and receive an envelope of their own. Celery's worker posts
to the path of the queue, with neither QueueUrl nor Version among the parameters."""

import pathlib

from sdk_clients import Client
from sdk_install import debian

RUNNER = pathlib.Path(__file__).resolve().parent / "runner.py"


def starts(kind):
    def start():
        debian("python3-celery", "python3-kombu", "python3-boto3", "python3-pycurl")
        return ["/usr/bin/python3", RUNNER, kind]

    return start


LACKS = {"message attributes": "the envelope has headers of its own instead"}

CLIENTS = [
    Client(name="celery-query", label="celery (Debian's)", language="Python", protocol="query",
           kind="framework", tier="installed", start=starts("celery"), lacks=LACKS, sends=True),
    Client(name="kombu-query", label="kombu (Debian's)", language="Python", protocol="query",
           kind="framework", tier="installed", start=starts("kombu"), lacks=LACKS, sends=True),
]
