"""The AWS SDK for Go, versions 1 and 2: the current ones of the Go proxy, and Debian's, which speak the
query protocol."""

import pathlib
import shutil

from sdk_clients import Client
from sdk_install import Unavailable, debian, run, stamped

FOLDER = pathlib.Path(__file__).resolve().parent
RUNNER = FOLDER / "runner.go"
BUILD = ["build", "-gcflags=all=-N -l", "-o", "runner", "."]  # built for a minute of use


def with_modules(name, pins, sources):
    """Builds a runner with the modules that the folder `pins` names; returns its command."""
    if shutil.which("go") is None:
        raise Unavailable("go is not there")
    files = [RUNNER, pins / "go.mod", pins / "go.sum"] + sources

    def make(folder):
        for file in files:
            shutil.copy(file, folder)
        run(["go"] + BUILD, cwd=folder)

    return [stamped(name, files, make) / "runner"]


def with_debian(name, package, sources):
    """Builds a runner with Debian's compiler and its package of the SDK; returns its command."""
    debian("golang-go", package)
    files = [RUNNER] + sources

    def make(folder):
        inside = folder / "path" / "src" / "runner"
        inside.mkdir(parents=True)
        for file in files:
            shutil.copy(file, inside)
        path = "GOPATH=%s:/usr/share/gocode" % (folder / "path")
        without_modules = ["env", "-u", "GOROOT", path, "GO111MODULE=off", "GOPROXY=off"]
        run(without_modules + ["/usr/bin/go"] + BUILD, cwd=inside)

    return [stamped(name, files, make) / "path" / "src" / "runner" / "runner"]


def v1():
    return with_modules("go_v1", FOLDER / "v1", [FOLDER / "v1.go"])


def v2():
    return with_modules("go_v2", FOLDER / "v2", [FOLDER / "v2.go", FOLDER / "v2_current.go"])


def v1_debian():
    package = "golang-github-aws-aws-sdk-go-dev"
    return with_debian("go_v1_debian", package, [FOLDER / "v1.go"])


def v2_debian():
    package = "golang-github-aws-aws-sdk-go-v2-dev"
    return with_debian("go_v2_debian", package, [FOLDER / "v2.go", FOLDER / "v2_debian.go"])


def shows_v1(_name, error):
    return {"code": error["query"], "status": error["status"]}


def shows_v2(name, error):
    return {
        "class": name if error["typed"] else "GenericAPIError",
        "code": error["query"],
        "status": error["status"],
        "fault": "client",
    }


def shows_old_v2(_name, error):
    return {"code": error["query"], "status": error["status"]}


class OldV2(Client):
    """That version has an error's own type in a part of the actions, and such a type has no message;
    elsewhere it does not say whose fault it was."""

    def check_error(self, errors, name, shown):
        super().check_error(errors, name, shown)
        typed = shown["class"] == name
        assert typed or shown["class"] == "GenericAPIError", shown
        assert shown["fault"] == ("client" if typed else "unknown"), shown

    def tells_message(self, shown):
        return shown["class"] == "GenericAPIError"


NO_MOVES = {"StartMessageMoveTask": "younger than Debian's version"}
NO_ZERO = {
    "ChangeMessageVisibilityBatch.VisibilityTimeout of 0": "a zero is not sent",
    "SendMessage.DelaySeconds of 0": "a zero is not sent",
}

CLIENTS = [
    Client(name="go-v1-json", label="AWS SDK for Go v1", language="Go", protocol="json", kind="api",
           tier="slow", start=v1, shows=shows_v1),
    Client(name="go-v2-json", label="AWS SDK for Go v2", language="Go", protocol="json", kind="api",
           tier="slow", start=v2, shows=shows_v2, lacks=NO_ZERO),
    Client(name="go-v1-query", label="AWS SDK for Go v1 (Debian's)", language="Go", protocol="query",
           kind="api", tier="installed", start=v1_debian, shows=shows_v1,
           lacks=NO_MOVES),
    OldV2(name="go-v2-query", label="AWS SDK for Go v2 (Debian's)", language="Go", protocol="query",
          kind="api", tier="installed", start=v2_debian, shows=shows_old_v2,
          lacks={**NO_MOVES, **NO_ZERO}),
]
