"""Recodes while a file is read: the same as a copy of the file that was recoded by hand."""

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

import deniable
from deniable.cli import main
from deniable.errors import DataError
from deniable.sampling import KeyedDraws
from deniable.schema import RecordsFile, Schema, schema_from_dict

ABOUT = {"format": "deniable-schema", "version": 1, "population": "survey"}
REGIONS = {"north": ["10", "11"], "south": ["20"]}
MONTHS = [f"2024-{month:02}" for month in range(1, 13)]
QUARTERS = [f"2024-Q{quarter}" for quarter in range(1, 5)]
AGES = [*map(str, range(18, 85)), "85+"]

# Options of a column before and after, values, and what becomes of one value.
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], list[Any], Any]] = {
    "groups after truncate": (
        {"recode": {"truncate": 2, "groups": REGIONS}, "categories": ["north", "south"]},
        {"categories": ["north", "south"]},
        ["10115", "11x", "20", "2099", "10"],
        lambda value: "south" if value[:2] == "20" else "north",
    ),
    "mapping of codes": (
        {"recode": {"mapping": {"1": "yes", "2": "no"}}, "categories": ["no", "yes"]},
        {"categories": ["no", "yes"]},
        [1, 2],
        lambda value: {1: "yes", 2: "no"}[value],
    ),
    "first digits of a whole number": (
        {"recode": {"truncate": 1}, "categories": list("123456789")},
        {"categories": list("123456789")},
        [2511, 9, 11, 734],
        lambda value: str(value)[0],
    ),
    "month": (
        {"recode": {"truncate": "month"}, "categories": MONTHS, "ordered": True},
        {"categories": MONTHS, "ordered": True},
        [dt.date(2024, 2, 29), dt.date(2024, 12, 31), dt.date(2024, 7, 1)],
        lambda value: f"2024-{value.month:02}",
    ),
    "quarter": (
        {"recode": {"truncate": "quarter"}, "categories": QUARTERS},
        {"categories": QUARTERS},
        [dt.date(2024, 3, 31), dt.date(2024, 4, 1), dt.date(2024, 10, 1)],
        lambda value: f"2024-Q{(value.month + 2) // 3}",
    ),
    "top category": (
        {
            "recode": {"top": {"at": 85, "category": "85+"}, "bottom": {"at": 18}},
            "categories": AGES,
        },
        {"categories": AGES},
        [17, 18, 19, 84, 85, 102],
        lambda value: "85+" if value >= 85 else str(max(value, 18)),
    ),
    "top number": (
        {
            "kind": "numeric",
            "bounds": [0, 60],
            "step": 10,
            "recode": {"top": {"at": 60}, "bottom": {"at": 10}},
        },
        {"kind": "numeric", "bounds": [0, 60], "step": 10},
        [-5, 0, 10, 33, 60, 1000],
        lambda value: min(max(value, 10), 60),
    ),
}


def schema_of(options: dict[str, Any], kind: pa.DataType, form: str) -> Schema:
    missing = {"values": ["", "-9"], "policy": "category"}
    if pa.types.is_date(kind) and form != "csv":
        missing["values"] = [""]
    column = {"name": "a", "kind": "categorical", "missing": missing} | options
    if form != "csv" and not pa.types.is_string(kind):
        column["type"] = str(kind)
    file = {"kind": form if form in ("csv", "parquet") else "arrow"}
    return schema_from_dict(ABOUT | {"file": file, "columns": [column]})


def stored(values: pa.Array, form: str, folder: Path) -> Any:
    """Store values as a file of a form, or return them as a table in memory."""
    table, path = pa.table({"a": values}), folder / f"records.{form}"
    if form == "csv":
        texts = values.cast(pa.string()).fill_null('""').to_pylist()
        path.write_text("\n".join(["a", *texts]) + "\n", "utf-8")
    elif form == "parquet":
        pq.write_table(table, path, row_group_size=3)
    elif form == "arrow":
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table, max_chunksize=3)
    else:
        return table.to_pandas(types_mapper=pd.ArrowDtype) if form == "pandas" else table
    return path


def protected(values: pa.Array, options: dict[str, Any], form: str, folder: Path) -> pd.DataFrame:
    schema = schema_of(options, values.type, form)
    folder.mkdir(exist_ok=True)
    plan, draws = deniable.make_plan(schema, 1.0), KeyedDraws(bytes(32), b"recodes")
    return deniable.randomize(stored(values, form, folder), plan, draws)


def refuse_difference(case: str, drawn: list[Any], form: str, folder: Path) -> None:
    before, after, values, by_hand = CASES[case]
    by_hand_type = pa.array([by_hand(values[0])]).type
    recoded = [None if each is None else by_hand(each) for each in drawn]
    pd.testing.assert_frame_equal(
        protected(pa.array(drawn, pa.array(values).type), before, form, folder / "before"),
        protected(pa.array(recoded, by_hand_type), after, form, folder / "after"),
    )


@pytest.mark.parametrize("form", ["csv", "parquet", "arrow", "pandas"])
@pytest.mark.parametrize("case", CASES)
def test_all_forms_are_read_as_a_copy_recoded_by_hand(case: str, form: str, tmp_path: Path) -> None:
    drawn = np.random.default_rng(1).choice([*range(len(CASES[case][2])), -1], 200)
    refuse_difference(case, [CASES[case][2][n] if n >= 0 else None for n in drawn], form, tmp_path)


@pytest.mark.parametrize("case", CASES)
def test_any_records_are_read_as_a_copy_recoded_by_hand(case: str, tmp_path: Path) -> None:
    values = st.sampled_from([*CASES[case][2], None])

    @settings(max_examples=25, deadline=None)
    @given(st.lists(values, min_size=1, max_size=30))
    def check(drawn: list[Any]) -> None:
        refuse_difference(case, drawn, "table", tmp_path)

    check()


def test_codes_of_missing_values_are_recognized_before_recoding(tmp_path: Path) -> None:
    options = {"kind": "numeric", "bounds": [0, 60], "step": 10}
    top = options | {"recode": {"top": {"at": 60}, "bottom": {"at": 0}}}
    for form in ("csv", "parquet"):
        schema = schema_of(top, pa.int64(), form)
        (tmp_path / form).mkdir()
        source = stored(pa.array([-9, -8, 70, None, 10]), form, tmp_path / form)
        file = RecordsFile.open(source, schema)
        codes = np.concatenate([each.codes["a"] for each in file.portions()])
        assert codes.tolist() == [7, 0, 6, 7, 1]
        assert file.outside["a"].proportion == 0  # recoded values are not moved


def test_numbers_with_a_decimal_comma_have_limits() -> None:
    column = {"name": "a", "kind": "numeric", "bounds": [0, 2], "step": 0.5, "decimal": ","}
    column["recode"] = {"top": {"at": 1.5}}
    schema = schema_from_dict(ABOUT | {"file": {"kind": "csv"}, "columns": [column]})
    file = RecordsFile.open(pa.table({"a": ["0,5", "1,5", "7,25"]}), schema)
    assert [each.codes["a"].tolist() for each in file.portions()] == [[1, 3, 3]]


@pytest.mark.parametrize(
    ("options", "values", "words"),
    [
        (
            {"groups": {"x": ["1"]}},
            ["1", "3"],
            "record 2, column 'a' has '3', which has no category in groups; correct it, or add it "
            "to groups or the missing values",
        ),
        (
            {"mapping": {"1": "x"}, "truncate": 1},
            ["12", "30"],
            "column 'a' has '30', which has no category in mapping; correct it, or add it to "
            "mapping or the missing values",
        ),
        (
            {"truncate": 1},
            ["x1", "z"],
            "column 'a' has 'z', which becomes no category by truncate: 1; correct it, or add it "
            "to the missing values, or its new value to the categories (now: 'x', 'y')",
        ),
        *(
            (
                {"truncate": "year"},
                [date],
                f"column 'a' has '{date}', which becomes no category by truncate: year; correct "
                "it, such as 2024-05-31",
            )
            for date in ("2024-02-30", "2024-2-1", "31.05.2024", "2024-05-31x", "20240531")
        ),
        (
            {"top": {"at": 85, "category": "x"}},
            ["90", "20"],
            "column 'a' has '20', which becomes no category by top or bottom",
        ),
    ],
)
def test_a_value_without_target_is_named_with_its_remedy(
    options: dict[str, Any], values: list[str], words: str
) -> None:
    column = {"name": "a", "kind": "categorical", "categories": ["x", "y"], "recode": options}
    schema = schema_from_dict(ABOUT | {"file": {"kind": "csv"}, "columns": [column]})
    with pytest.raises(DataError) as error:
        RecordsFile.open(pa.table({"a": values}), schema).check()
    assert words in str(error.value)
    assert len(str(error.value).splitlines()) == 1


CATEGORIES = {"kind": "categorical", "categories": ["x", "y"]}


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (CATEGORIES | {"recode": {}}, "recode: allowed: truncate, groups or mapping"),
        (
            CATEGORIES | {"recode": {"truncate": "week"}},
            "truncate: 'week'; allowed: year, quarter, month, or a whole number",
        ),
        (CATEGORIES | {"recode": {"truncate": 0}}, "or at least 1"),
        (
            CATEGORIES | {"recode": {"groups": {"x": ["1"]}, "mapping": {"2": "x"}}},
            "recode: allowed: truncate, groups or mapping",
        ),
        (
            CATEGORIES | {"recode": {"truncate": 1, "top": {"at": 1}}},
            "recode: allowed: truncate, groups or mapping",
        ),
        (
            CATEGORIES | {"recode": {"groups": {"x": [1]}}},
            "recode.groups.x[0]: 1; allowed: text, in quotes if it looks like a number",
        ),
        (CATEGORIES | {"recode": {"mapping": {1: "x"}}}, "recode.mapping.1: 1; allowed: text"),
        (
            CATEGORIES | {"recode": {"groups": {"x": ["1"], "y": ["1"]}}},
            "'1' is in groups twice; allowed: once",
        ),
        (
            CATEGORIES | {"recode": {"groups": {"z": ["1"]}}},
            "recode of 'a' leads to 'z'; allowed: to categories of the column",
        ),
        (
            CATEGORIES | {"recode": {"top": {"at": 1}, "bottom": {"at": 2}}},
            "top is not above bottom",
        ),
        (
            CATEGORIES | {"recode": {"mapping": {"1": "x"}}, "missing": {"values": ["1"]}},
            "'1' of 'a' is recoded and a missing value; allowed: one",
        ),
        (
            CATEGORIES | {"type": "int8", "recode": {"mapping": {"b": "x"}}},
            "'b' of 'a'; allowed: values of int8",
        ),
        (
            CATEGORIES | {"type": "int8", "recode": {"mapping": {"1": "x", "01": "x"}}},
            "two are the same int8",
        ),
        (
            CATEGORIES | {"type": "int8", "recode": {"truncate": "year"}},
            "truncate of 'a', which has int8; allowed: of dates or text",
        ),
        (
            CATEGORIES | {"type": "double", "recode": {"truncate": 2}},
            "truncate of 'a', which has double; allowed: of integers or text",
        ),
        (
            CATEGORIES | {"type": "bool", "recode": {"top": {"at": 1, "category": "x"}}},
            "top or bottom of 'a', which has bool; allowed: of numbers",
        ),
        (
            CATEGORIES
            | {"type": "int8", "categories": ["1", "x"]}
            | {"recode": {"top": {"at": 2.5, "category": "x"}}},
            "'2.5' of 'a'; allowed: values of int8",
        ),
        (
            {"kind": "numeric", "bounds": [0, 1], "recode": {"mapping": {"1": "x"}}},
            "recode of 'a', which is numeric; allowed: of categories, and top and bottom without",
        ),
        (
            {"kind": "weight", "recode": {"top": {"at": 1}}},
            "recode of 'a', which is weight; allowed: of categories",
        ),
    ],
)
def test_a_recode_that_cannot_be_is_one_error(column: dict[str, Any], words: str) -> None:
    columns = [{"name": "a"} | column]
    with pytest.raises(DataError) as error:
        schema_from_dict(ABOUT | {"file": {"kind": "parquet"}, "columns": columns})
    assert words in str(error.value)
    assert len(str(error.value).splitlines()) == 2


def test_a_release_has_the_new_values_and_its_plan_the_recode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"{10 + n % 2}{n:03},{n % 100}" for n in range(200)]
    Path("a.csv").write_text("\n".join(["code,age", *rows]) + "\n", "utf-8")
    columns = [
        {
            "name": "code",
            "kind": "categorical",
            "categories": ["north", "south"],
            "recode": {"truncate": 2, "mapping": {"10": "north", "11": "south"}},
        },
        {
            "name": "age",
            "kind": "numeric",
            "bounds": [0, 60],
            "step": 20,
            "recode": {"top": {"at": 60}},
        },
    ]
    schema = schema_from_dict(ABOUT | {"file": {"kind": "csv"}, "columns": columns})
    deniable.write_plan("plan.json", deniable.make_plan(schema, 6.0, responses="categories"))
    assert main(["protect", "a.csv", "plan.json", "--out", "r", "--test", "1"]) == 0
    found = pd.read_csv("r/test/protected.csv")
    assert set(found["code"]) == {"north", "south"}
    assert set(found["age"]) <= {0, 20, 40, 60}
    assert deniable.read_plan("r/test/plan.json").schema["code"].recode == schema["code"].recode
    table = deniable.Released("r/test").table(["code"])
    assert table["estimate"].between(0.3, 0.7).all()
    original = pd.read_csv("r/private/comparison.csv")
    north = original[(original["columns"] == "code") & (original["values"] == "north")]
    assert north["original"].iloc[0] == 0.5


def test_recodes_of_numbers_are_no_recodes_of_masked_ones(tmp_path: Path) -> None:
    column = {"name": "a", "kind": "numeric", "bounds": [0, 9], "recode": {"top": {"at": 5}}}
    schema = schema_from_dict(ABOUT | {"file": {"kind": "arrow"}, "columns": [column]})
    source = pa.table({"a": [str(n % 10) for n in range(500)]})
    plan = deniable.MaskedPlan.from_schema(schema, 1.0, columns=["a"])
    noisy = deniable.randomize(source, plan, KeyedDraws(bytes(32), b"noise"))
    mean = deniable.Released(noisy, plan).numbers("a").iloc[0]
    assert mean["ci_low"] < np.minimum(np.arange(10), 5).mean() < mean["ci_high"]
    assert noisy["a"].max() > 5
