"""Numeric columns without a step: read as numbers, and refused where a grid is needed."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

import deniable
from deniable.errors import BoundsWarning, DataError, DeniableError
from deniable.schema import Column, OutsideBounds, RecordsFile, Schema, schema_from_dict
from deniable.schema.coding import Coder
from deniable.schema.faults import ValidationErrors

ACIDITY = {"name": "pH", "kind": "numeric", "bounds": [2, 5]}
QUALITY = {"name": "quality", "kind": "categorical", "categories": ["low", "high"]}


def schema_of(*columns: dict[str, Any], kind: str = "arrow", **more: Any) -> Schema:
    file = {"kind": kind} | more
    about = {"format": "deniable-schema", "version": 1, "population": "wines", "file": file}
    return schema_from_dict(about | {"columns": list(columns)})


def read(source: Any, schema: Schema) -> tuple[list[float], RecordsFile]:
    file = RecordsFile.open(source, schema)
    batches = list(file.portions())
    return np.concatenate([each.numbers["pH"] for each in batches]).tolist(), file


@pytest.mark.parametrize(
    "values",
    [
        pa.array([3.25, 1.0, 6.5, 3.25]),
        pa.array([3.25, 1.0, 6.5, 3.25], pa.float32()),
        pa.array([3.25, 1.0, 6.5, 3.25]).dictionary_encode(),
    ],
)
def test_numbers_are_read_as_they_are_and_values_outside_bounds_are_counted(values: Any) -> None:
    named = "float" if values.type == pa.float32() else "double"
    numbers, file = read(pa.table({"pH": values}), schema_of(ACIDITY | {"type": named}))
    assert numbers == [3.25, 1.0, 6.5, 3.25]
    assert file.outside == {"pH": OutsideBounds("pH", 2, 5, below=1, above=1, values=4)}


@pytest.mark.parametrize(("decimal", "texts"), [(".", "3.25\n+1e0\n"), (",", "3,25\n1\n")])
def test_numbers_in_text(tmp_path: Path, decimal: str, texts: str) -> None:
    path = tmp_path / "wine.csv"
    path.write_text(f"pH\n{texts}")
    csv = schema_of(ACIDITY | {"decimal": decimal}, kind="csv", delimiter=";", encoding="utf-8")
    assert read(path, csv)[0] == [3.25, 1.0]


def test_batches_have_numbers_and_codes_of_the_same_records() -> None:
    table = pa.table({"pH": [2.5, None, 3.5, 4.5], "quality": ["low", "low", "high", "high"]})
    column = ACIDITY | {"type": "double", "missing": {"policy": "drop"}}
    file = RecordsFile.open(table, schema_of(column, QUALITY))
    batches = list(file.portions(rows=2))
    assert [len(each) for each in batches] == [1, 2]
    assert [each.first for each in batches] == [0, 1]
    assert batches[1].numbers["pH"].tolist() == [3.5, 4.5]
    assert batches[1].codes["quality"].tolist() == [1, 1]
    assert file.left_out == 1


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([2.5, None], "record 2, column 'pH' has a missing value; give a value, .* policy drop"),
        ([float("inf"), 2.5], "record 1, column 'pH' has 'inf', which is not a number"),
        ([2.5, float("nan")], "record 2, column 'pH' has a missing value"),
    ],
)
def test_values_that_are_not_numbers_are_refused(values: list[float], words: str) -> None:
    with pytest.raises(DataError, match=words):
        read(pa.table({"pH": values}), schema_of(ACIDITY | {"type": "double"}))


def test_a_declared_value_is_missing() -> None:
    column = ACIDITY | {"type": "double", "missing": {"values": ["-9"], "policy": "drop"}}
    numbers, file = read(pa.table({"pH": [-9.0, 2.5]}), schema_of(column))
    assert numbers == [2.5]
    assert file.outside == {"pH": OutsideBounds("pH", 2, 5, values=1)}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"bounds": None}, "'pH'; allowed for numeric: bounds, bounds and step, or edges"),
        ({"bounds": [5, 2]}, "finite, the lower one first"),
        ({"missing": {"policy": "category"}}, "allowed without a step: drop or refuse"),
        ({"type": "string"}, "type"),
        ({"kind": "weight"}, "allowed for weight: none"),
    ],
)
def test_columns_without_a_step_that_are_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError, match=words):
        schema_of(ACIDITY | change)


def test_plans_through_channels_refuse_numbers_without_a_step() -> None:
    with pytest.raises(DeniableError, match=r"'pH' has bounds without a step.*kind masked"):
        deniable.make_plan(schema_of(ACIDITY), 1.0)
    with pytest.raises(DataError, match="'pH' has bounds without a step"):
        schema_of(ACIDITY, QUALITY).domain()


def test_a_schema_for_masking_has_numbers_without_steps_and_leaves_others_out() -> None:
    stepped = {"name": "age", "kind": "numeric", "bounds": [0, 90], "step": 1, "type": "int64"}
    whole = schema_of(ACIDITY, stepped, QUALITY)
    schema = whole.for_masking(["age"], ["quality"])
    assert [each.kind for each in schema.columns] == ["left_out", "numeric", "categorical"]
    assert schema["age"].continuous
    assert schema_from_dict(schema.to_json()) == schema
    frame = pd.DataFrame({"pH": [3.0], "age": [31], "quality": ["low"]})
    (batch,) = RecordsFile.open(frame, schema).portions()
    assert batch.numbers["age"].tolist() == [31.0]
    assert list(batch.codes) == ["quality"]
    with pytest.raises(DataError, match="'quality' is categorical; numeric columns are masked"):
        whole.for_masking(["quality"])
    assert isinstance(schema["pH"], Column)
    own = schema_of(stepped | {"missing": {"policy": "category"}})
    with pytest.raises(DataError, match="missing values of 'age' are a category"):
        own.for_masking(["age"])


# -- values outside the bounds of a grid -----------------------------------------------------------

AGE = {"name": "age", "kind": "numeric", "bounds": [0, 90], "step": 10}
AGES = [-1, 0, 17, 50, 90, 91, 999, None]


def outside(source: Any, schema: Schema, rows: int) -> OutsideBounds:
    file = RecordsFile.open(source, schema)
    for _ in range(2):  # each pass counts anew
        assert list(file.portions(rows))
    return file.outside["age"]


@pytest.mark.parametrize("form", ["csv", "parquet", "arrow", "dictionary", "pandas"])
@pytest.mark.parametrize("policy", ["category", "drop"])
@pytest.mark.parametrize(("missing", "counts"), [([""], (1, 2, 7)), (["", "999"], (1, 1, 6))])
def test_values_outside_the_bounds_are_counted(
    tmp_path: Path, form: str, policy: str, missing: list[str], counts: tuple[int, int, int]
) -> None:
    table = pa.table({"age": pa.array(AGES, pa.int64())})
    source, kind = tmp_path / f"ages.{form}", form if form in ("csv", "parquet") else "arrow"
    column = AGE | {"missing": {"values": missing, "policy": policy}}
    column |= {} if kind == "csv" else {"type": "int64"}
    if form == "csv":
        source.write_text("age\n" + "".join(f'"{"" if a is None else a}"\n' for a in AGES))
    elif form == "parquet":
        pq.write_table(table, source, row_group_size=3)
    found: Any = {
        "arrow": table,
        "dictionary": pa.table({"age": table["age"].dictionary_encode()}),
        "pandas": table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get),
    }.get(form, source)
    for rows in (1 << 16, 3):
        expected = OutsideBounds("age", 0, 90, *counts)
        assert outside(found, schema_of(column, kind=kind), rows) == expected


def test_dropped_records_do_not_count() -> None:
    dropped = QUALITY | {"missing": {"policy": "drop"}}
    table = pa.table({"age": [-1, 95, 96, 5], "quality": ["low", None, "low", None]})
    found = outside(table, schema_of(AGE | {"type": "int64"}, dropped), 3)
    assert (found.below, found.above, found.values, found.proportion) == (1, 1, 2, 1)


def test_a_value_that_equals_a_bound_in_the_type_of_the_file_is_inside() -> None:
    column = AGE | {"bounds": [0.1, 0.7], "step": 0.1, "type": "float"}
    table = pa.table({"age": pa.array([0.1, 0.7, 0.70001], pa.float32())})
    assert outside(table, schema_of(column), 3) == OutsideBounds("age", 0.1, 0.7, 0, 1, 3)
    # As a float of 32 bits, 0.1 is larger than as one of 64 bits.
    column |= {"bounds": [-0.1, 0.1]}
    table = pa.table({"age": pa.array([-0.1, 0.1, -0.100001, 0.100001], pa.float32())})
    assert outside(table, schema_of(column), 3) == OutsideBounds("age", -0.1, 0.1, 1, 1, 4)


@pytest.mark.parametrize("grid", [{"edges": [0, 0.35, 0.7, 1]}, {"bounds": [0, 2.1], "step": 0.3}])
def test_a_value_that_equals_a_boundary_in_the_type_of_the_file_counts_above(grid: Any) -> None:
    column = {"name": "age", "kind": "numeric", "type": "float"} | grid
    boundaries = schema_of(column)["age"].boundaries.astype("f4")
    coder, faults = Coder(schema_of(column)["age"], pa.float32()), ValidationErrors()
    for numbers, first in ((boundaries, 1), (np.nextafter(boundaries, np.float32(0)), 0)):
        codes, _, _ = coder.read(pa.array(numbers), faults, "", 0)
        assert codes.tolist() == [*range(first, first + len(boundaries))]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-200, 200), min_size=1, max_size=40), st.integers(1, 9))
def test_counts_are_those_of_the_numbers(numbers: list[float], rows: int) -> None:
    below, above = (sum(each) for each in zip(*((n < 0, n > 90) for n in numbers), strict=True))
    found = outside(pa.table({"age": numbers}), schema_of(AGE | {"type": "double"}), rows)
    assert found == OutsideBounds("age", 0, 90, below, above, len(numbers))


def test_randomizing_in_memory_warns() -> None:
    plan = deniable.make_plan(schema_of(AGE | {"type": "int64"}), 1.0)
    words = r"'age': 2 of 100 values \(2 %\) lie outside the bounds 0 to 90 and are moved"
    with pytest.warns(BoundsWarning, match=words):
        deniable.randomize(pa.table({"age": [5] * 98 + [-1, 999]}), plan)
