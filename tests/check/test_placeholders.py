"""Placeholders in what starts, stops and asks a consumer: those that are none are refused, other braces are not."""
import json

import pytest
from commands import refused, run

QUICK = "base.ack-after-effect"
SAID = "there is no {queue_ur}; did you mean {queue_url}? The others are {queue_name} {dlq_url}"
STARTED = ["--start-cmd", "worker"]


@pytest.mark.parametrize("called, words", [
    ("the command", ["--", "worker", "--queue={queue_ur}"]),
    ("--env", ["--env", "Q={queue_ur}", "--", "worker"]),
    ("--start-cmd", ["--start-cmd", "worker {queue_ur}"]),
    ("--stop-cmd", [*STARTED, "--stop-cmd", "stop {queue_ur}"]),
    ("--kill-cmd", [*STARTED, "--kill-cmd", "kill {queue_ur}"]),
    ("--effects-cmd", ["--effects-cmd", "cat {queue_ur}", "--", "worker"]),
    ("--key-map", ["--key-map", "cat {queue_ur}", "--", "worker"]),
    ("--ready-url", ["--ready-url", "http://{queue_ur}/", "--", "worker"]),
])
def test_a_name_that_there_is_not_is_refused_before_anything_starts(called, words):
    assert refused("check", *words).startswith("quern check: %s: %s" % (called, SAID))


def test_it_is_a_mistake_of_the_file_with_its_line(tmp_path):
    (tmp_path / "quern.json").write_text('{\n "command": ["worker",\n  "{queue_ur}"],\n "env": {"Q": "{queue_ur}"},\n'
                                         ' "stop_cmd": "stop {instnce}"\n}')
    answer = run("check", cwd=tmp_path)
    assert (answer.returncode, answer.stdout) == (2, "")
    first, *rest = answer.stderr.splitlines()
    assert first == "quern check: quern.json has 3 mistakes:"
    assert rest[0].startswith("  line 3: command: " + SAID) and rest[1].startswith("  line 4: env: " + SAID)
    assert rest[2].startswith("  line 5: stop_cmd: there is no {instnce}; did you mean {instance}?")


def test_other_braces_arrive_as_they_are(tmp_path):
    """A shell's variable too, though there is a placeholder of its name."""
    said = '{"a":{"b":1}} ${port} { ports } {x} {queue_url}'
    command = ["sh", "-c", 'port=mine; printf "%s\\n" \'' + said + '\' "${port}" "$JSON" >>said; sleep 60']
    run("check", "--only", QUICK, "--startup-timeout", "500ms", "--grace", "100ms", "--env", 'JSON={"run":"{run}"}',
        "--", *command, cwd=tmp_path)
    plain, shells, variable = (tmp_path / "said").read_text().splitlines()[:3]
    assert plain.startswith('{"a":{"b":1}} ${port} { ports } {x} http://127.0.0.1:')
    assert shells == "mine"
    assert json.loads(variable)["run"] != "{run}"
