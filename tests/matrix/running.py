"""Runs `quern check` on a consumer, and reads what it found."""
import fnmatch
import functools
import json
import os
import pathlib
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SCENARIOS = ROOT / "chaos" / "check" / "scenarios"
PROGRAM = pathlib.Path(os.environ.get("QUERN_PROGRAM", ROOT / "build" / "release" / "quern"))
WORKER = PROGRAM.parent / "tests" / "consumers" / "worker" / "worker"
PROFILING = "base.drain-and-profile"
LIMIT_S = 1800


@functools.lru_cache(maxsize=None)
def scenario_files():
    return {json.loads(path.read_text())["id"]: path for path in sorted(SCENARIOS.glob("*.json"))}


class Verdict:
    """What one scenario said: its verdict, its time, and what was broken at which severity."""

    def __init__(self, document):
        self.scenario = document["id"]
        self.verdict = document["verdict"]
        self.text = document.get("text", "")
        self.wall_ms = document.get("wall_ms", 0)
        self.broken = {one["name"]: one["severity"] for one in document.get("invariants", [])
                       if one["result"] == "fail"}

    def kills(self, mutant):
        """The name by which it catches the mutant as the table says, or None."""
        level, patterns = mutant.wanted(self.scenario.split("+")[0])
        severity, verdicts = ("must", ("FAIL",)) if level == "F" else ("should", ("WARN", "FAIL"))
        for name in self.broken:
            fits = any(fnmatch.fnmatchcase(name.split("(")[0] if "*" not in pattern and "(" not in pattern
                                           else name, pattern) for pattern in patterns)
            if fits and self.broken[name] == severity and self.verdict in verdicts:
                return name
        return None


class Broken(Exception):
    """The check itself did not come to an end."""


def check(command, profile, only, seed, options=(), at_once=1):
    """Verdicts by name of the scenario (with its variant); `only` empty: all of the profile."""
    with tempfile.TemporaryDirectory(prefix="quern-matrix-") as folder:
        report = pathlib.Path(folder) / "report.json"
        words = [str(PROGRAM), "check", "--profile", profile, "--seed", str(seed), "-j", str(at_once),
                 "--json", str(report), *options]
        there = [PROFILING, *scenario_files()]
        wanted = [name for name in only if fnmatch.filter(there, name)]
        if only and not wanted:
            return {}  # no scenario yet
        variants = [name for name, path in scenario_files().items() if "variants" in json.loads(path.read_text())]
        most = [name for name, path in scenario_files().items()
                if profile in json.loads(path.read_text())["profiles"]]
        for name in dict.fromkeys([PROFILING, *wanted] if set(most) - set(wanted) and only else []):
            words += ["--only", name]
            if name in variants:
                words += ["--only", name + "+*"]
        env = {name: value for name, value in os.environ.items()
               if not name.startswith(("AWS_", "QUERN_"))}
        env["TMPDIR"] = folder
        done = subprocess.run([*words, "--", *map(str, command)], capture_output=True, text=True,
                              errors="replace", timeout=LIMIT_S, stdin=subprocess.DEVNULL, cwd=folder,
                              env=env)
        if not report.is_file():
            raise Broken("exit %d: %s" % (done.returncode, (done.stdout + done.stderr)[-2000:]))
        document = json.loads(report.read_text())
    return {one["id"]: Verdict(one) for one in document["scenarios"]}
