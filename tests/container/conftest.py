import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import images  # noqa: E402
from engine import Engine  # noqa: E402
from server import Containers  # noqa: E402


@pytest.fixture(scope="session")
def figures():
    """What was measured on the way, for whoever wants to know; nothing here is a bar."""
    measured = {}
    yield measured
    (images.STORE / "figures.json").write_text(json.dumps(measured, indent=1) + "\n")


@pytest.fixture(scope="session")
def built():
    """Builds all images with buildah; the store has them."""
    images.prepare()
    images.make_base()
    images.build("quern", "docker/Dockerfile", ".")
    images.build("quern:shared", "docker/Dockerfile", ".", "--target", "shared")
    images.build("quern-consumer", "docker/consumer/Dockerfile", "docker/consumer")
    return images


@pytest.fixture(scope="session")
def engine(built):
    """A Docker engine that has the images."""
    running = Engine(built.STORE)
    try:
        for name in ("quern", "quern:shared", "quern-consumer"):
            file = built.save(name)
            running.docker("load", "--quiet", "--input", file, timeout_s=120)
            file.unlink()
        yield running
    finally:
        running.close()


@pytest.fixture
def containers(engine):
    """Starts containers of the image; none of them outlives its test."""
    started = Containers(engine)
    yield started
    started.remove()
