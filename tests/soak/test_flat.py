"""The check of the soak can fail: it is fed figures that grow."""
import random

import flat
import pytest

LOOKS = 60


def series(value):
    return [(second, value(second)) for second in range(LOOKS)]


def noisy(value, by=50):
    chance = random.Random(1)
    return series(lambda second: value(second) + chance.randint(-by, by))


def test_what_stands_still_is_flat():
    assert flat.why_not_flat(series(lambda second: 4000), 0, 0) is None


def test_noise_is_flat():
    assert flat.why_not_flat(noisy(lambda second: 4000), 100, 200) is None


def test_growth_before_the_second_half_is_warming_up():
    assert flat.why_not_flat(series(lambda second: 4000 + 100 * min(second, 20)), 10, 10) is None


def test_what_falls_is_flat_within_the_spread():
    assert flat.why_not_flat(series(lambda second: 4000 - second), 10, 30) is None


@pytest.mark.parametrize("per_second", [4, 20, 1000])
def test_a_leak_under_noise_is_found(per_second):
    why = flat.why_not_flat(noisy(lambda second: 4000 + per_second * second), 60, 100000)
    assert why is not None and why.startswith("grows by")


def test_a_jump_late_is_found():
    assert flat.why_not_flat(series(lambda second: 4000 if second < 50 else 5000), 500, 900)


def test_one_peak_is_found():
    why = flat.why_not_flat(series(lambda second: 9000 if second == 45 else 4000), 1000, 4000)
    assert why is not None and why.startswith("lies between")


def test_too_few_looks_are_no_answer():
    assert "too few" in flat.why_not_flat(series(lambda second: 0)[:6], 0, 0)
