"""What is in the images, and that the program in them runs without an engine."""
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from commands import run
from images import TOP

MEGABYTE = 1000 * 1000
# What an engine puts into a container by itself.
ENGINE = {".dockerenv", "dev/console", "etc/hostname", "etc/hosts", "etc/resolv.conf"}


def described(built, name="quern"):
    return built.config(name)["config"]


@pytest.mark.parametrize("name", ["quern", "quern:shared"])
def test_it_serves_without_root_on_a_volume_and_checks_its_health(built, name):
    config = described(built, name)
    assert config["User"] == "65532:65532"
    assert list(config["Volumes"]) == ["/data"]
    assert list(config["ExposedPorts"]) == ["9324/tcp"]
    assert config["StopSignal"] == "SIGTERM"
    assert config["Entrypoint"] + config["Cmd"] == ["/usr/bin/quern", "serve"]
    assert config["Healthcheck"]["Test"] == ["CMD", "/usr/bin/quern", "health"]
    assert config["Healthcheck"]["StartPeriod"] > 0  # a start on a large database is not a failure


def test_its_labels_name_the_version_of_the_project(built):
    version = re.search(r"^project\(quern VERSION (\S+)", (TOP / "CMakeLists.txt").read_text(), re.M)[1]
    labels = described(built)["Labels"]
    assert labels["org.opencontainers.image.version"] == version
    assert labels["org.opencontainers.image.title"] == "Quern"


def test_the_static_image_holds_one_program_and_nothing_to_go_with_it(engine):
    name = engine.docker("create", "quern")
    try:
        archive = engine.place / "image.tar"
        engine.docker("export", "--output", archive, name)
        files = run("tar", "--list", "--file", archive).splitlines()
    finally:
        engine.docker("rm", "--volumes", name)
    assert {file for file in files if not file.endswith("/")} - ENGINE - {"etc/mtab"} == {
        "usr/bin/quern", "etc/nsswitch.conf"}


@pytest.mark.parametrize(("name", "bound"), [("quern", 8 * MEGABYTE), ("quern:shared", 25 * MEGABYTE)])
def test_it_is_small(engine, figures, name, bound):
    size = engine.inspect(name)["Size"]
    figures[f"size of {name}, bytes"] = size
    assert size < bound


def descendants(pid):
    """Of any of its threads: buildah's children have another than the first as their parent."""
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in file.read_text().split():
            yield int(child)
            yield from descendants(int(child))


def is_server(pid):
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return words[:2] == [b"/usr/bin/quern", b"serve"]
    except OSError:
        return False


def signal_servers(under, number):
    for pid in filter(is_server, list(descendants(under.pid))):
        os.kill(pid, number)


@pytest.mark.parametrize("name", ["quern", "quern:shared"])
def test_without_an_engine_it_serves_and_ends_cleanly_on_sigterm(built, name):
    container = built.buildah("from", "--pull=never", f"localhost/{name}")
    server = subprocess.Popen(
        built.command("run", "--isolation", "chroot", container, "--", "/usr/bin/quern", "serve", "--port", "0"),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        env={**os.environ, **built.environment()})
    try:
        line = next(line for line in server.stderr if "listening on" in line)
        port = re.search(r"listening on http://\S+?:(\d+)", line)[1]
        health = run("curl", "--silent", "--fail", f"http://127.0.0.1:{port}/health")
        signal_servers(server, signal.SIGTERM)
        _, rest = server.communicate(timeout=20)
    finally:
        if server.poll() is None:
            signal_servers(server, signal.SIGKILL)
            server.kill()
            server.wait()
        built.buildah("rm", container)
    assert health
    assert server.returncode == 0, rest
