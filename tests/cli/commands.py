"""The program as a user runs it: words in, exit code and texts out."""
import os
import re
import subprocess

from exchange import process


def environment(**variables):
    kept = {k: v for k, v in os.environ.items() if not re.match("QUERN_|AWS_", k)}
    return {**kept, "AWS_EC2_METADATA_DISABLED": "true", **variables}


def run(*words, stdin=None, timeout_s=60, cwd=None, **variables):
    return subprocess.run(
        [process.program(), *words],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        cwd=cwd,
        env=environment(**variables),
        check=False,
    )


def succeeds(answer):
    """What the command printed; it has nothing to complain of."""
    assert (answer.returncode, answer.stderr) == (0, ""), answer
    return answer.stdout


def refused(*words, **how):
    """One clear line on stderr, nothing on stdout, exit code 2."""
    answer = run(*words, **how)
    assert (answer.returncode, answer.stdout) == (2, ""), answer
    assert re.fullmatch(r"[^\n]+\n", answer.stderr), answer.stderr
    return answer.stderr
