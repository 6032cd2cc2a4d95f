"""Mean SSE against k: the study against the records themselves, the bound against its proof."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats
from tests.simulations import simulated_whole

from deniable.errors import DeniableError
from deniable.idp import bins_of_domain
from deniable.idp.methods import METHODS, domain_bounds, masking
from deniable.idp.utility import expected_sse, mean_sse, sample_variances
from deniable.records.numeric import NumericMicrodata
from deniable.sampling import SeededNoise

from reproduction.papers.idp.sse import IdpSse, expected_table, least_dp_sse

HALF = {"mean_sse": 0.5, "ci_low": 0.5, "ci_high": 0.5}  # without error
CELL = {"epsilon": 1.0, "domain_factor": 1.5}


@pytest.fixture(scope="module")
def records() -> NumericMicrodata:
    generator = np.random.default_rng(1)
    labels = generator.integers(0, 2, 60)
    values = np.column_stack(
        [generator.exponential(1 + labels), 5 + labels + generator.random(60), generator.random(60)]
    )
    return NumericMicrodata(("a", "b", "c"), values, "class", ("low", "high"), labels)


@pytest.mark.parametrize("method", METHODS)
def test_runs_agree_with_the_expectation(records: NumericMicrodata, method: str) -> None:
    study = IdpSse(records, (3, 10))
    found = study(CELL | {"method": method}, np.random.default_rng(2), 3000)[1]
    upper = domain_bounds(records.values, 1.5)
    maskings = [masking(method, study.ranking, k, upper, 1.0) for k in study.k]
    expected = np.array([expected_sse(each, study.variances) for each in maskings])
    error = found.std(axis=0, ddof=1) / math.sqrt(3000)
    assert np.all(np.abs(found.mean(axis=0) - expected) < 5.5 * error)  # 4e-8 each


def test_a_run_is_the_sse_of_the_masked_file(records: NumericMicrodata) -> None:
    study = IdpSse(records, (5,))
    found = study(CELL | {"method": "idp_ls"}, np.random.default_rng(3), 4)[1]
    upper = domain_bounds(records.values, 1.5)
    masked = masking("idp_ls", study.ranking, 5, upper, 1.0).mask(
        SeededNoise(np.random.default_rng(3)), 4
    )
    np.testing.assert_allclose(found[:, 0], mean_sse(records.values, masked), rtol=1e-12)


@pytest.mark.parametrize("method", ["dp", "dp_median", "dp_synthetic", "no_data", "least_dp"])
def test_methods_without_clusters_are_the_same_at_each_k(
    records: NumericMicrodata, method: str
) -> None:
    found = IdpSse(records, (3, 7, 20))(CELL | {"method": method}, np.random.default_rng(4), 5)[1]
    assert found.shape == (5, 3)
    np.testing.assert_array_equal(found, np.repeat(found[:, :1], 3, axis=1))
    assert np.all(found > 0)


def test_outputs_and_cells_make_the_columns(records: NumericMicrodata) -> None:
    study = IdpSse(records, (3, 5))
    grid = {"method": ["dp", "idp_cbls"], "epsilon": [0.1], "domain_factor": [1.5, 10.0]}
    table = simulated_whole(study, "s", [grid], 6, block=4)
    assert list(table.columns[:4]) == ["method", "epsilon", "domain_factor", "k"]
    assert len(table) == 2 * 2 * 2


@pytest.fixture(scope="module")
def simulated(records: NumericMicrodata) -> pd.DataFrame:
    grid = {"method": [*METHODS, "no_data"], "epsilon": [0.1, 1.0], "domain_factor": [1.5, 10.0]}
    table = simulated_whole(IdpSse(records, (3, 10)), "s", [grid], 200, root_seed=3)
    return table.rename(columns={"regenerated": "mean_sse"}).assign(data_source="original")


def test_simulated_errors_are_the_expected_ones_jointly(
    records: NumericMicrodata, simulated: pd.DataFrame
) -> None:
    found = expected_table("small", records, simulated)
    assert len(found) == 4 + 3 * 4 * 2  # dp once, whatever k
    assert set(found["method"]) == set(METHODS)
    assert set(found.loc[found["method"] == "dp", "k"]) == {0}
    p = stats.chi2.sf((found["standardized"] ** 2).sum(), len(found))
    assert 1e-6 < p < 1 - 1e-6  # by chance 2e-6
    wrong = expected_table("small", records.select(["b", "a", "c"]), simulated)
    pd.testing.assert_series_equal(wrong["expected_sse"], found["expected_sse"])
    wrong = expected_table("small", records.select(["a", "b"]), simulated)
    assert stats.chi2.sf((wrong["standardized"] ** 2).sum(), len(wrong)) < 1e-12


def test_standardized_differences_are_normal_scores() -> None:
    # Two runs: Student's distribution with one degree of freedom, whose upper quartile is 1.
    data = NumericMicrodata(("a",), [[0.0], [2.0]], "class", ("x",), [0, 0])
    row = {"method": "idp_ls", "epsilon": 1.0, "domain_factor": 1.0, "k": 2, "replicates": 2}
    expected = expected_table("two", data, pd.DataFrame([row | HALF]))["expected_sse"][0]
    reach = stats.t(1).ppf(0.975)
    one = {
        "mean_sse": expected - 1,
        "ci_low": expected - 1 - reach,
        "ci_high": expected - 1 + reach,
    }
    found = expected_table("two", data, pd.DataFrame([row | one, row | HALF | {"k": 1}]))
    assert found["standardized"].tolist() == [pytest.approx(stats.norm.ppf(0.25)), 0.0]


def test_least_sse_is_the_least() -> None:
    # Variances within classes of unequal share: the budget's best split, found by search.
    generator = np.random.default_rng(5)
    labels = np.repeat([0, 1], 40)
    values = np.column_stack([labels * shift + generator.random(80) for shift in (0, 0.4, 3.0)])
    data = NumericMicrodata(("a", "b", "c"), values, "class", ("x", "y"), labels)
    within = sum(values[labels == code].var(axis=0) / 2 for code in (0, 1))
    within = within / sample_variances(values)
    for epsilon in (0.01, 0.3, 1.0, 4.0):
        splits = optimize.minimize(
            lambda e: np.mean(within * np.exp(-2 * e)),
            np.full(3, epsilon / 3),
            bounds=[(0, epsilon)] * 3,
            constraints={"type": "eq", "fun": lambda e, epsilon=epsilon: e.sum() - epsilon},
            options={"ftol": 1e-14},
        )
        assert least_dp_sse(data, epsilon) == pytest.approx(splits.fun, abs=1e-6)


def test_least_sse_bounds_randomized_exchange_exactly() -> None:
    # Two records, values 0 and 1. The release: each record's own value, or all exchanged, with
    # probability p: one change of a record alters nothing but which of both is more likely, so
    # epsilon for two changes is ln((1 - p) / p). The best guess has an MSE that the bound allows.
    for p in (0.1, 0.3, 0.5):
        two_changes = math.log((1 - p) / p)
        guesses = {0: p, 1: 1 - p}  # expectation of the value, given what is reported of it
        mse = (
            sum(
                (1 - p if value == report else p) * (value - guesses[report]) ** 2
                for value, report in itertools.product((0, 1), repeat=2)
            )
            / 2
        )
        assert mse >= 0.25 * math.exp(-two_changes) - 1e-12


def test_nine_equal_columns_need_not_keep_to_the_least() -> None:
    # Half of the records have 0 in all columns, half 1. One randomized response of a record with
    # epsilon = 1, copied to all columns: the best guess has the error p (1 - p), p = 1 / (1 + e).
    # Nine independent ones have 1/9 of epsilon each, and at least exp(-2 / 9) / 4.
    values = np.repeat([[0.0], [1.0]], 10, axis=0).repeat(9, axis=1)
    names = tuple("abcdefghi")
    data = NumericMicrodata(names, values, "class", ("all",), np.zeros(20, dtype=np.int8))
    least = least_dp_sse(data, 1.0)
    variance = 0.25 * 20 / 19
    assert least == pytest.approx(0.25 * math.exp(-2 / 9) / variance, rel=1e-12)
    p = 1 / (1 + math.e)
    assert math.log((1 - p) / p) == pytest.approx(1.0)
    assert p * (1 - p) / variance < 0.99 * least
    # Nor need what knows the order: the file as somebody guessed it tells nothing, and is right.
    assert mean_sse(values, values.copy()) == 0 < least


def test_bins_reach_the_maximum() -> None:
    values = np.array([[1.0, 2.0], [4.0, 1.0]])
    assert bins_of_domain(domain_bounds(values, 1.5), values) == 24
    assert bins_of_domain(domain_bounds(values, 10.0), values) == 160


def test_refuses_unknown_methods(records: NumericMicrodata) -> None:
    with pytest.raises(DeniableError, match="unknown method 'idp_xx'"):
        IdpSse(records, (3,))(CELL | {"method": "idp_xx"}, np.random.default_rng(1), 2)
