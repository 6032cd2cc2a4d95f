"""What of the printed tables comes out again: trends, joint fits, where a reading misses."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from deniable.files import write_table

from reproduction.papers.multirr.verdicts import (
    TREND_COLUMNS,
    agreement_by_reading,
    is_as_printed,
    misfit,
    threshold_trend,
    with_variations,
)
from reproduction.study.engine import median_summary

Z = 1.959964
READING = {"dataset": "adult", "matrix": "printed", "mechanism": "joint", "projection": "clip"} | {
    "variation": "none"
}


def cell(printed: float, ours: float, error: float, **settings: Any) -> dict[str, Any]:
    """Return a cell of as many runs as the paper's, with our standard error."""
    at = {"p": 0.1, "t_d": 0.1, "t_v": 50, "replicates": 1000, "verdict": "agrees"}
    ends = {"ci_low": ours - Z * error, "ci_high": ours + Z * error}
    return READING | at | {"published": printed, "regenerated": ours} | ends | settings


def test_a_reading_is_tested_as_a_whole_by_hand() -> None:
    # Both errors together are sqrt(2) times ours: differences of 1 and 2 of them.
    root = math.sqrt(2)
    table = pd.DataFrame([cell(0.3 + 0.01 * root, 0.3, 0.01), cell(0.4 - 0.04 * root, 0.4, 0.02)])
    (row,) = agreement_by_reading(table).to_dict("records")
    assert row["statistic"] == pytest.approx(5, rel=1e-6)
    assert row["degrees_of_freedom"] == 2
    assert row["p_value"] == pytest.approx(math.exp(-2.5), rel=1e-5)  # chi-squared with 2 degrees


def test_a_reading_that_is_right_is_seldom_refused() -> None:
    """Medians of 1,000 lognormal errors against others, cell by cell: a uniform p-value."""
    generator = np.random.default_rng(4)
    error = 0.8 * math.sqrt(math.pi / 2 / 1000)
    p_values = []
    for _ in range(300):
        ours, printed = (
            np.median(generator.lognormal(0, 0.8, (12, 1000)), axis=1) for _ in range(2)
        )
        rows = [cell(a, b, error * b) for a, b in zip(printed, ours, strict=True)]
        p_values.append(agreement_by_reading(pd.DataFrame(rows))["p_value"].iloc[0])
    # Once in 10,000 times, given a uniform p-value.
    assert stats.kstest(p_values, "uniform").pvalue > 1e-4


def test_few_runs_refuse_no_more_readings_that_are_right() -> None:
    """Medians of 50 runs with intervals of order statistics, 400 readings of 36 cells at once."""
    generator, trials, runs = np.random.default_rng(8), 400, 50
    ours = np.sort(generator.lognormal(0, 0.8, (trials * 36, runs)), axis=1)
    printed = np.median(generator.lognormal(0, 0.8, (trials * 36, 1000)), axis=1)
    ranks = median_summary(np.arange(1, runs + 1))
    table = pd.DataFrame({"published": printed, "regenerated": np.median(ours, axis=1)}).assign(
        **READING
        | {"replicates": runs, "verdict": "x", "variation": np.repeat(np.arange(trials), 36)}
    )
    table = table.assign(ci_low=ours[:, int(ranks.low) - 1], ci_high=ours[:, int(ranks.high) - 1])
    found = agreement_by_reading(table)
    # A test of 5 % has more than these once in 10,000 times.
    assert (found["p_value"] <= 0.05).sum() <= stats.binom.isf(1e-4, trials, 0.05)


def test_agreement_by_hand(tmp_path: Path) -> None:
    table = pd.DataFrame(
        [
            cell(1.0, 2.0, 0.1, verdict="differs"),
            cell(2.0, 2.0, 0.1),
            cell(4.0, 2.0, 0.1, verdict="differs"),
            cell(1.0, 1.0, 0.1, matrix="keep"),
            cell(math.nan, 5.0, 0.1, matrix="keep", verdict="not published"),
        ]
    )
    b, a = agreement_by_reading(table).to_dict("records")
    assert (a["matrix"], a["cells"], a["agrees"], a["differs"], a["surrogate"]) == (
        *("printed", 3, 1, 2, 0),
    )
    assert a["median_ratio"] == 1.0
    assert a["typical_factor"] == pytest.approx(2 ** (2 / 3))
    assert (b["cells"], b["agrees"], b["typical_factor"]) == (1, 1, 1.0)
    # Without published numbers the table has no rows.
    write_table(tmp_path / "t.csv", agreement_by_reading(table[table["published"].isna()]))
    read = pd.read_csv(tmp_path / "t.csv")
    assert len(read) == 0
    assert list(read)[5:7] == ["cells", "agrees"]


def test_rank_correlation_by_hand() -> None:
    # Ranks 1 2 3 4 against 1 2 4 3: 1 - 6 * 2 / (4 * 15) = .8.
    table = pd.DataFrame([cell(i, ours, 0.1) for i, ours in enumerate((1.0, 5.0, 9.0, 8.0))])
    found = agreement_by_reading(table.assign(published=[1.0, 2.0, 3.0, 4.0]))
    assert found["rank_correlation"].tolist() == [pytest.approx(0.8)]


def test_where_a_reading_misses_is_pooled_over_t_d() -> None:
    rows = [
        cell(0.2, 0.4, 0.004, t_d=t_d, t_v=300) if t_d < 0.3 else cell(0.4, 0.4, 0.004, t_d=t_d)
        for t_d in (0.1, 0.2, 0.3)
    ]
    found = misfit(pd.DataFrame(rows)).set_index("t_v")
    assert found["cells"].to_dict() == {50: 1, 300: 2}
    assert found["ratio"].to_dict() == {50: pytest.approx(1), 300: pytest.approx(2)}
    # Errors of 1 % each of ours and theirs, halved in the square by two cells.
    reach = Z * 0.01
    assert found.loc[300, "ci_high"] == pytest.approx(2 * math.exp(reach), rel=1e-4)
    assert found.loc[50, "ci_low"] == pytest.approx(math.exp(-reach * math.sqrt(2)), rel=1e-4)


def test_cells_without_a_printed_number_are_not_counted() -> None:
    table = pd.DataFrame([cell(0.3, 0.3, 0.01), cell(math.nan, 0.9, 0.01)])
    results = with_variations(table)
    (row,) = agreement_by_reading(results).to_dict("records")
    assert (row["cells"], row["degrees_of_freedom"], row["agrees"]) == (1, 1, 1)
    assert misfit(results)["cells"].tolist() == [1]


def test_variations_are_readings_of_their_own_and_none_where_a_table_knows_of_none() -> None:
    plain = pd.DataFrame([cell(0.3, 0.3, 0.01)]).drop(columns="variation")
    varied = pd.DataFrame([cell(0.3, 0.4, 0.01, variation="ordinal")])
    results = with_variations(pd.concat([plain, varied]))
    counted = agreement_by_reading(results)
    for table in (counted, misfit(results)):
        assert sorted(table["variation"]) == ["none", "ordinal"]
        assert is_as_printed(table).tolist() == (table["variation"] == "none").tolist()
    fits = counted.set_index("variation")["statistic"]
    assert fits["none"] == 0
    assert fits["ordinal"] == pytest.approx(50, rel=1e-6)  # 10 errors of ours, sqrt(2) of both


def test_a_trend_and_what_is_left_without_the_worst_row() -> None:
    spread = {0.1: (0.30, 0.30, 0.30), 0.3: (0.20, 0.30, 0.40)}
    rows = [
        cell(value, 0.3, 0.01, p=p, t_d=t_d)
        for p, values in spread.items()
        for t_d, value in zip((0.1, 0.2, 0.3), values, strict=True)
    ]
    clusters = pd.DataFrame(
        [(50, t_d, "a x b") for t_d in (0.1, 0.2, 0.3)], columns=["t_v", "t_d", "cluster"]
    )
    found = threshold_trend(pd.DataFrame(rows), clusters)
    assert tuple(found.columns) == TREND_COLUMNS
    whole = found[found["p"].isna()].iloc[0]
    assert whole["statistic"] == pytest.approx(2 * 0.1**2 / 0.01**2, rel=1e-3)
    assert whole["degrees_of_freedom"] == 4
    assert whole["p_value"] < 1e-30
    assert whole["p_value_without_worst"] == 1  # p = .1 alone, where nothing varies
