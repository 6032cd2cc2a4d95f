"""Medians by whole runs: by hand, beside resamples in loops, and how often they hold the truth."""

import numpy as np
import pytest
from scipy import stats

from reproduction.study.engine import compared_medians, percentile_interval, resampled_medians


@pytest.mark.parametrize("runs", [7, 300])  # medians far apart, and all near the middle
def test_resampled_medians_are_those_of_resamples_in_loops(runs: int) -> None:
    generator = np.random.default_rng(1)
    values = generator.normal(size=(runs, 3, 4)).round(1)  # with ties
    found = resampled_medians(values, np.random.default_rng(2), 50)
    times = np.random.default_rng(2).multinomial(runs, np.full(runs, 1 / runs), size=50)
    for resample, drawn in enumerate(times):
        for output in range(3):
            answers = np.sort(
                np.concatenate([values[run, output] for run in np.repeat(range(runs), drawn)])
            )
            assert found[resample, output] == answers[(answers.size - 1) // 2]


def test_all_outputs_come_from_the_same_resamples() -> None:
    values = np.random.default_rng(1).normal(size=(20, 1, 3))
    found = resampled_medians(
        np.concatenate([values, values + 1], axis=1), np.random.default_rng(2)
    )
    np.testing.assert_array_equal(found[:, 0] + 1, found[:, 1])


def test_comparisons_by_hand() -> None:
    medians = np.array([3.0, 2.0])
    resampled = np.array([[3.0, 2.0], [4.0, 2.0], [3.0, 3.0]])
    assert compared_medians(medians, resampled, (0, 1), "difference", 0.5) == (1.0, 0.0, 2.0)
    assert compared_medians(medians, resampled, (0, 1), "ratio", 0.5) == (1.5, 1.0, 2.0)


def test_infinite_medians_have_no_difference_that_is_known() -> None:
    resampled = np.array([[np.inf, np.inf], [1.0, 2.0]])
    value, low, high = compared_medians(resampled[0], resampled, (0, 1), "difference", 0.95)
    assert (np.isnan(value), low, high) == (True, -np.inf, np.inf)


def test_percentiles() -> None:
    assert percentile_interval(np.arange(1.0, 101.0), 0.9) == (5.0, 95.0)
    assert percentile_interval(np.array([1.0, np.nan]), 0.9) == (-np.inf, np.inf)


@pytest.mark.parametrize("shared", [0.0, 0.9])
def test_intervals_hold_the_truth_at_their_rate(shared: float) -> None:
    """Answers of a run share some of their error, and so do both methods of a run."""
    generator, trials, runs, answers = np.random.default_rng(5), 400, 60, 8
    held = 0
    for _ in range(trials):
        of_run = shared * generator.normal(size=(runs, 1, 1))
        of_query = generator.normal(size=(runs, 1, answers))
        own = generator.normal(size=(runs, 2, answers))
        values = of_run + of_query + 0.5 * own + np.array([0.3, 0.0])[:, None]
        resampled = resampled_medians(values, generator, 200)
        pair = compared_medians(
            np.median(values, axis=(0, 2)), resampled, (0, 1), "difference", 0.95
        )
        held += pair[1] <= 0.3 <= pair[2]
    # Percentile intervals of few runs hold somewhat less than 95 %; below 91 % once in 10,000
    # times if it is 95 %.
    assert held > stats.binom.ppf(1e-4, trials, 0.95)
