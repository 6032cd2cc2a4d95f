"""What the sections about PRAM and the theory of channels show, prepared from hand-made tables."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from deniable.channels import resampling
from deniable.channels.invariant import disclosed_proportions, two_step_with_epsilon
from deniable.display import percent, short
from deniable.pram.matrices import whole_file_epsilon
from deniable.records.categorical import Microdata

from reproduction.papers.pram import (
    breaches as pram_breaches,
    figures as drawn,
    invariant as pram_invariant,
    settings as config_pram,
    variance as pram_variance,
)
from reproduction.papers.pram.intervals import coverage as pram_coverage, weights as pram_weights
from reproduction.papers.pram.intervals.channels import CHANNELS as PRAM_CHANNELS
from reproduction.papers.pram.names import (
    CHANNELS,
    CLAIMS,
    EVERY,
    INVARIANT_METHODS,
    JOINT_ESTIMATORS,
    MECHANISMS,
    METHODS,
)
from reproduction.papers.pram.numbered_results import numbered_results
from reproduction.papers.pram.sections import (
    DESIGNS,
    SECTIONS,
    WEIGHTED,
    about,
    breaches,
    coverage,
    design,
    invariant,
    item_sets,
    joint_loss,
    results,
    variance,
    weights,
)

CONTROL = "two_step_fixed"


def cell(mean: float, **keys: Any) -> dict[str, Any]:
    return {"mean": mean, "ci_low": mean, "ci_high": mean, "replicates": 100} | keys


# -- the same names on the page and in the figures -------------------------------------------------


def test_what_is_drawn_has_a_name() -> None:
    assert set(drawn.METHODS) == set(METHODS)
    assert set(drawn.CLAIMS) == set(CLAIMS)
    assert set(drawn.MECHANISMS) <= set(MECHANISMS)
    assert set(drawn.JOINT_ESTIMATORS) == {*JOINT_ESTIMATORS, "true"}


def test_nothing_that_a_study_can_have_lacks_a_name() -> None:
    assert set(CHANNELS) == set(PRAM_CHANNELS)
    assert set(METHODS) == set(pram_coverage.METHODS)
    assert set(WEIGHTED) == set(pram_weights.ESTIMATORS)
    assert set(CLAIMS) == set(pram_invariant.CLAIMS["shares"])
    assert set(numbered_results("resources/claims/pram.csv")["section"]) == set(SECTIONS)


def test_nothing_that_a_config_can_ask_for_lacks_a_name() -> None:
    def named(grid: Any, option: str) -> set[str]:
        properties = grid.model_json_schema()["properties"]
        return set(properties[option]["items"]["enum"])

    assert named(config_pram.CoverageGrid, "channel") == set(CHANNELS)
    assert named(config_pram.InvariantGrid, "method") == set(INVARIANT_METHODS)
    assert named(config_pram.WeightsGrid, "design") == set(DESIGNS)


# -- what it is about, and the numbered results ----------------------------------------------------


def test_the_example_is_the_category_that_gains_most_of_the_smallest_attribute(
    small_data: Microdata,
) -> None:
    table = pram_breaches.intruder_table(small_data, ["region", "smokes"])
    example = about({"pram_intruder": table})["example"]
    rarer = int(small_data.counts(["smokes"]).argmin())
    assert (example["attribute"], example["p"]) == ("smokes", 0.7)
    assert example["category"] == small_data.domain["smokes"].categories[rarer]
    assert (example["size"], example["kept"]) == (2, pytest.approx(0.85))
    odds = example["prior"] / (1 - example["prior"]) * 0.85 / 0.15
    assert example["posterior"] == pytest.approx(odds / (1 + odds))
    assert about({}) == {"example": None}


def test_results_are_counted_by_section() -> None:
    table = pd.DataFrame(
        [("(1.1)", 1, 1e-17, "holds"), ("(2.6) tight", 2, 0.3, "fails"), ("4", 4, 1e-16, "holds")],
        columns=["result", "section", "gap", "verdict"],
    )
    found = results({"pram_results": table})
    assert (found["count"], found["holds"]) == (3, 2)
    assert [heading for heading, _ in found["groups"]] == [
        f"Section {n}: {SECTIONS[n]}" for n in ("1", "2", "4")
    ]


# -- estimates -------------------------------------------------------------------------------------


def coverages() -> pd.DataFrame:
    at = {"channel": "warner", "records": 5000, "target": "population"}
    single = {"measure": "coverage", "intervals": "none", "method": "wald"}
    shares = {"yes": 0.93, "no": 0.955, EVERY: 0.9425}
    rows = [cell(mean, **at, **single, category=name) for name, mean in shares.items()]
    together = single | {"category": EVERY}
    rows.append(cell(0.91, **at, **together | {"intervals": "bonferroni"}))
    rows.append(cell(0.97, **at, **together | {"intervals": "scheffe"}))
    none: dict[str, Any] = {"intervals": np.nan, "method": np.nan}
    rows += [
        cell(b, **at, **none, category=n, measure="bias") for n, b in (("yes", -0.2), ("no", 0.1))
    ]
    rows.append(cell(1.01, **at, **none, category=EVERY, measure="variance_ratio"))
    rows.append(cell(0.99, **at, **none, category=EVERY, measure="variance_ratio_n"))
    return pd.DataFrame(rows)


def test_coverages_are_arranged_by_channel_and_category() -> None:
    found = coverage({"pram_coverage": coverages()})
    (row,) = found["means"].rows
    shown = dict(zip(found["means"].heads, row, strict=True))
    assert shown["Wald, single"].startswith("94.2 %")
    assert shown["Wald, Scheffé"].startswith("97.0 %")
    assert found["bias"].rows[0][-1] == "0.2"
    assert found["ratios"].rows[0][-2:] == ("1.01", "1.01")


def test_weighted_estimates_are_told_from_unweighted_ones() -> None:
    at = {"design": "pps", "channel": "warner", "records": 5000, "target": "population"}
    rows = [
        cell(covered, **at, estimator=name, category=EVERY, measure="coverage")
        for name, covered in (("hajek", 0.95), ("unweighted", 0.1))
    ]
    rows += [
        cell(bias, **at, estimator=name, category=category, measure=measure)
        for name, category, measure, bias in (
            *(("hajek", "yes", "bias", 0.001), ("hajek", "no", "bias", -0.002)),
            *(("unweighted", "yes", "bias", -0.08), ("unweighted", "no", "bias", 0.03)),
            ("unweighted", "yes", "expected_bias", -0.07),
            ("unweighted", "no", "expected_bias", 0.03),
            ("horvitz_thompson", "no", "expected_bias", 0.0),
        )
    ]
    rows.append(cell(0.99, **at, estimator="hajek", category=EVERY, measure="variance_ratio"))
    table = pd.DataFrame(rows)
    table["ci_low"], table["ci_high"] = table["mean"] - 0.01, table["mean"] + 0.01
    found = weights({"pram_weights": table})
    covered = {row[2]: row[3] for row in found["coverage"].rows}
    assert covered[WEIGHTED["hajek"]].startswith("95.0 %")
    assert covered[WEIGHTED["unweighted"]].startswith("10.0 %")
    biases = {row[2]: row[3:] for row in found["bias"].rows}
    assert biases[WEIGHTED["unweighted"]] == ("8.00 %", "7.00 %")
    assert biases[WEIGHTED["hajek"]] == ("0.200 %", "–")
    assert biases[WEIGHTED["horvitz_thompson"]] == ("–", "0 %")
    assert found["ratios"].rows[0][3] == "0.99"


def test_item_sets_grow_from_the_smallest_to_the_largest_size() -> None:
    rows = [
        cell(
            size / epsilon, epsilon=epsilon, size=size, records=9, measure="expected_relative_error"
        )
        for epsilon in (2.0, 1.0, 3.0)
        for size in (1, 4)
    ]
    at = {"epsilon": 1.0, "size": 1, "records": 9, "measure": "coverage_score"}
    rows.append(cell(0.95, **at))
    found = item_sets({"pram_item_sets": pd.DataFrame(rows)})
    assert [row[:3] for row in found["errors"].rows] == [
        (str(epsilon), str(size), str(epsilon * size)) for epsilon in (1, 2, 3) for size in (1, 4)
    ]
    assert [row[3] for row in found["errors"].rows][:2] == ["100 %", "400 %"]
    assert found["errors"].rows[0][4] == "95.0 %"


# -- variances -------------------------------------------------------------------------------------


def test_variances_are_shown_beside_the_epsilon_of_the_file(small_data: Microdata) -> None:
    data, epsilons = small_data.project(["colour", "smokes"]), [0.5, 1.0, 6.0]
    tables = {
        "pram_variance": pram_variance.variance_inflation(data, epsilons),
        "pram_whole_file": pram_variance.whole_file_epsilons(data, epsilons),
    }
    found = variance(tables)
    rows = {row[::2][:2]: row[3:] for row in found["inflation"].rows}
    assert {row[0] for row in rows.values()} == {row[1] for row in rows.values()}
    assert all(float(row[2]) <= 2 for row in rows.values())
    counts = data.counts(["colour"])
    spent = whole_file_epsilon(lambda shares: two_step_with_epsilon(shares, 0.5), counts)
    whole = {(row[0], row[2]): row[3:] for row in found["whole"].rows}
    assert short(float(spent)) in whole["colour", MECHANISMS["invariant_two_step"]]


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_a_published_invariant_matrix_gives_the_margin_away(
    small_data: Microdata, epsilon: float
) -> None:
    """The page says so: without any report, and exactly."""
    counts = small_data.counts(["region"])
    shares = counts / counts.sum()
    matrix = two_step_with_epsilon(shares, epsilon)
    np.testing.assert_allclose(disclosed_proportions(matrix), shares, rtol=1e-9)
    assert whole_file_epsilon(lambda of: two_step_with_epsilon(of, epsilon), counts) > epsilon
    np.testing.assert_allclose(resampling(shares).matrix()[0], shares)  # epsilon 0 of the matrix


def claims() -> pd.DataFrame:
    """Return ratios and coverages of two sizes, two methods and the control."""
    rows = []
    for records in (1000, 5000):
        for number, method in enumerate(("two_step_fixed", "two_step", "lazy")):
            at = {"attribute": "a", "records": records, "method": method, "p": 0.5}
            at |= {"estimator": "shares"}
            rows.append(cell(2.0 - number / 10, **at, claim="none", measure="inflation"))
            for claim in ("multinomial", "conditional"):
                ratio = 0.5 + number / 10 if claim == "multinomial" else 1.0
                rows.append(cell(ratio, **at, claim=claim, measure="claimed_to_true"))
                rows.append(cell(0.8 + number / 10, **at, claim=claim, measure="coverage"))
                rarest = 0.5 + records / 1e4 + number / 100
                rows.append(cell(rarest, **at, claim=claim, measure="coverage_rarest"))
    return pd.DataFrame(rows)


def test_claims_are_shown_at_the_largest_size_first() -> None:
    found = invariant({"pram_invariant": claims()})
    order = ["two_step", "lazy", CONTROL]
    assert [row[3] for row in found["claimed"].rows] == [INVARIANT_METHODS[each] for each in order]
    assert {row[0] for row in found["claimed"].rows} == {"5,000"}
    assert [row[5] for row in found["claimed"].rows] == ["0.600", "0.700", "0.500"]
    assert [row[5] for row in found["covered"].rows] == ["90.0 %", "100 %", "80.0 %"]


def lost(distances: dict[str, tuple[float, ...]]) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    for number, epsilon in enumerate((1.0, 2.0, 4.0)):
        at = {"first": "a", "second": "b", "epsilon": epsilon}
        rows.append(cell(0.5, **at, estimator="true", measure="cramers_v"))
        rows += [
            cell(values[number], **at, estimator=name, measure="distance")
            for name, values in distances.items()
        ]
    return pd.DataFrame(rows)


def test_pairs_are_shown_by_epsilon_one_table_per_measure() -> None:
    distances = {"separate": (0.5, 0.4, 0.3), "separate_inverted": (9.0, 0.3, 0.1)}
    found = joint_loss({"pram_joint_loss": lost(distances | {"joint": (0.1, 0.1, 0.05)})})
    assert found["dependence"].rows[0] == ("a", "b", "1", "0.500")
    assert [row[2:] for row in found["distance"].rows] == [
        ("1", "50.0 %", "900 %", "10.0 %"),
        ("2", "40.0 %", "30.0 %", "10.0 %"),
        ("4", "30.0 %", "10.0 %", "5.00 %"),
    ]


# -- breaches and designs --------------------------------------------------------------------------


def test_breaches_are_arranged_and_the_closest_prior_is_last(small_data: Microdata) -> None:
    names = ["region", "smokes"]
    tables = {
        "pram_breach_bounds": pram_breaches.bound_table(),
        "pram_breach_thresholds": pram_breaches.threshold_table(),
        "pram_approach": pram_breaches.approach_table(),
        "pram_intruder": pram_breaches.intruder_table(small_data, names),
        "pram_worst_sets": pram_breaches.worst_set_table(small_data, names),
    }
    found = breaches(tables)
    (row,) = [row for row in found["thresholds"].rows if row[:2] == ("0.1", "0.5")]
    assert row[2] == "9"
    assert row[-2] == percent(9 / 13)
    factors = [float(row[7]) for row in found["intruder"].rows]
    parities = [float(row[3]) for row in found["intruder"].rows]
    for most, least, parity in zip(factors[::2], factors[1::2], parities[::2], strict=True):
        assert least <= most <= parity
    assert len(found["worst"].rows) < len(tables["pram_worst_sets"])  # none so rare as 1 %


def test_designs_are_shown_beside_their_rivals() -> None:
    columns = ["attribute", "epsilon", "loss", "requirements", "designed", "generalized_rr"]
    columns += ["two_step", "lower_bound", "optimality"]
    rows = [
        ("a", 1.0, "trace", "invariant", 1.0, np.nan, 2.0, 0.9, "local"),
        ("b", 1.0, "trace", "epsilon", 4.1, 4.0, np.nan, 3.0, "local"),
        ("b", 2.0, "trace", "epsilon", 4.0, 4.0, np.inf, 3.0, "global"),
    ]
    found = design({"pram_design": pd.DataFrame(rows, columns=columns)})["shown"]
    assert [row[-4:-2] for row in found.rows] == [("–", "2"), ("0.976", "–")]
    assert [row[1] for row in found.rows] == ["1", "1"]  # nearest to an epsilon of 1
