"""What the sections about PRAM and the theory of channels show, prepared from hand-made tables."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from deniable.channels.invariant import disclosed_proportions, resampling, two_step_with_epsilon
from deniable.display.page import by
from deniable.pram.matrices import whole_file_epsilon
from deniable.records.categorical import Microdata

from reproduction.papers.pram import (
    breaches as pram_breaches,
    figures as drawn,
    invariant as pram_invariant,
    joint_loss as pram_joint_loss,
    numbered_results as pram_results,
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
from reproduction.papers.pram.sections import (
    CONTROL,
    DESIGNS,
    SECTIONS,
    SHORT_NAMES,
    WEIGHTED,
    about,
    breaches,
    coverage,
    design,
    extremes,
    invariant,
    item_sets,
    joint_loss,
    results,
    variance,
    weights,
)


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
    assert set(JOINT_ESTIMATORS) == set(SHORT_NAMES) == set(pram_joint_loss.ESTIMATORS)
    sections = {result.number.strip("()").split(".")[0] for result in pram_results.RESULTS}
    assert sections == set(SECTIONS)


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
    table = pram_breaches.intruder_table(small_data, ["region", "smokes"], (0.3, 0.7))
    example = about({"pram_intruder": table})["example"]
    rarer = int(small_data.counts(["smokes"]).argmin())
    assert (example["attribute"], example["p"]) == ("smokes", 0.7)
    assert example["category"] == small_data.domain["smokes"].categories[rarer]
    assert (example["size"], example["kept"]) == (2, pytest.approx(0.85))
    odds = example["prior"] / (1 - example["prior"]) * 0.85 / 0.15
    assert example["posterior"] == pytest.approx(odds / (1 + odds))
    assert about({}) == {"example": None}


def test_results_are_counted_and_those_that_fail_are_named() -> None:
    table = pd.DataFrame(
        [("(1.1)", 1, 1e-17, "holds"), ("(2.6) tight", 2, 0.3, "fails"), ("4", 4, 1e-16, "holds")],
        columns=["result", "section", "gap", "verdict"],
    )
    found = results({"pram_results": table})
    assert (found["count"], found["holds"], found["largest"]) == (3, 2, 1e-16)
    assert found["failing"] == ["(2.6) tight"]
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


def test_coverages_are_arranged_and_what_is_outside_is_named() -> None:
    found = coverage({"pram_coverage": coverages()})
    (row,) = found["rows"]
    assert row["each"]["yes"]["wald"]["mean"] == 0.93
    assert row["mean"]["wald"]["mean"] == 0.9425
    assert row["ends"] == {"wald": (0.93, 0.955)}
    assert row["together"]["scheffe", "wald"]["mean"] == 0.97
    assert row["bias"] == 0.2
    assert found["singles"] == 2
    assert found["means"] == (0.9425, 0.9425)
    assert found["ratios"] == (1.01, 1.01)
    assert [each["cell"]["category"] for each in found["outside"]] == ["yes"]
    assert found["least_together"]["cell"]["intervals"] == "bonferroni"


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
    assert (found["weighted"], found["unweighted"]) == ((0.95, 0.95), (0.1, 0.1))
    assert (found["largest"], found["largest_ratio"]) == (0.07, 0.002)
    assert found["unbiased"]
    assert found["apart"] == pytest.approx(1.96, abs=1e-3)
    assert found["ratios"] == (0.99, 0.99)


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
    assert [(row["epsilon"], row["size"]) for row in found["rows"]] == [
        (epsilon, size) for epsilon in (1.0, 2.0, 3.0) for size in (1, 4)
    ]
    assert found["ends"] == [
        {"epsilon": 1.0, "smallest": 1.0, "largest": 4.0},
        {"epsilon": 3.0, "smallest": 1 / 3.0, "largest": 4 / 3.0},
    ]
    assert found["covered"] == (0.95, 0.95)


# -- variances -------------------------------------------------------------------------------------


def test_what_is_said_of_variances_is_so(small_data: Microdata) -> None:
    data, epsilons = small_data.project(["colour", "smokes"]), [0.5, 1.0, 6.0]
    tables = {
        "pram_variance": pram_variance.variance_inflation(data, epsilons),
        "pram_whole_file": pram_variance.whole_file_epsilons(data, epsilons),
    }
    found = variance(tables)
    assert found["shown"] == [1.0, 6.0]  # nearest to 1 and 4
    assert found["same"] < 1e-9
    assert found["ranges"]["invariant_two_step"][1] < 2
    inflation = by(tables["pram_variance"], "attribute", "epsilon", "mechanism")
    for epsilon, number in found["wins"]:
        assert number == sum(
            inflation[name, epsilon, "randomized_response"]["inflation"]
            < inflation[name, epsilon, "invariant_two_step"]["inflation"]
            for name in ("colour", "smokes")
        )
    assert [epsilon for epsilon, _ in found["wins"]] == [6.0]
    whole = found["whole"]
    assert whole["case"]["attribute"] == "colour"
    counts = data.counts(["colour"])
    assert whole["case"]["whole_file_epsilon"] == pytest.approx(
        whole_file_epsilon(lambda shares: two_step_with_epsilon(shares, 0.5), counts)
    )


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


def test_claims_are_summed_up_over_invariant_methods_at_the_largest_size() -> None:
    found = invariant({"pram_invariant": claims()})
    assert [row["method"] for row in found["shown"]] == ["two_step", "lazy", CONTROL]
    assert {row["records"] for row in found["shown"]} == {5000}
    assert found["said"]["shares", "multinomial"]["claimed_to_true"] == (0.6, 0.7)
    assert found["said"]["shares", "multinomial"]["coverage"] == (0.9, 1.0)
    assert found["said"]["shares", "none"]["inflation"] == (1.8, 1.9)
    assert set(found["said"]) == {("shares", c) for c in ("none", "multinomial", "conditional")}
    assert found["control"] == (0.5, 0.5)
    assert (found["rarest"]["records"], found["rarest"]["method"]) == (1000, "two_step_fixed")


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


def test_the_epsilon_from_which_inverting_is_nearer_is_found() -> None:
    distances = {"separate": (0.5, 0.4, 0.3), "separate_inverted": (9.0, 0.3, 0.1)}
    found = joint_loss({"pram_joint_loss": lost(distances | {"joint": (0.1, 0.1, 0.05)})})
    (pair,) = found["pairs"]
    assert pair["nearer_from"] == 2.0
    assert (pair["first"]["epsilon"], pair["last"]["epsilon"]) == (1.0, 4.0)
    assert found["joint_best"]
    never = {"separate": (0.05, 0.05, 0.04), "separate_inverted": (9.0, 8.0, 7.0)}
    found = joint_loss({"pram_joint_loss": lost(never | {"joint": (0.1, 0.1, 0.05)})})
    assert found["pairs"][0]["nearer_from"] is None
    assert not found["joint_best"]


# -- breaches and designs --------------------------------------------------------------------------


def test_breaches_are_arranged_and_the_closest_prior_is_last(small_data: Microdata) -> None:
    names = ["region", "smokes"]
    tables = {
        "pram_breach_bounds": pram_breaches.bound_table((0.1, 0.5), (1.0, 2.0)),
        "pram_breach_thresholds": pram_breaches.threshold_table(((0.1, 0.5),), (2, 5)),
        "pram_approach": pram_breaches.approach_table(masses=(0.5, 0.99)),
        "pram_intruder": pram_breaches.intruder_table(small_data, names, (0.1, 0.7)),
        "pram_worst_sets": pram_breaches.worst_set_table(small_data, names, (0.7,), (0.01, 0.5)),
    }
    found = breaches(tables)
    odds = np.e / 9
    assert found["bounds"][0.1, 1.0]["largest_posterior"] == pytest.approx(odds / (1 + odds))
    (row,) = found["thresholds"]
    assert row["largest_parity"] == pytest.approx(9)
    assert row["of"][5]["diagonal"] == pytest.approx(9 / 13)
    gaps = tables["pram_approach"].query("mass == 0.99")["gap"]
    assert found["approach"] == {"mass": 0.99, "gap": gaps.max()}
    for row in found["intruder"]["rows"]:
        assert row["least"]["factor"] < row["most"]["factor"] < row["parity"]
        assert row["most"]["prior"] < row["least"]["prior"]
    misled = found["intruder"]["misled"]
    assert misled["p"] == 0.1  # the less is kept, the less a report convinces
    assert 0 < misled["others"] < misled["categories"]
    low, high = found["worst"]["shares"]
    assert 0 < low <= high <= 1 + 1e-12
    assert len(found["worst"]["all"]) < len(tables["pram_worst_sets"])  # none so rare as 1 %


ENTRIES = pd.DataFrame(
    [("d", u, v, 0.7 if u == v else 0.3) for u in ("x", "y") for v in ("x", "y")],
    columns=["design", "true", "reported", "probability"],
)


def test_gains_are_shares_of_the_rivals_loss() -> None:
    columns = ["attribute", "epsilon", "loss", "requirements", "designed", "generalized_rr"]
    columns += ["two_step", "lower_bound", "optimality"]
    rows = [
        ("a", 1.0, "trace", "invariant", 1.0, np.nan, 2.0, 0.9, "local"),
        ("b", 1.0, "trace", "epsilon", 3.0, 4.0, np.nan, 3.0, "global"),
        ("b", 2.0, "trace", "epsilon", 4.0, 4.0, np.inf, 3.0, "global"),
    ]
    found = design({"pram_design": pd.DataFrame(rows, columns=columns), "pram_channels": ENTRIES})
    assert [row["saved"] for row in found["rows"]] == [
        {"two_step": 0.5},
        {"generalized_rr": 0.25},
        {"generalized_rr": 0.0, "two_step": 1.0},
    ]
    assert found["compared"] == {"generalized_rr": 2, "two_step": 2}
    assert found["gains"]["generalized_rr"][1]["attribute"] == "b"
    assert found["optimality"] == {"local": 1, "global": 2}
    assert found["worse"] == []
    rows.append(("a", 1.0, "trace", "epsilon", 4.1, 4.0, np.nan, 3.0, "local"))
    found = design({"pram_design": pd.DataFrame(rows, columns=columns), "pram_channels": ENTRIES})
    assert len(found["worse"]) == 1


def test_designed_matrices_are_rows_of_entries() -> None:
    one = {"attribute": "a", "epsilon": 1.0, "loss": "trace", "designed": 1.0}
    one |= {"generalized_rr": 1.0, "two_step": 1.0, "optimality": "global"}
    designs = pd.DataFrame([one | {"requirements": each} for each in ("epsilon", "invariant")])
    (channel,) = design({"pram_design": designs, "pram_channels": ENTRIES})["channels"]
    assert channel["reported"] == ["x", "y"]
    found = [(truth, [cell["probability"] for cell in cells]) for truth, cells in channel["rows"]]
    assert found == [("x", [0.7, 0.3]), ("y", [0.3, 0.7])]


# -- what several sections need --------------------------------------------------------------------


def test_the_extremes_of_means() -> None:
    assert extremes(pd.DataFrame({"mean": [0.1, 0.2]})) == (0.1, 0.2)
