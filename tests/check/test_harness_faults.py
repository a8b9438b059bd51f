"""What the harness itself does to a consumer, to the sink and to the server: seen in the trace of a
run with a consumer that is right."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PROGRAM = os.environ.get("QUERN_PROGRAM", str(ROOT / "build" / "release" / "quern"))
sys.path.insert(0, str(ROOT / "tests" / "sdk"))

from sdk_install import debian  # noqa: E402

LOAD = ["ok count=8 work=50ms"]


class Run:
    def __init__(self, folder, faults, command=None, options=(), **members):
        document = {
            "id": "mine.run", "title": "made by a test", "profiles": ["standard"], "severity": "must", "needs": ["none"],
            "queue": {"name": "q", "visibility": "V", "dlq": "q-dlq", "max_receive": 5}, "instances": {"count": 1},
            "load": LOAD, "faults": faults, "end": {"drained_within": "5*V+10s"},
            "must": ["NO-LOSS", "ONCE", "DRAINED"], "why": "w", "fix": "f", **members,
        }
        (folder / "mine.json").write_text(json.dumps(document))
        debian("python3-boto3")
        done = subprocess.run(
            [PROGRAM, "check", "--scenario", str(folder / "mine.json"), "--only", "mine.*", "--keep", str(folder / "kept"),
             *options, "--", *(command or ["/usr/bin/python3", str(ROOT / "tests" / "consumers" / "reference.py")])],
            capture_output=True, text=True, timeout=120, cwd=folder, stdin=subprocess.DEVNULL,
            env={k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "QUERN_"))},
        )
        self.printed = done.stdout + done.stderr
        self.code = done.returncode
        assert (folder / "kept" / "mine.run.jsonl").is_file(), self.printed
        lines = (folder / "kept" / "mine.run.jsonl").read_text().splitlines()
        self.header, *self.events = [json.loads(line) for line in lines]

    def of(self, kind, **fields):
        return [e for e in self.events if e["kind"] == kind and all(e.get(k) == v for k, v in fields.items())]

    def passed(self):
        assert self.code == 0 and "PASS  mine.run" in self.printed, self.printed
        return self


@pytest.fixture
def run(tmp_path):
    return lambda faults, **members: Run(tmp_path, faults, **members)


def between(first, second):
    return second["wt"] - first["wt"]


def is_behind(first, second, ms):
    """Times are cut to whole milliseconds, and the two clocks not at once."""
    return between(first, second) >= ms - 2


def test_answers_of_the_sink_go_wrong_in_each_way(run):
    done = run([
        "on work.begin where key=k-000 once do status 500 as refused",
        "on work.commit where key=k-001 once do commit-then-status 504 as late",
        "on work.begin where key=k-002 once do commit-then-reset as lost",
        "on work.begin where key=k-003 once do reset as cut",
        "on work.begin where key=k-004 once do delay 300ms then close as slow",
        "on work.begin where key=k-005 once do delay 300ms as delayed",
    ]).passed()
    first = {k: done.of("work.reply", k=k, attempt=1)[0] for k in ("k-000", "k-001", "k-002", "k-003", "k-004")}
    assert [first[k].get("status") for k in sorted(first)] == [500, 504, None, None, None]
    assert [first[k].get("reason") for k in sorted(first)] == [None, None, "reset", "reset", "closed"]
    # What was done before the answer was lost is there, and is not done again.
    for key, replays in (("k-000", [False]), ("k-001", [False, True]), ("k-002", [False, True]), ("k-003", [False])):
        assert [c.get("replayed", False) for c in done.of("work.commit", k=key)] == replays, key
    begun, committed = done.of("work.begin", k="k-005")[0], done.of("work.commit", k="k-005")[0]
    assert 349 <= between(begun, committed) < 3000  # each instant is cut to its millisecond


def test_lease_ends_while_the_sink_holds_the_work(run):
    done = run(["on work.begin where key=k-002 once do hold then after 300ms expire-lease as lapse"]).passed()
    begun, lapsed = done.of("work.begin", k="k-002")[0], done.of("lease.expire", reason="fault")[0]
    assert lapsed["mid"] == begun["mid"] and 300 <= between(begun, lapsed) < 900
    assert done.of("work.commit", k="k-002")[0]["seq"] > lapsed["seq"]


def test_gate_keeps_work_from_beginning(run):
    done = run(["on work.begin where key=k-001 once do gate close then after 600ms gate open as gate"]).passed()
    begun, committed = done.of("work.begin", k="k-001")[0], done.of("work.commit", k="k-001")[0]
    assert 650 <= between(begun, committed) < 1500


def test_work_is_over_when_a_rule_says_so(run):
    done = run(["on work.begin where key=k-000 once do mark begun then after 600ms finish as enough"],
               load=["ok count=1 work=20s"]).passed()
    begun, committed = done.of("work.begin", k="k-000")[0], done.of("work.commit", k="k-000")[0]
    assert 599 <= between(begun, committed) < 3000


def test_outcome_and_capacity_change_while_it_runs(run):
    done = run(["on work.begin nth 2 do outcome transient,ok for key=k-005 then capacity 3 as switch"]).passed()
    assert [r["status"] for r in done.of("work.reply", k="k-005")] == [503, 200]


def test_process_is_stopped_killed_and_comes_back_when_a_rule_says_so(run):
    done = run([
        "on work.commit where key=k-001 once do stop instance {V-3500ms} as pause",
        "on work.begin where key=k-004 once do kill instance then respawn after 900ms as dead",
        "on exit once do mark over as told",
    ], instances={"count": 1, "restart": "never"}).passed()
    stopped, went_on = done.of("proc", what="stop")[0], done.of("proc", what="cont")[0]
    assert 499 <= between(stopped, went_on) < 900  # each instant is cut to its millisecond
    ended, again = done.of("proc", what="exit")[0], done.of("proc", what="spawn")[1]
    assert ended["signal"] == 9 and 899 <= between(ended, again) < 1500
    assert done.of("mark", reason="over")


def test_terminated_process_that_goes_on_is_killed_after_its_grace(run):
    done = run(["on work.begin where key=k-003 once do hold then signal STOP then signal TERM as deaf"],
               load=["ok count=5 work=20ms"])
    signals = [e["signal"] for e in done.of("proc", what="signal")]
    assert signals[:3] == [19, 15, 9], done.printed


def test_server_crashes_at_an_event_that_only_the_sink_sees(run):
    done = run(["on work.commit where key=k-003 once do crash server then after 500ms restart server as crash"]).passed()
    assert len(done.of("boot")) == 2


def test_server_stays_down_as_long_as_the_rule_says_that_killed_it(run):
    done = run(["on Delete* where key=k-001 once at post-commit do crash server then after 200ms restart server as quick",
                "on work.commit where key=k-004 once do crash server then after 2s restart server as slow"]).passed()
    quick, slow = (done.of("fault", rule=name)[0] for name in ("quick", "slow"))
    boots = [boot for boot in done.of("boot") if boot["seq"] > min(quick["seq"], slow["seq"])]
    for fault, least in (quick, 200), (slow, 2000):  # above it lies what a busy machine adds
        assert between(fault, next(boot for boot in boots if boot["seq"] > fault["seq"])) >= least


def test_rules_go_on_where_they_were_when_the_server_comes_back(run):
    done = run([
        "on msg.delete nth 2,5 do crash server then after 100ms restart server as crash",
        "on ReceiveMessage first 2 at arrive do error InternalError as early",
        "on DeleteMessage* first 1 per message at pre-commit do delay 1ms as each",
        "on any for 2s at post-response do mark open as opening",
    ]).passed()
    assert len(done.of("boot")) == 3 and len(done.of("fault", rule="crash")) == 2
    assert len(done.of("fault", rule="early")) == 2
    slowed = [e["mid"] for e in done.of("fault", rule="each") if "mid" in e]
    assert len(slowed) == len(set(slowed)) == 8
    ready, opened = done.of("mark", reason="ready")[0], done.of("fault", rule="opening")
    assert opened and all(e["vt"] - ready["vt"] <= 2000 for e in opened)


@pytest.mark.parametrize("point", ["pre-commit", "post-commit"])
def test_load_that_meets_a_crash_is_sent_once_all_the_same(run, point):
    done = run(["on SendMessage* where t > 1 once at %s do crash server then after 300ms restart server as crash" % point],
               load=["ok count=2", "ok count=5 at=2s"]).passed()
    sent = [e["k"] for e in done.of("msg.send")]
    assert sorted(sent) == ["k-%03d" % i for i in range(7)] == sorted(e["k"] for e in done.of("load", code="OK"))
    assert len(done.of("fault", rule="crash")) == 1 and "second run" not in done.printed


def test_more_processes_come_by_a_rule(run):
    done = run(["on tick 500ms once do spawn 2 as more"], load=["ok count=40 work=200ms"]).passed()
    assert len(done.of("proc", what="spawn")) == 3
    workers = {e["instance"] for e in done.of("work.begin")}
    assert workers == {"QUERN0001", "QUERN0002", "QUERN0003"}


def test_what_could_not_be_done_is_told(run):
    done = run(["on work.begin where key=k-002 once do after 300ms expire-lease as late"])
    told = [e["reason"] for e in done.of("fault", target="rule=late")]
    assert told == ["not done: the lease is over"], done.printed


def test_a_process_that_another_rule_ended_at_the_point_where_it_was_held_is_ended_there(run):
    done = run(["on sink.work.commit where key=k-002 once do hold then after 700ms kill instance as held",
                "on sink.work.begin where key=k-002 once do after 400ms kill instance as other"],
               load=["ok count=5 work=50ms"],
               instances={"count": 1, "restart": "always", "delay": "2s"}).passed()
    assert done.of("fault", target="rule=held") == []
    assert len(done.of("proc", what="signal")) == 2  # one of them ends it at the end of all


def test_messages_and_the_queue_come_when_the_scenario_says(run):
    done = run([], queue={"name": "q", "visibility": "V", "created_after": "1s",
                          "attributes": {"ReceiveMessageWaitTimeSeconds": "{V-2s}"}},
               load=["ok count=2", "ok count=5 at=1s rate=5", "badjson", "ok count=2 copies=2"],
               end={"run_for": "3s", "drained_within": "5*V+10s"}, must=["ONCE"])
    created = [e for e in done.of("api.in", action="CreateQueue")][-1]
    assert '"ReceiveMessageWaitTimeSeconds": "2"' in json.dumps(created["params"])
    spawned, ready = done.of("proc", what="spawn")[0], done.of("proc", what="ready")[0]
    assert is_behind(spawned, created, 1000)
    timed = done.of("load")[-5:]
    assert [e["k"] for e in timed] == ["k-002", "k-003", "k-004", "k-005", "k-006"]
    assert is_behind(ready, timed[0], 1000) and 700 <= between(timed[0], timed[-1]) < 1500
    assert [e["k"] for e in done.of("load")].count("k-008") == 2
    assert done.header["run"]["dead"] == []
    end = done.of("mark", reason="end")[0]
    assert end["vt"] - ready["vt"] >= 3000


def test_the_queue_goes_away_once_it_is_empty_and_comes_back_for_a_load(run):
    done = run([], queue={"name": "q", "visibility": "V", "dlq": "q-dlq", "max_receive": 5, "away_for": "2s"},
               load=["ok count=3 work=300ms", "ok count=2 back=0s", "ok count=2 back=1s"]).passed()
    gone = [e for e in done.of("api.in", action="DeleteQueue")][-1]
    back = [e for e in done.of("api.in", action="CreateQueue", queue="q") if e["seq"] > gone["seq"]][0]
    assert is_behind(gone, back, 2000)
    made = [e["params"] for e in done.of("api.in", action="CreateQueue", queue="q")]
    assert made[0] == made[-1], "the same attributes"
    assert len([e for e in done.of("msg.delete") if e["seq"] < gone["seq"]]) == 3
    first, second = [e for e in done.of("load") if e["seq"] > back["seq"]][::2]
    assert [first["k"], second["k"]] == ["k-003", "k-005"] and is_behind(back, second, 1000)
    assert {e["k"] for e in done.of("work.commit")} == {"k-%03d" % i for i in range(7)}


def test_instances_with_fixed_credentials_are_told_apart_by_their_ports(run):
    worker = "/usr/bin/python3 %s" % (ROOT / "tests" / "consumers" / "reference.py")
    done = run(["on work.begin where key=k-010 once do kill instance=2 as second"],
               command=["/bin/sh", "-c", "AWS_ACCESS_KEY_ID=fixed exec " + worker],
               instances={"count": 2}, load=["ok count=40 work=50ms"]).passed()
    ports = done.header["run"]["ports"]
    assert sorted(ports) == ["QUERN0001", "QUERN0002"]
    assert {e["port"] for e in done.of("api.in", instance="fixed")} == set(ports.values())
    assert {e["instance"] for e in done.of("proc", what="ready")} == {"QUERN0001", "QUERN0002"}


def test_a_slow_consumer_has_time_while_the_queue_gets_shorter(tmp_path):
    """Its first message was alone in the queue for a moment: that is not the least that was ever left."""
    done = Run(tmp_path, [], [sys.executable, str(HERE / "one_by_one.py")], ["--visibility", "2"],
               load=["ok count=1 work=200ms at=0s", "ok count=20 rate=20 at=500ms work=600ms"], end={"drained_within": "1s"}).passed()
    assert done.of("mark", reason="end")[0]["vt"] - done.of("proc", what="ready")[0]["vt"] > 9600
