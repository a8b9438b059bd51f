#!/usr/bin/env python3
"""Instructions per request, counted by callgrind, and the file that remembers them.

Run it to write the file anew: QUERN_PROGRAM=build/release/quern tests/bench/instructions.py
What is remembered is beyond a bare libmicrohttpd that answers the same bytes: the library's share, most
of which is clearing its pool, would hide a change of ours, and depends on the CPU's widest registers.
The counts belong to the release preset and to the packages of Debian 12.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
BASELINE = HERE / "instructions.json"
WATCHED = ("beyond", "drain_beyond")


def program():
    return os.environ.get("QUERN_PROGRAM") or str(HERE.parents[1] / "build/release/quern")


def count(rules=(), server=None):
    """Figure by name, as `quern bench instructions` counts them: of a server with these fault rules, and
    of another program than the one under test."""
    with tempfile.TemporaryDirectory(prefix="quern-instructions-") as folder:
        file = pathlib.Path(folder) / "bench.json"
        rule_file = pathlib.Path(folder) / "rules"
        rule_file.write_text("".join(rule + "\n" for rule in rules))
        answer = subprocess.run([program(), "bench", "instructions", "--json", str(file)]
                                + (["--server", str(server)] if server else []),
                                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240,
                                env={**os.environ, "QUERN_CHAOS": str(rule_file)} if rules else None, check=False)
        if answer.returncode != 0:
            raise RuntimeError("exit code %d: %s%s" % (answer.returncode, answer.stdout, answer.stderr))
        (row,) = json.loads(file.read_text())["rows"]
    return {figure["name"]: figure["value"] for figure in row["figures"]}


def main():
    counted = count()
    BASELINE.write_text(json.dumps({name: round(counted[name]) for name in WATCHED}, indent=1) + "\n")
    print("%s: %s" % (BASELINE, BASELINE.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
