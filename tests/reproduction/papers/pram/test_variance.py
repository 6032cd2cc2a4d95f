"""The table of variance inflations against closed forms and enumeration."""

import math

import numpy as np
import pandas as pd
import pytest
from tests.pram.exact_covariance import exact_covariance

from deniable.channels import KeepOrReplace
from deniable.channels.invariant import (
    lazy_resampling_with_epsilon,
    resampling,
    sampling_covariance,
    two_step_with_epsilon,
)
from deniable.pram.matrices import whole_file_epsilon
from deniable.records.categorical import Microdata
from deniable.records.domain import Attribute, Domain

from reproduction.papers.pram.variance import (
    inflations,
    variance_inflation,
    whole_file_epsilons,
)

EPSILONS = (0.5, 2.0, 6.0)


@pytest.fixture(scope="module")
def table(small_data: Microdata) -> pd.DataFrame:
    return variance_inflation(small_data, EPSILONS)


def of(table: pd.DataFrame, mechanism: str, column: str = "inflation") -> np.ndarray:
    return table.loc[table["mechanism"] == mechanism, column].to_numpy()


def test_table_has_a_row_for_each_case(table: pd.DataFrame, small_data: Microdata) -> None:
    assert len(table) == len(small_data.domain) * len(EPSILONS) * 6
    keys = ["attribute", "epsilon", "mechanism"]
    assert not table.duplicated(keys).any()
    assert set(table["records"]) == {len(small_data)}
    inflation = 1 + table["trace_added"] / table["trace_sampling"]
    np.testing.assert_allclose(table["inflation"], inflation, rtol=1e-12)


def test_epsilons_are_reached_and_not_exceeded(table: pd.DataFrame) -> None:
    rows = table[table["mechanism"] != "bound"]
    assert np.all(rows["exact_epsilon"] <= rows["epsilon"])
    assert np.all(rows["exact_epsilon"] >= rows["epsilon"] * (1 - 1e-9))


def test_randomized_response_has_the_trace_of_1_3() -> None:
    # P = a I + (1 - a) / k: lambda = a pi + (1 - a) / k, and the trace of P'^-1 diag(lambda) P^-1 -
    # diag(pi) is (sum over u, v of lambda_v (inverse of P)[v, u]^2) - 1.
    shares, records = np.array([0.1, 0.2, 0.7]), 50
    keep = math.expm1(1.5) / (math.expm1(1.5) + 3)
    diagonal, elsewhere = keep + (1 - keep) / 3, (1 - keep) / 3
    inverse = np.linalg.inv(np.full((3, 3), elsewhere) + np.diag(np.full(3, diagonal - elsewhere)))
    reported = keep * shares + (1 - keep) / 3
    expected = (np.sum(reported[:, None] * inverse**2) - 1) / records
    rows = {row["mechanism"]: row for row in inflations(shares, 1.5, records)}
    for mechanism in ("randomized_response", "pram_given_parity"):
        assert rows[mechanism]["trace_added"] == pytest.approx(expected, rel=1e-9)
        assert rows[mechanism]["retention"] == pytest.approx(diagonal, rel=1e-9)


@pytest.mark.parametrize("share", [0.5, 0.3, 0.01])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_warner_is_the_case_of_two_categories(share: float, epsilon: float) -> None:
    rows = {row["mechanism"]: row for row in inflations(np.array([share, 1 - share]), epsilon, 9)}
    expected = 1 + 1 / (4 * math.sinh(epsilon / 2) ** 2 * share * (1 - share))
    assert rows["randomized_response"]["inflation"] == pytest.approx(expected, rel=1e-8)
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    added = p * (1 - p) / (2 * p - 1) ** 2
    assert expected == pytest.approx(1 + added / (share * (1 - share)), rel=1e-9)


def test_invariant_mechanisms_stay_under_the_bound(table: pd.DataFrame) -> None:
    bound = of(table, "bound")
    np.testing.assert_allclose(bound, 2 - 1 / 500, rtol=1e-12)
    assert np.all(of(table, "invariant_lazy") <= bound)
    # (2.4) at the population's shares has n where its expectation has n - 1.
    assert np.all(of(table, "invariant_two_step") <= 2)
    assert np.all(of(table, "invariant_two_step_inverted") >= of(table, "invariant_two_step"))


def test_neither_wins_at_every_epsilon() -> None:
    def wins(shares: np.ndarray, epsilon: float) -> bool:
        rows = {row["mechanism"]: row["inflation"] for row in inflations(shares, epsilon, 500)}
        return bool(rows["invariant_two_step"] < rows["randomized_response"])

    skewed = np.array([0.1, 0.2, 0.7])
    assert wins(skewed, 0.5)
    assert not wins(skewed, 6.0)


@pytest.mark.parametrize("size", [2, 5])
@pytest.mark.parametrize("epsilon", [0.5, 6.0])
def test_equal_shares_make_the_matrix_of_randomized_response(size: int, epsilon: float) -> None:
    # It is invariant then: inverting it is all that randomized response does worse, by theta^2.
    rows = {row["mechanism"]: row for row in inflations(np.full(size, 1 / size), epsilon, 500)}
    theta = math.expm1(epsilon) / (math.expm1(epsilon) + size)
    added = rows["randomized_response"]["trace_added"]
    inverted, shares = rows["invariant_two_step_inverted"], rows["invariant_two_step"]
    assert inverted["trace_added"] == pytest.approx(added, rel=1e-7)
    assert shares["trace_added"] == pytest.approx(theta**2 * added, rel=1e-7)


def test_plug_in_is_the_variance_of_all_samples_but_for_one_over_n() -> None:
    shares, epsilon = np.array([0.2, 0.3, 0.5]), 2.0
    gaps = []
    for records in (5, 20, 40):
        exact = exact_covariance(lambda s: two_step_with_epsilon(s, epsilon), shares, records)
        inflation = np.trace(exact) / np.trace(sampling_covariance(shares, records))
        rows = {row["mechanism"]: row for row in inflations(shares, epsilon, records)}
        gaps.append(abs(rows["invariant_two_step"]["inflation"] - inflation) * records)
    assert max(gaps) < 1.5  # times 1 / n


def test_lazy_resampling_of_two_categories_is_exact() -> None:
    # With theta fixed, all samples give 1 + (1 - theta^2) (1 - 1/n); theta of a fixed epsilon
    # depends on the sample, so it is held here.
    shares = np.array([0.4, 0.6])
    theta = lazy_resampling_with_epsilon(shares, 1.0).diagonal_weight
    exact = exact_covariance(lambda s: KeepOrReplace(theta, (1 - theta) * s), shares, 7)
    rows = {row["mechanism"]: row for row in inflations(shares, 1.0, 7)}
    assert rows["invariant_lazy"]["inflation"] == pytest.approx(
        np.trace(exact) / np.trace(sampling_covariance(shares, 7)), rel=1e-12
    )


def test_an_attribute_of_one_category_has_no_row() -> None:
    domain = Domain((Attribute("a", ("x", "y", "z")), Attribute("b", ("x", "y"))))
    columns = (np.array([0, 0, 2, 2]), np.array([1, 1, 1, 1]))
    data = Microdata(domain, columns, {"data_source": "original"})
    table = variance_inflation(data, (1.0,))
    assert set(table["attribute"]) == {"a"}
    assert set(table["categories"]) == {2}
    assert set(table["records"]) == {4}
    assert set(whole_file_epsilons(data, (1.0,))["attribute"]) == {"a"}


def test_a_small_epsilon_of_one_report_says_little_of_the_file(small_data: Microdata) -> None:
    table = whole_file_epsilons(small_data, (1.0,))
    counts = small_data.counts(("colour",)).reshape(-1)
    row = table[(table["attribute"] == "colour") & (table["mechanism"] == "resampling")].iloc[0]
    assert row["epsilon"] == 0
    assert row["smallest_count"] == counts.min()
    assert row["whole_file_epsilon"] == whole_file_epsilon(resampling, counts)
    # Each of n reports tells ln(T / (T - 1)) of a share of T records: above n / T in all.
    assert row["whole_file_epsilon"] >= len(small_data) / counts.min()
    assert np.all(table["whole_file_epsilon"] > table["epsilon"])
