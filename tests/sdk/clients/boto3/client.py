"""boto3: the current one from the package index, and Debian's, which speaks the query protocol."""

import pathlib

from sdk_clients import HERE, Client
from sdk_install import debian, venv

RUNNER = pathlib.Path(__file__).resolve().parent / "runner.py"


def current():
    return [venv() / "python", RUNNER]


def of_debian():
    debian("python3-boto3")
    return ["/usr/bin/python3", RUNNER]


def shows(name, error):
    want = seen(name, error, error["typed"])
    if error["typed"]:
        want["shape"] = name  # the current one tells the names of both protocols
    return want


def shows_old(name, error):
    return seen(name, error, error["typed"] is True)


def seen(name, error, typed):
    return {
        "class": name if typed else "ClientError",
        "code": error["query"],
        "status": error["status"],
        "fault": "Sender",
    }


# Debian's is older than message move tasks; models/ adds those three actions in the way botocore has
# for it.
CLIENTS = [
    Client(name="boto3-json", label="boto3", language="Python", protocol="json", kind="api",
           tier="quick", start=current, shows=shows),
    Client(name="boto3-query", label="boto3 (Debian's)", language="Python", protocol="query",
           kind="api", tier="quick", start=of_debian, shows=shows_old,
           environment={"AWS_DATA_PATH": str(HERE / "models")}),
]
