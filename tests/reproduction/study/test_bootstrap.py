"""Medians by whole runs: by hand, beside resamples in loops, and how often they hold the truth."""

import numpy as np
import pytest
from scipy import stats

from reproduction.study.engine import (
    compared_medians,
    equivalent_replicates,
    percentile_interval,
    resampled_medians,
)


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


@pytest.mark.parametrize("unlike", [0.0, 1.5])  # how much queries differ in their errors
@pytest.mark.parametrize("shared", [0.0, 1.0])  # how much of its error a run shares
def test_equivalent_replicates_tell_the_precision_of_as_many_random_queries(
    unlike: float, shared: float
) -> None:
    """The median of a publication asks one query a run; ours is of runs that ask all of them."""
    generator, queries, runs, published = np.random.default_rng(7), 28, 250, 1000
    scales = np.exp(unlike * np.linspace(-1, 1, queries))

    def asked(number: int, of: int) -> np.ndarray:
        errors = shared * generator.normal(size=(number, 1)) + generator.normal(size=(number, of))
        chosen = scales if of == queries else generator.choice(scales, (number, of))
        return np.abs(errors) * chosen

    medians = [np.median(asked(published, 1)) for _ in range(4000)]
    found = []
    for _ in range(20):
        values = asked(runs, queries)
        resampled = resampled_medians(values[:, None], generator, 400)[:, 0]
        ends = percentile_interval(resampled, 0.95)
        width = (ends[1] - ends[0]) * (equivalent_replicates(values, *ends) / published) ** 0.5
        found.append(width / 2 / 1.96)
    # Each of 20 widths errs by about 8 %, their mean by 2 %.
    assert np.mean(found) == pytest.approx(np.std(medians), rel=0.1)
