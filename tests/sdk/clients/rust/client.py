"""The AWS SDK for Rust."""

import pathlib

from sdk_clients import Client
from sdk_install import cargo_program

FOLDER = pathlib.Path(__file__).resolve().parent


def start():
    return [cargo_program("rust", FOLDER, "rust-runner")]


def shows(name, error):
    return {
        "variant": name if error["typed"] else "Unhandled",
        "code": error["query"],
        "status": error["status"],
        "fault": "Sender",
    }


CLIENTS = [
    Client(name="rust-json", label="AWS SDK for Rust", language="Rust", protocol="json",
           kind="api", tier="slow", start=start, shows=shows),
]
