"""Installs clients: bounded, tried twice, kept in build/sdk-NAME until what they come from changes."""

import hashlib
import os
import pathlib
import shutil
import subprocess
import threading

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build"
VENV = pathlib.Path(os.environ.get("QUERN_VENV", str(BUILD / "venv")))
INSTALL_S = 600
COMPILE_S = 1200
installing = threading.Lock()


class Unavailable(Exception):
    """A client that cannot be had. A failed test, never a skipped one."""


def run(command, limit_s=INSTALL_S, **options):
    """Runs a step of an install. Returns what it printed; raises Unavailable with the reason."""
    try:
        done = subprocess.run(
            [str(word) for word in command],
            capture_output=True,
            text=True,
            timeout=limit_s,
            stdin=subprocess.DEVNULL,
            **options,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable("%s: %s" % (command[0], error)) from error
    if done.returncode != 0:
        text = (done.stderr.strip() or done.stdout.strip())[-800:]
        raise Unavailable("%s: exit %d: %s" % (" ".join(map(str, command)), done.returncode, text))
    return done.stdout


def twice(step):
    """A registry may fail to answer once."""
    try:
        return step()
    except Unavailable:
        return step()


def digest_of(*files):
    named = [file.name.encode() + b"\0" + file.read_bytes() for file in files]
    return hashlib.sha256(b"\0".join(named)).hexdigest()


def stamped(name, files, make):
    """The folder build/sdk-NAME, made anew by make(folder) when one of the files has changed."""
    folder = BUILD / ("sdk-" + name)
    stamp = folder / "installed"

    def anew():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        make(folder)

    with installing:
        if not stamp.is_file() or stamp.read_text() != digest_of(*files):
            twice(anew)
            stamp.write_text(digest_of(*files))
    return folder


def venv():
    """The tests' own virtual environment with the clients that requirements.txt pins; its bin/."""
    wanted = HERE / "requirements.txt"
    stamp = VENV / "sdk-requirements"

    def install():
        if not (VENV / "bin" / "python").exists():
            run(["/usr/bin/python3", "-m", "venv", VENV])
        pip = [VENV / "bin" / "python", "-m", "pip", "install", "--quiet"]
        run(pip + ["--disable-pip-version-check", "-r", wanted])

    with installing:
        if not stamp.is_file() or stamp.read_text() != digest_of(wanted):
            twice(install)
            stamp.write_text(digest_of(wanted))
    return VENV / "bin"


def node_folder(name, source, runner="runner.mjs", pins=".", beside=()):
    """Installs what the lock file in the folder `pins` of `source` pins; returns the runner, copied
    with the files `beside` it to where node looks for modules."""
    if shutil.which("node") is None:
        raise Unavailable("node is not there (package nodejs)")
    files = [source / pins / file for file in ("package.json", "package-lock.json")]

    def make(folder):
        for file in files:
            shutil.copy(file, folder)
        run(["npm", "ci", "--no-audit", "--no-fund"], cwd=folder)

    folder = stamped(name, files, make)
    for file in beside:
        shutil.copy(file, folder)
    return shutil.copy(source / runner, folder)


def java_program(name, pom, sources, profile=None):
    """Compiles the sources with the libraries that the pom pins, under a profile of it if one is named;
    returns the command line of the class Runner."""
    if shutil.which("mvn") is None or shutil.which("javac") is None:
        debian("maven", "default-jdk-headless")

    def make(folder):
        shutil.copy(pom, folder / "pom.xml")
        (folder / "src" / "main" / "java").mkdir(parents=True)
        for source in sources:
            shutil.copy(source, folder / "src" / "main" / "java")
        maven = ["mvn", "--batch-mode", "--quiet", "--no-transfer-progress"]
        maven += ["-P" + profile] if profile else []
        copy = ["dependency:copy-dependencies", "-DoutputDirectory=lib"]
        run(maven + ["compile"] + copy, cwd=folder)

    folder = stamped(name, [pom] + sources, make)
    # For a program of a minute: the small collector, and no time spent on optimising.
    small = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    return ["java"] + small + ["-cp", "%s/target/classes:%s/lib/*" % (folder, folder), "Runner"]


def cargo_program(name, source, program):
    """Builds what the lock file in `source` pins, if it is not built; returns the program."""
    folder = BUILD / ("sdk-" + name)
    cargo = ["cargo", "build", "--quiet", "--locked", "--target-dir", folder]
    with installing:
        twice(lambda: run(cargo, cwd=source, limit_s=COMPILE_S))
    return folder / "debug" / program


def debian(*packages):
    """Debian packages, installed if they are not there."""
    with installing:
        missing = [name for name in packages if not is_installed(name)]
        if missing:
            twice(lambda: install_packages(missing))


def is_installed(package):
    status = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Status}", package], capture_output=True, text=True, timeout=60
    )
    return status.stdout == "install ok installed"


def install_packages(packages):
    root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    apt = root + ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]
    apt += ["-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=3"]
    install = apt + ["install", "-y", "--no-install-recommends"] + packages
    try:
        run(install)
    except Unavailable:  # the list of packages may be old, or not there
        run(apt + ["update"])
        run(install)
