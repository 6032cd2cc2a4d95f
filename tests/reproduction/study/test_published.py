"""Printed numbers are read as they are printed, or refused."""

from pathlib import Path

import pytest

from deniable.errors import DataError

from reproduction.study.published import half_unit_of_last_digit, read_published

ROOT = Path(__file__).resolve().parents[3]


def table(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_the_last_digit_is_known_from_the_text(tmp_path: Path) -> None:
    file = table(tmp_path / "t.csv", "dataset,p,value\nadult,0.10,0.310\nadult,0.3,12\n")
    read = read_published(file, "value")
    assert read["published"].tolist() == [0.31, 12.0]
    assert read["half_unit"].tolist() == [0.0005, 0.5]
    assert read["p"].tolist() == [0.1, 0.3]
    assert read["dataset"].tolist() == ["adult", "adult"]


@pytest.mark.parametrize(
    ("printed", "half"), [("0.31", 0.005), ("-0.5", 0.05), ("7", 0.5), ("1.50e-2", 5e-5)]
)
def test_half_a_unit_of_the_last_digit(printed: str, half: float) -> None:
    assert half_unit_of_last_digit(printed) == half


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("p,value\n0.1,O.5\n", "line 2, column 'value': 'O.5' is not a number"),
        ("p,value\n0.1,0.5\n0.2,\n", "line 3 has an empty value"),
        ("p,value\n0.1,nan\n", "line 2, column 'value': 'nan' is not a number"),
        ("p,value\n0.1,Infinity\n", "line 2, column 'value': 'Infinity' is not a number"),
        ("p,value\n0.1,0.5\n0.2\n", "line 3 has 1 values"),
        ("p,value\n0.1,0.2,0.5\n", "line 2 has 3 values, but the header names 2"),
        ("p,value,p\n1,2,3\n", "names a column twice"),
        ("p,value\n", "no published numbers below the header"),
        ("p,value\n0.1,1_0\n", "line 2, column 'value': '1_0' is not a number"),
        ("p,value\n0.1,1e400\n", "line 2, column 'value': '1e400' is not a number"),
        (
            "p,value\n0.1,1\nO.2,2\n",
            "line 3, column 'p': 'O.2' is not a number, but the column has",
        ),
        ("p,value\n0.1,1\n0.1,2\n", "line 3 repeats the key of an earlier line"),
        ("p,value\n0.1,1\n0.10,2\n", "line 3 repeats the key of an earlier line"),
        ("p,value\n.1,1\n.10,2\n", "line 3 repeats the key of an earlier line"),
        ("p,other\n0.1,1\n", "no column 'value'; there are p, other"),
        ("", "not readable as a table"),
        ("p,value\n0.1,1,2,3\n0.1,1\n", "."),
    ],
)
def test_a_malformed_table_is_refused_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    file = table(tmp_path / "t.csv", text)
    with pytest.raises(DataError, match=said) as caught:
        read_published(file, "value")
    assert str(file) in str(caught.value)


def test_a_table_that_is_absent_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"absent\.csv"):
        read_published(tmp_path / "absent.csv", "value")


@pytest.mark.parametrize(("name", "dataset"), [("table1", "adult"), ("table2", "adult6")])
def test_the_committed_tables_have_all_36_cells(name: str, dataset: str) -> None:
    path = ROOT / "resources" / "published" / f"multirr_{name}.csv"
    read = read_published(path, "median_relative_error")
    expected = {
        (dataset, p, t_d, t_v)
        for p in (0.1, 0.3, 0.5, 0.7)
        for t_d in (0.1, 0.2, 0.3)
        for t_v in (50, 100, 300)
    }
    keys = ["dataset", "p", "t_d", "t_v"]
    assert {tuple(row) for row in read[keys].to_numpy().tolist()} == expected
    assert len(read) == 36
    assert (read["half_unit"] == 0.0005).all()
