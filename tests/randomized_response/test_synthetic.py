"""Synthetic records: exact totals, cells as close as whole records allow, no bias."""

import re
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings, strategies as st

from deniable.errors import DeniableError
from deniable.randomized_response.synthetic import repeat_cells, repeat_records, synthesize
from deniable.records.categorical import Microdata
from deniable.records.domain import Attribute, Domain
from deniable.sampling import RandomSource, SystemRandomSource, generator_for

SEEDED = settings(deadline=None, max_examples=150, derandomize=True)
parts = st.lists(st.integers(0, 20), min_size=1, max_size=12).filter(any)
DOMAIN = Domain(
    (
        Attribute("colour", ("blue", "red", "green")),
        Attribute("smokes", ("no", "yes")),
        Attribute("region", ("N", "E", "S", "W")),
    )
)
CLUSTERS = (("colour", "region"), ("smokes",))


def generator(**key: Any) -> np.random.Generator:
    return generator_for(20211121, {"test": "synthetic"} | key)


# -- largest remainders ----------------------------------------------------------------------------


def largest_remainders(shares: list[Fraction], records: int) -> list[int]:
    exact = [records * share for share in shares]
    times = [int(value) for value in exact]
    by_remainder = sorted(range(len(exact)), key=lambda cell: times[cell] - exact[cell])
    for cell in by_remainder[: records - sum(times)]:
        times[cell] += 1
    return times


@SEEDED
@given(parts, st.integers(1, 500))
def test_cells_are_those_of_largest_remainders_in_fractions(weights: list[int], n: int) -> None:
    shares = [Fraction(weight, sum(weights)) for weight in weights]
    times = repeat_cells([float(share) for share in shares], n)
    assert times.tolist() == largest_remainders(shares, n)
    assert times.sum() == n
    for count, share in zip(times.tolist(), shares, strict=True):
        assert abs(count - n * share) < 1
        assert share or not count
    by_share = [count for _, count in sorted(zip(shares, times.tolist(), strict=True))]
    assert all(one <= other for one, other in pairwise(by_share))


@pytest.mark.parametrize(
    ("proportions", "records", "times"),
    [
        ([0.25] * 4, 6, [2, 2, 1, 1]),
        ([0.5, 0.5], 1, [1, 0]),
        # In floating point .3 * 10 and .1 * 3 * 10 differ, although their remainders are equal.
        ([0.1 * 3, 0.3, 0.4], 5, [2, 1, 2]),
        ([0.3, 0.1 * 3, 0.4], 5, [2, 1, 2]),
        ([1.0], 7, [7]),
        ([0.0, 1.0, 0.0], 3, [0, 3, 0]),
        ([[0.4, 0.1], [0.3, 0.2]], 10, [[4, 1], [3, 2]]),
    ],
)
def test_equal_remainders_go_to_the_first_cell(proportions: Any, records: int, times: Any) -> None:
    found = repeat_cells(proportions, records)
    assert found.tolist() == times
    assert found.dtype == np.int64


def test_a_distribution_of_rounded_numbers_is_taken() -> None:
    assert repeat_cells([0.333333333, 0.333333333, 0.333333333], 9).tolist() == [3, 3, 3]


# -- clusters matched at random --------------------------------------------------------------------


def distributions(seed: int = 1) -> list[npt.NDArray[np.float64]]:
    source = np.random.default_rng(seed)
    return [source.dirichlet(np.ones(DOMAIN.project(cluster).size)) for cluster in CLUSTERS]


@pytest.mark.parametrize("source", [generator(), SystemRandomSource()], ids=["seeded", "system"])
@pytest.mark.parametrize("records", [1, 2, 100, 4999])
def test_every_cluster_has_the_cells_that_its_distribution_dictates(
    source: RandomSource, records: int
) -> None:
    estimate = distributions()
    made = synthesize(DOMAIN, CLUSTERS, estimate, records, source)
    assert made.domain == DOMAIN
    assert len(made) == records
    for cluster, distribution in zip(CLUSTERS, estimate, strict=True):
        counts = made.counts(cluster).reshape(-1)
        np.testing.assert_array_equal(counts, repeat_cells(distribution, records))
        assert np.abs(counts - records * distribution).max() < 1


def test_a_joint_estimate_is_repeated_cell_by_cell() -> None:
    joint = np.random.default_rng(3).dirichlet(np.ones(DOMAIN.size))
    made = synthesize(DOMAIN, (DOMAIN.names,), [joint], 1000, generator())
    np.testing.assert_array_equal(made.counts().reshape(-1), repeat_cells(joint, 1000))


def test_clusters_may_name_their_attributes_in_any_order() -> None:
    clusters = (("region",), ("smokes", "colour"))
    estimate = [np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.3, 0.2, 0.1, 0.1, 0.1, 0.2])]
    made = synthesize(DOMAIN, clusters, estimate, 100, generator())
    assert made.domain.names == DOMAIN.names
    assert made.counts(["smokes", "colour"]).tolist() == [[30, 20, 10], [10, 10, 20]]
    assert made.counts(["region"]).tolist() == [10, 20, 30, 40]


def test_clusters_are_independent_of_each_other() -> None:
    # 12 cells beside 2, in 40 records: the table of two matched columns is hypergeometric, of mean
    # r_i c_j / n and variance r_i (n - r_i) c_j (n - c_j) / (n^2 (n - 1)).
    estimate, n, draws = distributions(), 40, 3000
    total = np.zeros((12, 2))
    squares = np.zeros((12, 2))
    for draw in range(draws):
        made = synthesize(DOMAIN, CLUSTERS, estimate, n, generator(draw=draw))
        table = made.counts([*CLUSTERS[0], *CLUSTERS[1]]).reshape(12, 2)
        total += table
        squares += table.astype(float) ** 2
    rows, columns = (repeat_cells(each, n) for each in estimate)
    mean = np.outer(rows, columns) / n
    variance = np.outer(rows * (n - rows), columns * (n - columns)) / (n**2 * (n - 1))
    assert np.abs(total / draws - mean).max() < 4.5 * np.sqrt(variance.max() / draws)
    found = squares / draws - (total / draws) ** 2
    np.testing.assert_allclose(found[variance > 0], variance[variance > 0], rtol=0.2)


@pytest.mark.parametrize("source", [generator(), SystemRandomSource()], ids=["seeded", "system"])
def test_all_orders_are_equally_likely(source: RandomSource) -> None:
    draws = 3000
    region = Domain((DOMAIN["region"],))
    seen: dict[tuple[int, ...], int] = {}
    for _ in range(draws):
        made = synthesize(region, (("region",),), [[0.25] * 4], 4, source)
        order = tuple(made.columns[0].tolist())
        seen[order] = seen.get(order, 0) + 1
    assert len(seen) == 24
    expected = draws / 24
    # Chi-squared of 23 degrees of freedom exceeds 66 once in 200,000 times.
    assert sum((count - expected) ** 2 / expected for count in seen.values()) < 66


def test_a_seed_repeats_the_records_and_the_system_does_not() -> None:
    estimate = distributions()
    one, again = (synthesize(DOMAIN, CLUSTERS, estimate, 99, generator(run=1)) for _ in range(2))
    other = synthesize(DOMAIN, CLUSTERS, estimate, 99, generator(run=2))
    assert same(one, again)
    assert not same(one, other)
    system = [synthesize(DOMAIN, CLUSTERS, estimate, 99, SystemRandomSource()) for _ in range(2)]
    assert not same(*system)


def same(one: Microdata, other: Microdata) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one.columns, other.columns, strict=True))


# -- weighted records ------------------------------------------------------------------------------


class From:
    """A source whose uniform number is known."""

    def __init__(self, start: float) -> None:
        self.start = start
        self.generator = np.random.default_rng(1)

    def random(self, size: int) -> npt.NDArray[np.float64]:
        return np.full(size, self.start)

    def integers(self, low: int, high: int, size: int) -> npt.NDArray[np.int64]:
        return self.generator.integers(low, high, size)


def reports(records: int, seed: int = 7) -> Microdata:
    source = np.random.default_rng(seed)
    return Microdata(DOMAIN, tuple(source.integers(0, size, records) for size in DOMAIN.shape))


def labelled(records: int) -> Microdata:
    """Records that can be told apart: each has a category of its own."""
    return Microdata(
        Domain((Attribute("label", tuple(map(str, range(records)))),)), (np.arange(records),)
    )


@SEEDED
@given(parts, st.integers(1, 60))
def test_each_record_is_repeated_its_expected_number_of_times_on_average(
    weights: list[int], n: int
) -> None:
    shares = np.array(weights) / sum(weights)
    data, starts = labelled(len(weights)), 64
    total = np.zeros(len(weights))
    for k in range(starts):
        times = repeat_records(data, shares, n, From((k + 0.5) / starts)).counts()
        assert times.sum() == n
        assert np.all(np.abs(times - n * shares) < 1 + 1e-9)
        assert np.all(times[shares == 0] == 0)
        total += times
    # The mean over all starts, to the fineness of these.
    np.testing.assert_allclose(total / starts, n * shares, atol=1 / starts + 1e-9)


@pytest.mark.parametrize("start", [0.0, 2.0**-53, 0.5, 1 - 2.0**-53])
@pytest.mark.parametrize("records", [1, 10, 1000, 5000])
def test_the_number_of_records_is_exact_at_every_start(start: float, records: int) -> None:
    data = reports(1000)
    weights = np.random.default_rng(2).dirichlet(np.full(1000, 0.3))
    weights[:400] = 0
    weights /= weights.sum()
    made = repeat_records(data, weights, records, From(start))
    assert len(made) == records
    assert made.domain == DOMAIN


@pytest.mark.parametrize("source", [generator(), SystemRandomSource()], ids=["seeded", "system"])
def test_cells_and_leading_margins_come_within_one_record(source: RandomSource) -> None:
    data, n = reports(3000), 3000
    weights = np.random.default_rng(2).dirichlet(np.full(3000, 0.5))
    cells = DOMAIN.ravel(data.columns)
    expected = n * np.bincount(cells, weights=weights, minlength=DOMAIN.size).reshape(DOMAIN.shape)
    for _ in range(50):
        found = repeat_records(data, weights, n, source).counts()
        assert np.abs(found - expected).max() < 1 + 1e-9
        leading = found.sum(axis=(1, 2)) - expected.sum(axis=(1, 2))
        assert np.abs(leading).max() < 1 + 1e-9
        pair = found.sum(axis=2) - expected.sum(axis=2)
        assert np.abs(pair).max() < 1 + 1e-9


def test_light_records_are_not_lost_as_they_are_by_largest_remainders() -> None:
    # All expect less than one record: 500 light ones together 200, 500 heavy ones 400.
    data = labelled(1000)
    weights = np.repeat([0.4, 0.8], 500) / 600
    by_remainders = repeat_cells(weights, 600)
    assert by_remainders[:500].sum() == 100  # a bias of half of them
    made = repeat_records(data, weights, 600, generator())
    assert abs(made.counts()[:500].sum() - 200) <= 1


def test_equal_weights_give_every_record_once() -> None:
    data = reports(777)
    made = repeat_records(data, np.full(777, 1 / 777), 777, From(0.3))
    np.testing.assert_array_equal(made.counts(), data.counts())
    assert not same(made, data)  # but in another order


def test_heavy_records_are_repeated_often() -> None:
    made = repeat_records(labelled(3), [0.0, 0.9, 0.1], 20, From(0.5))
    assert made.counts().tolist() == [0, 18, 2]


def test_a_record_without_weight_is_never_taken_wherever_it_stands() -> None:
    for start in (0.0, 2.0**-53, 0.5, 1 - 2.0**-53):
        for weights in ([0, 0.1, 0.9, 0], [0.3, 0, 0.7, 0], [0, 0, 0, 1]):
            times = repeat_records(labelled(4), weights, 7, From(start)).counts()
            assert not times[np.array(weights) == 0].any()


# -- what is refused -------------------------------------------------------------------------------

PROPER = [[1 / 12] * 12, [0.5, 0.5]]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: repeat_cells([0.5, 0.5], 0), "0 synthetic records are requested; request at lea"),
        (
            lambda: repeat_cells([0.5, 0.6], 5),
            "the proportions are not a distribution (not negative",
        ),
        (lambda: repeat_cells([1.5, -0.5], 5), "project the estimate first"),
        (lambda: repeat_cells([0.5, np.nan], 5), "the proportions are not a distribution"),
        (lambda: repeat_cells([], 5), "the proportions are not a distribution"),
        (
            lambda: synthesize(DOMAIN, CLUSTERS[:1], PROPER[:1], 5, generator()),
            "1 clusters of colour, region and 1 distributions, for the attributes",
        ),
        (
            lambda: synthesize(DOMAIN, CLUSTERS, PROPER[:1], 5, generator()),
            "2 clusters of colour, region, smokes and 1 distributions",
        ),
        (
            lambda: synthesize(DOMAIN, CLUSTERS, PROPER[::-1], 5, generator()),
            "the cluster colour x region has 12 cells, but its distribution has 2",
        ),
        (
            lambda: repeat_records(reports(3), [0.5, 0.5], 5, generator()),
            "3 records, but weights of shape (2,)",
        ),
        (
            lambda: repeat_records(reports(2), [0.7, 0.7], 5, generator()),
            "the weights are not a dist",
        ),
        (lambda: repeat_records(reports(2), [0.5, 0.5], -1, generator()), "-1 synthetic records"),
    ],
)
def test_what_does_not_fit_is_refused(call: Any, said: str) -> None:
    with pytest.raises(DeniableError, match=re.escape(said)):
        call()
