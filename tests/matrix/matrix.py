"""What is known of the matrix: cells that were measured, whether they fit their sources, the table
that is committed, and what it says of mutants and scenarios."""
import fnmatch
import functools
import hashlib
import json
import pathlib
import re

import kill_table
import references
import running
from kill_table import MUTANTS

HERE = pathlib.Path(__file__).resolve().parent
MEASURED = HERE / "measured.json"
DOCUMENT = running.ROOT / "chaos" / "check" / "MATRIX.md"
CONSUMERS = running.ROOT / "tests" / "consumers"
WORKER_SOURCES = CONSUMERS / "worker"
LAMBDA_SOURCES = CONSUMERS / "lambda"
SEEDS = 5
RACE_LEAST = 4


def _code(path):
    """C without its comments and spaces: how it is written changes nothing."""
    text = re.sub(r'/\*.*?\*/|("(?:[^"\\]|\\.)*")', lambda one: one[1] or " ", path.read_text(), flags=re.S)
    return " ".join(text.split())


def _sum(*texts):
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


@functools.lru_cache(maxsize=None)
def worker_sum():
    """What all mutants share."""
    return _sum(*[path.name + _code(path) for path in sorted(WORKER_SOURCES.glob("*.[ch]"))
                  if not path.name.startswith("bugs_")])


@functools.lru_cache(maxsize=None)
def document(path):
    return json.loads(path.read_text())


@functools.lru_cache(maxsize=None)
def scenario_sum(path, has_sink=True):
    """What is done and what is judged of a consumer that calls the sink, or does not; without what is told of it."""
    told = ("title", "why", "fix", "docs", "info", "tier", *(["without_sink"] if has_sink else []))
    return _sum(json.dumps({key: value for key, value in document(path).items() if key not in told},
                           sort_keys=True))


@functools.lru_cache(maxsize=None)
def family_sum(mutant):
    """The file that the mutant stands in."""
    row = '{"%s",' % mutant.name
    files = [path for path in sorted(WORKER_SOURCES.glob("bugs_*.c")) if row in path.read_text()]
    assert len(files) == 1, "%s stands in %d files" % (mutant.name, len(files))
    return _sum(_code(files[0]))


@functools.lru_cache(maxsize=None)
def lambda_sum():
    """The function, all of its mutants, and mappings."""
    return _sum(*[path.name + path.read_text() for path in sorted(LAMBDA_SOURCES.iterdir()) if path.is_file()])


def is_of_lambda(scenario):
    return kill_table.profile_of(scenario) == "lambda"


def mutated(mutant, scenario):
    """What the check is told, and the command."""
    options, arguments = kill_table.DECLARED.get(scenario, ([], []))
    mistold = kill_table.MISTOLD.get(mutant.name)
    told = [*options, *[word.format(consumers=CONSUMERS) for word in mistold or []]]
    program = ["/usr/bin/python3", LAMBDA_SOURCES / "lambda_fn"] if is_of_lambda(scenario) else [running.WORKER]
    return told, [*program, *([] if mistold else ["--bug", mutant.name]), *arguments]


def fingerprint(mutant, scenario):
    """Changes with the mutant's own file, what is wanted of the cell, or the scenario. What all mutants
    share is left out: whether they still are what they are is seen by the cut, in each run."""
    level, patterns = mutant.wanted(scenario)
    own = lambda_sum() if is_of_lambda(scenario) else family_sum(mutant)
    return _sum(own, scenario_sum(running.scenario_files()[scenario]), mutant.name, level, *patterns)


def cells():
    """Pairs of the tables whose scenario is there."""
    files = running.scenario_files()
    return [(mutant, scenario) for mutant in MUTANTS for scenario in mutant.scenarios + mutant.more
            if scenario in files]


def without_scenario():
    files = running.scenario_files()
    return [mutant for mutant in MUTANTS if not any(scenario in files for scenario in mutant.scenarios)]


def load():
    return json.loads(MEASURED.read_text()) if MEASURED.is_file() else {"cells": {}, "references": {}}


def save(measured):
    MEASURED.write_text(json.dumps(measured, indent=1, sort_keys=True) + "\n")
    DOCUMENT.write_text(render(measured))


def name_of(mutant, scenario):
    return "%s %s" % (mutant.name, scenario)


def stale(measured):
    """Pairs that were not measured, or whose sources are others by now."""
    return [(mutant, scenario) for mutant, scenario in cells()
            if measured["cells"].get(name_of(mutant, scenario), {}).get("sources")
            != fingerprint(mutant, scenario)]


def is_finished(cell):
    return cell["runs"] >= SEEDS


def unfinished(measured):
    """What is stale, or was measured with fewer seeds than wanted."""
    changed = set(stale(measured))
    return [cell for cell in cells() if cell in changed or not is_finished(measured["cells"][name_of(*cell)])]


def left_over(measured):
    wanted = {name_of(*cell) for cell in cells()}
    return [name for name in measured["cells"] if name not in wanted]


def measure(mutant, scenario, seeds, at_once=1):
    """Runs the pair with each seed. What the table keeps of it."""
    options, command = mutated(mutant, scenario)
    kills, names, times, verdicts = 0, {}, [], {}
    for seed in seeds:
        found = running.check(command, kill_table.profile_of(scenario), [scenario], seed, options, at_once)
        of_it = [one for name, one in found.items() if name.split("+")[0] == scenario]
        named = [name for name in (one.kills(mutant) for one in of_it) if name]
        kills += bool(named)
        for name in named[:1]:
            names[name] = names.get(name, 0) + 1
        for one in of_it:
            verdicts[one.verdict] = verdicts.get(one.verdict, 0) + 1
        times.append(max([one.wall_ms for one in of_it] or [0]))
    return {
        "sources": fingerprint(mutant, scenario),
        "runs": len(seeds),
        "seeds": list(seeds),
        "kills": kills,
        "named": max(names, key=names.get) if names else "",
        "verdicts": verdicts,
        "wall_ms": sorted(times)[len(times) // 2],
    }


def known(measured, cell):
    """What was measured of it with its sources as they are now; None: nothing."""
    of_it = measured["cells"].get(name_of(*cell), {})
    return of_it if of_it.get("sources") == fingerprint(*cell) else None


def missing(of_it, seeds):
    """As many of the seeds as it needs more, none that it had. None: it needs all."""
    if of_it is None:
        return list(seeds)
    return [seed for seed in seeds if seed not in of_it.get("seeds", [])][:max(0, len(seeds) - of_it["runs"])]


def added(old, new):
    """One cell of two; None: there was none. A seed that was not noted stands as null."""
    if old is None:
        return new
    runs = old["runs"] + new["runs"]
    verdicts = {name: old["verdicts"].get(name, 0) + new["verdicts"].get(name, 0)
                for name in {**old["verdicts"], **new["verdicts"]}}
    return {
        "sources": new["sources"],
        "runs": runs,
        "seeds": old.get("seeds", [None] * old["runs"]) + new["seeds"],
        "kills": old["kills"] + new["kills"],
        "named": (old if old["kills"] >= new["kills"] else new)["named"],
        "verdicts": verdicts,
        "wall_ms": (old["wall_ms"] * old["runs"] + new["wall_ms"] * new["runs"]) // runs,
    }


def is_kill(mutant, cell):
    """In all runs, or a race in four of five. Fewer runs than five show neither."""
    least = max(RACE_LEAST, -(-cell["runs"] * RACE_LEAST // SEEDS)) if mutant.is_race else cell["runs"]
    return is_finished(cell) and cell["kills"] >= least


def killers(measured, mutant, scenarios=None):
    """Scenarios of its row that catch it for certain, the fastest first."""
    found = [(cell["wall_ms"], scenario) for scenario in scenarios or mutant.scenarios
             for cell in [measured["cells"].get(name_of(mutant, scenario))] if cell and is_kill(mutant, cell)]
    return [scenario for _, scenario in sorted(found)]


def is_open(measured, mutant):
    """Some scenario of its row has not had its five runs."""
    return any(not is_finished(measured["cells"].get(name_of(mutant, scenario), {"runs": 0}))
               for scenario in mutant.scenarios if scenario in running.scenario_files())


def idle_scenarios(measured):
    """Must-scenarios that kill nothing."""
    busy = {scenario for mutant in MUTANTS
            for scenario in killers(measured, mutant, mutant.scenarios + mutant.more)}
    return [name for name, path in running.scenario_files().items()
            if document(path)["severity"] == "must" and name not in busy
            and name not in kill_table.SELF_TESTS
            and set(document(path)["profiles"]) & {*references.BOTH, "lambda"}]


def _short(name):
    return name if len(name) <= 40 else name[:37] + "..."


def _row(measured, mutant):
    parts = []
    for scenario in mutant.scenarios + mutant.more:
        cell = measured["cells"].get(name_of(mutant, scenario))
        if cell is None:
            if scenario in mutant.scenarios:
                parts.append("%s: no scenario yet" % scenario)
        elif not is_finished(cell):
            parts.append("%s: unfinished, %s %d/%d" % (scenario, _short(cell["named"]).replace("|", "\\|"),
                                                       cell["kills"], cell["runs"]))
        elif is_kill(mutant, cell):
            parts.append("**%s**: %s %d/%d, %.0f s" % (scenario, _short(cell["named"]).replace("|", "\\|"),
                                                       cell["kills"], cell["runs"], cell["wall_ms"] / 1000))
        else:
            why = kill_table.NOT_SHOWN.get((mutant.name, scenario))
            parts.append("%s: not caught (%d/%d)%s" % (scenario, cell["kills"], cell["runs"],
                                                       ": " + why if why else ""))
    if mutant.number in {one.number for one in without_scenario()}:
        state = "no scenario yet"
    else:
        state = "yes" if killers(measured, mutant) else "unfinished" if is_open(measured, mutant) else "**no**"
    name = mutant.name + (" ~" if mutant.is_race else "")
    return "| %s | %s | %s | %s | %s | %s |" % (mutant.number, name, " / ".join(mutant.invariants), mutant.level,
                                            state, "<br>".join(parts))


def render(measured):
    killed = [mutant for mutant in MUTANTS if killers(measured, mutant)]
    waiting = without_scenario()
    still = [mutant for mutant in MUTANTS if mutant not in killed and mutant not in waiting and is_open(measured, mutant)]
    idle = idle_scenarios(measured)
    lines = [
        "# What the suite catches",
        "",
        "Written by `./dev test matrix`; do not edit. Each mutant of `tests/consumers/worker` and of the function",
        "`tests/consumers/lambda/lambda_fn` has one mistake;",
        "a scenario kills it where the verdict is the one wanted (F: FAIL, W: WARN) and names the invariant that",
        "`tests/matrix/kill_table.py` names, in each of five runs with seeds of their own; `~`: a race, in four of five.",
        "What has had fewer runs is unfinished, and shows nothing yet.",
        "",
        "%d of %d mutants are caught; %d are unfinished; %d have no scenario yet; %d are not caught. "
        "%d of %d pairs are unfinished." % (
            len(killed), len(MUTANTS), len(still), len(waiting),
            len(MUTANTS) - len(killed) - len(still) - len(waiting), len(unfinished(measured)), len(cells())),
        "",
        "| no | mutant | invariant | level | caught | by |",
        "|---|---|---|---|---|---|",
        *[_row(measured, mutant) for mutant in MUTANTS],
        "",
        "Must-scenarios that catch nothing: %s." % (", ".join(idle) or "none"),
        "",
        "## Consumers that are right",
        "",
        "Each ran through its profile, with another seed each time. A finding is a FAIL, a WARN, or no result.",
        "",
        "| no | consumer | profile | scenarios passed | seeds | findings |",
        "|---|---|---|---|---|---|",
    ]
    for one, profile in sorted(references.pairs(), key=lambda pair: _order(pair[0].number)):
        of_it = measured["references"].get("%s %s" % (one.number, profile))
        if of_it is not None:
            passed = [runs for runs in of_it["passed"].values()]
            lines.append("| %s | %s | %s | %d | %d to %d | %s |" % (
                one.number, one.what, profile, len(passed), min(passed, default=0), max(passed, default=0),
                "<br>".join(of_it["findings"]).replace("|", "\\|") or "none"))
    lines += ["", "Sources: `%s`" % sources(), ""]
    return "\n".join(lines)


def sources():
    """One sum over all that the table depends on."""
    return _sum(*[fingerprint(mutant, scenario) for mutant, scenario in cells()])


def _order(number):
    return (int("0" + "".join(filter(str.isdigit, number))), number)


def reference_sum(reference, scenario):
    """Changes with the consumer and the scenario."""
    own = _sum(*[path.name + path.read_text() for path in reference.sources]) if reference.sources else worker_sum()
    has_sink = "--effects-cmd" not in reference.options
    return _sum(own, scenario_sum(running.scenario_files()[scenario], has_sink))[:8]


def is_one_of(scenario, patterns):
    """No pattern: each is."""
    return not patterns or any(fnmatch.fnmatchcase(scenario, one) for one in patterns)


def unproven(measured, reference, profile):
    """The scenarios that it has not passed with all seeds, as their sources are now."""
    nothing = {"passed": {}, "sources": {}, "skipped": {}}
    of_it = measured["references"].get("%s %s" % (reference.number, profile), nothing)
    wanted = []
    for scenario, path in running.scenario_files().items():
        now = reference_sum(reference, scenario)
        is_known = of_it["sources"].get(scenario) == now and of_it["passed"].get(scenario, 0) >= SEEDS
        if is_one_of(scenario, reference.only) and not is_known and of_it["skipped"].get(scenario) != now \
                and profile in document(path)["profiles"] and document(path)["tier"] <= reference.tier:
            wanted.append(scenario)
    return wanted


def run_reference(reference, profile, only, seed, at_once):
    """What the suite holds against a right consumer, which should be nothing; what passed; what did not
    apply."""
    found = running.check(reference.command(), profile, only, seed, reference.options, at_once)
    bad = ("FAIL", "WARN", "ERROR", "INCONCLUSIVE")
    findings = ["%s %s (seed %d): %s" % (name, one.verdict, seed, one.text[:200])
                for name, one in sorted(found.items()) if one.verdict in bad]
    passed = {name.split("+")[0] for name, one in found.items() if one.verdict in ("PASS", "INFO")}
    skipped = {name.split("+")[0] for name, one in found.items() if one.verdict == "SKIP"} - passed
    there = set(running.scenario_files())
    return findings, sorted(passed & there), sorted(skipped & there)


def note_reference(measured, reference, profile, findings, passed, skipped):
    """Adds one run to what is known; what was known of other sources is forgotten."""
    of_it = measured["references"].setdefault("%s %s" % (reference.number, profile),
                                              {"passed": {}, "sources": {}, "skipped": {}, "findings": []})
    for scenario in list(of_it["passed"]):
        there = scenario in running.scenario_files()
        if not there or of_it["sources"][scenario] != reference_sum(reference, scenario):
            del of_it["passed"][scenario], of_it["sources"][scenario]
            of_it["findings"] = [text for text in of_it["findings"] if re.split("[ +]", text)[0] != scenario]
    for scenario in passed:
        of_it["passed"][scenario] = of_it["passed"].get(scenario, 0) + 1
        of_it["sources"][scenario] = reference_sum(reference, scenario)
    of_it["skipped"].update((scenario, reference_sum(reference, scenario)) for scenario in skipped)
    of_it["findings"] = sorted(set(of_it["findings"]) | set(findings))
