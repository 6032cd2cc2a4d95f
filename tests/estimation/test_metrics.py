"""Count queries, and distances between tables."""

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats
from scipy.spatial import distance

from deniable.errors import DeniableError
from deniable.estimation.metrics import (
    chi_squared_between,
    jensen_shannon_distances,
    l2_distances,
    random_queries,
    relative_errors,
    squared_errors,
)


@pytest.mark.parametrize(
    ("cells", "coverage", "asked"),
    [
        (10, "0.1", 1),
        (70, "0.1", 7),
        (71, "0.1", 8),
        (18, "0.5", 9),
        (19, "0.5", 10),
        (100, "0.29", 29),
        (100, "0.57", 57),
        (100, "0.07", 7),
        (5, "1", 5),
        (5, "0.0001", 1),
        (1, "0.5", 1),
    ],
)
def test_queried_cells(cells, coverage, asked):
    drawn = random_queries(cells, float(coverage), 2, np.random.default_rng(0))
    assert drawn.sum(axis=1).tolist() == [asked] * 2
    assert asked == max(math.ceil(Fraction(coverage) * cells), 1)


@pytest.mark.parametrize("coverage", [0, -0.1, 1.0001, np.nan])
def test_coverage_that_is_none(coverage):
    with pytest.raises(DeniableError, match=f"the coverage is {coverage}; it must be above 0"):
        random_queries(10, coverage, 1, np.random.default_rng(0))


def test_queries_are_random_sets_of_cells():
    # All C(5, 2) = 10 sets equally often: chi-square at 1e-6, fixed seed.
    queries = random_queries(5, 0.4, 20_000, np.random.default_rng(1))
    assert queries.shape == (20_000, 5)
    assert queries.dtype == bool
    np.testing.assert_array_equal(queries.sum(axis=1), 2)
    found = Counter(tuple(np.flatnonzero(query).tolist()) for query in queries)
    assert set(found) == set(combinations(range(5), 2))
    assert stats.chisquare(list(found.values())).pvalue > 1e-6
    assert random_queries(5, 1, 3, np.random.default_rng(1)).all()
    assert random_queries(1, 0.1, 3, np.random.default_rng(1)).all()


def test_random_sizes_have_the_coverage_on_average():
    # .3 of 6 cells is 1.8: two cells with probability .8, by a binomial test at 1e-6, fixed seed.
    generator = np.random.default_rng(1)
    sizes = random_queries(6, 0.3, 20_000, generator, "random").sum(axis=1)
    assert set(sizes.tolist()) == {1, 2}
    assert stats.binomtest(int((sizes == 2).sum()), 20_000, 0.8).pvalue > 1e-6
    # Whole numbers stay, and no set is empty.
    assert set(random_queries(10, 0.3, 50, generator, "random").sum(axis=1).tolist()) == {3}
    assert set(random_queries(3, 0.1, 50, generator, "random").sum(axis=1).tolist()) == {1}


def test_errors_by_hand():
    estimated, true = np.array([12.0, 8.0, 3.0, 0.0, -2.0]), np.array([10.0, 10.0, 0.0, 0.0, 4.0])
    assert relative_errors(estimated, true).tolist() == [0.2, 0.2, np.inf, 0, 1.5]


def test_distances_of_tables_by_hand():
    true = [10, 20, 30]
    runs = [[13, 16, 30], [10, 20, 30]]
    assert squared_errors(runs, true).tolist() == [25, 0]
    assert l2_distances(runs, true).tolist() == [5, 0]


def test_jensen_shannon_by_hand():
    # p = (1/2, 1/2), q = (1, 0), m = (3/4, 1/4):
    # KL(p, m) = ln(2/3) / 2 + ln(2) / 2, KL(q, m) = ln(4/3).
    divergence = (math.log(2 / 3) / 2 + math.log(2) / 2 + math.log(4 / 3)) / 2
    found = jensen_shannon_distances([[5, 5], [7, 0], [0, 3]], [20, 0])
    np.testing.assert_allclose(found, [divergence**0.5, 0, math.log(2) ** 0.5], atol=1e-15)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=8))
def test_jensen_shannon_is_scipys_and_a_distance(cells):
    first, second = np.array(cells).T + np.array([[1], [1]]) * (np.arange(len(cells)) == 0)
    found = float(jensen_shannon_distances(first, second))
    # Of nearly equal tables both are roots of rounding errors.
    assert found == pytest.approx(np.nan_to_num(distance.jensenshannon(first, second)), abs=1e-7)
    assert found == pytest.approx(float(jensen_shannon_distances(second, first)), abs=1e-12)
    assert 0 <= found <= math.log(2) ** 0.5 + 1e-12


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=2, max_size=6).filter(
        lambda cells: all(sum(column) > 0 for column in zip(*cells, strict=True))
    )
)
def test_chi_squared_is_that_of_the_two_row_table(cells):
    first, second = np.array(cells).T
    some = first + second > 0
    expected = 0.0
    if some.sum() > 1:
        expected = stats.chi2_contingency([first[some], second[some]], correction=False).statistic
    assert float(chi_squared_between(first, second)) == pytest.approx(expected, abs=1e-9)


def test_tables_that_are_none_are_refused():
    for bad in ([-1, 5], [0, 0], [np.nan, 1]):
        for measure in (jensen_shannon_distances, chi_squared_between):
            with pytest.raises(DeniableError, match="project the estimate"):
                measure(bad, [1, 1])
            with pytest.raises(DeniableError, match="project the estimate"):
                measure([[1, 1]], bad)
