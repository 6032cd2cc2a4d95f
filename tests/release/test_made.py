"""What lanes share: files in and out, marks, notes."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from deniable.files import write_table
from deniable.records.categorical import Microdata, read_csv
from deniable.records.domain import Attribute, Domain
from deniable.records.numeric import NumericMicrodata
from deniable.release import release_from
from deniable.release.made import (
    PRODUCTION_MARK,
    REHEARSAL_MARK,
    marked,
    marked_as,
    marks_for,
    notes,
    read_made,
    spreadsheets,
    texts_of,
    write_made,
)

DOMAIN = Domain((Attribute("a", ("NA", "1")),))


def records(**marks: str) -> Microdata:
    codes = np.array([0, 1, 1], dtype=np.int8)
    return Microdata(DOMAIN, (codes,), {"data_source": "original", "notice": "", **marks})


def release(**changes: Any) -> Any:
    given = {"name": "small", "data": "made", "mechanism": "rr_independent", "matrix": "keep"}
    return release_from(given | {"p": 0.5, "rehearsal": True} | changes)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    numbers = NumericMicrodata(("x",), np.array([[0.1], [2.0]]), marks=dict(records().marks))
    table = pd.DataFrame({"attributes": ["a"], "categories": ["NA"], "stratum": [""], "n": [3]})
    made = {"said": {"p": 0.1}, "protected": records(), "numbers": numbers, "estimates": table}
    files = ("said.json", "protected.parquet", "numbers.parquet", "estimates.csv")
    paths = [tmp_path / file for file in files]
    write_made([*paths, tmp_path / "protected.csv"], made)
    read = read_made(paths)
    assert read["said"] == made["said"]
    assert read["protected"].domain == DOMAIN
    np.testing.assert_array_equal(read["protected"].column("a"), [0, 1, 1])
    np.testing.assert_array_equal(read["numbers"].values, numbers.values)
    pd.testing.assert_frame_equal(read["estimates"], table, check_dtype=False)
    assert (tmp_path / "protected.csv").read_text("utf-8") == '"a"\n"NA"\n"1"\n"1"\n'


def test_digits_and_texts_of_tables_are_kept(tmp_path: Path) -> None:
    number = 0.1 + 0.2
    table = pd.DataFrame({"categories": ["007"], "probability": [repr(number)]})
    write_table(tmp_path / "t.csv", table)
    read = read_made([tmp_path / "t.csv"])["t"]
    assert read["categories"].tolist() == ["007"]
    assert read["probability"].tolist() == [number]


@pytest.mark.parametrize(
    ("marks", "columns"),
    [
        ({}, {}),
        ({"notice": REHEARSAL_MARK}, {"rehearsal": "yes"}),
        ({"notice": PRODUCTION_MARK, "data_source": "surrogate"}, {"data_source": "surrogate"}),
        ({"synthetic": "yes"}, {"synthetic": "yes"}),
        ({"synthetic": "SYNTHETIC: in words"}, {}),
        (
            {"synthetic": "SYNTHETIC: in words", "synthetic_from": "clusters"},
            {"synthetic": "clusters"},
        ),
    ],
)
def test_notes_say_that_nobody_is_in_a_file(marks: dict[str, str], columns: dict[str, str]) -> None:
    assert notes(records(**marks)) == columns


def test_marks_name_the_draw_and_no_digest_of_the_records() -> None:
    data = records(source_sha256="0" * 64)
    marks = marks_for(release(), data)
    assert marks == {"data_source": "original", "release": "small", "notice": REHEARSAL_MARK}
    assert (
        marks_for(release(rehearsal=False, population="people"), data)["notice"] == PRODUCTION_MARK
    )
    table = marked(pd.DataFrame({"n": [1, 2]}), release(), data)
    assert table["rehearsal"].tolist() == [True, True]
    again = marked_as(pd.DataFrame({"m": [1]}), table)
    assert again.to_dict("records") == [{"m": 1, "rehearsal": True, "data_source": "original"}]


@pytest.mark.parametrize(
    ("texts", "named"),
    [
        (["<=50K", ">50K", "-9", "+1", "-1.5", "-1,000", "0-4", "(-inf, 0)", "?"], ""),
        (["=1+1", "high"], "=1+1"),
        (["@SUM(A1)", "+A1", "-none", "-1+cmd", "-"], "@SUM(A1), +A1, -none, -1+cmd, -"),
        (["\t=1", "\r=1"], "\\t=1, \\r=1"),
        ([f"={n}" for n in range(6)], "=0, =1, =2, =3, =4, ..."),
    ],
)
def test_a_release_says_which_texts_a_spreadsheet_computes(texts: list[str], named: str) -> None:
    if not named:
        assert spreadsheets(texts) == {}
        return
    with pytest.warns(UserWarning, match="begin as formulas of spreadsheets do") as caught:
        said = spreadsheets(texts)["spreadsheets"]
    assert f"do ({named}): a program" in said
    assert str(caught[0].message) == said


def test_what_looks_like_a_formula_is_written_and_read_as_it_is(tmp_path: Path) -> None:
    domain = Domain((Attribute("=name", ("=1+1", "-9")),))
    assert texts_of(domain) == ["=name", "=1+1", "-9"]
    data = Microdata(domain, (np.array([0, 1]),), records().marks)
    write_made([tmp_path / f"protected.{kind}" for kind in ("parquet", "csv")], {"protected": data})
    assert (tmp_path / "protected.csv").read_text("utf-8") == '"=name"\n"=1+1"\n"-9"\n'
    np.testing.assert_array_equal(read_csv(tmp_path / "protected.csv", domain).columns, [[0, 1]])
