"""client/runbook.md against the program: its commands of ours run as they stand, those of AWS exist."""
import json
import pathlib
import re
import shlex

import botocore.session
import pytest

from test_chaos_readme import free_port, run_script

PAGE = (pathlib.Path(__file__).resolve().parents[2] / "client" / "runbook.md").read_text()
BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE, re.S)
OURS = [block for block in BLOCKS if "aws " not in block]
AWS = [line for block in BLOCKS if "aws " in block for line in block.replace("\\\n", " ").splitlines()]
START = """set -eu
quern serve --queue orders --queue orders-dlq --queue rehearsal --log error &
quern health --wait 30 >/dev/null
"""
LETTERS = """for kind in order.placed other.thing order.placed; do
printf '{"messageType":"%s"}\\n\\n' "$kind" | quern send orders-dlq - >/dev/null; done
"""


def test_commands_of_ours_run_from_the_first_look_to_the_last_letter(tmp_path):
    # The page offers three ways to give back: each gets letters of its own.
    (everything,) = [block for block in OURS if "-- quern send orders -\n" in block]
    (some,) = [block for block in OURS if "order.placed" in block]
    *first, file = [block for block in OURS if block not in (everything, some)]
    script = START + LETTERS + "".join(first) + everything + "echo all\nquern queues\n"
    script += LETTERS + some + "echo some\nquern queues\n" + file + "echo file\nquern queues\n"
    script += "quern peek orders --limit 20 --json >bodies\n"
    printed = run_script(script, tmp_path, free_port())

    def visible(after, queue):
        return int(re.search(rf"^{queue} +\d+ +\S+ +(\d+) ", printed.split(after + "\n")[1], re.M)[1])

    assert [visible("all", queue) for queue in ("rehearsal", "orders", "orders-dlq")] == [3, 3, 0], printed
    assert visible("some", "orders") == 5, printed
    assert visible("file", "orders") == 8, printed
    bodies = [message["body"] for message in json.loads((tmp_path / "empty" / "bodies").read_text())["messages"]]
    assert len(bodies) == 8 and all(body.endswith('"}\n\n') for body in bodies), bodies


@pytest.mark.parametrize("line", AWS)
def test_a_command_of_aws_has_the_action_and_its_parameters(line):
    words = shlex.split(line)
    assert words[:2] == ["aws", "sqs"]
    model = botocore.session.get_session().get_service_model("sqs")
    action = "".join(part.capitalize() for part in words[2].split("-"))
    members = {name.lower() for name in model.operation_model(action).input_shape.members}
    given = {word[2:].replace("-", "") for word in words if word.startswith("--")}
    assert given and given <= members
