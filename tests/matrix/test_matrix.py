"""The suite is tested by consumers that are wrong in a known way, and by consumers that are right.

QUERN_MATRIX=all (`./dev test matrix`) measures every pair that is not measured yet or whose sources have
changed, and every right consumer, with five seeds, and writes the table as it goes: a run that is cut off
is gone on with by the next. Otherwise a cut is run, see cut.py: each mutant against the scenario that
catches it fastest, each right consumer once through some scenarios of one of its profiles.
QUERN_MATRIX=changed (`QUERN_MATRIX=changed ./dev test matrix-cut`) measures before that the pairs that do
not fit their sources, or have had fewer than five runs.
"""
import concurrent.futures
import os
import subprocess

import cut as cuts
import matrix
import pytest
import references
import running
from kill_table import MUTANTS
from references import REFERENCES

WHOLE = os.environ.get("QUERN_MATRIX") == "all"
SEEDS = [cuts.SEED + n for n in range(matrix.SEEDS)]
# Most of a run is waiting: many go on at the same time. Those of the cut share the machine with other
# suites, and what starts interpreters is not only waiting.
MUTANTS_AT_ONCE, REFERENCES_AT_ONCE, SCENARIOS_AT_ONCE = 6, 4, 8
CUT_REFERENCES_AT_ONCE = 2
IN_CUT = [one for one in REFERENCES if one.is_cut]


class Later:
    """Runs all at once, some at a time; each test waits for its own."""

    def __init__(self):
        self.pools = {}
        self.running = {}

    def start(self, at_once, name, function, *arguments):
        pool = self.pools.setdefault(function, concurrent.futures.ThreadPoolExecutor(at_once))
        self.running[name] = pool.submit(function, *arguments)

    def result(self, name):
        return self.running[name].result()


def measure_cells():
    """What is known, once each cell has had its five runs."""
    measured = matrix.load()
    for name in matrix.left_over(measured):
        del measured["cells"][name]
    later = Later()
    cells = matrix.unfinished(measured)
    for cell in cells:
        later.start(MUTANTS_AT_ONCE, cell, matrix.measure, *cell, matrix.missing(matrix.known(measured, cell), SEEDS))
    for cell in cells:
        measured["cells"][matrix.name_of(*cell)] = matrix.added(matrix.known(measured, cell), later.result(cell))
        matrix.save(measured)
    return measured


def whole_run():
    measured = measure_cells()
    later = Later()
    for seed in SEEDS:
        wanted = [(*pair, only) for pair in references.pairs()
                  for only in [matrix.unproven(measured, *pair)] if only]
        for one, profile, only in wanted:
            later.start(REFERENCES_AT_ONCE, (one, profile), matrix.run_reference, one, profile, only, seed,
                        SCENARIOS_AT_ONCE)
        for one, profile, _ in wanted:
            matrix.note_reference(measured, one, profile, *later.result((one, profile)))
            matrix.save(measured)
    return measured


def measure_changed():
    measured = measure_cells()
    matrix.save(measured)
    return measured


@pytest.fixture(scope="module")
def measured():
    if os.environ.get("QUERN_MATRIX") == "changed":
        return measure_changed()
    return whole_run() if WHOLE else matrix.load()


@pytest.fixture(scope="module")
def cut(measured):
    later = Later()
    if not WHOLE:
        for mutant in MUTANTS:
            scenario = cuts.fastest(measured, mutant)
            if scenario is not None:
                later.start(MUTANTS_AT_ONCE, mutant.number, cuts.kill, mutant, scenario)
        for one in IN_CUT:
            later.start(CUT_REFERENCES_AT_ONCE, one.number, cuts.findings, measured, one)
    return later


def test_each_mutant_of_the_worker_stands_in_the_table():
    listed = subprocess.run([running.WORKER, "--list-bugs"], capture_output=True, text=True, check=True)
    workers = [mutant.name for mutant in MUTANTS if not all(map(matrix.is_of_lambda, mutant.scenarios))]
    assert sorted(listed.stdout.split()) == sorted(workers)


def test_worker_says_what_is_wrong_with_its_options():
    env = {"PATH": os.environ["PATH"], "QUEUE_URL": "http://127.0.0.1:1/0/q", "QUERN_SINK_URL": "http://127.0.0.1:1"}
    for words, told in ((["--bug", "nothing"], "no such bug 'nothing'"), (["--workers", "0"], "1 to 100"),
                        (["--delete", "often"], "batch or single"), (["more"], "unknown argument 'more'")):
        done = subprocess.run([running.WORKER, *words], capture_output=True, text=True, env=env)
        assert done.returncode == 2 and told in done.stderr and len(done.stderr.splitlines()) == 1


def test_committed_table_fits_its_sources(measured):
    """What was not measured, or was when its mutant, its scenario or its line of the table was another."""
    stale = [matrix.name_of(*cell) for cell in matrix.stale(measured)]
    assert (stale, matrix.left_over(measured)) == ([], []), (
        "run QUERN_MATRIX=changed ./dev test matrix-cut, and commit what it writes")
    assert matrix.DOCUMENT.read_text() == matrix.render(measured)


def test_each_pair_has_had_its_five_runs(measured):
    unfinished = [matrix.name_of(*cell) for cell in matrix.unfinished(measured)]
    assert unfinished == [], "run QUERN_MATRIX=changed ./dev test matrix-cut, and commit what it writes"


def test_each_mutant_is_caught_in_five_of_five_runs_or_as_a_race_in_four(measured):
    assert [mutant.name for mutant in MUTANTS if not matrix.killers(measured, mutant)] == []


@pytest.mark.parametrize("name, runs, kills, is_kill", [
    ("early-ack", 5, 5, True), ("early-ack", 5, 4, False), ("early-ack", 3, 3, False), ("early-ack", 0, 0, False),
    ("check-then-act", 5, 4, True), ("check-then-act", 5, 3, False), ("check-then-act", 3, 3, False),
    ("check-then-act", 4, 4, False), ("check-then-act", 6, 4, False)])
def test_fewer_runs_than_five_show_nothing(name, runs, kills, is_kill):
    (mutant,) = [one for one in MUTANTS if one.name == name]
    assert matrix.is_kill(mutant, {"runs": runs, "kills": kills}) == is_kill


def test_runs_that_are_missing_are_added_with_their_seeds():
    old = {"sources": "a", "runs": 2, "kills": 2, "named": "ONCE", "verdicts": {"FAIL": 2}, "wall_ms": 10}
    assert matrix.missing(old, [7, 8, 9, 10, 11]) == [7, 8, 9]
    new = {**old, "runs": 3, "seeds": [7, 8, 9], "kills": 2, "verdicts": {"FAIL": 2, "PASS": 1}, "wall_ms": 20}
    both = matrix.added(old, new)
    assert both == {"sources": "a", "runs": 5, "seeds": [None, None, 7, 8, 9], "kills": 4, "named": "ONCE",
                    "verdicts": {"FAIL": 4, "PASS": 1}, "wall_ms": 16}
    assert matrix.missing(both, [7, 8, 9, 10, 11]) == []
    assert matrix.missing({**both, "runs": 4, "seeds": [7, 8, 9, 1]}, [7, 8, 9, 10, 11]) == [10]
    assert matrix.missing(None, [7, 8]) == [7, 8] and matrix.added(None, new) == new


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: "%s-%s" % (mutant.number, mutant.name))
def test_mutant_is_caught_as_the_table_says(mutant, measured, cut):
    scenario = cuts.fastest(measured, mutant)
    if scenario is None:
        assert not WHOLE, "no scenario yet: %s" % ", ".join(mutant.scenarios)
        return
    if WHOLE:
        cells = {one: measured["cells"].get(matrix.name_of(mutant, one)) for one in mutant.scenarios}
        assert matrix.killers(measured, mutant), cells
        return
    runs = cut.result(mutant.number)
    assert runs[-1][1]["kills"] > 0, "%s by %s: %s" % (mutant.name, scenario, cuts.told(runs))


@pytest.mark.parametrize("reference", REFERENCES if WHOLE else IN_CUT, ids=lambda one: one.number)
def test_nothing_is_held_against_a_right_consumer(reference, measured, cut):
    if WHOLE:
        assert [measured["references"]["%s %s" % (reference.number, profile)]["findings"]
                for profile in reference.profiles] == [[]] * len(reference.profiles)
        return
    found, passed = cut.result(reference.number)
    assert (found, passed != []) == ([], True), "profile %s, %s" % (cuts.profile_now(reference), cuts.SEED_TEXT)


def test_each_must_scenario_catches_something(measured):
    assert matrix.idle_scenarios(measured) == []
