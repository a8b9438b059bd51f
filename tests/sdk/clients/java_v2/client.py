"""The AWS SDK for Java 2: the current one, and one from before it left the query protocol."""

import pathlib

from sdk_clients import Client
from sdk_install import java_program

FOLDER = pathlib.Path(__file__).resolve().parent
SOURCES = [FOLDER / "Runner.java", FOLDER.parent / "java" / "Lines.java"]


def current():
    return java_program("java-v2-json", FOLDER / "pom.xml", SOURCES, profile="json")


def of_the_query_protocol():
    return java_program("java-v2-query", FOLDER / "pom.xml", SOURCES, profile="query")


def shows(name, error):
    return seen(name, error, error["typed"])


def shows_old(name, error):
    return seen(name, error, error["typed"] is True)


def seen(name, error, typed):
    return {
        "class": name.removesuffix("Exception") + "Exception" if typed else "SqsException",
        "code": error["query"],
        "status": error["status"],
    }


CLIENTS = [
    Client(name="java-v2-json", label="AWS SDK for Java v2", language="Java", protocol="json",
           kind="api", tier="slow", start=current, shows=shows),
    Client(name="java-v2-query", label="AWS SDK for Java v2 (2.20)", language="Java",
           protocol="query", kind="api", tier="slow", start=of_the_query_protocol, shows=shows_old),
]
