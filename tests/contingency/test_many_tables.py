"""Tests of many tables: each with its channel, adjusted for their number."""

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from deniable.channels import KeepOrReplace
from deniable.contingency import many_tables
from deniable.contingency.independence import channel_test
from deniable.contingency.many_tables import (
    LEVEL,
    NOTHING,
    TOO_FEW,
    TableToTest,
    adjusted_for_number,
    benjamini_hochberg,
    independence_of_tables,
)
from deniable.contingency.two_step import Independence


def tables_of(records: int, keep: float = 0.5, seed: int = 1) -> list[TableToTest]:
    """Return the pairs of four columns; only the first two columns depend on each other."""
    drawn, sizes = np.random.default_rng(seed), (2, 3, 2, 4)
    columns = [drawn.integers(0, size, records) for size in sizes]
    columns[1] = np.where(drawn.random(records) < 0.7, columns[0], columns[1])
    found = []
    for one, other in combinations(range(4), 2):
        shape = sizes[one], sizes[other]
        channel = KeepOrReplace.uniform(math.prod(shape), keep)
        cells = np.ravel_multi_index((columns[one], columns[other]), shape)
        reports = channel.randomize(cells, drawn)
        counts = np.bincount(reports, minlength=math.prod(shape))
        found.append(TableToTest(shape, channel, counts))
    return found


def test_each_table_is_tested_with_its_channel() -> None:
    tables = tables_of(30_000)
    tests = adjusted_for_number(independence_of_tables(tables, np.random.default_rng(1)))
    assert tests["valid"].all()
    assert set(tests["p_value_by"]) == {"chi-squared"}
    assert tests.loc[0, "rejected_holm"]
    assert tests["rejected"].sum() <= 3
    for row, table in enumerate(tables):
        found = channel_test(table.counts, table.channel, Independence(table.shape))
        assert tests.loc[row, "statistic"] == pytest.approx(float(found.statistic), rel=1e-9)
        assert tests.loc[row, "p_value"] == pytest.approx(float(found.p_value), rel=1e-9)
        assert tests.loc[row, "degrees_of_freedom"] == found.degrees_of_freedom
        assert tests.loc[row, "records"] == 30_000


def test_the_smallest_monte_carlo_p_values_are_repeated_with_more_tables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(many_tables, "MONTE_CARLO_TABLES", 9)
    drawn = np.random.default_rng(1)
    first, second = (drawn.random((2, 2000)) < 0.02).astype(int)
    channel = KeepOrReplace.uniform(4, 0.99)
    tables = [
        TableToTest((2, 2), channel, np.bincount(channel.randomize(2 * one + other, drawn)))
        for one, other in ((first, first), (first, second))
    ]
    tables.append(TableToTest((2, 2), channel, np.array([20, 3, 5, 1])))  # too few records
    tests = adjusted_for_number(independence_of_tables(tables, np.random.default_rng(4)))
    # 3 tests / .05
    assert tests.loc[0, "p_value_by"] == "60 Monte Carlo tables"
    assert tests.loc[0, "p_value"] == pytest.approx(1 / 61)
    assert tests.loc[0, "rejected_holm"]
    assert tests.loc[2, "p_value_by"] == "9 Monte Carlo tables"


def test_rounding_does_not_decide_after_an_adjustment(monkeypatch: pytest.MonkeyPatch) -> None:
    # 17 of 25 p-values are 34/1000: 25/17 of that is 1/20, in floats a little more.
    adjusted = benjamini_hochberg([34 / 1000] * 17 + [0.9] * 8)[0]
    assert LEVEL < adjusted < LEVEL + 1e-15
    monkeypatch.setattr(many_tables, "holm", lambda p_values: np.full(len(p_values), adjusted))
    assert adjusted_for_number(pd.DataFrame({"p_value": [0.5, 0.7]}))["rejected_holm"].all()


def test_a_table_with_one_category_is_not_a_test() -> None:
    channel = KeepOrReplace.uniform(3, 0.5)
    tables = [TableToTest((3, 1), channel, np.array([10, 20, 30])), *tables_of(30_000)[:1]]
    tests = adjusted_for_number(independence_of_tables(tables, np.random.default_rng(1)))
    assert tests.loc[0, "p_value_by"] == NOTHING
    assert math.isnan(tests.loc[0, "p_value_holm"])
    assert not tests.loc[0, "rejected"]
    assert tests.loc[1, "p_value_holm"] == tests.loc[1, "p_value"]


def test_large_tables_without_enough_records_are_not_tested() -> None:
    channel = KeepOrReplace.uniform(81, 0.5)
    counts = np.bincount(np.random.default_rng(1).integers(0, 81, 300), minlength=81)
    large = TableToTest((9, 9), channel, counts)
    tests = adjusted_for_number(
        independence_of_tables([large, *tables_of(30_000)[:1]], np.random.default_rng(1))
    )
    assert tests["p_value_by"].tolist() == [TOO_FEW, "chi-squared"]
    assert math.isnan(tests.loc[0, "p_value"])
    assert not tests.loc[0, "rejected"]
    assert tests.loc[1, "p_value_holm"] == tests.loc[1, "p_value"]
