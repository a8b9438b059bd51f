"""Spring Cloud AWS: SqsTemplate and SqsListener, for Spring Boot 4 and 3."""

import pathlib

from sdk_clients import Client
from sdk_install import java_program

FOLDER = pathlib.Path(__file__).resolve().parent
SOURCES = [FOLDER / "Runner.java", FOLDER.parent / "java" / "Lines.java"]


def with_boot_4():
    return java_program("spring-4", FOLDER / "pom.xml", SOURCES, profile="boot4")


def with_boot_3():
    return java_program("spring-3", FOLDER / "pom.xml", SOURCES, profile="boot3")


CLIENTS = [
    Client(name="spring-cloud-aws-4", label="Spring Cloud AWS 4", language="Java", protocol="json",
           kind="framework", tier="slow", start=with_boot_4, sends=True),
    Client(name="spring-cloud-aws-3", label="Spring Cloud AWS 3", language="Java", protocol="json",
           kind="framework", tier="slow", start=with_boot_3, sends=True),
]
