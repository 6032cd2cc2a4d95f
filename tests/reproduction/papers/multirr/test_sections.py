"""What the sections about [multirr] show, prepared from hand-made tables."""

import itertools
from typing import Any

import pandas as pd
import pytest

from deniable.randomized_response import Assessment, PairEstimator

from reproduction.papers.multirr.error_analysis import propagation_table
from reproduction.papers.multirr.example_1 import example_1
from reproduction.papers.multirr.figures import analyses as drawn
from reproduction.papers.multirr.names import ASSESSMENTS, ESTIMATORS, METHODS
from reproduction.papers.multirr.queries import adjusted
from reproduction.papers.multirr.sections import (
    about,
    adjustment,
    assessment,
    attributes,
    compared,
    figure_1,
    figure_2,
    lines_of,
    pairs,
    panels,
)
from reproduction.papers.multirr.verdicts import in_words, printed_table


def cell(median: float, low: float, high: float, **keys: Any) -> dict[str, Any]:
    return {"median": median, "ci_low": low, "ci_high": high, "replicates": 9} | keys


# -- the same names on the page and in the figures -------------------------------------------------


def test_what_is_drawn_has_a_name() -> None:
    assert set(drawn.METHOD_STYLE) == set(METHODS)
    assert set(drawn.ESTIMATOR_STYLE) == set(ESTIMATORS)
    assert set(drawn.ASSESSMENT_STYLE) <= set(ASSESSMENTS)


def test_nothing_that_a_config_can_ask_for_lacks_a_name() -> None:
    assert set(METHODS) == set(adjusted.METHODS)
    assert set(ESTIMATORS) == set(PairEstimator.__args__)  # type: ignore[attr-defined]
    assert set(ASSESSMENTS) == set(Assessment.__args__)  # type: ignore[attr-defined]
    letters = drawn.ESTIMATOR_LETTERS
    assert set(letters) == set(ESTIMATORS)
    assert len(set(letters.values())) == len(letters)


# -- figures ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("high", "apart"), [(0.19, True), (0.2, False), (0.3, False)], ids=["below", "touch", "overlap"]
)
def test_the_lowest_median_and_whether_it_is_apart(high: float, apart: bool) -> None:
    line = compared({"rr_independent": cell(0.4, 0.2, 0.5), "rr_clusters": cell(0.1, 0.05, high)})
    assert line["lowest"] == "rr_clusters"
    assert line["apart"] == apart
    assert line["share"] == pytest.approx(0.25)


def test_a_method_is_not_apart_from_itself_nor_from_nothing() -> None:
    assert not compared({"rr_independent": cell(0.4, 0.2, 0.5)})["apart"]
    alone = compared({"rr_clusters": cell(0.4, 0.2, 0.5)})
    assert not alone["apart"]
    assert alone["share"] != alone["share"]


def test_lines_are_in_the_order_of_coverage() -> None:
    rows = [cell(s, s, s, sigma=s, method="rr_independent") for s in (0.9, 0.1)]
    assert [line["sigma"] for line in lines_of(pd.DataFrame(rows), "method")] == [0.1, 0.9]


def test_panels_of_figure_3_are_in_order_and_say_whose_thresholds_they_have() -> None:
    rows = [
        cell(0.1, 0.1, 0.1, mechanism=m, p=p, best=best, t_v=t_v, t_d=0.1, sigma=0.1)
        for m, p, (best, t_v) in itertools.product(
            ("kronecker", "joint"), (0.7, 0.1), (("ours", 300), ("paper", 50))
        )
    ]
    table = pd.DataFrame(rows).assign(method="rr_independent", matrix="printed")
    other = table.assign(matrix="keep", median=9.0)
    found = panels(pd.concat([table, other]))
    assert [(f["mechanism"], f["p"], f["best"], f["t_v"]) for f in found] == [
        (mechanism, p, *whose)
        for mechanism in ("joint", "kronecker")
        for p in (0.1, 0.7)
        for whose in (("the paper's", 50), ("ours", 300))
    ]
    assert found[0]["lines"][0]["methods"]["rr_independent"]["median"] == 0.1


def test_figure_1_is_told_by_its_ends() -> None:
    table = pd.DataFrame({"categories": [1, 7, 10, 48, 100], "root_b": [1.0, 2.0, 3.0, 4.0, 5.0]})
    accuracy = pd.DataFrame({"cells": [6, 48]})
    found = figure_1({"multirr_fig1": table, "multirr_accuracy": accuracy})
    assert (found["low"], found["ten"], found["high"]) == ((1, 1.0), (10, 3.0), (48, 4.0))
    assert [number for number, _ in found["heights"]] == [1, 10, 48, 100]
    assert figure_1({"multirr_fig1": table})["high"] == (100, 5.0)


def test_figure_2_tells_what_estimation_gains_if_both_were_simulated() -> None:
    rows = [
        cell(median, 0.1, 0.2, measure=measure, estimator=estimator, sigma=sigma)
        for measure, estimator, sigma, median in (
            ("absolute_error", "randomized", 0.1, 90.0),
            ("absolute_error", "randomized", 0.5, 95.0),
            ("absolute_error", "rr_independent", 0.1, 30.0),
            ("absolute_error", "rr_independent", 0.5, 40.0),
            ("relative_error", "randomized", 0.1, 0.5),
            ("relative_error", "randomized", 0.5, 0.2),
            ("relative_error", "rr_independent", 0.1, 0.3),
            ("relative_error", "rr_independent", 0.5, 0.1),
        )
    ]
    table = pd.DataFrame(rows).assign(matrix="printed", p=0.7)
    found = figure_2({"multirr_fig2": table})
    assert found["gains"] == [
        {"sigma": 0.1, "raw": 0.5, "estimated": 0.3},
        {"sigma": 0.5, "raw": 0.2, "estimated": 0.1},
    ]
    assert (found["peak"]["sigma"], found["peak"]["median"]) == (0.5, 40.0)
    alone = figure_2({"multirr_fig2": table[table["estimator"] == "rr_independent"]})
    assert alone["gains"] == []
    assert alone["peak"] is None


def test_clusters_of_one_attribute_are_shown_once() -> None:
    grid = itertools.product((2, 3), ("joint", "kronecker"), (1, 50))
    rows = [cell(0.1, 0.1, 0.2, attributes=a, mechanism=m, t_v=t) for a, m, t in grid]
    table = pd.DataFrame(rows).assign(p=0.1, t_d=0.1, dataset="adult", matrix="printed")
    found = attributes({"multirr_attributes": table.assign(projection="clip")})
    assert [row["protocol"] for row in found["rows"]] == [
        *("RR-Independent", "RR-Clusters, joint", "RR-Clusters, kronecker")
    ]
    assert [sorted(row["cells"]) for row in found["rows"]] == [[2, 3]] * 3


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
    found = in_words("rr_clusters_adjustment: 0.1, rr_clusters: 0.2, sigma >= .3")
    assert found == "RR-Clusters + Adjustment: 0.1, RR-Clusters: 0.2, σ ≥ .3"


# -- the example, the analyses ---------------------------------------------------------------------


def test_the_example_shows_the_rows_of_the_three_matrices(small_data: Any) -> None:
    table = propagation_table(small_data.domain, [0.1, 0.7])
    privacy = pd.DataFrame(
        [("rr_independent", "keep", 0.7, "colour", 2.5)],
        columns=["mechanism", "matrix", "p", "of", "exact_epsilon"],
    )
    found = about({"multirr_propagation": table, "multirr_audit": privacy})["example"]
    assert (found["name"], found["categories"], found["p"]) == ("colour", 3, 0.7)
    rows = {row["reading"]: row for row in found["readings"]}
    for row in rows.values():
        assert row["true"] + 2 * row["other"] == pytest.approx(1)
    assert rows["printed"]["true"] == pytest.approx(0.7 / (0.7 + 2 * 0.3 / 3))
    assert rows["keep"]["true"] == pytest.approx(0.7 + 0.3 / 3)
    assert rows["diagonal"]["true"] == pytest.approx(0.7)
    assert (rows["keep"]["epsilon"], rows["printed"]["epsilon"]) == (2.5, None)
    assert about({})["example"] is None


def test_example_1_begins_in_full_and_goes_on_in_tens() -> None:
    found = adjustment({"multirr_example1": example_1(25)})
    assert [(row["sweep"], row["adjusted"]) for row in found["steps"]] == [
        *((0, "start"), (1, "1"), (1, "2"), (2, "1"), (2, "2"))
    ]
    assert [row["sweep"] for row in found["later"]] == [10, 20, 25]
    assert [row["adjusted"] for row in found["ends"]] == ["limit", "RR-Independent"]
    assert "λ₁" in found["steps"][0]["published"]
    assert found["work"] is None


def test_secure_sums_are_told_by_the_largest_and_by_all_pairs() -> None:
    table = pd.DataFrame(
        [
            ("a and b", 20, True),
            ("a and b", 6, True),
            ("a and c", 6, False),
            ("all 2 pairs", 6, True),
        ],
        columns=["pair", "parties", "equals_direct_counts"],
    )
    found = assessment({"multirr_secure_sum": table})
    assert found["single"]["parties"] == 20
    assert found["every"]["pair"] == "all 2 pairs"
    assert list(found["pairs"]["pair"]) == ["a and b", "a and b", "a and c"]
    assert not found["equal"]
    assert found["quality"] is found["costs"] is found["faults"] is found["any_linked"] is None


def test_who_wins_is_counted_at_each_p() -> None:
    rows = [
        cell(median, median - 0.01, median + 0.01, p=p, sigma=sigma, estimator=estimator)
        for p, sigma, estimator, median in (
            (0.7, 0.1, "rr_independent", 0.4),
            (0.7, 0.1, "pair_shrunk", 0.1),
            (0.7, 0.5, "rr_independent", 0.4),
            (0.7, 0.5, "pair_shrunk", 0.395),
            (0.1, 0.1, "rr_independent", 0.4),
            (0.1, 0.1, "pair_shrunk", 0.9),
            (0.1, 0.5, "rr_independent", 0.4),
            (0.1, 0.5, "pair_shrunk", 0.9),
        )
    ]
    table = pd.DataFrame(rows).assign(matrix="printed", measure="relative_error")
    methods = pd.DataFrame(
        [
            cell(0.3, 0, 1, p=0.7, sigma=0.1, method="rr_independent", mechanism="joint"),
            cell(0.2, 0, 1, p=0.7, sigma=0.1, method="rr_clusters", mechanism="joint"),
            cell(0.1, 0, 1, p=0.7, sigma=0.5, method="rr_clusters", mechanism="joint"),
        ]
    )
    found = pairs({"multirr_pairs": table, "multirr_fig3": methods})
    assert [(row["p"], row["won"], row["surely"]) for row in found["rows"]] == [
        *((0.1, 0, 0), (0.7, 2, 1))
    ]
    assert found["rows"][0]["paper"] is None
    assert found["rows"][1]["paper"]["name"] == "RR-Clusters"
    assert found["rows"][1]["paper"]["median"] == 0.2
    assert (found["all_won"], found["none_won"]) == ([], [0.1])
    assert pairs({"multirr_pairs": table})["rows"][1]["paper"] is None
