"""What the sections about [multirr] show, prepared from hand-made tables."""

import itertools
import math
from typing import Any

import pandas as pd
import pytest

from deniable.randomized_response import Assessment, PairEstimator

from reproduction.papers.multirr import error_analysis, figures as drawn, sections, secure_sum
from reproduction.papers.multirr.example_1 import example_1
from reproduction.papers.multirr.names import ASSESSMENTS, AT_EPSILON, ESTIMATORS, METHODS, WORDS
from reproduction.papers.multirr.queries import adjusted
from reproduction.papers.multirr.sections import (
    about,
    adjustment,
    attributes,
    pairs,
)
from reproduction.papers.multirr.verdicts import printed_table
from reproduction.papers.sections import in_words


def cell(median: float, low: float, high: float, **keys: Any) -> dict[str, Any]:
    return {"median": median, "ci_low": low, "ci_high": high, "replicates": 9} | keys


# -- the same names on the page and in the figures -------------------------------------------------


def test_what_is_drawn_has_a_name() -> None:
    assert set(drawn.METHOD_STYLE) == {*METHODS, *AT_EPSILON}
    assert set(drawn.SHOWN_ESTIMATORS) <= set(drawn.ESTIMATOR_STYLE) <= set(ESTIMATORS)
    assert set(drawn.ASSESSMENT_STYLE) <= set(ASSESSMENTS)


def test_nothing_that_a_config_can_ask_for_lacks_a_name() -> None:
    assert set(METHODS) == set(adjusted.METHODS)
    assert set(ESTIMATORS) == set(PairEstimator.__args__)  # type: ignore[attr-defined]
    assert set(ASSESSMENTS) == set(Assessment.__args__)  # type: ignore[attr-defined]


# -- figures ---------------------------------------------------------------------------------------


def test_clusters_of_one_attribute_are_shown_once() -> None:
    grid = itertools.product((2, 3), ("joint", "kronecker"), (1, 50))
    rows = [cell(0.1, 0.1, 0.2, attributes=a, mechanism=m, t_v=t) for a, m, t in grid]
    table = pd.DataFrame(rows).assign(p=0.1, t_d=0.1, dataset="adult", matrix="printed")
    found = attributes({"multirr_attributes": table.assign(projection="clip")})
    assert [row[1] for row in found["errors"].rows] == [
        *("RR-Independent", "RR-Clusters, joint", "RR-Clusters, kronecker")
    ]
    assert found["errors"].heads[-2:] == ("attributes = 2", "attributes = 3")


def test_the_lowest_error_of_a_pair_is_marked_at_each_p_and_coverage() -> None:
    base = {
        (p, sigma): cell(0.4, 0.39, 0.41, p=p, sigma=sigma)
        for p in (0.1, 0.5)
        for sigma in (0.1, 0.5)
    }
    others = base | {
        (0.5, 0.1): cell(0.1, 0.09, 0.11, p=0.5, sigma=0.1),  # beyond chance
        (0.1, 0.5): cell(0.3, 0.2, 0.4, p=0.1, sigma=0.5),  # within it
    }
    table = pd.concat(
        [
            pd.DataFrame(base.values()).assign(estimator="rr_independent"),
            pd.DataFrame(others.values()).assign(estimator="pair_likelihood"),
        ]
    ).assign(matrix="printed", measure="relative_error", record_epsilon=1.0)
    found = pairs({"multirr_pairs": table})
    marked = {(row[0], row[2]): row[4].partition(") ")[2] for row in found["errors"].rows}
    assert marked == {
        ("0.1", "0.1"): "▾",
        ("0.1", "0.5"): "▾",
        ("0.5", "0.1"): "▾*",
        ("0.5", "0.5"): "▾",
    }


# -- tables and claims -----------------------------------------------------------------------------


def test_layout_is_that_of_the_paper() -> None:
    grid = [(0.1, 0.3), (0.1, 0.2, 0.3), (50, 100, 300), ("joint", "kronecker")]
    keys = ["p", "t_d", "t_v", "mechanism"]
    table = pd.DataFrame(list(itertools.product(*grid)), columns=keys)
    found = printed_table({"t": table}, "t")
    assert found["sizes"] == [50, 100, 300]
    assert found["mechanisms"] == ["joint", "kronecker"]
    assert [(row["p"], row["t_d"]) for row in found["rows"]] == list(
        itertools.product(grid[0], grid[1])
    )
    assert [row["first"] for row in found["rows"]] == [True, False, False] * 2
    shown = found["rows"][4]["cells"][2][1]
    assert [shown[key] for key in keys] == [0.3, 0.2, 300, "kronecker"]
    assert printed_table({"t": table.drop(index=1)}, "t")["rows"][0]["cells"][0][1] is None


def test_methods_are_called_as_readers_know_them() -> None:
    found = in_words("rr_clusters_adjustment: 0.1, rr_clusters: 0.2, sigma >= .3", WORDS)
    assert found == "RR-Clusters + Adjustment: 0.1, RR-Clusters: 0.2, σ ≥ .3"


# -- the example, the analyses ---------------------------------------------------------------------


def test_the_example_shows_the_rows_of_the_three_matrices(small_data: Any) -> None:
    table = error_analysis.propagation_table(small_data.domain, [0.1, 0.7])
    found = about({"multirr_propagation": table})["example"]
    assert (found["name"], found["categories"], found["p"]) == ("colour", 3, 0.7)
    rows = {row["reading"]: row for row in found["readings"]}
    for row in rows.values():
        assert row["true"] + 2 * row["other"] == pytest.approx(1)
    assert rows["printed"]["true"] == pytest.approx(0.7 / (0.7 + 2 * 0.3 / 3))
    assert rows["keep"]["true"] == pytest.approx(0.7 + 0.3 / 3)
    assert rows["diagonal"]["true"] == pytest.approx(0.7)
    assert rows["keep"]["attribute_epsilon"] == pytest.approx(math.log(0.8 / 0.1))
    assert rows["printed"]["attribute_epsilon"] == pytest.approx(math.log(0.7 / 0.1))
    assert about({})["example"] is None


def test_example_1_begins_in_full_and_goes_on_in_tens() -> None:
    found = adjustment({"multirr_example1": example_1(25)})
    assert [(row["sweep"], row["adjusted"]) for row in found["steps"]] == [
        *((0, "start"), (1, "1"), (1, "2"), (2, "1"), (2, "2"))
    ]
    assert found["later"].heads[:2] == ("sweep t", "proportion of responses 5–6")
    assert [row[0] for row in found["later"].rows] == ["10", "20", "25"]
    assert [row["adjusted"] for row in found["ends"]] == ["limit", "RR-Independent"]
    assert "λ₁" in found["steps"][0]["published"]


def test_no_heading_lacks_its_column(small_data: Any) -> None:
    domain = small_data.domain
    made = {
        "accuracy": error_analysis.accuracy_table(domain, [500]),
        "propagation": error_analysis.propagation_table(domain, [0.1]),
        "order": error_analysis.expected_dependence_order(small_data, [0.1]),
        "secure_sum": secure_sum.trials(small_data, 1, ("colour", "region"), 50, 5),
        "secure_sum_faults": secure_sum.fault_trials(1, 1),
        "linkage": secure_sum.linkage_example(small_data, 1, 20, 2),
    }
    tables = {f"multirr_{name}": table for name, table in made.items()}
    found = sections.bounds(tables) | sections.assessment(tables)
    headings = [sections.BOUNDS, sections.FACTORS, sections.ORDER]
    headings += [sections.SUMS, sections.FAULTS, sections.LINKED]
    assert [each.heads for each in found.values()] == [tuple(each.values()) for each in headings]
    assert found["order"].rows[0][0] == "Cramér's V"
