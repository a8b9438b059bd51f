"""Running programs: bounded, with their output in the reason of a failure."""
import os
import subprocess


class Failed(AssertionError):
    pass


def run(*argv, timeout_s=60, env=None, stdin=None, check=True):
    """What the program wrote to stdout, stripped; Failed with its last words if it did not exit 0."""
    words = [str(word) for word in argv]
    try:
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False,
                              timeout=timeout_s, stdin=stdin or subprocess.DEVNULL,
                              env={**os.environ, **(env or {})})
    except FileNotFoundError as missing:
        raise Failed(f"{words[0]} is not there; ./dev test container installs it") from missing
    except subprocess.TimeoutExpired as late:
        raise Failed(f"{' '.join(words)}: not over after {timeout_s} s") from late
    if check and done.returncode != 0:
        last = (done.stdout + done.stderr).strip().splitlines()[-15:]
        raise Failed(f"{' '.join(words)}: exit code {done.returncode}\n" + "\n".join(last))
    return done.stdout.strip()
