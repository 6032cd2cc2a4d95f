"""The comparison of noises on a grid: what its table says, and of what it is a table."""

import math

import numpy as np
import pytest

from deniable.errors import DeniableError

from reproduction.papers.idp.grid import ESTIMATORS, NOISES, compare_noises

COUNTS, EDGES = [5, 20, 40, 60, 50, 30, 15, 5], np.linspace(17, 91, 9)


def compared(seed=1, **changes):
    settings = {"epsilons": [1.0, 4.0], "n": 3000, "replicates": 8, "intervals": 3, "resamples": 20}
    return compare_noises(
        COUNTS, EDGES, generator=np.random.default_rng(seed), **{**settings, **changes}
    )


def test_a_row_a_noise_epsilon_and_estimator_and_numbers_that_fit_together():
    table = compared()
    assert len(table) == len(NOISES) * 2 * len(ESTIMATORS)
    assert not table.duplicated(["noise", "epsilon", "estimator"]).any()
    assert (table.exact_epsilon <= table.epsilon).all()
    assert (table.exact_epsilon > table.epsilon - 1e-12).all()
    # The distance between two distributions is never below that between their means.
    assert (table.wasserstein >= table.bias.abs() - 1e-12).all()
    spread = table.sd_root_n / math.sqrt(3000)
    np.testing.assert_allclose(table.rmse**2, table.bias**2 + spread**2 * 7 / 8, rtol=1e-9)
    made = table.estimator == "EMS"
    assert (table.intervals == np.where(made, 3, 0)).all()
    assert table.coverage_mean.isna().eq(~made).all()
    covered = table[made]
    for name in ("coverage_mean", "coverage_median"):
        assert (covered[f"{name}_low"] <= covered[name]).all()
        assert (covered[name] <= covered[f"{name}_high"]).all()


def test_same_stream_same_table_and_units_do_not_matter():
    first = compared(epsilons=[2.0])
    assert first.equals(compared(epsilons=[2.0]))
    moved = compare_noises(
        np.multiply(COUNTS, 10),
        np.linspace(0, 1, 9),
        [2.0],
        3000,
        8,
        np.random.default_rng(1),
        intervals=3,
        resamples=20,
    )
    np.testing.assert_allclose(moved.wasserstein, first.wasserstein, rtol=1e-6)
    np.testing.assert_allclose(moved.bias, first.bias, rtol=1e-6, atol=1e-9)


def test_errors_vanish_where_hardly_anything_is_randomized():
    # At epsilon 25 generalized randomized response reports next to all as it is: what is left is
    # the sampling of 200,000 records, and with EM nothing else.
    table = compared(epsilons=[25.0], n=200_000)
    exact = table[
        (table.noise == "generalized randomized response")
        & (table.estimator == "maximum likelihood")
    ].iloc[0]
    x = (np.arange(8) + 0.5) / 8
    shares = np.array(COUNTS) / sum(COUNTS)
    spread = math.sqrt(shares @ x**2 - (shares @ x) ** 2)
    # Over 8 replicates: a chi of 7 degrees, in a range of probability 1 - 1e-6.
    assert 0.12 * spread < exact.sd_root_n < 2.6 * spread
    assert exact.wasserstein < 0.002


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n": 0}, "n is 0"),
        ({"replicates": 1}, "replicates 1"),
        ({"intervals": 9}, "intervals 9"),
        ({"intervals": 0}, "intervals 0"),
        ({"resamples": 3}, "resamples is 3"),
        ({"epsilons": [-1.0]}, "epsilon is -1"),
    ],
)
def test_numbers_out_of_range_are_refused(changes, message):
    with pytest.raises(DeniableError, match=message):
        compared(**changes)


@pytest.mark.parametrize(
    ("counts", "edges", "message"),
    [
        ([1, 2], [0, 1], "no grid"),
        ([[1, 2]], [0, 1, 2], "no grid"),
        ([1], [0, 1], "no grid"),
        ([1, 2], [0, 1, 1], "rise"),
        ([1, 2], [0, 1, math.inf], "finite"),
        ([1, -2], [0, 1, 2], "negative"),
        ([0, 0], [0, 1, 2], "all 0"),
    ],
)
def test_what_is_no_distribution_on_a_grid_is_refused(counts, edges, message):
    with pytest.raises(DeniableError, match=message):
        compare_noises(
            counts, edges, [1.0], 9, 2, np.random.default_rng(1), intervals=1, resamples=20
        )


@pytest.mark.slow
def test_age_of_adult_at_epsilon_1():
    # Counts of Adult's 32,561 ages in 64 cells of 17 to 91. The orders are those of the table of
    # 200 replicates, whose differences are 8 standard errors of this one and more.
    counts = np.fromstring(
        "945 712 753 720 765 877 1639 785 835 867 813 861 1716 875 886 876 898 858 827 "
        "1610 808 780 770 724 734 1445 543 577 602 595 478 464 834 366 358 366 355 312 "
        "558 230 208 178 150 151 228 89 72 67 64 51 45 75 23 22 22 20 12 16 3 1 1 3 0 43 ",
        sep=" ",
    )
    table = compare_noises(
        counts,
        np.linspace(17, 91, 65),
        [1.0],
        32_561,
        40,
        np.random.default_rng(7),
        intervals=1,
        resamples=20,
    ).set_index(["noise", "estimator"])
    distance = table.wasserstein
    assert 0.006 < distance["square wave", "EMS"] < 0.010
    assert 0.018 < distance["Laplace", "EMS"] < 0.027
    assert 0.050 < distance["Laplace", "maximum likelihood"] < 0.068
    for estimator in ESTIMATORS:
        assert distance["square wave", estimator] < distance["Laplace", estimator]
