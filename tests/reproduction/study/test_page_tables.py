"""Tables of a page: which number stands where, which is marked, what is missing."""

from typing import Any

import pandas as pd
import pytest

from reproduction.study import PageTable, all_rows, pivot, texts


def cell(method: str, median: float, low: float, high: float, **keys: Any) -> dict[str, Any]:
    return {"method": method, "median": median, "ci_low": low, "ci_high": high} | keys


@pytest.mark.parametrize(
    ("high", "mark"), [(0.19, "▾*"), (0.2, "▾"), (0.3, "▾")], ids=["below", "touch", "overlap"]
)
def test_the_lowest_number_is_marked_and_whether_it_is_below_the_base(
    high: float, mark: str
) -> None:
    rows = [cell("base", 0.4, 0.2, 0.5, p=0.1), cell("other", 0.1, 0.05, high, p=0.1)]
    table = pivot(pd.DataFrame(rows), ["p"], "method", "x", base="base", intervals=False)
    assert table.rows == (("0.1", "0.400", f"0.100 {mark}"),)
    alone = pivot(pd.DataFrame(rows[1:]), ["p"], "method", "x", base="base", intervals=False)
    assert alone.rows == (("0.1", "0.100 ▾"),)
    assert pivot(pd.DataFrame(rows), ["p"], "method", "x", intervals=False).rows[0][2] == "0.100"


def test_a_base_is_not_below_itself() -> None:
    table = pd.DataFrame([cell("base", 0.1, 0.05, 0.2, p=1), cell("other", 0.4, 0.3, 0.5, p=1)])
    assert pivot(table, ["p"], "method", "x", base="base").rows[0][1] == "0.100 (0.0500 – 0.200) ▾"


def test_columns_are_in_the_order_of_their_names_and_rows_in_that_of_the_table() -> None:
    rows = [cell(name, 0.1, 0.1, 0.1, p=p) for p in (0.7, 0.1) for name in ("b", "a", "unnamed")]
    found = pivot(
        pd.DataFrame(rows).iloc[1:],
        {"p": "strength"},
        "method",
        "label",
        names={"a": "A", "none": "N", "b": "B"},
        text="percent",
        intervals=False,
    )
    assert found.heads == ("strength", "A", "B")
    assert found.rows == (("0.7", "10.0 %", "–"), ("0.1", "10.0 %", "10.0 %"))
    assert found.left == (False, False, False)


def test_values_are_headings_where_no_names_are_given() -> None:
    table = pd.DataFrame({"method": ["m", "m"], "t_v": [300, 50], "median": [2.0, float("nan")]})
    found = pivot(table, ["method"], "t_v", "x")
    assert found.heads == ("method", "T_v = 50", "T_v = 300")
    assert found.rows == (("m", "–", "2.00"),)
    assert found.left[0]


def test_texts_stand_as_they_are_found_without_intervals() -> None:
    rows = [cell("a", 0.1, 0.0, 0.2, p=1, found="none ✓"), cell("b", 0.1, 0.0, 0.2, p=1)]
    found = pivot(pd.DataFrame(rows), ["p"], "method", "x", text="percent")
    assert found.rows == (("1", "none ✓", "–"),)


def test_all_rows_show_what_varies_with_one_column_for_the_interval() -> None:
    table = pd.DataFrame(
        {
            "data_source": ["original"] * 2,
            "t_v": [50, 32561],
            "kept": [True, False],
            "name": ["rr_joint", None],
            "value": [1 / 3, float("inf")],
            "ci_low": [0.1, 0.2],
            "ci_high": [0.3, 0.4],
        }
    )
    found = all_rows(table, "x")
    assert found.heads == ("T_v", "kept", "name", "value", "95 % interval")
    assert found.rows[0] == ("50", "yes", "rr joint", "0.333", "0.100 – 0.300")
    assert found.rows[1] == ("32,561", "no", "–", "∞", "0.200 – 0.400")
    named = all_rows(table.drop(columns=["ci_low", "ci_high"]), "x", {"value": "result"})
    assert (named.heads, named.rows) == (("result",), (("0.333",), ("∞",)))


def test_a_table_without_rows_is_shown_by_its_headings() -> None:
    empty = pd.DataFrame({"a": [], "b": []})
    assert all_rows(empty, "x", ["a"]).left == (False,)
    assert all_rows(empty, "x", ["a"]).rows == ()


def test_signs_in_cells_decide_how_they_look() -> None:
    table = PageTable("a", ("x", "y", "z"), (("word", "1 ✓", "2 ✗"), ("other", "3", "4 ▾")))
    looks = [table.looks(row) for row in table.rows]
    assert looks == [["l", "holds", "fails"], ["l", "", "lowest"]]
    assert not table.grouped


def test_texts_of_no_rows_are_none() -> None:
    table = pd.DataFrame({"a": [1.0], "b": [2.0]})
    assert texts(table, lambda row: f"{row['a']} of {row['b']}").tolist() == ["1.0 of 2.0"]
    assert texts(table.iloc[:0], str).tolist() == []
