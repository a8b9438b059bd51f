"""The AWS CLI: version 1 from the package index, and Debian's version 2, which is old enough to speak
the query protocol. Each call is a process that uses up a core for a second."""

import pathlib

from sdk_clients import HERE, Client
from sdk_install import debian, venv

RUNNER = pathlib.Path(__file__).resolve().parent / "runner.py"


def current():
    folder = venv()
    return [folder / "python", RUNNER, folder / "aws", "raw", "MessageSystemAttributeNames"]


def of_debian():
    debian("awscli")
    return ["/usr/bin/python3", RUNNER, "/usr/bin/aws", "base64", "AttributeNames"]


def shows(_name, error):
    return {"code": error["query"]}  # all that the program prints, beside the message


CLIENTS = [
    Client(name="cli-v1-json", label="AWS CLI v1", language="shell", protocol="json", kind="api",
           tier="quick", start=current, shows=shows),
    Client(name="cli-v2-query", label="AWS CLI v2 (Debian's)", language="shell", protocol="query",
           kind="api", tier="quick", start=of_debian, shows=shows,
           environment={"AWS_DATA_PATH": str(HERE / "models")}),
]
