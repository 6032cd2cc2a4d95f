"""Clopper and Pearson's interval against scipy's, and what it covers, summed over all outcomes."""

import numpy as np
import pytest
from scipy import stats

from deniable.estimation.exact_intervals import clopper_pearson


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999999])
def test_as_scipys_for_each_number_of_events(confidence: float) -> None:
    events = np.arange(13)
    low, high = clopper_pearson(events, 12, confidence)
    known = [stats.binomtest(e, 12).proportion_ci(confidence, "exact") for e in events.tolist()]
    np.testing.assert_allclose(low, [each.low for each in known], atol=1e-12)
    np.testing.assert_allclose(high, [each.high for each in known], atol=1e-12)


def test_as_scipys_of_many_trials() -> None:
    events, trials = np.array([0, 3, 100]), np.array([100, 100, 100])
    low, high = clopper_pearson(events, trials)
    for e, lower, upper in zip(events, low, high, strict=True):
        known = stats.binomtest(int(e), 100).proportion_ci(0.95, "exact")
        assert (lower, upper) == pytest.approx((known.low, known.high), abs=1e-12)


def test_trials_of_their_own_and_single_numbers() -> None:
    events, trials = np.array([[0, 3], [7, 1]]), np.array([[5, 9], [7, 1]])
    low, high = clopper_pearson(events, trials)
    for place in np.ndindex(2, 2):
        assert clopper_pearson(int(events[place]), int(trials[place])) == (low[place], high[place])


def test_by_hand_where_all_trials_agree() -> None:
    # (1 - p)^n = .025 at the upper limit of no event in n, and the mirror image of n in n.
    low, high = clopper_pearson([0, 10], [10, 10])
    reach = 1 - 0.025**0.1
    np.testing.assert_allclose([low, high], [[0, 1 - reach], [reach, 1]], rtol=1e-12)


@pytest.mark.parametrize("trials", [1, 7, 40])
def test_it_covers_as_stated_at_every_probability(trials: int) -> None:
    low, high = clopper_pearson(np.arange(trials + 1), trials)
    for probability in np.linspace(0.005, 0.995, 199):
        chances = stats.binom.pmf(np.arange(trials + 1), trials, probability)
        assert chances[(low <= probability) & (probability <= high)].sum() >= 0.95
