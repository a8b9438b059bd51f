"""What CI runs of the matrix. It has a seed that is another one each time: by it the profile of each
right consumer is chosen, and the scenarios. What it lets be run once more is told at the end."""
import os
import random
import re

import matrix
import running

SEED = int(os.environ.get("QUERN_MATRIX_SEED") or random.SystemRandom().randrange(1, 1000000))
SEED_TEXT = "QUERN_MATRIX_SEED=%d" % SEED
# A mutant that is missed has another seed; one whose mistake is a race (`~`) has two.
TRIES, RACE_TRIES = 2, 3
# Of those that go through whole profiles; who starts an interpreter for each instance has fewer.
SCENARIOS, FEWER = 14, 6
# They wait for minutes; the suite `soak` and the whole matrix do.
TOO_LONG = ("chaos.soak", "poll.stalled-connection", "ambiguous.effect-timeout", "lease.hung-handler-released")
again = []


def fastest(measured, mutant):
    """By what was measured, else the first that is there."""
    there = running.scenario_files()
    return next(iter(matrix.killers(measured, mutant) + [one for one in mutant.scenarios if one in there]), None)


def told(runs):
    return "; ".join("seed %d: %d of 1, %s" % (seed, cell["kills"], cell["verdicts"]) for seed, cell in runs)


def kill(mutant, scenario):
    """The seed and the result of each run; the last one counts."""
    runs = []
    for n in range(RACE_TRIES if mutant.is_race else TRIES):
        runs.append((SEED + n, matrix.measure(mutant, scenario, [SEED + n])))
        if runs[-1][1]["kills"] > 0:
            break
    if len(runs) > 1:
        again.append("%s by %s: %s" % (mutant.name, scenario, told(runs)))
    return runs


def profile_now(reference):
    return reference.profiles[SEED % len(reference.profiles)]


def held_already(measured, reference, profile):
    """Scenarios of which the table says what they have against it."""
    of_it = measured["references"].get("%s %s" % (reference.number, profile), {})
    return {re.split("[ +]", text)[0] for text in of_it.get("findings", [])}


def scenarios_now(measured, reference):
    profile = profile_now(reference)
    known = held_already(measured, reference, profile)
    there = [name for name, path in running.scenario_files().items()
             if matrix.is_one_of(name, reference.only) and profile in matrix.document(path)["profiles"]
             and name not in TOO_LONG and name not in known]
    most = FEWER if reference.sources else SCENARIOS
    return random.Random("%d %s" % (SEED, reference.number)).sample(there, min(most, len(there)))


def findings(measured, reference):
    """What is held against a right consumer, and what it passed. A FAIL is final. A warning, or no
    result, of a busy machine may be one of bad luck: these scenarios run once more, one by one."""
    profile = profile_now(reference)
    found, passed, _ = matrix.run_reference(reference, profile, scenarios_now(measured, reference), SEED, 2)
    if found and not any(re.match(r"\S+ FAIL ", text) for text in found):
        names = sorted({re.split("[ +]", text)[0] for text in found})
        second, _, _ = matrix.run_reference(reference, profile, names, SEED + 1, 1)
        again.extend("%s: %s" % (reference.number, text) for text in found + (second or ["nothing with another seed"]))
        found = second
    return found, passed
