"""Individual ranking against cases worked by hand and against the obvious loop."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

from deniable.errors import DeniableError
from deniable.idp.microaggregation import Ranking, cluster_starts, microaggregate

tables = hnp.arrays(
    float,
    st.tuples(st.integers(1, 30), st.integers(1, 3)),
    elements=st.integers(-5, 5).map(float),
)


def slowly(values: np.ndarray, k: int) -> np.ndarray:
    """Microaggregate record by record, in fractions."""
    out = np.empty_like(values)
    for j in range(values.shape[1]):
        order = sorted(range(len(values)), key=lambda i: (values[i, j], i))
        number = len(values) // k
        for c in range(number):
            members = order[c * k : (c + 1) * k if c < number - 1 else len(values)]
            mean = sum(Fraction(values[i, j]) for i in members) / len(members)
            for i in members:
                out[i, j] = float(mean)
    return out


def test_a_case_by_hand() -> None:
    values = [[7.0, 1.0], [1.0, 1.0], [3.0, 4.0], [2.0, 0.0], [10.0, 1.0]]
    clusters = Ranking.of(values).clusters(2)
    assert clusters.starts.tolist() == [0, 2]
    assert clusters.sizes.tolist() == [2, 3]  # the remainder joins the last cluster
    np.testing.assert_allclose(clusters.centroids, [[3 / 2, 20 / 3], [1 / 2, 2]], atol=1e-12)
    np.testing.assert_allclose(clusters.scatter, [[1 / 2, 74 / 3], [1 / 2, 6]], atol=1e-12)
    # Of the three records with 1 in the second attribute the first one is ranked first.
    np.testing.assert_array_equal(clusters.memberships, [[1, 0, 1, 0, 1], [0, 1, 1, 0, 1]])
    np.testing.assert_array_equal(clusters.smallest(2), [[2, 7], [1, 1]])
    np.testing.assert_array_equal(clusters.largest(2), [[1, 7], [0, 1]])


@pytest.mark.parametrize(
    ("records", "k", "sizes"),
    [(1080, 7, [7] * 153 + [9]), (5, 3, [5]), (6, 3, [3, 3]), (4, 1, [1] * 4), (3, 3, [3])],
)
def test_the_remainder_joins_the_last_cluster(records: int, k: int, sizes: list[int]) -> None:
    assert np.diff(cluster_starts(records, k), append=records).tolist() == sizes


@given(tables, st.data())
def test_agrees_with_the_loop(values: np.ndarray, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(values)))
    np.testing.assert_allclose(microaggregate(values, k), slowly(values, k), atol=1e-12)


@given(tables, st.data())
def test_clusters_are_of_k_to_2k_minus_1_consecutive_values(
    values: np.ndarray, data: st.DataObject
) -> None:
    k = data.draw(st.integers(1, len(values)))
    clusters = Ranking.of(values).clusters(k)
    assert clusters.sizes.sum() == len(values)
    assert np.all((clusters.sizes >= k) & (clusters.sizes < 2 * k))
    assert np.all(clusters.smallest()[:, 1:] >= clusters.largest()[:, :-1])
    counted = [np.bincount(each, minlength=clusters.number) for each in clusters.memberships]
    np.testing.assert_array_equal(counted, np.tile(clusters.sizes, (values.shape[1], 1)))


@given(tables, st.data())
def test_means_stay_and_equal_values_stay_exactly(values: np.ndarray, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(values)))
    # Means may be 0, where no relative error is small.
    rounding = 1e-12 * (1 + np.abs(values).max())
    np.testing.assert_allclose(
        microaggregate(values, k).mean(axis=0), values.mean(axis=0), rtol=1e-12, atol=rounding
    )
    same = np.full((7, 1), 0.1)  # seven tenths do not sum to .7 in floats
    np.testing.assert_array_equal(microaggregate(same, 3), same)


def test_one_ranking_serves_every_k() -> None:
    values = np.random.default_rng(1).normal(size=(50, 3))
    ranking = Ranking.of(values)
    for k in (1, 3, 50):
        clusters = ranking.clusters(k)
        np.testing.assert_array_equal(
            clusters.expand(clusters.centroids), microaggregate(values, k)
        )
    np.testing.assert_array_equal(ranking.clusters(1).expand(ranking.values), values)


def test_expands_many_runs_at_once() -> None:
    clusters = Ranking.of(np.random.default_rng(2).normal(size=(11, 2))).clusters(4)
    runs = np.random.default_rng(3).normal(size=(5, 2, 2))
    together = clusters.expand(runs)
    assert together.shape == (5, 11, 2)
    for run, each in zip(runs, together, strict=True):
        np.testing.assert_array_equal(clusters.expand(run), each)


@pytest.mark.parametrize("k", [0, -3, 6, 2.5])
def test_refuses_clusters_that_cannot_be(k: float) -> None:
    with pytest.raises(DeniableError, match="from 1 to 5"):
        cluster_starts(5, k)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1.0], [np.nan]], "record 1 has the value nan in column 0"),
        ([1.0, 2.0], "one row per record"),
        (np.empty((0, 2)), "one row per record"),
    ],
)
def test_refuses_what_cannot_be_ranked(values: object, message: str) -> None:
    with pytest.raises(DeniableError, match=message):
        Ranking.of(values)  # type: ignore[arg-type]


def test_refuses_what_is_no_value_of_a_cluster() -> None:
    clusters = Ranking.of([[1.0], [2.0], [3.0]]).clusters(3)
    with pytest.raises(DeniableError, match="number 4"):
        clusters.smallest(4)
    with pytest.raises(DeniableError, match="attributes and clusters"):
        clusters.expand(np.zeros((2, 2)))
