"""The comparison of noises on a grid: what its table says, and of what it is a table."""

import math

import numpy as np
import pytest
import scipy
from hypothesis import given, settings, strategies as st

from deniable.errors import DeniableError
from deniable.records import Domain, Microdata
from deniable.records.domain import Discretization

from reproduction.papers.idp.grid import (
    ESTIMATORS,
    NOISES,
    compare_noises,
    medians,
    wasserstein_distances,
)

COUNTS = [5, 20, 40, 60, 50, 30, 15, 5]


def records_of(counts):
    edges = tuple(float(edge) for edge in range(17, 18 + len(counts)))
    age = Discretization("age", edges).attribute
    codes = np.repeat(np.arange(len(counts)), counts)
    return Microdata(Domain((age,)), (codes,), {"data_source": "original"})


def compared(seed=1, times=13, **changes):
    settings = {"epsilons": [1.0, 4.0], "replicates": 8, "intervals": 3, "resamples": 20}
    return compare_noises(records_of(np.multiply(COUNTS, times)), seed, **{**settings, **changes})


def test_a_row_a_noise_epsilon_and_estimator_and_numbers_that_fit_together():
    table = compared()
    assert len(table) == len(NOISES) * 2 * len(ESTIMATORS)
    assert not table.duplicated(["noise", "epsilon", "estimator"]).any()
    assert (table.exact_epsilon <= table.epsilon).all()
    assert (table.exact_epsilon > table.epsilon - 1e-12).all()
    # The distance between two distributions is never below that between their means.
    assert (table.wasserstein >= table.bias.abs() - 1e-12).all()
    spread = table.sd_root_n / math.sqrt(13 * sum(COUNTS))
    np.testing.assert_allclose(table.rmse**2, table.bias**2 + spread**2 * 7 / 8, rtol=1e-9)
    made = table.estimator == "EMS"
    assert (table.intervals == np.where(made, 3, 0)).all()
    assert table.coverage_mean.isna().eq(~made).all()
    covered = table[made]
    for name in ("coverage_mean", "coverage_median"):
        assert (covered[f"{name}_low"] <= covered[name]).all()
        assert (covered[name] <= covered[f"{name}_high"]).all()


def test_medians_and_distances_by_hand():
    edges = np.array([0.0, 1.0, 3.0, 4.0])
    x, y, gap = np.array([[0.5, 0.25, 0.25], [0.25, 0.25, 0.5], [0.5, 0.0, 0.5]])
    assert medians(np.stack([x, y, gap]), edges).tolist() == [1, 3, 1]
    assert medians(np.array([0.25, 0.5, 0.25]), edges) == 2
    # A quarter moves from .5 to 2, and from there to 3.5.
    assert wasserstein_distances(x, y, (edges[1:] + edges[:-1]) / 2) == pytest.approx(0.75)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(
    st.lists(st.integers(0, 20), min_size=4, max_size=4).filter(any),
    st.lists(st.integers(0, 20), min_size=4, max_size=4).filter(any),
)
def test_distances_are_those_of_scipy(first, second):
    middles = np.array([0.5, 2.0, 3.5, 6.5])
    x, y = np.array(first) / sum(first), np.array(second) / sum(second)
    expected = scipy.stats.wasserstein_distance(middles, middles, x, y)
    assert wasserstein_distances(x, y, middles) == pytest.approx(expected, abs=1e-12)


def test_same_seed_same_table():
    assert compared(epsilons=[2.0]).equals(compared(epsilons=[2.0]))


def test_errors_vanish_where_hardly_anything_is_randomized():
    # At epsilon 25 generalized randomized response reports next to all as it is: what is left is
    # the sampling of 200,025 records, and with EM nothing else.
    table = compared(epsilons=[25.0], times=889)
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


def test_intervals_cover_a_mean_as_often_as_stated():
    # Hardly anything is randomized, so the means are those of samples; four noises, one stream.
    table = compared(epsilons=[25.0], replicates=100, intervals=100, resamples=100)
    for covered in table[table.estimator == "EMS"].coverage_mean:
        # Of 100 resamples the limits lie a little inside: .94 is expected.
        assert scipy.stats.binomtest(round(100 * covered), 100, 0.94).pvalue > 1e-6


def test_an_epsilon_out_of_range_is_refused():
    with pytest.raises(DeniableError, match="epsilon is -1"):
        compared(epsilons=[-1.0])


@pytest.mark.slow
def test_age_of_adult_at_epsilon_1():
    # Counts of Adult's 32,561 ages in 64 cells of 17 to 91. The orders are those of the table of
    # 200 replicates, whose differences are 8 standard errors of this one and more.
    counts = np.fromstring(
        "945 712 753 720 765 877 1639 785 835 867 813 861 1716 875 886 876 898 858 827 "
        "1610 808 780 770 724 734 1445 543 577 602 595 478 464 834 366 358 366 355 312 "
        "558 230 208 178 150 151 228 89 72 67 64 51 45 75 23 22 22 20 12 16 3 1 1 3 0 43 ",
        dtype=int,
        sep=" ",
    )
    table = compare_noises(
        records_of(counts),
        7,
        epsilons=[1.0],
        replicates=40,
        intervals=1,
        resamples=20,
    ).set_index(["noise", "estimator"])
    distance = table.wasserstein
    assert 0.006 < distance["square wave", "EMS"] < 0.010
    assert 0.018 < distance["Laplace", "EMS"] < 0.027
    assert 0.050 < distance["Laplace", "maximum likelihood"] < 0.068
    for estimator in ESTIMATORS:
        assert distance["square wave", estimator] < distance["Laplace", estimator]
