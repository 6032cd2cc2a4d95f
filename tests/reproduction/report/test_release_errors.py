"""Errors of releases against exact epsilon: each kind of check, by hand; the figure."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from reproduction.report.contents import ReleaseFiles
from reproduction.report.release_errors import plot_errors, release_errors, sweep_table

NOTE = pd.DataFrame({"note": ["none of this kind"]})
HALF_NORMAL = math.sqrt(2 / math.pi)


def categories() -> dict[str, pd.DataFrame]:
    """Two columns of two categories: errors .1 and .02, with standard errors .05 and .01."""
    coverage = pd.DataFrame({"columns": ["a", "a", "b", "b", "b"], "values": [*"xyuvu"]})
    coverage = coverage.assign(stratum=[*[""] * 4, "s"], original=[0.5, 0.5, 0.2, 0.8, 0.9])
    coverage = coverage.assign(estimate=9.0, ci_low=8.0, ci_high=10.0)  # for other tables
    distances = pd.DataFrame({"columns": ["a", "b", "a x b"], "protected": [0.3, 0.1, 0.4]})
    checks = [coverage.assign(check="coverage"), distances.assign(check="distance")]
    margins = pd.DataFrame({"column": [*"aabb"] * 2, "value": [*"xyuv"] * 2, "stratum": ""})
    margins = margins.assign(
        target=["file"] * 4 + ["population"] * 4,
        estimate=[0.6, 0.4, 0.22, 0.78] * 2,
        standard_error=[0.05, 0.05, 0.01, 0.01, 9, 9, 9, 9],
    )
    return {"check": pd.concat(checks), "margins": margins, "pairs": NOTE}


def by(rows: list[dict[str, Any]]) -> dict[tuple[str, str], tuple[float, float, int]]:
    values = ("error", "expected_error", "number")
    return {(row["of"], row["estimates"]): tuple(row[name] for name in values) for row in rows}


def test_errors_of_proportions_are_total_variation_distances() -> None:
    found = by(release_errors(categories()))
    error, expected, number = found["marginal distributions", "unbiased"]
    assert (error, number) == (pytest.approx((0.1 + 0.02) / 2), 2)
    assert expected == pytest.approx((0.05 + 0.01) / 2 * HALF_NORMAL)
    assert found["marginal distributions", "protected"][0] == pytest.approx(0.2)
    assert found["pairs", "protected"][0] == pytest.approx(0.4)
    assert np.isnan(found["pairs", "protected"][1])


def test_errors_of_collected_tables_are_euclidean() -> None:
    check = pd.DataFrame({"columns": ["a x b", "a x c"], "l2_estimate": [0.1, 0.3]})
    check = check.assign(l2_consistent=[0.1, 0.1], l2_nearest=np.nan)
    pairs = pd.DataFrame({"columns": ["a x b"] * 2 + ["a x c"] * 2, "target": "file"})
    pairs = pairs.assign(standard_error=[0.3, 0.4, 0.6, 0.8])
    found = by(release_errors({"check": check, "margins": NOTE, "pairs": pairs}))
    assert found["pairs", "unbiased"] == (pytest.approx(0.2), pytest.approx(0.75), 2)
    assert found["pairs", "consistent"][0] == pytest.approx(0.1)
    assert ("pairs", "two-step") not in found


def test_errors_of_numbers_are_in_standard_deviations_of_their_columns() -> None:
    check = pd.DataFrame(
        {"attribute": [*"ppqqr"], "statistic": ["mean", "standard deviation"] * 2 + ["mean"]}
    )
    check = check.assign(
        released=[1.0, 2.0, 30.0, 10.0, 5.0],
        estimate=[3.0, 2.0, 20.0, 15.0, 5.0],
        true=[2.0, 2.0, 20.0, 10.0, 6.0],
        standard_error_file=[1.0, np.nan, 5.0, 1.0, 1.0],
    )
    found = by(release_errors({"check": check, "margins": NOTE, "pairs": NOTE}))
    # The spread of r is unknown.
    assert found["means", "protected"] == (
        pytest.approx((0.5 + 1) / 2),
        pytest.approx(np.nan, nan_ok=True),
        2,
    )
    expected = pytest.approx((1 / 2 + 5 / 10) / 2 * HALF_NORMAL)
    assert found["means", "adjusted for noise"] == (pytest.approx(0.25), expected, 2)
    error, expected_error, number = found["standard deviations", "adjusted for noise"]
    assert (error, number) == (pytest.approx(0.25), 2)
    assert np.isnan(expected_error)


def test_a_release_without_a_comparison_keeps_a_row() -> None:
    (row,) = release_errors({"check": NOTE, "margins": NOTE, "pairs": NOTE})
    assert np.isnan(row["error"])


def test_the_table_has_settings_and_exact_epsilon_and_the_figure_shows_it() -> None:
    settings: dict[str, Any] = {"one": {"epsilon": 1, "joint": [["a", "b"]]}}
    settings["two"] = {"epsilon": 2, "joint": []}
    release = {"records": 50, "data_source": "surrogate"}
    files = []
    for name, epsilon in (("one", 0.99), ("two", "inf")):
        own = {"release": release | {"name": name}, "epsilon": {"record": epsilon}}
        files.append(ReleaseFiles({"unit": "a record", **own}, categories()))
    table = sweep_table(settings, files)
    assert list(table.columns[:6]) == [
        "release",
        "epsilon",
        "joint",
        "exact_epsilon",
        "unit",
        "records",
    ]
    assert dict(table.groupby("release")["exact_epsilon"].first()) == {"one": 0.99, "two": np.inf}
    assert set(table["joint"]) == {'[["a", "b"]]', "[]"}
    figure = plot_errors(table, ["epsilon", "joint"], "swept")
    texts = " ".join(text.get_text() for text in figure.texts)
    assert "swept: errors of 2 test releases" in texts
    assert "1 without a finite ε left out" in texts
    assert "SURROGATE" in texts
    assert [axis.get_title() for axis in figure.axes] == ["marginal distributions", "pairs"]


def test_a_figure_without_any_finite_epsilon_is_empty() -> None:
    row = {"release": "one", "epsilon": 1, "exact_epsilon": np.inf, "of": "pairs", "estimates": "s"}
    row |= {"measure": "distance", "error": 0.1, "expected_error": np.nan}
    assert len(plot_errors(pd.DataFrame([row]), ["epsilon"], "swept").axes) == 1
