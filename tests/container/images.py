"""The images under test, built without a registry: buildah, on a base image that is made here.

The base image stands in for debian:bookworm-slim: the same packages from the same archive, put
together by mmdebstrap. It is kept under build/, and so are buildah's layers. Every buildah runs in
a mount namespace of its own, so that no mount outlives it.
"""
import json
import os
from pathlib import Path

from commands import Failed, run

TOP = Path(__file__).resolve().parents[2]
STORE = TOP / "build/container"
BASE = "docker.io/library/debian:bookworm-slim"
BUILD_S = 900

# What the real image has, name and form; a machine's own mirror is taken over.
SOURCES = """\
Types: deb
URIs: {debian}
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: {security}
Suites: bookworm-security
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
"""
# As the real image has it: nothing is synced to the disk in between, no package and no translation is kept.
SETTINGS = {
    "etc/dpkg/dpkg.cfg.d/docker-apt-speedup": "force-unsafe-io\n",
    "etc/apt/apt.conf.d/docker-clean":
        'DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb /var/cache/apt/archives/partial/*.deb '
        '/var/cache/apt/*.bin || true"; };\nDir::Cache::pkgcache ""; Dir::Cache::srcpkgcache "";\n',
    "etc/apt/apt.conf.d/docker-no-languages": 'Acquire::Languages "none";\n',
}
LEFT_OUT = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*")


def environment():
    return {"CONTAINERS_STORAGE_CONF": str(STORE / "storage.conf")}


def command(*argv):
    return ["unshare", "--mount", "buildah", *map(str, argv)]


def buildah(*argv, timeout_s=60):
    return run(*command(*argv), timeout_s=timeout_s, env=environment())


def prepare():
    """Where buildah keeps its things. Root is needed: chroot, mounts, users of the image."""
    if os.geteuid() != 0:
        raise Failed("container tests need root")
    STORE.mkdir(parents=True, exist_ok=True)
    (STORE / "storage.conf").write_text(
        f'[storage]\ndriver = "overlay"\nrunroot = "{STORE}/run"\ngraphroot = "{STORE}/graph"\n')


def mirrors():
    """The URIs of Debian and of its security updates that this machine's apt uses."""
    lines = run("apt-get", "indextargets", "--format", "$(SITE) $(RELEASE)",
                "Created-By: Packages", "Component: main").splitlines()
    found = {"debian": "http://deb.debian.org/debian", "security": "http://deb.debian.org/debian-security"}
    for site, _, suite in (line.partition(" ") for line in lines):
        if suite == "bookworm":
            found["debian"] = site
        elif suite == "bookworm-security":
            found["security"] = site
    return found


def make_base():
    archive = STORE / "base.tar"
    if not archive.exists():
        sources = STORE / "debian.sources"
        sources.write_text(SOURCES.format(**mirrors()))
        unfinished = STORE / "unfinished.tar"
        for name, text in SETTINGS.items():
            file = STORE / "settings" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        run("mmdebstrap", "--quiet", "--variant=minbase", "--include=ca-certificates",
            *[f"--dpkgopt=path-exclude={path}" for path in LEFT_OUT],
            "--customize-hook=mv \"$1\"/etc/apt/sources.list.d/*.sources "
            "\"$1\"/etc/apt/sources.list.d/debian.sources",
            f"--customize-hook=cp -r {STORE}/settings/. \"$1\"",
            "bookworm", unfinished, sources, timeout_s=BUILD_S)
        unfinished.rename(archive)
    if not buildah("images", "--quiet", "--filter", f"reference={BASE}"):
        folder = STORE / "base"
        folder.mkdir(exist_ok=True)
        (folder / "Dockerfile").write_text('FROM scratch\nADD base.tar /\nCMD ["bash"]\n')
        (folder / "base.tar").unlink(missing_ok=True)
        os.link(archive, folder / "base.tar")
        buildah("build", "--quiet", "--isolation", "chroot", "-t", BASE, folder, timeout_s=BUILD_S)


def build(name, dockerfile, context, *options):
    buildah("build", "--isolation", "chroot", "--pull=never", "--format", "docker", "--layers",
            "--jobs", "2", "-t", name, "-f", TOP / dockerfile, *options, TOP / context,
            timeout_s=BUILD_S)


def save(name):
    """The image as a file that `docker load` reads."""
    file = STORE / f"{name.replace(':', '-')}.tar"
    file.unlink(missing_ok=True)
    tagged = name if ":" in name else f"{name}:latest"
    buildah("push", "--quiet", f"localhost/{tagged}", f"docker-archive:{file}:{tagged}", timeout_s=120)
    return file


def config(name):
    """The image's configuration as Docker writes it down."""
    return json.loads(buildah("inspect", "--type", "image", f"localhost/{name}"))["Docker"]
