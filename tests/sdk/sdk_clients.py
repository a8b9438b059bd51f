"""The clients: how one is written down, found and spoken to.

A folder of clients/ is one client, or a family that shares a runner. Its client.py sets CLIENTS:

    from sdk_clients import Client
    from sdk_install import debian, node_folder

    def start():                      # installs what is missing, returns the runner's command line
        return ["node", node_folder("js_v3", FOLDER)]

    def shows(name, error):           # what a user sees of the row `name` of errors.json
        return {"shape": name, "status": error["status"]}

    CLIENTS = [Client(name="js-v3-json", label="AWS SDK for JavaScript v3", language="JavaScript",
                      protocol="json", kind="api", tier="quick", start=start, shows=shows)]

    name      in test ids and QUERN_CLIENTS      label, language   for the table in the README
    protocol  "json" or "query"                  kind              "api" or "framework"
    tier      "quick" runs in ./dev test; "installed" (comes from pip, npm or Debian in seconds) also
              in .ci/run; "slow" (a compiler or a large build) only in ./dev test clients
    parallel  so many behaviours at a time, each on a server of its own (3)
    lacks     {WHAT: REASON}: what this client does not offer; see below
    sends     a framework: it has a producer of its own, so "send" goes through it (False)
    environment  more variables for the runner
    public    its Host header has no port, so the server is given --public-url (False)

The runner is a process that reads one JSON request per line and writes one JSON answer per line, in
any order. Its first line says who is speaking: {"client": "NAME VERSION"}; the last word is the
version in the table. It ends when its input ends.

    in   {"id": 1, "endpoint": URL, "action": "SendMessage", "members": {...}}
         with "timeout_s": N the client is one that waits so long for an answer (test_faults.py)
    out  {"id": 1, "output": {...}}   the answer, members named as in the API, without empty ones
         {"id": 1, "error": {...}}    the service refused; compared with what shows() says, and
                                      "message" where a behaviour asks for it
         {"id": 1, "lacks": WHAT}     the client has no way to say this: WHAT is an action
                                      ("TagQueue"), a member ("CreateQueue.tags"), or a few words
         {"id": 1, "broken": TEXT}    anything else: always a failure, but where faults are looked at;
                                      "thrown": {...} is then what a program sees of it

Bytes travel as {"$bytes": BASE64}. ReceiveMessage's SystemAttributeNames is the member that newer
clients call MessageSystemAttributeNames and older ones AttributeNames.

A behaviour in which the client answers "lacks" is not offered by it: neither passed nor failed, if
the client's `lacks` names WHAT with a reason. What is lacking and not written down fails; so does
what is written down and was not lacking in any behaviour.

A framework runs behaviours/consuming.json only, on a server whose clock goes at rate 1. For these the
runner knows, instead of the actions of the API:

    consume.start  {"consumer": NAME, "queue_url": URL, "queue_name": QUEUE, "fail": {BODY: TIMES},
                    "batch": N}   polls the queue until consume.stop, up to N messages at a time,
                   whose handler throws the first TIMES times that it is given BODY. A failed message
                   is to be left alone until its visibility timeout lapses. Asks for all attributes.
                   Answers {} when it is about to poll.
    consume.seen   {"consumer": NAME} -> {"seen": [{"Body": TEXT, "failed": true|false,
                   "Attributes": {...}, "MessageAttributes": {...}}, ...]} what the handler was given
                   so far, in order; the attributes as ReceiveMessage has them. With "lacks": WHAT
                   in it if the handler is not shown attributes
    consume.stop   {"consumer": NAME} -> {}
    send           {"QueueUrl": URL, "queue_name": QUEUE, "MessageBody": TEXT, ...as SendMessage}

Several behaviours run at the same time on different endpoints, so NAME is unique in the whole run.
Where a framework has no say in one of these, it answers "lacks" ("fifo queues", "message attributes").
Each request is answered within 60 seconds.
"""

import concurrent.futures
import importlib.util
import itertools
import json
import os
import pathlib
import subprocess
import threading

from sdk_install import Unavailable

HERE = pathlib.Path(__file__).resolve().parent
TIERS = ("quick", "installed", "slow")
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": "/dev/null",
    "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
    "AWS_PAGER": "",
    "LC_ALL": "C.UTF-8",
    "NO_PROXY": "127.0.0.1",
    "NODE_NO_WARNINGS": "1",
}


class Client:
    """One client and, while it is in use, its runner process. Calls may come from any thread."""

    def __init__(self, name, label, language, protocol, kind, tier, start, shows=None, parallel=3,
                 lacks=None, sends=False, environment=None, public=False):
        assert kind in ("api", "framework") and tier in TIERS, name
        assert protocol in ("json", "query"), name
        assert kind == "framework" or shows, "%s does not say how it shows errors" % name
        self.name = name
        self.label = label
        self.language = language
        self.protocol = protocol
        self.kind = kind
        self.tier = tier
        self.start = start
        self.shows = shows
        self.parallel = parallel
        self.lacks = lacks or {}
        self.sends = sends
        self.environment = environment or {}
        self.public = public
        self.process = None
        self.version = "?"
        self.replies = {}
        self.numbers = itertools.count(1)
        self.lock = threading.Lock()

    def open(self):
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
        self.process = subprocess.Popen(
            [str(word) for word in self.start()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={**inherited, **ENVIRONMENT, **self.environment},
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

    def call(self, endpoint, action, members, **more):
        future = concurrent.futures.Future()
        with self.lock:
            number = next(self.numbers)
            self.replies[number] = future
            line = {"id": number, "endpoint": endpoint, "action": action, "members": members, **more}
            self.process.stdin.write(json.dumps(line) + "\n")
            self.process.stdin.flush()
        return future

    def close(self):
        if self.process is not None:
            try:
                self.process.stdin.close()
                self.process.wait(10)
            except (BrokenPipeError, subprocess.TimeoutExpired):
                self.process.kill()
                self.process.wait()

    def check_error(self, errors, name, shown):
        """Whether the client shows the error as its users know it."""
        want = self.shows(name, errors[name])
        got = {key: shown.get(key) for key in want}
        assert got == want, "wanted %s shown as %s, got %s" % (name, want, shown)

    def tells_message(self, _shown):
        """Whether the client passes on the message of such an error; a family may know better."""
        return True


def found():
    """All clients that are written down, in the order of their folders' names."""
    clients = []
    for file in sorted((HERE / "clients").glob("*/client.py")):
        module_name = "sdk_client_" + file.parent.name
        spec = importlib.util.spec_from_file_location(module_name, file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        clients += module.CLIENTS
    names = [client.name for client in clients]
    assert len(set(names)) == len(names), "two clients of one name: %s" % names
    return clients


def chosen(words):
    """The clients that QUERN_CLIENTS asks for: quick, installed, all, or names, with commas."""
    clients = found()
    tiers = {"quick": TIERS[:1], "installed": TIERS[:2], "all": TIERS}
    wanted = []
    for word in words.split(","):
        some = [c for c in clients if c.name == word or c.tier in tiers.get(word, ())]
        assert some, "QUERN_CLIENTS: no client or tier is called %r" % word
        wanted += [client for client in some if client not in wanted]
    return wanted


CLIENTS = chosen(os.environ.get("QUERN_CLIENTS") or "quick")
