"""The consumer runtime under valgrind: leases, retries, a quarantine, deletions and the end."""
import os
import subprocess
import time

import memcheck
from exchange import process

LIMIT_S = 60
WORK = """read -r body
case $body in
slow) sleep 1.5 ;;
never) exit 65 ;;
later) [ "$QUERN_MESSAGE_RECEIVE_COUNT" -gt 1 ] || exit 75 ;;
esac
"""


def left(server, queue):
    found = server.control("GET", "/_quern/queues/" + queue)[1]
    return sum(found[kind] for kind in ("visible", "in_flight", "delayed"))


def test_a_consumer_from_the_first_message_to_the_end(tmp_path, monkeypatch):
    server = process.Server("--queue", "jobs,VisibilityTimeout=2", "--queue", "kept", clock="real")
    try:
        environment = {**os.environ, "AWS_ENDPOINT_URL": server.endpoint}
        for body in ("fine", "slow", "never", "later", "fine"):
            subprocess.run([process.program(), "send", "jobs", body], check=True, env=environment,
                           stdout=subprocess.DEVNULL, timeout=LIMIT_S)
        valgrind = memcheck.Memcheck(tmp_path, monkeypatch)
        program, log = valgrind.wrap()
        consumer = subprocess.Popen(
            [program, "consume", "jobs", "--quarantine", "kept", "--workers", "2", "--quiet", "--", "sh", "-c", WORK],
            env=environment, stdin=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + LIMIT_S
            while (left(server, "jobs"), left(server, "kept")) != (0, 1) and time.monotonic() < deadline:
                time.sleep(0.1)
            consumer.terminate()
            code = consumer.wait(LIMIT_S)
        finally:
            consumer.kill()
        # Lines with dashes are of valgrind about itself: an old one knows no pidfd_open.
        said = [line for line in log.read_text(errors="replace").splitlines() if line.startswith("==")]
        assert (said, code) == ([], 0)
        assert (left(server, "jobs"), left(server, "kept")) == (0, 1)
    finally:
        server.kill()
