"""chaos/README.md against the program: its examples run as they stand, what it quotes is accepted."""
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys

import pytest

from commands import environment
from exchange.process import program

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILE = ROOT / "chaos" / "README.md"
PAGE = FILE.read_text()
EXAMPLES = dict(re.findall(r"^### (\d\. [^\n]+)\n(.*?)(?=^##|\Z)", PAGE, re.S | re.M))
PAIR = re.compile(r"```sh\n(.*?)```\n+```text\n(.*?)```", re.S)
MARK = "---- end of block ----"
PORT = "9324"


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def run_script(script, folder, port):
    """One shell, as a reader has one; whatever it leaves behind is ended."""
    (folder / "bin").mkdir()
    (folder / "bin" / "quern").symlink_to(program())
    path = ":".join([str(folder / "bin"), os.path.dirname(sys.executable), os.environ["PATH"]])
    (folder / "empty").mkdir()
    with open(folder / "output", "wb") as output:
        shell = subprocess.Popen(
            ["bash"], stdin=subprocess.PIPE, stdout=output, stderr=output, cwd=folder / "empty",
            env=environment(PATH=path, QUERN_PORT=str(port)), start_new_session=True,
        )
        try:
            shell.communicate(script.encode(), timeout=120)
        finally:
            try:
                os.killpg(shell.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    return (folder / "output").read_text()


def outputs_of(text, folder):
    """What each block printed, and what the page shows for it. The port is a free one."""
    port = free_port()
    pairs = PAIR.findall(text)
    script = "".join("%s\necho '%s'\n" % (block, MARK) for block, _ in pairs)
    printed = run_script(script.replace(PORT, str(port)), folder, port).replace(str(port), PORT)
    return printed.split(MARK + "\n")[:-1], [shown for _, shown in pairs]


def test_each_block_has_its_output():
    assert EXAMPLES
    assert all(len(PAIR.findall(text)) == text.count("```sh") >= 1 for text in EXAMPLES.values())


@pytest.mark.parametrize("title", EXAMPLES)
def test_the_example_prints_what_is_shown(title, tmp_path):
    printed, shown = outputs_of(EXAMPLES[title], tmp_path)
    assert printed == shown
