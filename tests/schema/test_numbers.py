"""Numeric columns without a step: read as numbers, and refused where a grid is needed."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import deniable
from deniable.errors import DataError, DeniableError
from deniable.schema import Column, RecordsFile, Schema, schema_from_dict

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
    assert file.outside == {"pH": 2}


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
    assert file.outside == {"pH": 0}


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
