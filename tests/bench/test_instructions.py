"""The number of instructions of a request does not creep. No wall clock is looked at."""
import json

import pytest

import instructions

TOLERANCE = 0.05


@pytest.fixture(scope="module")
def counted():
    return instructions.count()


@pytest.mark.parametrize("name", instructions.WATCHED)
def test_no_more_instructions_than_before(counted, name):
    known = json.loads(instructions.BASELINE.read_text())[name]
    assert counted[name] <= known * (1 + TOLERANCE), (
        "%s takes %.0f instructions, %.1f %% more than the %d of %s: make it cheaper, or write the file "
        "anew with %s and say why" % (name, counted[name], (counted[name] / known - 1) * 100, known,
                                      instructions.BASELINE.name, instructions.__file__))


@pytest.mark.parametrize("name", instructions.WATCHED)
def test_a_gain_is_kept(counted, name):
    known = json.loads(instructions.BASELINE.read_text())[name]
    assert counted[name] >= known * (1 - TOLERANCE), (
        "%s takes %.0f instructions, %.1f %% fewer than the %d of %s: lower it, so that the gain stays: run %s"
        % (name, counted[name], (1 - counted[name] / known) * 100, known, instructions.BASELINE.name,
           instructions.__file__))
