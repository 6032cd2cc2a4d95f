"""Count queries."""

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from deniable.errors import DeniableError
from deniable.utility import absolute_errors, queried_cells, random_queries, relative_errors


@pytest.mark.parametrize(
    ("cells", "coverage", "asked"),
    [(10, "0.1", 1), (70, "0.1", 7), (71, "0.1", 8), (18, "0.5", 9), (19, "0.5", 10),
     (100, "0.29", 29), (100, "0.57", 57), (100, "0.07", 7), (5, "1", 5),
     (5, "0.0001", 1), (1, "0.5", 1)],
)  # fmt: skip
def test_queried_cells(cells, coverage, asked):
    assert queried_cells(cells, float(coverage)) == asked
    assert asked == max(math.ceil(Fraction(coverage) * cells), 1)


@pytest.mark.parametrize("coverage", [0, -0.1, 1.0001, np.nan])
def test_coverage_that_is_none(coverage):
    with pytest.raises(DeniableError, match=f"the coverage is {coverage}; it must be above 0"):
        queried_cells(10, coverage)


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


def test_errors_by_hand():
    estimated, true = np.array([12.0, 8.0, 3.0, 0.0, -2.0]), np.array([10.0, 10.0, 0.0, 0.0, 4.0])
    assert absolute_errors(estimated, true).tolist() == [2, 2, 3, 0, 6]
    assert relative_errors(estimated, true).tolist() == [0.2, 0.2, np.inf, 0, 1.5]
