"""The JMS provider for SQS that AWS publishes."""

import pathlib

from sdk_clients import Client
from sdk_install import java_program

FOLDER = pathlib.Path(__file__).resolve().parent
SOURCES = [FOLDER / "Runner.java", FOLDER.parent / "java" / "Lines.java"]


def start():
    return java_program("java-jms", FOLDER / "pom.xml", SOURCES)


CLIENTS = [
    Client(name="java-jms", label="Amazon SQS Java Messaging Library (JMS)", language="Java",
           protocol="json", kind="framework", tier="slow", start=start, sends=True),
]
