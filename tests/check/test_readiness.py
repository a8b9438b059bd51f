"""Consumers that say themselves when they are ready, before they ask for a message."""
import json
import socket
import sys

import pytest
from commands import refused, run

SCENARIO = {
    "id": "mine.ready", "title": "t", "profiles": ["standard"], "severity": "must", "queue": {"name": "q"},
    "load": ["ok"], "end": {"drained_within": "300ms"}, "must": ["DRAINED"], "why": "w", "fix": "f",
}


def became_ready(folder, command, *options):
    """Whether the consumer, which never asks for a message, was taken for ready."""
    (folder / "mine.json").write_text(json.dumps(SCENARIO))
    kept = folder / "kept"
    answer = run("check", "--scenario", str(folder / "mine.json"), "--only", "mine.ready", "--keep", str(kept),
                 "--startup-timeout", "4s", "--grace", "200ms", *options, "--", *command, timeout_s=60)
    events = [json.loads(line) for line in (kept / "mine.ready.jsonl").read_text().splitlines()]
    ready = [event for event in events if event["kind"] == "proc" and event["what"] == "ready"]
    assert answer.returncode == (1 if ready else 3), answer.stdout
    return len(ready) == 1


@pytest.mark.parametrize("pattern, ready", [("worker [0-9]+ is ready", True), ("^is ready", False)])
def test_a_line_of_its_output_says_so(tmp_path, pattern, ready):
    shell = ["sh", "-c", "echo starting; echo worker 17 is ready; exec sleep 60"]
    assert became_ready(tmp_path, shell, "--ready-log", pattern) is ready


@pytest.mark.parametrize("path, ready", [("/", True), ("/nothing-here", False)])
def test_an_answer_of_its_page_says_so(tmp_path, path, ready):
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port = str(chosen.getsockname()[1])
    server = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", port]
    assert became_ready(tmp_path, server, "--ready-url", "http://127.0.0.1:%s%s" % (port, path)) is ready


def test_mistakes_are_told_before_the_run():
    assert "takes an extended regular expression" in refused("check", "--ready-log", "(worker", "--", "x")
    assert "takes a URL such as" in refused("check", "--ready-url", "localhost:80", "--", "x")
    assert "--slack takes a time" in refused("check", "--slack", "long", "--", "x")
