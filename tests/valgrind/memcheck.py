"""A program under valgrind's memcheck."""
import os
import signal
import stat
import subprocess

from exchange import process

STOP_S = 120

# Quiet: whatever it writes is a complaint. Only definite leaks are: libraries keep what they reach.
WRAPPER = """#!/bin/sh
exec valgrind --quiet --log-file='%(log)s' --leak-check=full --show-leak-kinds=definite \\
    --errors-for-leak-kinds=definite --num-callers=30 --error-exitcode=99 '%(program)s' "$@"
"""


class Memcheck:
    """Starts servers one after the other, and wraps other commands."""

    def __init__(self, folder, monkeypatch):
        self.folder = folder
        self.program = process.program()
        self.serial = 0
        self.monkeypatch = monkeypatch

    def wrap(self):
        """A program that runs ours under memcheck, and what memcheck writes to."""
        self.serial += 1
        log = self.folder / ("memcheck-%d.log" % self.serial)
        wrapper = self.folder / ("quern-%d" % self.serial)
        wrapper.write_text(WRAPPER % {"log": log, "program": self.program})
        wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)
        return wrapper, log

    def start(self, *options, clock="virtual"):
        wrapper, log = self.wrap()
        self.monkeypatch.setenv("QUERN_PROGRAM", str(wrapper))
        server = process.Server(*options, clock=clock)
        server.memcheck_log = log
        return server


def end(server):
    """Ends it as an operator would: status 0, and nothing said by memcheck."""
    server.process.send_signal(signal.SIGTERM)
    try:
        code = server.process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        server.kill()
        raise AssertionError("the server did not end:\n" + server.log()[-4000:])
    said = server.memcheck_log.read_text(errors="replace")
    assert said == "", said[:8000]
    assert code == 0, "exit status %s:\n%s" % (code, server.log()[-4000:])
    os.unlink(server.log_file.name)
