"""Commands and files that are no good: one clear line on stderr, exit 2, nothing changed on disk."""
import hashlib
import json
import os
import pathlib
import shutil
import socket
import sqlite3
import subprocess

import pytest
from durable import Store
from exchange.process import SANITIZER, program

ENDS_WITHIN_S = 60


def run(*arguments, environment=None, user=None, folder=None):
    """A command that has to end by itself."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("QUERN_")}
    return subprocess.run(
        [program(), *map(str, arguments)],
        env={**clean, **(environment or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=ENDS_WITHIN_S,
        user=user,
        cwd=folder,
        check=False,
    )


def serve(*arguments, **how):
    return run("serve", "--bind", "127.0.0.1:0", *arguments, **how)


def refused(done, *says):
    """Checks how a refusal looks, and that it tells what is wrong."""
    assert SANITIZER.search(done.stderr) is None, done.stderr
    assert done.returncode == 2, (done.returncode, done.stderr)
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert len(lines[0]) < 400
    for word in says:
        assert word in lines[0], (word, lines[0])


def on_disk(folder):
    """Every file below a folder, with what is in it and who may use it."""
    found = {}
    for path in sorted(pathlib.Path(folder).rglob("*")):
        status = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
        found[str(path.relative_to(folder))] = (status.st_mode, status.st_size, status.st_mtime_ns, content)
    return found


@pytest.fixture
def unchanged(folder):
    """The folder; what a test put there must be there at its end, and nothing else."""
    state = {}

    def look():
        state["before"] = on_disk(folder)

    yield look
    assert on_disk(folder) == state["before"]


@pytest.fixture
def database(folder):
    """A database that a server made and left in order."""
    store = Store(folder)
    store.start()
    url = store.queue("q")
    store.send(url, "kept")
    store.end()
    return store


def still_good(database):
    """Whatever was tried, its own server finds all there."""
    database.start()
    assert database.bodies(database.url("q"), VisibilityTimeout=0) == ["kept"]
    database.end()


# ---- the command line ----

BAD_OPTIONS = {
    "unknown flag": (["--nope"], "--nope"),
    "unknown flag with a value": (["--prot=1"], "--prot"),
    "short flag": (["-p", "1"], "-p"),
    "stray word": (["here"], "here"),
    "value missing": (["--db"], "--db"),
    "switch with a value": (["--aws-waits=1"], "--aws-waits"),
    "given twice": (["--account", "111122223333", "--account", "111122223333"], "--account"),
    "port is a word": (["--port", "http"], "--port"),
    "port is too large": (["--port", "65536"], "--port"),
    "port is negative": (["--port=-1"], "--port"),
    "sync is a third thing": (["--db", "x.db", "--sync", "maybe"], "--sync"),
    "sync without a database": (["--sync", "full"], "--db"),
    "account of 11 digits": (["--account", "12345678901"], "--account"),
    "region with blanks": (["--region", "us east 1"], "--region"),
    "clock is a third thing": (["--clock", "sand"], "--clock"),
    "instant is none": (["--clock", "virtual=yesterday"], "--clock"),
    "real clock with an instant": (["--clock", "real=2026-01-01T00:00:00Z"], "--clock"),
    "seed is a word": (["--seed", "luck"], "--seed"),
    "seed beyond 64 bits": (["--seed", "18446744073709551616"], "--seed"),
    "memory is a word": (["--max-memory", "plenty"], "--max-memory"),
    "memory is nothing": (["--max-memory", "0"], "--max-memory"),
    "unknown limit": (["--limit", "patience=1"], "patience"),
    "limit without a value": (["--limit", "in-flight"], "in-flight"),
    "limit is zero": (["--limit", "in-flight=0"], "in-flight"),
    "limit above AWS's": (["--limit", "batch-entries=11"], "batch-entries"),
    "stale delete is a third thing": (["--stale-delete", "maybe"], "--stale-delete"),
    "log level is unknown": (["--log", "loud"], "--log"),
    "public URL is none": (["--public-url", "example.test"], "--public-url"),
    "queue name is bad": (["--queue", "bad name"], "bad name"),
    "queue attribute is unknown": (["--queue", "q,Colour=red"], "Colour"),
    "queue attribute is out of range": (["--queue", "q,DelaySeconds=901"], "DelaySeconds"),
    "queue attribute without a value": (["--queue", "q,DelaySeconds"], "--queue"),
    "rule is no rule": (["--fault", "sometimes fail"], "--fault"),
    "failpoint is none": (["--failpoint", "ring.before_sync"], "failpoint"),
    "failpoint mode is unknown": (["--failpoint", "ring.before_sync=explode"], "failpoint"),
    "address is none": (["--bind", "not an address"], "not an address"),
    "address of nobody here": (["--bind", "192.0.2.1:0"], "192.0.2.1"),
    "configuration is not there": (["--config", "/nonexistent/queues.json"], "/nonexistent/queues.json"),
    "rules are not there": (["--chaos", "/nonexistent/rules"], "/nonexistent/rules"),
    "trace cannot be made": (["--trace", "/nonexistent/trace"], "/nonexistent/trace"),
}


@pytest.mark.parametrize("arguments, says", BAD_OPTIONS.values(), ids=BAD_OPTIONS.keys())
def test_a_bad_option_is_refused(folder, unchanged, arguments, says):
    unchanged()
    database = [] if "--db" in arguments or says == "--db" else ["--db", "quern.db"]
    refused(serve(*arguments, *database, folder=folder), says)


BAD_VARIABLES = {
    "port": ({"QUERN_PORT": "http"}, "port"),
    "switch": ({"QUERN_AWS_WAITS": "perhaps"}, "QUERN_AWS_WAITS"),
    "clock": ({"QUERN_CLOCK": "sand"}, "clock"),
    "one of several queues": ({"QUERN_QUEUE": "good;bad name"}, "bad name"),
    "configuration": ({"QUERN_CONFIG": "/nonexistent/queues.json"}, "/nonexistent/queues.json"),
}


@pytest.mark.parametrize("environment, says", BAD_VARIABLES.values(), ids=BAD_VARIABLES.keys())
def test_a_bad_environment_variable_is_refused(folder, unchanged, environment, says):
    unchanged()
    refused(run("serve", "--db", "quern.db", environment=environment, folder=folder), says)


@pytest.mark.parametrize("arguments", [["frobnicate"], ["--frobnicate"], ["serv"]])
def test_an_unknown_subcommand_is_refused(arguments):
    refused(run(*arguments), arguments[0])


# ---- configuration ----


def configuration(*queues):
    return json.dumps({"queues": list(queues)})


BAD_CONFIGURATIONS = {
    "empty": ("", "queues.json"),
    "no JSON": ('{"queues": [', "queues.json"),
    "a list": ("[]", "queues.json"),
    "an unknown member": ('{"queues": [], "topics": []}', "queues.json"),
    "queues of another type": ('{"queues": {}}', "queues.json"),
    "a queue of another type": ('{"queues": ["q"]}', "queue 1"),
    "a queue without a name": (configuration({"name": "a"}, {}), "queue 2"),
    "an unknown member of a queue": (configuration({"name": "a", "colour": "red"}), "queue 1"),
    "a name that is bad": (configuration({"name": "bad name"}), "bad name"),
    "an unknown attribute": (configuration({"name": "a", "attributes": {"Colour": "red"}}), "Colour"),
    "an attribute out of range": (configuration({"name": "a", "attributes": {"DelaySeconds": 901}}), "DelaySeconds"),
    "attributes of another type": (configuration({"name": "a", "attributes": []}), "queue 1"),
    "tags of another type": (configuration({"name": "a", "tags": "red"}), "queue 1"),
    "redrive to nowhere": (configuration({"name": "a", "redrive": {"to": "b", "max": 3}}), "b"),
    "redrive without a limit": (configuration({"name": "a"}, {"name": "b", "redrive": {"to": "a"}}), "queue 2"),
    "redrive beyond the limit": (
        configuration({"name": "a"}, {"name": "b", "redrive": {"to": "a", "max": 1001}}),
        "maxReceiveCount",
    ),
    "redrive to another type": (
        configuration({"name": "a.fifo"}, {"name": "b", "redrive": {"to": "a.fifo", "max": 3}}),
        "b",
    ),
    "a good queue and a bad one": (configuration({"name": "good"}, {"name": "bad name"}), "bad name"),
}


@pytest.mark.parametrize("text, says", BAD_CONFIGURATIONS.values(), ids=BAD_CONFIGURATIONS.keys())
def test_a_bad_configuration_is_refused(folder, unchanged, text, says):
    (folder / "queues.json").write_text(text)
    unchanged()
    refused(serve("--db", "quern.db", "--config", "queues.json", folder=folder), says)


def test_a_bad_configuration_changes_nothing_in_a_database(folder, database, unchanged):
    (folder / "queues.json").write_text(configuration({"name": "good"}, {"name": "bad name"}))
    unchanged()
    refused(serve("--db", database.path, "--config", folder / "queues.json"), "bad name")


# ---- ports ----


def test_a_port_in_use_is_refused(folder, unchanged):
    unchanged()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run("serve", "--bind", "127.0.0.1:%d" % port, "--db", "quern.db", folder=folder)
    refused(done, str(port), "in use")


def test_a_port_that_another_quern_uses_is_refused(folder, database):
    database.start()
    port = str(database.server.port)
    other = folder / "other"
    other.mkdir()
    refused(run("serve", "--port", port, "--db", other / "quern.db"), port)
    assert list(other.iterdir()) == []
    assert database.bodies(database.url("q"), VisibilityTimeout=0) == ["kept"]
    database.end()


# ---- databases ----


def foreign_sqlite(path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE precious (x)")
        connection.execute("INSERT INTO precious VALUES (1)")
    connection.close()


FOREIGN = {
    "text": lambda path: path.write_text("dear diary\n"),
    "one byte": lambda path: path.write_bytes(b"S"),
    "zeros": lambda path: path.write_bytes(bytes(4096)),
    "another SQLite database": foreign_sqlite,
    "a torn SQLite header": lambda path: path.write_bytes(b"SQLite format 3\0" + bytes(20)),
    "a folder": lambda path: path.mkdir(),
    "a pipe": lambda path: os.mkfifo(path),
}


@pytest.mark.parametrize("make", FOREIGN.values(), ids=FOREIGN.keys())
def test_a_file_that_is_not_ours_is_refused(folder, unchanged, make):
    path = folder / "some.db"
    make(path)
    unchanged()
    refused(serve("--db", path), str(path))


# Zeros are what a crash leaves of a ring that was never in use.
@pytest.mark.parametrize("kind", [kind for kind in FOREIGN if kind != "zeros"])
def test_a_ring_that_is_not_ours_is_refused(folder, unchanged, kind):
    path = folder / "quern.db-ring"
    FOREIGN[kind](path)
    unchanged()
    refused(serve("--db", folder / "quern.db"), str(path))


def test_a_newer_schema_is_refused(database, unchanged):
    header = bytearray(database.path.read_bytes())
    header[60:64] = (999).to_bytes(4, "big")  # user_version
    database.path.write_bytes(header)
    unchanged()
    refused(serve("--db", database.path), str(database.path), "newer")


def test_a_newer_ring_is_refused(database, folder, unchanged):
    ring = folder / "quern.db-ring"
    with open(ring, "r+b") as file:
        file.seek(8)
        file.write((99).to_bytes(4, "little"))
    unchanged()
    refused(serve("--db", database.path), str(ring), "newer")


def test_a_damaged_ring_is_refused(database, folder, unchanged):
    ring = folder / "quern.db-ring"
    os.truncate(ring, 1 << 20)
    unchanged()
    refused(serve("--db", database.path), str(ring), "damaged")


def test_a_damaged_database_is_refused(database, folder):
    with open(database.path, "r+b") as file:
        file.seek(100)
        file.write(b"\xff" * 8192)
    before = database.path.read_bytes()
    refused(serve("--db", database.path), str(database.path))
    assert database.path.read_bytes() == before


def test_the_ring_of_another_database_is_refused(database, folder, unchanged):
    other_folder = folder / "other"
    other_folder.mkdir()
    other = Store(other_folder)
    other.start()
    other.end()
    shutil.copy(other_folder / "quern.db-ring", folder / "quern.db-ring")
    unchanged()
    refused(serve("--db", database.path), "another database")


def test_a_ring_without_its_database_is_refused(database, folder, unchanged):
    database.path.unlink()
    unchanged()
    refused(serve("--db", database.path), str(database.path))


def test_a_database_without_its_ring_goes_on(database, folder):
    (folder / "quern.db-ring").unlink()
    still_good(database)


def test_a_database_in_use_is_refused(database, folder):
    database.start()
    inode = database.path.stat().st_ino
    before = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir()}
    refused(serve("--db", database.path), str(database.path), "in use by another quern")
    assert {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir()} == before
    assert database.path.stat().st_ino == inode
    assert database.bodies(database.url("q"), VisibilityTimeout=0) == ["kept"]
    database.end()
    still_good(database)


def test_a_database_of_a_killed_server_is_free_at_once(database):
    database.start()
    database.end(by="kill")
    still_good(database)


def test_a_database_under_a_file_is_refused(folder, unchanged):
    (folder / "file").write_text("no folder")
    unchanged()
    refused(serve("--db", folder / "file" / "quern.db"), "quern.db")


def test_a_database_in_no_folder_is_refused(folder, unchanged):
    unchanged()
    refused(serve("--db", folder / "nowhere" / "quern.db"), "quern.db")
    refused(serve("--db", ""))


# ---- rights; root has all of them, so somebody without is asked ----


@pytest.fixture
def somebody(folder):
    """Who may run the program, but not write into a folder of ours."""
    folder.chmod(0o755)
    if os.geteuid() != 0:
        return {}
    place = folder / "bin"
    place.mkdir()
    copy = shutil.copy(program(), place / "quern")
    os.chmod(copy, 0o755)
    return {"copy": copy, "user": "nobody"}


def serve_as(somebody, *arguments):
    named = os.environ.get("QUERN_PROGRAM")
    if "copy" in somebody:
        os.environ["QUERN_PROGRAM"] = str(somebody["copy"])
    try:
        return serve(*arguments, user=somebody.get("user"))
    finally:
        os.environ.pop("QUERN_PROGRAM", None)
        if named is not None:
            os.environ["QUERN_PROGRAM"] = named


def test_a_folder_that_cannot_be_written_is_refused(folder, somebody, unchanged):
    place = folder / "locked"
    place.mkdir(mode=0o555)
    unchanged()
    refused(serve_as(somebody, "--db", place / "quern.db"), str(place))


def test_a_database_that_cannot_be_read_is_refused(folder, somebody, database, unchanged):
    for path in folder.glob("quern.db*"):
        path.chmod(0o000)
    unchanged()
    refused(serve_as(somebody, "--db", database.path), str(database.path))


def test_a_database_that_cannot_be_written_is_refused(folder, somebody, database, unchanged):
    folder.chmod(0o777)
    database.path.chmod(0o444)
    (folder / "quern.db-ring").chmod(0o666)
    unchanged()
    refused(serve_as(somebody, "--db", database.path), str(database.path))


def test_a_ring_that_cannot_be_written_is_refused(folder, somebody, database, unchanged):
    folder.chmod(0o777)
    database.path.chmod(0o666)
    (folder / "quern.db-ring").chmod(0o444)
    unchanged()
    refused(serve_as(somebody, "--db", database.path), "quern.db-ring")
