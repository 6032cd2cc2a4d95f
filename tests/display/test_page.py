"""Numbers as text, and rows of tables."""

import math

import numpy as np
import pandas as pd
import pytest

from deniable.display.page import between, percent, rows_of, short

from reproduction.study import by, first_of, groups_of, nearest


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float64(0.1), "0.100"),
        (0.0, "0"),
        (-0.118, "−0.118"),
        (999.6, "1,000"),
        (1234.5, "1,234"),
        (9.87654e6, "9,876,540"),
        (1.4e10, "1.40 × 10¹⁰"),
        (2.5e-7, "2.50 × 10⁻⁷"),
        (-2.5e-7, "−2.50 × 10⁻⁷"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (np.nan, "–"),
        (3, "3"),
        ("x", "x"),
    ],
)
def test_short_numbers(value: object, text: str) -> None:
    assert short(value) == text


def test_no_number_is_written_as_a_computer_does() -> None:
    for power in range(-120, 120, 3):
        assert "e" not in short(3.456 * 10.0**power)


def test_shares_and_ranges() -> None:
    assert percent(np.float64(0.11684)) == "11.7 %"
    assert between(0.01, 0.02, percent) == "1.00 % – 2.00 %"
    assert between(-math.inf, math.inf) == between(math.nan, 1.0) == "–"
    assert between(0.1, 0.1001) == "0.100"


def test_rows_by_the_values_of_columns() -> None:
    table = pd.DataFrame({"a": [2, 1, 2], "b": ["x", "x", "y"], "c": [1, 2, 3]})
    assert [(key, list(part["c"])) for key, part in groups_of(table, "a")] == [
        ({"a": 2}, [1, 3]),
        ({"a": 1}, [2]),
    ]
    assert groups_of(table, "a", "b")[0][0] == {"a": 2, "b": "x"}
    assert list(first_of(table, "b", "a")["c"]) == [1]


def test_rows_by_one_column_and_by_several() -> None:
    table = pd.DataFrame({"a": [1, 2], "b": ["x", "y"], "mean": [0.1, 0.2]})
    assert by(table, "a")[2] == rows_of(table)[1]
    assert by(table, "a", "b")[1, "x"]["mean"] == 0.1


def test_the_nearest_is_so_by_ratio() -> None:
    assert nearest([1, 30, 200], 10) == 30
    assert nearest([], 10) is None
