"""What is known of the matrix: cells that were measured, whether they fit their sources, the table
that is committed, and what it says of mutants and scenarios."""
import hashlib
import json
import pathlib

import kill_table
import running
from kill_table import MUTANTS

HERE = pathlib.Path(__file__).resolve().parent
MEASURED = HERE / "measured.json"
DOCUMENT = running.ROOT / "chaos" / "check" / "MATRIX.md"
WORKER_SOURCES = running.ROOT / "tests" / "consumers" / "worker"
SEEDS = 5
RACE_LEAST = 4


def _digest(*paths):
    whole = hashlib.sha256()
    for path in paths:
        whole.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return whole.hexdigest()[:16]


def family_of(mutant):
    """The file that the mutant stands in."""
    row = '{"%s",' % mutant.name
    files = [path for path in sorted(WORKER_SOURCES.glob("bugs_*.c")) if row in path.read_text()]
    assert len(files) == 1, "%s stands in %d files" % (mutant.name, len(files))
    return files[0]


def fingerprint(mutant, scenario_file):
    """Changes with the worker, the mutant's own file, its row of the table, or the scenario."""
    shared = [path for path in sorted(WORKER_SOURCES.glob("*.[ch]")) if not path.name.startswith("bugs_")]
    row = "|".join([mutant.name, *mutant.patterns, mutant.level])
    return _digest(*shared, family_of(mutant), scenario_file) + "-" + hashlib.sha256(row.encode()).hexdigest()[:8]


def cells():
    """Pairs of the table whose scenario is there."""
    files = running.scenario_files()
    return [(mutant, scenario) for mutant in MUTANTS for scenario in mutant.scenarios if scenario in files]


def without_scenario():
    there = {mutant.number for mutant, _ in cells()}
    return [mutant for mutant in MUTANTS if mutant.number not in there]


def load():
    return json.loads(MEASURED.read_text()) if MEASURED.is_file() else {"cells": {}, "references": {}}


def save(measured):
    MEASURED.write_text(json.dumps(measured, indent=1, sort_keys=True) + "\n")
    DOCUMENT.write_text(render(measured))


def name_of(mutant, scenario):
    return "%s %s" % (mutant.name, scenario)


def stale(measured):
    """Pairs that were not measured, or whose sources are others by now."""
    files = running.scenario_files()
    return [(mutant, scenario) for mutant, scenario in cells()
            if measured["cells"].get(name_of(mutant, scenario), {}).get("sources")
            != fingerprint(mutant, files[scenario])]


def left_over(measured):
    known = {name_of(*cell) for cell in cells()}
    return [name for name in measured["cells"] if name not in known]


def measure(mutant, scenario, seeds, at_once=1):
    """Runs the pair with each seed. What the table keeps of it."""
    options, arguments = kill_table.DECLARED.get(scenario, ([], []))
    kills, names, times, verdicts = 0, {}, [], {}
    for seed in seeds:
        command = [running.WORKER, "--bug", mutant.name, *arguments]
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
        "sources": fingerprint(mutant, running.scenario_files()[scenario]),
        "runs": len(seeds),
        "kills": kills,
        "named": max(names, key=names.get) if names else "",
        "verdicts": verdicts,
        "wall_ms": sorted(times)[len(times) // 2],
    }


def is_kill(mutant, cell):
    least = cell["runs"] * RACE_LEAST // SEEDS if mutant.is_race else cell["runs"]
    return cell["runs"] > 0 and cell["kills"] >= max(1, least)


def killers(measured, mutant):
    """Scenarios that catch it for certain, the fastest first."""
    found = [(cell["wall_ms"], scenario) for scenario in mutant.scenarios
             for cell in [measured["cells"].get(name_of(mutant, scenario))] if cell and is_kill(mutant, cell)]
    return [scenario for _, scenario in sorted(found)]


def idle_scenarios(measured):
    """Must-scenarios that kill nothing."""
    busy = {scenario for mutant in MUTANTS for scenario in killers(measured, mutant)}
    return [name for name, path in running.scenario_files().items()
            if json.loads(path.read_text())["severity"] == "must" and name not in busy]


def _short(name):
    return name if len(name) <= 40 else name[:37] + "..."


def _row(measured, mutant):
    parts = []
    for scenario in mutant.scenarios:
        cell = measured["cells"].get(name_of(mutant, scenario))
        if cell is None:
            parts.append("%s: no scenario yet" % scenario)
        elif is_kill(mutant, cell):
            parts.append("**%s**: %s %d/%d, %.0f s" % (scenario, _short(cell["named"]).replace("|", "\\|"),
                                                       cell["kills"], cell["runs"], cell["wall_ms"] / 1000))
        else:
            parts.append("%s: not caught (%d/%d)" % (scenario, cell["kills"], cell["runs"]))
    if mutant.number in {one.number for one in without_scenario()}:
        state = "no scenario yet"
    else:
        state = "yes" if killers(measured, mutant) else "**no**"
    name = mutant.name + (" ~" if mutant.is_race else "")
    return "| %s | %s | %s | %s | %s | %s |" % (mutant.number, name, " / ".join(mutant.invariants), mutant.level,
                                            state, "<br>".join(parts))


def render(measured):
    killed = [mutant for mutant in MUTANTS if killers(measured, mutant)]
    waiting = without_scenario()
    idle = idle_scenarios(measured)
    lines = [
        "# What the suite catches",
        "",
        "Written by `./dev test matrix`; do not edit. Each mutant of `tests/consumers/worker` has one mistake;",
        "a scenario kills it where the verdict is the one wanted (F: FAIL, W: WARN) and names the invariant that",
        "`tests/matrix/kill_table.py` names. `~`: a race, wanted in four of five runs.",
        "",
        "%d of %d mutants are caught; %d have no scenario yet; %d are not caught." % (
            len(killed), len(MUTANTS), len(waiting), len(MUTANTS) - len(killed) - len(waiting)),
        "",
        "| no | mutant | invariant | level | caught | by |",
        "|---|---|---|---|---|---|",
        *[_row(measured, mutant) for mutant in MUTANTS],
        "",
        "Must-scenarios that catch nothing: %s." % (", ".join(idle) or "none"),
        "",
        "## Consumers that are right",
        "",
        "| no | consumer | profile | runs | findings |",
        "|---|---|---|---|---|",
    ]
    for name in sorted(measured["references"], key=lambda name: (int("0" + "".join(filter(str.isdigit, name.split()[0]))), name)):
        one = measured["references"][name]
        lines.append("| %s | %s | %s | %d | %s |" % (*name.split(" ", 1)[:1], one["what"], one["profile"],
                                                one["runs"], "<br>".join(one["findings"]) or "none"))
    lines += ["", "Sources: `%s`" % sources(), ""]
    return "\n".join(lines)


def sources():
    """One sum over all that the table depends on."""
    files = running.scenario_files()
    whole = "".join(fingerprint(mutant, files[scenario]) for mutant, scenario in cells())
    return hashlib.sha256(whole.encode()).hexdigest()[:16]


def findings(reference, profile, seed, at_once):
    """What the suite holds against a right consumer; should be nothing."""
    found = running.check(reference.command(), profile, reference.only, seed, reference.options, at_once)
    bad = ("FAIL", "WARN", "ERROR", "INCONCLUSIVE")
    return ["%s %s: %s" % (name, one.verdict, one.text[:200]) for name, one in sorted(found.items())
            if one.verdict in bad], len([one for one in found.values() if one.verdict in ("PASS", "INFO")])
