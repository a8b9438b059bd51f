"""The clients: where each comes from, how it is run, and how it shows an error."""

import concurrent.futures
import hashlib
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import threading

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build"
VENV = pathlib.Path(os.environ.get("QUERN_VENV", str(BUILD / "venv")))
NODE = BUILD / "sdk-node"
INSTALL_S = 600
installing = threading.Lock()


class Unavailable(Exception):
    """A client that cannot be had. A failed test, never a skipped one."""


def run(command, **options):
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=INSTALL_S,
            stdin=subprocess.DEVNULL,
            **options,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable("%s: %s" % (command[0], error)) from error
    if done.returncode != 0:
        text = (done.stderr.strip() or done.stdout.strip())[-800:]
        raise Unavailable("%s: exit %d: %s" % (" ".join(map(str, command)), done.returncode, text))
    return done.stdout


def digest_of(*files):
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def prepare_venv():
    """The venv with the pinned Python clients, made or brought up to date if need be."""
    wanted = HERE / "requirements.txt"
    stamp = VENV / "sdk-requirements"
    with installing:
        if not stamp.is_file() or stamp.read_text() != digest_of(wanted):
            if not (VENV / "bin" / "python").exists():
                run(["/usr/bin/python3", "-m", "venv", str(VENV)])
            pip = [str(VENV / "bin" / "python"), "-m", "pip", "install", "--quiet"]
            run(pip + ["--disable-pip-version-check", "-r", str(wanted)])
            stamp.write_text(digest_of(wanted))
    return VENV / "bin"


def prepare_node():
    """A folder with the pinned JavaScript SDK and the runner beside it, where node looks for it."""
    files = [HERE / name for name in ("package.json", "package-lock.json")]
    stamp = NODE / "installed"
    NODE.mkdir(parents=True, exist_ok=True)
    if not stamp.is_file() or stamp.read_text() != digest_of(*files):
        for file in files:
            shutil.copy(file, NODE)
        run(["npm", "ci", "--no-audit", "--no-fund"], cwd=NODE)
        stamp.write_text(digest_of(*files))
    return shutil.copy(HERE / "runner_js.mjs", NODE)


def debian(path, package):
    if not os.access(path, os.X_OK):
        raise Unavailable("%s is not there (package %s)" % (path, package))
    return path


class Client:
    """One client and, while it is in use, its runner process. Calls may come from any thread."""

    def __init__(self, name, protocol, command, parallel, models=False, old=False):
        self.name = name
        self.protocol = protocol
        self.command = command
        self.parallel = parallel
        self.models = models
        self.old = old
        self.process = None
        self.version = "?"
        self.replies = {}
        self.numbers = itertools.count(1)
        self.lock = threading.Lock()

    def open(self):
        environment = dict(
            {k: v for k, v in os.environ.items() if not k.startswith("AWS_")},
            AWS_ACCESS_KEY_ID="test",
            AWS_SECRET_ACCESS_KEY="test",
            AWS_REGION="us-east-1",
            AWS_DEFAULT_REGION="us-east-1",
            AWS_EC2_METADATA_DISABLED="true",
            AWS_CONFIG_FILE="/dev/null",
            AWS_SHARED_CREDENTIALS_FILE="/dev/null",
            AWS_PAGER="",
            LC_ALL="C.UTF-8",
            NO_PROXY="127.0.0.1",
            NODE_NO_WARNINGS="1",
        )
        if self.models:
            environment["AWS_DATA_PATH"] = str(HERE / "models")
        self.process = subprocess.Popen(
            [str(word) for word in self.command()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env=environment,
        )
        hello = self.process.stdout.readline()
        if not hello:
            raise Unavailable("the runner of %s ended with %d" % (self.name, self.process.wait()))
        self.version = json.loads(hello)["client"]
        threading.Thread(target=self.read_replies, daemon=True).start()

    def read_replies(self):
        for line in self.process.stdout:
            reply = json.loads(line)
            with self.lock:
                future = self.replies.pop(reply["id"])
            future.set_result(reply)
        with self.lock:
            for future in self.replies.values():
                future.set_result({"broken": "the runner ended"})
            self.replies.clear()

    def call(self, endpoint, action, members):
        future = concurrent.futures.Future()
        with self.lock:
            number = next(self.numbers)
            self.replies[number] = future
            line = {"id": number, "endpoint": endpoint, "action": action, "members": members}
            self.process.stdin.write(json.dumps(line) + "\n")
            self.process.stdin.flush()
        return future

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def check_error(self, errors, name, shown):
        """Whether the client shows the error as its users know it."""
        want = self.shape_of_error(name, errors[name])
        got = {key: shown.get(key) for key in want}
        assert got == want, "wanted %s shown as %s, got %s" % (name, want, shown)

    def shape_of_error(self, name, error):
        raise NotImplementedError


class Boto3(Client):
    def shape_of_error(self, name, error):
        typed = error["typed"] is True or (error["typed"] == "current" and not self.old)
        want = {
            "class": name if typed else "ClientError",
            "code": error["query"],
            "status": error["status"],
            "fault": "Sender",
        }
        if not self.old and typed:
            want["shape"] = name  # only the current one tells the names of both protocols
        return want


class Cli(Client):
    def shape_of_error(self, name, error):
        return {"code": error["query"]}  # all that the program prints, beside the message


class JavaScript(Client):
    def shape_of_error(self, name, error):
        return {
            "class": name if error["typed"] else "SQSServiceException",
            "shape": name,
            "code": error["query"],
            "status": error["status"],
            "fault": "client",
        }


def boto3_current():
    return [prepare_venv() / "python", HERE / "runner_boto3.py"]


def boto3_debian():
    python = debian("/usr/bin/python3", "python3")
    run([python, "-c", "import boto3"])
    return [python, HERE / "runner_boto3.py"]


def cli_current():
    folder = prepare_venv()
    runner = [folder / "python", HERE / "runner_cli.py"]
    return runner + [folder / "aws", "raw", "MessageSystemAttributeNames"]


def cli_debian():
    program = debian("/usr/bin/aws", "awscli")
    return ["/usr/bin/python3", HERE / "runner_cli.py", program, "base64", "AttributeNames"]


def javascript():
    if shutil.which("node") is None:
        raise Unavailable("node is not there (package nodejs)")
    return ["node", prepare_node()]


# The two clients of Debian are older than message move tasks; models/ adds those three actions to
# them in the way botocore has for it. A CLI call is a process that uses up a core for a second.
CLIENTS = [
    Boto3("boto3-json", "json", boto3_current, parallel=3),
    Boto3("boto3-query", "query", boto3_debian, parallel=3, models=True, old=True),
    JavaScript("js-v3-json", "json", javascript, parallel=3),
    Cli("cli-v1-json", "json", cli_current, parallel=3),
    Cli("cli-v2-query", "query", cli_debian, parallel=3, models=True, old=True),
]
