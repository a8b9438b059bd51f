#!/usr/bin/env python3
"""Puts a ThreadSanitizer build of the server under the load of `quern bench`, driven from outside by
a program without sanitizers, and fails when either complains.

QUERN_PROGRAM is the server, QUERN_BENCH the program that loads it. Three servers on one file: with
--sync normal, stopped while it is under load; with --sync full, killed while it is under load; and
one that finds what that left, and stops.
"""
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from server_under_load import STOP_S, free_port, wait_until_it_answers

MEASURE_S = "0.5"
BENCH_S = 400
UNDER_LOAD = 200  # requests


class Server:
    def __init__(self, folder, sync, complaints):
        self.complaints = complaints
        self.sync = sync
        self.port = free_port()
        self.log = folder / f"server-{sync}-{self.port}.log"
        with open(self.log, "wb") as out:
            self.process = subprocess.Popen(
                [os.environ["QUERN_PROGRAM"], "serve", "--bind", "127.0.0.1", "--port", str(self.port),
                 "--sync", sync, "--db", str(folder / "bench.db"), "--seed", "1"],
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        if not wait_until_it_answers(self.process, self.port):
            self.complain("did not start")

    def complain(self, what):
        self.complaints.append(f"server with sync {self.sync}: {what}")
        print(self.log.read_text(errors="replace")[-4000:])

    def bench(self):
        return subprocess.Popen(
            [os.environ["QUERN_BENCH"], "bench", "--endpoint", f"http://127.0.0.1:{self.port}",
             "--pid", str(self.process.pid), "--rounds", "1", "--seconds", MEASURE_S],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def measure(self):
        """The whole load once."""
        bench = self.bench()
        try:
            said, _ = bench.communicate(timeout=BENCH_S)
        except subprocess.TimeoutExpired:
            bench.kill()
            said, _ = bench.communicate()
        print(said)
        if bench.returncode != 0:
            self.complain(f"the bench ended with {bench.returncode}")

    def end_under_load(self, by):
        """While the bench is at it: some of its requests have been counted."""
        bench = self.bench()
        before = requests(self)
        while bench.poll() is None and requests(self) < before + UNDER_LOAD:
            pass
        if bench.poll() is not None:
            self.complain("the bench was over before the server could be ended under it")
        self.end(by)
        bench.kill()
        bench.communicate()

    def end(self, by):
        self.process.send_signal(by)
        try:
            code = self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.complain(f"did not end within {STOP_S} s")
            self.process.kill()
            code = self.process.wait()
        if code != (0 if by == signal.SIGTERM else -by):
            self.complain(f"ended with {code}")
        if "Sanitizer" in self.log.read_text(errors="replace"):
            self.complain("a sanitizer reported")


def requests(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request("GET", "/_quern/info")
    count = json.loads(connection.getresponse().read())["requests"]
    connection.close()
    return count


def main():
    complaints = []
    with tempfile.TemporaryDirectory(prefix="quern-bench-") as name:
        folder = Path(name)
        for sync, by in (("normal", signal.SIGTERM), ("full", signal.SIGKILL)):
            server = Server(folder, sync, complaints)
            server.measure()
            server.end_under_load(by)
        Server(folder, "full", complaints).end(signal.SIGTERM)
    for complaint in complaints[:20]:
        print(f"complaint: {complaint}")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
