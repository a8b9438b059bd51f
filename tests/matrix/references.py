"""Consumers that are right, each in another way: the suite must not find anything in them."""
import pathlib
import sys

import running

HERE = pathlib.Path(__file__).resolve().parent
CONSUMERS = HERE.parent / "consumers"
sys.path.insert(0, str(HERE.parent / "sdk"))

from sdk_install import debian, node_folder  # noqa: E402

BOTH = ("standard", "fifo")


class Reference:
    """only: where its own way of doing things shows; empty: everywhere. The cut chooses from it.
    tier: the last one it is put through."""

    def __init__(self, number, what, command, options=(), profiles=BOTH, only=(), sources=(), is_cut=True,
                 tier=2):
        self.number = number
        self.what = what
        self.command = command
        self.options = list(options)
        self.profiles = profiles
        self.only = list(only)
        self.is_cut = is_cut  # fast enough for the cut
        self.tier = tier
        self.sources = [CONSUMERS / name for name in sources]  # none: those of the worker


def worker(*arguments):
    return lambda: [running.WORKER, *arguments]


def python(name, *arguments):
    def make():
        debian("python3-boto3")
        return ["/usr/bin/python3", CONSUMERS / name, *arguments]
    return make


def function(*arguments):
    return lambda: ["/usr/bin/python3", CONSUMERS / "lambda" / "lambda_fn", *arguments]


def shell():
    debian("awscli", "jq", "curl")
    return ["sh", CONSUMERS / "shell.sh"]


def javascript():
    folder = CONSUMERS / "javascript"
    return ["node", node_folder("javascript", folder, "worker.mjs", pins="../sqs_consumer")]


def runtime():
    return [running.WORKER.parents[1] / "runtime" / "runtime"]


def consume():
    debian("jq", "curl")
    return [running.PROGRAM, "consume", "{queue_url}", "--wait-for-queue", "--", "sh", CONSUMERS / "consume.sh"]


def exports():
    return [running.PROGRAM.parent / "client" / "examples" / "exports", "{run}.db"]


STOPS = ["shutdown.*", "scale.*"]
POISON = ["poison.*", "retry.*", "dlq.*"]

REFERENCES = [
    Reference("R1", "the worker in C as it is", worker()),
    Reference("R1b", "the same with deletions in batches", worker("--delete", "batch")),
    Reference("R1c", "the same with the state of entities", worker("--state"), profiles=("standard",),
              only=["std.reorder"]),
    Reference("R1d", "the same with an output queue", worker("--publish"),
              ["--output-queue", "output"], ("standard",), ["outbox.*"]),
    Reference("R1e", "the same with a retry queue", worker("--retry-queue", "{retry_queue_url}"),
              ["--retry-queue", "retry"], ("standard",), ["retry.delayed-queue"]),
    Reference("R1f", "the same with a step before the effect", worker("--step", "upload"),
              profiles=("standard",), only=["ambiguous.*"]),
    Reference("R2", "a sequential loop in Python, ten at a time, without a heartbeat",
              python("sequential.py"), sources=["sequential.py", "reference.py"]),
    Reference("R3", "an inbox in SQLite, judged by its effects alone", python("inbox.py"),
              ["--effects-cmd", "/usr/bin/python3 %s --effects" % (CONSUMERS / "inbox.py")],
              sources=["inbox.py", "reference.py"]),
    Reference("R4", "the example `client/examples/exports`", exports,
              ["--poison", "dlq", "--output-queue", "finished", "--env", "OUTPUT_QUEUE_URL={output_queue_url}"], ("standard",),
              sources=["../../client/examples/exports/%s.c" % name for name in ("main", "store", "worker")]),
    Reference("R5", "leaves poison to the redrive policy", worker("--poison", "dlq"),
              ["--poison", "dlq"], only=POISON),
    Reference("R6", "quarantines poison", worker("--poison", "quarantine"), ["--poison", "quarantine"],
              only=POISON),
    Reference("R7", "exits with 143 after draining", worker("--exit", "143"), only=STOPS),
    Reference("R7b", "exits with 0 after draining", worker("--exit", "0"), only=STOPS),
    Reference("R8", "ends its long poll of 20 s at SIGTERM", worker("--wait", "20"),
              only=[*STOPS, "poll.*"]),
    Reference("R8b", "waits for its poll of 2 s at SIGTERM",
              worker("--wait", "2", "--stop-poll", "wait"), only=[*STOPS, "poll.*"]),
    Reference("R9", "one message of each group at a time", worker("--workers", "8"), profiles=("fifo",)),
    Reference("R9b", "one message in each receive", worker("--max", "1")),
    Reference("R10", "fetches 20 ahead, with heartbeats for those that wait",
              worker("--prefetch", "20"), ["--prefetch", "20"]),
    # Each of its calls is a process that takes a second of a processor. Beside other suites that is
    # longer than its leases, so the cut has it not; tests/check has a worker in shell.
    Reference("R11", "a shell script on the AWS CLI, tier 1", shell, ["--poison", "dlq"], sources=["shell.sh"],
              is_cut=False, tier=1),
    Reference("R16", "a Lambda function that takes each record by itself, and knows of FIFO", function(),
              ["--esm", str(CONSUMERS / "lambda" / "right.json")], ("lambda",), ["lambda.*"],
              sources=["lambda/lambda_fn", "lambda/right.json"]),
    Reference("R16b", "the same, but it stops its batch at the first failure of a FIFO queue",
              function("--all-at-first-failure"), profiles=("lambda",), only=["lambda.fifo-*"],
              sources=["lambda/lambda_fn"]),
    Reference("R17", "at most once, on purpose", worker("--at-most-once"),
              ["--at-most-once"], ("standard",)),
    Reference("RC", "the consumer runtime of libquern", runtime, sources=["runtime/main.c"]),
    Reference("RJ", "a worker in JavaScript on @aws-sdk/client-sqs", javascript,
              sources=["javascript/worker.mjs"]),
    Reference("RP", "the reference in Python that `./dev check` runs", python("reference.py"),
              sources=["reference.py"]),
    Reference("RQ", "`quern consume` and a shell script", consume, ["--heartbeat", "yes"],
              sources=["consume.sh"]),
]


def pairs():
    """Each with each of its profiles."""
    return [(one, profile) for one in REFERENCES for profile in one.profiles]
