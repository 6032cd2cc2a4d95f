"""The claims of [idp]: tables made by hand, of which it is known what they say."""

import itertools
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from deniable.papers.idp.claims.decided import CLAIMS, claims
from deniable.papers.idp.claims.sse import Tables
from deniable.records.numeric import NumericMicrodata
from deniable.study import claim_columns

EPSILONS, FACTORS, SIZES = (0.01, 0.1, 1.0), (1.5, 10.0), (3, 10, 25, 50)
FOREST_SIZES = (3, 10, 50)
Value = Callable[[str, float, float, int], float]


@pytest.fixture(scope="module")
def records() -> NumericMicrodata:
    generator = np.random.default_rng(1)
    labels = (generator.random(120) < 0.4).astype(np.int8)
    return NumericMicrodata(
        ("a", "b"), generator.exponential(size=(120, 2)), "class", ("low", "high"), labels
    )


def as_claimed(method: str, epsilon: float, factor: float, k: int) -> float:
    """Return a mean SSE of which all that the text says is true."""
    if method == "idp_cbls":
        return 0.02 / epsilon * (1 + abs(k - 10) / 100)  # optimum at k = 10, whatever the domain
    base = {"dp": 3000.0, "dp_um": 700.0, "idp_ls": 690.0}[method] * factor
    if method == "dp":
        return base * (1 - epsilon / 20)
    falling = base * (1 - k / 100)
    return falling * (1 - epsilon / 50) if method == "idp_ls" else falling


def forest_as_claimed(method: str, epsilon: float, factor: float, k: int) -> float:
    shortfall = {"idp_ls": {0.01: 0.2, 0.1: 0.1, 1.0: 0.05}, "idp_cbls": {0.01: 0.1, 0.1: 0.03}}
    if method == "original":
        return 0.9
    if method == "idp_ls":
        at_k = {3: 0.2, 10: 0.1, 50: 0.0}[k]
        return 0.9 * (1 - shortfall[method][epsilon] - at_k - (0.02 if factor > 2 else 0))
    if method == "idp_cbls":
        return 0.9 * (1 - shortfall[method].get(epsilon, -0.02) - {3: 0.01, 10: 0.0, 50: 0.1}[k])
    return 0.4


def tables(
    records: NumericMicrodata,
    dataset: str = "census",
    value: Value = as_claimed,
    forest: Value = forest_as_claimed,
    width: float = 0.001,
    source: str = "original",
) -> Tables:
    sse = [
        (*cell, value(*cell))
        for cell in itertools.product(
            ("dp", "dp_um", "idp_ls", "idp_cbls"), EPSILONS, FACTORS, SIZES
        )
    ]
    cells = [
        ("original", 0.0, 0.0, 0),
        *itertools.product(("dp_synthetic", "dp_naive_bayes", "dp_rule"), EPSILONS, FACTORS, (0,)),
        *itertools.product(("idp_ls", "idp_cbls"), EPSILONS, FACTORS, FOREST_SIZES),
    ]
    measures = [
        (*cell, name, share * forest(*cell))
        for cell in cells
        for name, share in (("low", 1.05), ("high", 0.95))
    ]
    keys = ["method", "epsilon", "domain_factor", "k"]
    return Tables(
        dataset,
        records,
        _with_intervals(pd.DataFrame(sse, columns=[*keys, "mean_sse"]), "mean_sse", width, source),
        _with_intervals(
            pd.DataFrame(measures, columns=[*keys, "class", "f_measure"]),
            "f_measure",
            width,
            source,
        ),
    )


def _with_intervals(table: pd.DataFrame, value: str, width: float, source: str) -> pd.DataFrame:
    return table.assign(
        ci_low=table[value] * (1 - width),
        ci_high=table[value] * (1 + width),
        replicates=10,
        data_source=source,
    )


def verdicts(found: pd.DataFrame) -> dict[str, str]:
    return dict(zip(found["claim"], found["verdict"], strict=True))


NOT_OF_TABLES = {  # decided by the records, or about methods that the claimed tables say little of
    "no_less_than_microaggregation",
    "no_value_closer_than_microaggregation",
    "hides_in_a_group",
}
CONTRARY = {  # readings that exclude one another, or that the numbers above do not follow
    "cluster_based_hundredth_epsilon",
    "cluster_based_tenth_epsilon",
    "forests_improve_on_bound_0.1",
    "forests_cluster_based_hundredth_epsilon",
}


def test_every_claim_is_decided_on_one_of_the_data_sets(records: NumericMicrodata) -> None:
    decided = set()
    for dataset in ("census", "wine"):
        found = claims(tables(records, dataset))
        assert tuple(found.columns) == claim_columns("dataset")
        assert set(found["dataset"]) == {dataset}
        assert found["claim"].is_unique
        decided |= set(found["claim"])
    assert decided == {claim.id for claim in CLAIMS}


@pytest.mark.parametrize("dataset", ["census", "wine"])
def test_what_is_so_holds(records: NumericMicrodata, dataset: str) -> None:
    found = verdicts(claims(tables(records, dataset)))
    others = {name: each for name, each in found.items() if name not in NOT_OF_TABLES | CONTRARY}
    assert set(others.values()) == {"holds"}, others


CONTRADICTIONS: dict[str, Value] = {
    "dp_highest": lambda m, e, c, k: as_claimed(m, e, c, k) / (100 if m == "dp" else 1),
    "dp_barely_falls": lambda m, e, c, k: as_claimed(m, e, c, k) / (e if m == "dp" else 1),
    "local_and_global_alike": lambda m, e, c, k: as_claimed(m, e, c, k) / (1 + (m == "idp_ls")),
    "local_below_global": lambda m, e, c, k: as_claimed(m, e, c, k) * (1 + (m == "idp_ls")),
    "falls_with_k": lambda m, e, c, k: as_claimed(m, e, c, 50 - k),
    "gap_grows_with_epsilon": lambda m, e, c, k: (
        as_claimed(m, e, c, k) * (1 + 0.1 * e * (m == "idp_ls"))
    ),
    "gap_stays_proportional": lambda m, e, c, k: (
        as_claimed(m, e, c, k) * (c if m == "idp_ls" else 1)
    ),
    "smaller_domain_smaller_sse": lambda m, e, c, k: as_claimed(m, e, 15 / c, k),
    "cluster_based_orders_of_magnitude": lambda m, e, c, k: (
        as_claimed(m, e, c, k) * (1000 if m == "idp_cbls" else 1)
    ),
    "cluster_based_unaffected_by_domain": lambda m, e, c, k: (
        as_claimed(m, e, c, k) * (c if m == "idp_cbls" else 1)
    ),
    "cluster_based_best_at_small_k": lambda m, e, c, k: (
        as_claimed(m, e, c, k) * (k if m == "idp_cbls" else 1)
    ),
    "cluster_based_rises_with_k": lambda m, e, c, k: (
        as_claimed(m, e, c, k) / (k if m == "idp_cbls" else 1)
    ),
    "rivals_dp_at_100_epsilon": lambda m, e, c, k: (
        as_claimed(m, e, c, k) * (1e5 if m == "idp_cbls" else 1)
    ),
    "beats_dp_by_orders_of_magnitude": lambda m, e, c, k: (
        as_claimed(m, e, c, k) * (1e4 if m == "idp_cbls" else 1)
    ),
}


@pytest.mark.parametrize("claim", CONTRADICTIONS)
def test_what_is_not_so_fails(records: NumericMicrodata, claim: str) -> None:
    assert verdicts(claims(tables(records, value=CONTRADICTIONS[claim])))[claim] == "fails"


def test_without_differences_f_measures_fail_the_claims_of_differences(
    records: NumericMicrodata,
) -> None:
    found = verdicts(claims(tables(records, forest=lambda m, e, c, k: 0.9)))
    assert found["forests_idp_ls_shortfall_0.01"] == "fails"
    assert found["better_than_true_dp_0.01"] == "fails"  # true DP is as good
    assert found["forests_idp_cbls_shortfall_1"] == "holds"
    worse = claims(
        tables(records, "wine", forest=lambda m, e, c, k: 0.9 if m == "original" else 0.8)
    )
    assert verdicts(worse)["forests_improve_on_bound_1"] == "fails"


def test_wide_intervals_decide_nothing(records: NumericMicrodata) -> None:
    found = claims(tables(records, width=20.0))
    of_tables = found[~found["claim"].isin(NOT_OF_TABLES)]
    assert set(of_tables["verdict"]) == {"undecided"}


def test_microaggregation_alone_has_the_least_sse_but_hides_nobody(
    records: NumericMicrodata,
) -> None:
    found = verdicts(claims(tables(records)))
    assert found["no_less_than_microaggregation"] == "holds"
    assert found["hides_in_a_group"] == "fails"


def test_one_attribute_hides_in_groups(records: NumericMicrodata) -> None:
    found = verdicts(claims(tables(records.select(["a"]))))
    assert found["hides_in_a_group"] == "holds"


def test_missing_cells_leave_claims_out(records: NumericMicrodata) -> None:
    whole = tables(records)
    part = Tables(
        "census",
        records,
        whole.sse[whole.sse["method"] != "idp_cbls"],
        whole.forests[whole.forests["method"] == "original"],
    )
    found = set(claims(part)["claim"])
    assert "local_below_global" in found
    assert not any("cluster_based" in name or "rivals" in name for name in found)


def test_surrogates_decide_nothing(records: NumericMicrodata) -> None:
    assert set(claims(tables(records, source="surrogate"))["verdict"]) == {"surrogate"}
