"""The AWS SDK for Java 1: the last one, and one from before it left the query protocol."""

import pathlib

from sdk_clients import Client
from sdk_install import java_program

FOLDER = pathlib.Path(__file__).resolve().parent
SOURCES = [FOLDER / "Runner.java", FOLDER.parent / "java" / "Lines.java"]
ENVIRONMENT = {"AWS_JAVA_V1_DISABLE_DEPRECATION_ANNOUNCEMENT": "true"}


def last():
    return java_program("java-v1-json", FOLDER / "pom.xml", SOURCES, profile="json")


def of_the_query_protocol():
    return java_program("java-v1-query", FOLDER / "pom.xml", SOURCES, profile="query")


def shows(name, error):
    return seen(name, error, error["typed"])


def shows_old(name, error):
    return seen(name, error, error["typed"] is True)


def seen(name, error, typed):
    return {
        "class": name.removesuffix("Exception") + "Exception" if typed else "AmazonSQSException",
        "code": error["query"],
        "status": error["status"],
        "fault": "Client",
    }


CLIENTS = [
    Client(name="java-v1-json", label="AWS SDK for Java v1", language="Java", protocol="json",
           kind="api", tier="slow", start=last, shows=shows, environment=ENVIRONMENT),
    Client(name="java-v1-query", label="AWS SDK for Java v1 (1.12.565)", language="Java",
           protocol="query", kind="api", tier="slow", start=of_the_query_protocol,
           shows=shows_old, environment=ENVIRONMENT),
]
