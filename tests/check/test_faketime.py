"""--faketime: every clock runs faster, and a process whose clock does not is found out."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest
from commands import environment, refused, run
from exchange import process
from sdk_install import debian
from test_jobs import left_of, wait_until

HERE = pathlib.Path(__file__).resolve().parent
CONSUMER = [sys.executable, str(HERE / "one_by_one.py")]
WAITS = {  # for the end of a lease, three times: 12 s of waiting
    "id": "mine.waits", "title": "x", "profiles": ["standard"], "severity": "must", "needs": ["sink"], "tier": 2,
    "queue": {"name": "q", "visibility": "V", "dlq": "q-dlq", "max_receive": 5},
    "instances": {"count": 1, "restart": "always", "delay": "200ms"},
    "load": ["flaky count=1 fails=3", "ok count=2"], "faults": [], "end": {"drained_within": "6*V+10s"},
    "must": ["NO-LOSS", "ONCE", "DRAINED", "gap(k-000,2) >= V-100ms"], "why": "x", "fix": "x",
}


def sanitized():
    """The library comes first, which the runtime of a sanitizer does not like; nobody else minds."""
    return ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "verify_asan_link_order=0"]))


@pytest.fixture(scope="module", autouse=True)
def library():
    debian("faketime")


@pytest.fixture
def words(tmp_path):
    file = tmp_path / "waits.json"
    file.write_text(json.dumps(WAITS))
    return ["check", "--concurrency", "1", "--faketime", "4", "--scenario", str(file), "--only", "mine.waits"]


def test_a_scenario_takes_a_part_of_its_time_and_has_the_same_verdict(words, tmp_path):
    report, traces = tmp_path / "report.json", tmp_path / "traces"
    began = time.monotonic()
    answer = run(*words, "--seed", "3", "--json", str(report), "--keep", str(traces), "--", *CONSUMER,
                 ASAN_OPTIONS=sanitized())
    took_ms = (time.monotonic() - began) * 1000
    assert (answer.returncode, answer.stderr) == (0, ""), answer.stdout
    assert "all clocks run 4 times as fast" in answer.stdout
    told = json.loads(report.read_text())
    assert told["faketime"] == 4 and told["scenarios"][0]["verdict"] == "PASS"
    assert told["scenarios"][0]["wall_ms"] > 12000 and took_ms < told["scenarios"][0]["wall_ms"] / 2
    assert "--faketime 4" in told["scenarios"][0]["rerun"]
    header = json.loads((traces / "mine.waits.jsonl").read_text().splitlines()[0])
    assert header["run"]["faketime"] == 4


def test_a_failure_is_one_and_so_is_its_exit_code(words):
    answer = run(*words, "--", "sh", "-c", "exit 3", ASAN_OPTIONS=sanitized())
    assert answer.returncode == 3 and "INCO  mine.waits" in answer.stdout, answer.stdout


def test_a_consumer_whose_clock_stays_as_it_is_has_no_verdict(words):
    answer = run(*words, "--", "env", "-u", "LD_PRELOAD", *CONSUMER, ASAN_OPTIONS=sanitized())
    assert answer.returncode == 4, answer.stdout
    assert re.search(r"ERR   mine\.waits .*--faketime does not reach the consumer: process \d+ has no libfaketime",
                     answer.stdout), answer.stdout


def test_without_the_library_it_says_what_to_install(words, tmp_path):
    (tmp_path / "bin").mkdir()
    text = refused(*words, "--", *CONSUMER, PATH=str(tmp_path / "bin"))
    assert "--faketime needs the program faketime, with libfaketime (Debian: apt install faketime)" in text


def test_it_is_not_for_consumers_that_run_elsewhere(words):
    assert "--faketime does not reach a consumer that runs elsewhere (--start-cmd)" in refused(*words, "--start-cmd", "x")


def test_how_fast_is_a_number():
    for text in ("1", "21", "fast"):
        assert "--faketime takes a number from 2 to 20" in refused("check", "--faketime", text, "--", "x")


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 4), (signal.SIGTERM, 4), (signal.SIGKILL, -9)])
def test_an_end_in_the_middle_leaves_nothing_behind(words, tmp_path, number, code):
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    began = time.time() - 1
    child = subprocess.Popen([process.program(), *words, "--", "sh", "-c", "exec sleep 300"], stdout=subprocess.PIPE,
                             text=True, env=environment(TMPDIR=str(temporary), ASAN_OPTIONS=sanitized()))
    wait_until(lambda: [pid for pid, line in left_of(temporary) if line.startswith(b"sleep")])
    shared = [path for path in pathlib.Path("/dev/shm").glob("*faketime*") if path.stat().st_ctime >= began]
    assert len(shared) >= 2
    child.send_signal(number)
    assert child.wait(timeout=30) == code
    wait_until(lambda: left_of(temporary) == [])
    wait_until(lambda: not [path for path in shared if path.exists()])
