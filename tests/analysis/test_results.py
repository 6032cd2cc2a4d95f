"""Tables of estimates for files."""

import json
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest

from deniable.analysis import as_result, release_of
from deniable.errors import DataError, DeniableError


@pytest.fixture
def public(tmp_path: Path) -> Path:
    release = {"name": "a", "mode": "test", "notice": "TEST", "data_source": "surrogate"}
    (tmp_path / "plan.json").write_text(json.dumps({"release": release}), encoding="utf-8")
    return tmp_path


def test_a_table_is_marked_with_its_release(public: Path) -> None:
    found = as_result(public, pd.DataFrame, {"estimate": [0.5, 0.5]})
    assert found.to_dict("list") == {
        "estimate": [0.5, 0.5],
        "mode": ["test"] * 2,
        "data_source": ["surrogate"] * 2,
    }
    (public / "plan.json").write_text("{}", encoding="utf-8")
    assert release_of(public) == {}
    assert list(as_result(public, pd.DataFrame, {"estimate": [1.0]})) == ["estimate"]
    (public / "plan.json").write_text('{"release": "x"}', encoding="utf-8")
    with pytest.raises(DataError, match=r"plan\.json: release: damaged"):
        release_of(public)


def test_a_missing_estimate_has_its_reason(public: Path) -> None:
    def none() -> pd.DataFrame:
        raise DeniableError("masked numbers have no categories")

    assert list(as_result(public, none)["note"]) == ["masked numbers have no categories"]
    assert "no columns" in as_result(public, pd.DataFrame)["note"][0]


def test_tables_left_out_are_named_with_the_reason(public: Path) -> None:
    table = pd.DataFrame({"columns": ["a x b"], "estimate": [1.0]})
    table.attrs["left_out"] = {"a x c": "401 cells, over 400"}
    found = as_result(public, lambda: table)
    assert list(found["columns"]) == ["a x b", "a x c"]
    assert found["note"][1] == "401 cells, over 400"
    assert set(found["mode"]) == {"test"}


def test_a_table_of_several_is_named(public: Path) -> None:
    class Two(NamedTuple):
        tables: pd.DataFrame
        disagreement: pd.DataFrame

    def none() -> Two:
        raise DeniableError("one column has no pairs")

    two = Two(pd.DataFrame({"a": [1]}), pd.DataFrame({"b": [2]}))
    assert "a" in as_result(public, lambda: two, part="tables")
    assert "b" in as_result(public, lambda: two, part="disagreement")
    assert list(as_result(public, none, part="tables")["note"]) == ["one column has no pairs"]


def test_a_damaged_release_is_an_error(public: Path) -> None:
    def damaged() -> pd.DataFrame:
        raise DataError("plan and file are of different releases")

    with pytest.raises(DataError, match="different releases"):
        as_result(public, damaged)
