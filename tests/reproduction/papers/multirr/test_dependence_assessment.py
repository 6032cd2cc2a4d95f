"""Ranks and clusters that survive an assessment, against plain loops over frames."""

import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import adjusted_rand_score
from tests.simulations import outputs_of, simulated_whole

import deniable.randomized_response as rr
from deniable.randomized_response.assessment import PairReports, assessment_protocol
from deniable.randomized_response.dependence import (
    Clustering,
    cluster_attributes,
    dependences,
    dependences_from_tables,
)
from deniable.records.categorical import Microdata
from deniable.records.domain import Attribute, Domain

from reproduction.papers.multirr.dependence_assessment import (
    DependenceAssessment,
    adjusted_rand,
    masked_pairs,
    rank_correlations,
    secure_assessments,
)

T_V, T_D = (6, 24), (0.1, 0.3)
THRESHOLDS = ((6, 0.1), (6, 0.3), (24, 0.1), (24, 0.3))
METHODS = ("attributes", "attributes_inverted", "secure_sum", "pairs_joint", "pairs_kronecker")


def cell_of(method: str, **settings: Any) -> dict[str, Any]:
    return {"method": method, "matrix": "keep", "p": 0.6} | settings


@pytest.fixture(scope="module")
def study(small_data: Microdata) -> DependenceAssessment:
    return DependenceAssessment(small_data, ("region",), T_V, T_D)


@pytest.mark.parametrize("method", METHODS)
def test_outputs_are_those_of_the_slow_way(study: DependenceAssessment, method: str) -> None:
    cell, runs, domain = cell_of(method), 12, study.data.domain
    found = study(cell, np.random.default_rng(7), runs)[1]
    assert [output["measure"] for output in outputs_of(study, cell)] == [
        "spearman",
        *["adjusted_rand"] * 4,
    ]
    assert found.shape == (runs, len(outputs_of(study, cell)))
    named = outputs_of(study, cell)[2]
    assert named.items() >= {"measure": "adjusted_rand", "t_v": 6, "t_d": 0.3}.items()
    protocol = assessment_protocol(method, study.data.domain, cell["p"], cell["matrix"])
    assert named["epsilon_claimed"] <= protocol.epsilon
    protocol = assessment_protocol(method, domain, cell["p"], cell["matrix"])
    reports = protocol.drawn_reports(study.data, np.random.default_rng(7), runs)
    tables = protocol.tables(reports)
    true = dependences(study.data, study.ordinal)
    for run, row in enumerate(found):
        one = {pair: table[run] for pair, table in tables.items()}
        frame = dependences_from_tables(one, study.measures)
        rho = stats.spearmanr(frame["dependence"], true["dependence"]).statistic
        assert row[0] == pytest.approx(rho, abs=1e-12)
        for value, (t_v, t_d) in zip(row[1:], THRESHOLDS, strict=True):
            labels = [
                [next(i for i, c in enumerate(clusters) if name in c) for name in domain.names]
                for clusters in (
                    cluster_attributes(domain, measured, t_v, t_d) for measured in (true, frame)
                )
            ]
            assert value == pytest.approx(adjusted_rand_score(*labels), abs=1e-12)


def test_runs_repeat_and_differ(study: DependenceAssessment, small_data: Microdata) -> None:
    for method in METHODS:
        cell = cell_of(method, p=0.3)
        first = study(cell, np.random.default_rng(1), 30)[1]
        again = DependenceAssessment(small_data, ("region",), T_V, T_D)
        np.testing.assert_array_equal(again(cell, np.random.default_rng(1), 30)[1], first)
        assert (len(np.unique(first[:, 0])) > 1) == (method != "secure_sum")


def test_the_secure_sum_keeps_everything(study: DependenceAssessment) -> None:
    found = study(cell_of("secure_sum"), np.random.default_rng(1), 3)[1]
    np.testing.assert_allclose(found, 1, rtol=1e-15)


def test_it_is_a_study(study: DependenceAssessment) -> None:
    grid = {"matrix": ["keep"], "method": ["attributes", "secure_sum"], "p": [0.4]}
    table = simulated_whole(study, "s", [grid], 6, block=4)
    assert len(table) == 2 * 5
    assert table["regenerated"].between(-1, 1).all()
    assert (table["replicates"] == 6).all()
    exact = table[table["method"] == "secure_sum"]
    np.testing.assert_allclose(exact[["regenerated", "ci_low", "ci_high"]], 1, rtol=1e-12)


def test_a_singular_attribute_ties_its_pairs_with_one_warning() -> None:
    generator = np.random.default_rng(3)
    domain = Domain(
        tuple(
            Attribute(name, tuple(map(str, range(size))))
            for name, size in (("nine", 9), ("two", 2), ("four", 4))
        )
    )
    codes = generator.integers(0, 4, 300)
    data = Microdata(domain, (generator.integers(0, 9, 300), codes // 2, codes))
    study = DependenceAssessment(data, (), (8,), (0.1,))
    for method in ("attributes_inverted", "pairs_kronecker"):
        cell = cell_of(method, matrix="printed", p=0.1)
        with pytest.warns(RuntimeWarning, match="2 of 3 pairs are singular") as caught:
            assessed = study.assessed(cell, generator, 20)
        assert len(caught) == 1
        assert (assessed[:, :2] == 0).all()
        assert (assessed[:, 2] > 0).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        study(cell_of("attributes", matrix="printed", p=0.1), generator, 5)


# -- ranks -----------------------------------------------------------------------------------------


def test_rank_correlations_share_the_ranks_of_equal_numbers() -> None:
    generator = np.random.default_rng(2)
    true = generator.integers(0, 5, 12).astype(float)
    rows = generator.integers(0, 5, (40, 12)).astype(float)
    expected = [stats.spearmanr(row, true).statistic for row in rows]
    np.testing.assert_allclose(rank_correlations(rows, true), expected, atol=1e-12)
    np.testing.assert_array_equal(rank_correlations(np.ones((2, 12)), true), [0, 0])
    np.testing.assert_array_equal(rank_correlations(rows[:1], np.ones(12)), [0])


# -- clusters --------------------------------------------------------------------------------------


def partitions(names: tuple[str, ...]) -> Iterator[Clustering]:
    """Yield every partition of the names, clusters in the order of their first."""
    if not names:
        yield ()
        return
    for size in range(len(names)):
        for others in itertools.combinations(names[1:], size):
            rest = tuple(name for name in names[1:] if name not in others)
            for tail in partitions(rest):
                yield ((names[0], *others), *tail)


def slow_rand(names: tuple[str, ...], first: Clustering, second: Clustering) -> float:
    """Hubert and Arabie's index, from the pairs that are together in one, the other and both."""

    def together(clusters: Clustering) -> set[frozenset[str]]:
        return {frozenset(p) for c in clusters for p in itertools.combinations(c, 2)}

    a, b, pairs = together(first), together(second), len(names) * (len(names) - 1) / 2
    chance = len(a) * len(b) / pairs
    largest = (len(a) + len(b)) / 2
    return 1.0 if largest == chance else (len(a & b) - chance) / (largest - chance)


def test_the_rand_index_of_all_clusterings(small_data: Microdata) -> None:
    names, found = small_data.domain.names, {}
    every = list(partitions(names))
    assert len(every) == 15
    for first, second in itertools.product(every, repeat=2):
        found[first, second] = adjusted_rand(small_data.domain.names, first, second)
        assert found[first, second] == pytest.approx(slow_rand(names, first, second), abs=1e-12)
    single = tuple((name,) for name in names)
    assert found[single, single] == 1
    assert all(found[single, other] == 0 for other in every if other != single)


@pytest.mark.parametrize("decimals", [1, 3])
def test_clusters_of_an_order_are_those_of_algorithm_1(
    study: DependenceAssessment, small_data: Microdata, decimals: int
) -> None:
    generator = np.random.default_rng(decimals)
    fresh = DependenceAssessment(small_data)
    for _ in range(300):
        # One decimal: many equal dependences, and some that equal T_d.
        strength = np.round(generator.random(len(study.measures)), decimals)
        frame = pd.DataFrame(list(study.measures), columns=["attribute_1", "attribute_2"])
        frame["dependence"] = strength
        for t_v, t_d in ((6, 0.1), (8, 0.3), (24, 0.8)):
            expected = cluster_attributes(small_data.domain, frame, t_v, t_d)
            assert fresh.clusters(strength, t_v, t_d) == expected
    assert fresh._of_ranks.cache_info().currsize < 900


# -- the secure sum between few parties -----------------------------------------------------------


def test_assessments_from_sums_are_those_from_counts(small_data: Microdata) -> None:
    table = secure_assessments(small_data, 1, 40)
    assert table["method"].tolist() == ["secure_sum", "pairs_joint"]
    assert table["equals_direct_counts"].all()
    assert table["clusters_equal"].all()
    assert table["largest_difference"].tolist() == [0, 0]
    cells = sum(a * b for a, b in itertools.combinations(small_data.domain.shape, 2))
    assert table["messages"].tolist() == [cells * 40 * 40] * 2


def test_masked_pairs_go_through_the_sum_and_true_ones_do_not(
    small_data: Microdata, monkeypatch: pytest.MonkeyPatch
) -> None:
    summed = []

    def note(data: Microdata, pair: tuple[str, str], source: object) -> object:
        summed.append(data)
        return counted(data, pair, source)  # type: ignore[arg-type]

    counted = rr.bivariate_distribution
    monkeypatch.setattr(rr, "bivariate_distribution", note)
    secure_assessments(small_data, 1, 30)
    pairs = len(summed) // 2
    true, masked = summed[:pairs], summed[pairs:]
    assert any(
        not np.array_equal(one, other)
        for a, b in zip(true, masked, strict=True)
        for one, other in zip(a.columns, b.columns, strict=True)
    )


def test_every_pair_is_masked_anew(small_data: Microdata) -> None:
    protocol = PairReports(small_data.domain, 0.5, "keep")
    masked = masked_pairs(protocol, small_data, np.random.default_rng(1))
    first, second, third = small_data.domain.names[:3]
    one, other = masked[first, second].column(first), masked[first, third].column(first)
    assert not np.array_equal(one, other)
