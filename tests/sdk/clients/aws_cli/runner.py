"""Makes SQS calls with an AWS CLI, one process per call. Lines in and out as sdk_clients.py says.

    runner.py PROGRAM raw|base64 MEMBER

The second word says how the program takes bytes inside JSON arguments (version 1 takes the text
itself, version 2 base64); the third how its receive-message names the list of system attributes.

Most of what the program does for a call is to load its modules. So one process has loaded them, and a
fork of it runs the program's own script for each call.
"""

import base64
import json
import multiprocessing
import os
import re
import runpy
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import connection

LONGEST_ARGUMENT = 100_000  # Linux takes 128 KiB in one argument
LIMIT_S = 120
forks = multiprocessing.get_context("forkserver")
WORD_ENDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
REFUSED = re.compile(
    r"An error occurred \((?P<code>[^)]*)\) when calling the \w+ operation"
    r"(?: \(reached max retries: \d+\))?: (?P<message>.*)",
    re.S,
)
output_lock = threading.Lock()
# A start asks after all other processes as well, and how one ended can be heard by one thread only.
fork_lock = threading.Lock()


def kebab(member):
    return WORD_ENDS.sub("-", member).lower()


def argument_value(value, raw_bytes):
    """A value of a JSON argument in the way that the CLI wants it."""
    if isinstance(value, dict):
        if set(value) == {"$bytes"}:
            if raw_bytes:
                return base64.b64decode(value["$bytes"]).decode()
            return value["$bytes"]
        return {k: argument_value(v, raw_bytes) for k, v in value.items()}
    return [argument_value(v, raw_bytes) for v in value] if isinstance(value, list) else value


def output_value(value):
    if isinstance(value, dict):
        return {
            k: {"$bytes": v} if k == "BinaryValue" else output_value(v) for k, v in value.items()
        }
    return [output_value(v) for v in value] if isinstance(value, list) else value


def arguments(members, raw_bytes, folder):
    words = []
    for name, value in members.items():
        if isinstance(value, (dict, list)):
            value = json.dumps(argument_value(value, raw_bytes), ensure_ascii=False)
        value = str(value)
        if len(value.encode()) > LONGEST_ARGUMENT:
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8", newline="") as file:
                file.write(value)
            value = "file://" + path
        words.append("--%s=%s" % (kebab(name), value))
    return words


def be_program(command, folder):
    """What a process of its own does: becomes the program, with files for what it prints."""
    for descriptor, name in enumerate((os.devnull, os.path.join(folder, "1"), os.path.join(folder, "2"))):
        os.dup2(os.open(name, os.O_RDONLY if descriptor == 0 else os.O_WRONLY | os.O_CREAT), descriptor)
    sys.argv = command
    runpy.run_path(command[0], run_name="__main__")


def run(command, folder):
    """The exit code, and what was printed on stdout and on stderr."""
    process = forks.Process(target=be_program, args=(command, folder))
    with fork_lock:
        process.start()
    connection.wait([process.sentinel], LIMIT_S)
    with fork_lock:
        process.join(0)
        if process.exitcode is None:
            process.kill()
            process.join()
    printed = []
    for name in ("1", "2"):
        with open(os.path.join(folder, name), "rb") as file:
            printed.append(file.read())
    return process.exitcode, *printed


def call(program, raw_bytes, system_attributes, request):
    members = dict(request["members"])
    if "SystemAttributeNames" in members:
        members[system_attributes] = members.pop("SystemAttributeNames")
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "--endpoint-url", request["endpoint"], "--output", "json"]
        command += ["sqs", kebab(request["action"])] + arguments(members, raw_bytes, folder)
        code, out, err = run(command, folder)
    if code == 0:
        text = out.decode()
        return {"output": output_value(json.loads(text)) if text.strip() else {}}
    text = err.decode(errors="replace").strip()
    refused = REFUSED.search(text)
    if refused:
        return {"error": refused.groupdict()}
    return {"broken": "exit %d: %s" % (code, text[-600:])}


def answer(settings, request):
    try:
        reply = call(*settings, request)
    except Exception as error:  # everything else is for the test to judge
        reply = {"broken": "%s: %s" % (type(error).__name__, error)}
    say(dict(reply, id=request["id"]))


def say(line):
    text = json.dumps(line)
    with output_lock:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def main():
    program, bytes_form, system_attributes = sys.argv[1:]
    version = subprocess.run([program, "--version"], capture_output=True, check=True)
    say({"client": (version.stdout or version.stderr).decode().split()[0].replace("/", " ")})
    forks.set_forkserver_preload(["__main__", "awscli.clidriver", "awscli.handlers"])
    settings = (program, bytes_form == "raw", system_attributes)
    with ThreadPoolExecutor(max_workers=8) as pool:
        for line in sys.stdin:
            pool.submit(answer, settings, json.loads(line))


if __name__ == "__main__":
    main()
