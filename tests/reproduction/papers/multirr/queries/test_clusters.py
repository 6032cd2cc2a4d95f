"""The fast simulation from counts against plain loops over records."""

import itertools
import math
import warnings
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests.simulations import of_random_sets
from tests.slow_variants import slow

from deniable.channels import ProductChannel
from deniable.estimation import estimate_or_uniform
from deniable.randomized_response.protocols import (
    CLUSTER_MECHANISMS,
    READINGS,
    Protocol,
    cluster_channel,
    rr_channel,
)
from deniable.records.categorical import Microdata

from reproduction.papers.multirr.queries import shared
from reproduction.papers.multirr.queries.clusters import ClusterQueries, ExploredQueries
from reproduction.papers.multirr.queries.shared import of_all_attributes

COVERAGE = 0.2
# Each comparison of two samples fails by chance once in 10,000 times.
ERROR_RATE = 1e-4
FAST, SLOW = 4000, 700
# Two clusters of two: the sizes are 3 x 2 and 4 x 2.
TOGETHER = [{"colour", "smokes"}, {"region", "owner"}]


def queries_of(
    data: Microdata, together: list[set[str]] = TOGETHER, kind: Any = ClusterQueries
) -> Any:
    """Return the study's simulation with dependences that give the clusters wanted."""
    queries = kind(data, COVERAGE)
    rows = [
        (a, b, "cramers_v", 0.9 if {a, b} in together else 0.1)
        for a, b in itertools.combinations(data.domain.names, 2)
    ]
    columns = ["attribute_1", "attribute_2", "measure", "dependence"]
    queries.__dict__["dependences"] = lambda _: pd.DataFrame(rows, columns=columns)
    return queries


def cell_of(**settings: Any) -> dict[str, Any]:
    base = {"dataset": "adult", "matrix": "keep", "mechanism": "joint", "projection": "clip"}
    return base | {"p": 0.5, "t_d": 0.5, "t_v": 8} | settings


# -- the reference: one record file, one query at a time -------------------------------------------


def slow_errors(
    data: Microdata, protocol: Protocol, cell: Mapping[str, Any], runs: int, seed: int
) -> np.ndarray:
    generator = np.random.default_rng(seed)
    pairs = list(itertools.combinations(data.domain.names, 2))
    errors = []
    for _ in range(runs):
        pair = pairs[generator.integers(len(pairs))]
        reports = protocol.randomize(data, generator)
        estimated = {
            cluster: slow_estimate(reports, cluster, cell) for cluster in protocol.clusters
        }
        cells = list(itertools.product(*(range(data.domain[name].size) for name in pair)))
        asked = generator.permutation(len(cells))[: math.ceil(COVERAGE * len(cells) - 1e-9)]
        true = guess = 0.0
        for number in asked:
            wanted = dict(zip(pair, cells[number], strict=True))
            match = np.ones(len(data), dtype=bool)
            for name, code in wanted.items():
                match &= data.column(name) == code
            true += match.sum()
            share = 1.0
            for table in estimated.values():
                share *= sum(
                    value
                    for place, value in table.items()
                    if all(place.get(name, code) == code for name, code in wanted.items())
                )
            guess += len(data) * share
        if true:
            errors.append(abs(guess - true) / true)
        else:
            errors.append(math.inf if guess else 0.0)
    return np.array(errors)


class Place(dict[str, int]):
    """A cell of a cluster, by attribute."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self.items()))


def slow_estimate(
    reports: Microdata, cluster: tuple[str, ...], cell: Mapping[str, Any]
) -> dict[Place, float]:
    """Estimate a cluster's distribution by solving linear equations, then clip and rescale."""
    domain = reports.domain.project(cluster)
    frequencies = reports.counts(cluster) / len(reports)
    if cell["mechanism"] == "joint" or len(cluster) == 1:
        channel = cluster_channel(domain.shape, cell["p"], cell["matrix"], "joint")
        estimate = slow_solve(channel.matrix(), frequencies.reshape(-1)).reshape(domain.shape)
    else:
        matrices = [rr_channel(a.size, cell["p"], cell["matrix"]).matrix() for a in domain]
        estimate = frequencies
        for axis, matrix in enumerate(matrices):
            estimate = np.apply_along_axis(lambda x, m=matrix: slow_solve(m, x), axis, estimate)
    clipped = np.where(estimate > 0, estimate, 0.0)
    clipped = clipped / clipped.sum()
    return {
        Place(zip(cluster, codes, strict=True)): float(clipped[codes])
        for codes in itertools.product(*map(range, domain.shape))
    }


def slow_solve(matrix: np.ndarray, reported: np.ndarray) -> np.ndarray:
    """Return the x with P' x = reported; its sum spread evenly where P is constant."""
    if np.ptp(matrix) < 1e-9:
        return np.full(reported.size, reported.sum() / reported.size)
    return np.linalg.solve(matrix.T, reported)


@pytest.fixture
def _warnings_pass() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


# -- both levels have the same distribution --------------------------------------------------------

SETTINGS = [
    *itertools.product(CLUSTER_MECHANISMS, READINGS, [0.5]),
    # p |A| = 1 - p for a size: entries of the printed matrix are all alike.
    ("kronecker", "printed", 1 / 3),
    ("kronecker", "printed", 0.2),
    ("kronecker", "diagonal", 0.25),
    # The diagonal is the smaller entry.
    ("kronecker", "printed", 0.1),
    ("joint", "diagonal", 0.1),
]


@pytest.mark.usefixtures("_warnings_pass")
@pytest.mark.parametrize(
    ("mechanism", "matrix", "p"), [*SETTINGS[:2], *(slow(*each) for each in SETTINGS[2:])]
)
def test_counts_and_records_give_the_same_errors(
    small_data: Microdata, mechanism: str, matrix: str, p: float
) -> None:
    queries = queries_of(small_data)
    cell = cell_of(mechanism=mechanism, matrix=matrix, p=p)
    protocol = queries.clustered(cell).protocol
    assert protocol.clusters == (("colour", "smokes"), ("region", "owner"))
    fast = of_random_sets(queries(cell, np.random.default_rng(1), FAST)[1][:, 0], 1)
    slow = slow_errors(small_data, protocol, cell, SLOW, seed=2)
    assert stats.ks_2samp(fast, slow).pvalue > ERROR_RATE


def test_the_comparison_sees_a_small_difference(small_data: Microdata) -> None:
    queries = queries_of(small_data)
    one = of_random_sets(queries(cell_of(p=0.5), np.random.default_rng(1), FAST)[1][:, 0], 1)
    other = of_random_sets(queries(cell_of(p=0.6), np.random.default_rng(2), FAST)[1][:, 0], 2)
    assert stats.ks_2samp(one, other).pvalue < ERROR_RATE


@pytest.mark.usefixtures("_warnings_pass")
@pytest.mark.parametrize("reading", ["printed", "diagonal"])
def test_a_singular_joint_cluster_is_taken_as_uniform(small_data: Microdata, reading: str) -> None:
    # Two attributes of two categories, both without any epsilon: their joint channel is constant.
    data = small_data.project(["smokes", "owner", "colour"])
    queries = queries_of(data, [{"smokes", "owner"}])
    cell = cell_of(matrix=reading, p=1 / 3 if reading == "printed" else 0.5, t_v=4)
    protocol = queries.clustered(cell).protocol
    assert [channel.singular for channel in protocol.channels] == [True, False]
    fast = of_random_sets(queries(cell, np.random.default_rng(3), FAST)[1][:, 0], 3)
    slow = slow_errors(data, protocol, cell, SLOW, seed=4)
    assert stats.ks_2samp(fast, slow).pvalue > ERROR_RATE


def test_a_singular_channel_warns(small_data: Microdata) -> None:
    queries = queries_of(small_data)
    with pytest.warns(
        RuntimeWarning, match="singular: the estimates of .* singular attributes are uniform"
    ):
        queries(
            cell_of(mechanism="kronecker", matrix="printed", p=1 / 3), np.random.default_rng(1), 50
        )


def test_adult6_is_adult_six_times(small_data: Microdata) -> None:
    six = Microdata(small_data.domain, tuple(np.tile(c, 6) for c in small_data.columns))
    cell = cell_of(dataset="adult6")
    ours = queries_of(small_data)(cell, np.random.default_rng(1), 500)[1]
    theirs = queries_of(six)(cell_of(dataset="adult"), np.random.default_rng(1), 500)[1]
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)


# -- what a singular channel leaves ----------------------------------------------------------------


@pytest.mark.usefixtures("_warnings_pass")
@pytest.mark.parametrize("erased", [(0,), (1,), (2,), (0, 2), (1, 2), (0, 1, 2)])
def test_only_the_singular_attribute_of_a_product_becomes_uniform(erased: tuple[int, ...]) -> None:
    sizes = (2, 3, 4)
    factors = tuple(
        # diagonal with p = 1 / size is the constant matrix
        rr_channel(size, 1 / size if i in erased else 0.8, "diagonal")
        for i, size in enumerate(sizes)
    )
    channel = ProductChannel(factors)
    truth = np.random.default_rng(1).dirichlet(np.ones(24)).reshape(sizes)
    # In expectation: the reports' distribution gives back the truth where it is not erased.
    reports = channel.reported(truth.reshape(-1)) * 1e6
    estimate = estimate_or_uniform(reports[None], channel).reshape(sizes)
    expected = truth
    for axis in erased:
        expected = np.broadcast_to(expected.mean(axis=axis, keepdims=True), sizes)
    np.testing.assert_allclose(estimate, expected, atol=1e-12)


def test_a_regular_channel_is_left_to_itself() -> None:
    channel = rr_channel(3, 0.5, "keep")
    counts = np.array([[5, 3, 2], [1, 1, 8]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(
            estimate_or_uniform(counts, channel), channel.estimate(counts)
        )


# -- readings that were tried after the fact -------------------------------------------------------


def test_attributes_share_a_cluster_as_often_as_is_asked(small_data: Microdata) -> None:
    queries = queries_of(small_data, kind=partial(ExploredQueries, within=0.25))
    pairs = list(itertools.combinations(small_data.domain.names, 2))
    # Two of six pairs lie in a cluster: .25 / 2 each; .75 / 4 each of the others.
    shares = {pair: 0.125 if set(pair) in TOGETHER else 0.1875 for pair in pairs}
    found = queries.chances(cell_of(variation="clustered_pairs"), pairs)
    np.testing.assert_allclose(found, [shares[pair] for pair in pairs])
    assert queries.chances(cell_of(variation="ordinal"), pairs) is None
    # With single attributes for clusters there is nothing to weigh.
    assert queries.chances(cell_of(variation="clustered_pairs", t_v=1), pairs) is None


def test_weighted_queries_are_drawn_with_their_weights(
    small_data: Microdata, monkeypatch: pytest.MonkeyPatch
) -> None:
    def whether_together(names: tuple[str, ...]) -> Any:
        return np.full((FAST, 1), float(set(names) in TOGETHER))

    def asked(errors: Any, *drawn: Any) -> Any:
        return of_all_attributes(whether_together, *drawn)

    monkeypatch.setattr(shared, "of_all_attributes", asked)
    queries = queries_of(small_data, kind=partial(ExploredQueries, within=0.25))
    cell = cell_of(variation="clustered_pairs")
    found = queries(cell, np.random.default_rng(1), FAST)[1]
    assert found.shape == (FAST, 1, 6)
    inside = int(found.sum())
    assert stats.binomtest(inside, found.size, 0.25).pvalue > ERROR_RATE
    assert stats.binomtest(inside, found.size, 1 / 3).pvalue < ERROR_RATE  # 2 of 6, drawn alike


def test_all_pairs_of_a_run_have_one_randomization(small_data: Microdata) -> None:
    """Two runs with the same clusters of a pair answer alike, and others do not."""
    queries = queries_of(small_data)
    of_pairs = queries(cell_of(), np.random.default_rng(1), 50)[1]
    assert of_pairs.shape == (50, 1, 6)
    wider = queries(cell_of(attributes=3), np.random.default_rng(1), 50)[1]
    assert wider.shape == (50, 1)
    protocol = queries.clustered(cell_of()).protocol
    errors = queries.errors(cell_of(), [protocol], np.random.default_rng(1), 50)
    pairs = itertools.combinations(small_data.domain.names, 2)
    np.testing.assert_array_equal(np.stack([errors(pair) for pair in pairs], axis=2), of_pairs)


def test_only_the_ordinal_variation_takes_attributes_as_ordinal(small_data: Microdata) -> None:
    queries = ExploredQueries(small_data, COVERAGE, ("colour", "smokes"))
    nominal = ClusterQueries(small_data, COVERAGE)
    ordinal = ClusterQueries(small_data, COVERAGE, ("colour", "smokes"))
    strength = {
        each: found.dependences(found.ordinal)["dependence"].iloc[0]
        for each, found in (("clustered_pairs", nominal), ("ordinal", ordinal))
    }
    assert strength["ordinal"] < strength["clustered_pairs"]
    between = (strength["ordinal"] + strength["clustered_pairs"]) / 2
    for variation, together in (("clustered_pairs", True), ("ordinal", False)):
        clusters = queries.clusters(cell_of(variation=variation, t_d=between, t_v=6))
        assert (("colour", "smokes") in clusters) == together


# -- projections -----------------------------------------------------------------------------------


def test_projections_differ(small_data: Microdata) -> None:
    queries = queries_of(small_data)
    errors = {
        projection: queries(cell_of(projection=projection, p=0.3), np.random.default_rng(1), 300)[
            1
        ][:, 0]
        for projection in ("clip", "simplex", "likelihood")
    }
    assert not np.allclose(errors["clip"], errors["simplex"])
    # For a uniform replacement the likelihood's closed form is the Euclidean one's neighbour only.
    assert all(np.isfinite(e).mean() > 0.9 for e in errors.values())


def test_runs_do_not_depend_on_what_was_asked_before(small_data: Microdata) -> None:
    used, fresh = queries_of(small_data), queries_of(small_data)
    used(cell_of(p=0.9), np.random.default_rng(9), 100)
    np.testing.assert_array_equal(
        used(cell_of(), np.random.default_rng(1), 100)[1],
        fresh(cell_of(), np.random.default_rng(1), 100)[1],
    )
