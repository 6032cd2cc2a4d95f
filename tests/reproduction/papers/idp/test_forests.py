"""F-measures of classifiers on protected records: what is trained on what, and what is shared."""

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import f1_score
from tests.simulations import simulated_whole
from tests.slow_variants import slow

from deniable.errors import DeniableError
from deniable.idp.methods import domain_bounds, masking
from deniable.idp.microaggregation import Ranking
from deniable.records.numeric import NumericMicrodata
from deniable.sampling import SeededNoise

from reproduction.papers.idp.forests import TREES, IdpForests
from reproduction.papers.idp.settings import ForestGrid, ForestStudy, SseStudy


@pytest.fixture(scope="module")
def records() -> NumericMicrodata:
    generator = np.random.default_rng(1)
    labels = (generator.random(150) < 0.4).astype(np.int8)
    values = np.column_stack([generator.random(150), 1 + labels + generator.random(150)])
    return NumericMicrodata(("noise", "signal"), values, "class", ("low", "high"), labels)


def run(
    records: NumericMicrodata, method: str, epsilon: float, k: int, runs: int = 2
) -> np.ndarray:
    study = IdpForests(records, (1.5, 10.0), "signal")
    cell = {"method": method, "epsilon": epsilon, "k": k}
    names, found = study(cell, np.random.default_rng(3), runs)
    assert found.shape == (runs, len(names))
    assert np.all((found >= 0) & (found <= 1))
    return found


def test_the_whole_file_is_masked_and_the_rest_tests_unmasked(records: NumericMicrodata) -> None:
    found = run(records, "idp_ls", 5.0, 3, runs=1)[0]
    words = np.random.default_rng(3).integers(2**63, size=2).tolist()
    for number, factor in enumerate((1.5, 10.0)):
        generator = np.random.default_rng(words)
        seed = int(generator.integers(2**31))
        upper = domain_bounds(records.values, factor)
        found_masking = masking("idp_ls", Ranking.of(records.values), 3, upper, 5.0)
        masked = found_masking.mask(SeededNoise(generator))[0]
        forest = RandomForestClassifier(TREES, random_state=seed)  # with all its checks
        forest.fit(masked[:99], records.labels[:99])
        predicted = forest.predict(records.values[99:])
        expected = f1_score(records.labels[99:], predicted, average=None)
        np.testing.assert_array_equal(found[2 * number : 2 * number + 2], expected)


def test_one_forest_serves_both_domains_where_nothing_is_clipped(
    records: NumericMicrodata, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = []
    fit = IdpForests._forest

    def counted(self: IdpForests, *arguments: Any) -> np.ndarray:
        trained.append(1)
        return fit(self, *arguments)

    monkeypatch.setattr(IdpForests, "_forest", counted)
    found = run(records, "idp_cbls", 30.0, 10)
    assert len(trained) == 2
    np.testing.assert_array_equal(found[:, :2], found[:, 2:])
    run(records, "idp_cbls", 0.001, 10)  # nearly all noise: clipped
    assert len(trained) == 2 + 4


@pytest.mark.parametrize(
    "method", ["dp", slow("dp_synthetic"), slow("dp_naive_bayes"), slow("dp_rule")]
)
def test_true_dp_learns_with_budget_and_not_without(records: NumericMicrodata, method: str) -> None:
    with_budget = run(records, method, 30.0, 0, runs=6).mean()
    without = run(records, method, 1e-4, 0, runs=6).mean()
    assert with_budget > 0.85 if method != "dp" else with_budget > without
    assert without < with_budget - 0.1


def test_references(records: NumericMicrodata) -> None:
    original = run(records, "original", 0.0, 0)
    majority = run(records, "majority", 0.0, 0)
    assert np.all(original > 0.9)
    frequent = np.mean(records.labels[99:] == 0)
    np.testing.assert_allclose(majority, [[2 * frequent / (1 + frequent), 0]] * 2)


def test_columns(records: NumericMicrodata) -> None:
    grids = [
        {"method": ["majority"], "epsilon": [0.0], "k": [0]},
        {"method": ["idp_cbls"], "epsilon": [1.0], "k": [5]},
    ]
    table = simulated_whole(IdpForests(records, (1.5, 10.0), "signal"), "f", grids, 2)
    assert list(table.columns[:5]) == ["method", "epsilon", "k", "domain_factor", "class"]
    assert table["domain_factor"].tolist() == [0, 0, 1.5, 1.5, 10, 10]


def test_refusals(records: NumericMicrodata) -> None:
    with pytest.raises(DeniableError, match="unknown method 'forest'"):
        run(records, "forest", 1.0, 3)


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({"method": ["original"], "epsilon": [0.1], "k": [0]}, "epsilon of original is 0.1"),
        ({"method": ["dp"], "epsilon": [0.0], "k": [0]}, "epsilon of dp is 0.0; allowed: above 0"),
        ({"method": ["idp_ls"], "epsilon": [0.1], "k": [0]}, "k of idp_ls is 0; allowed: 3 or"),
        ({"method": ["dp_rule"], "epsilon": [0.1], "k": [3]}, "k of dp_rule is 3; allowed: 0"),
    ],
)
def test_the_config_refuses_what_does_not_apply(grid: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        ForestGrid(**grid)


def test_the_config_refuses_values_twice() -> None:
    sse = {"method": ["dp"], "epsilon": [0.1], "domain_factor": [1.5]}
    with pytest.raises(ValidationError, match=r"\nk\n.*\[3, 3\]; allowed: each value once"):
        SseStudy(replicates=6, k=[3, 3], grids=[sse])
    forest = {"method": ["dp"], "epsilon": [0.1], "k": [0]}
    with pytest.raises(ValidationError, match=r"\ndomain_factors\n.*allowed: each value once"):
        ForestStudy(replicates=2, domain_factors=[2.0, 2.0], attribute="a", grids=[forest])
