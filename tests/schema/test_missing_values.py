"""Codes of missing values in typed columns: a -9 is not a number of anything."""

from typing import Any

import pyarrow as pa
import pytest

from deniable.errors import DataError
from deniable.schema import Column, Missing, RecordsFile, schema_from_dict

ABOUT = {"format": "deniable-schema", "version": 1, "population": "survey"}


def codes(values: pa.Array, column: Column) -> list[int]:
    file = {"kind": "parquet"}
    schema = schema_from_dict(ABOUT | {"file": file, "columns": [column.model_dump()]})
    (portion,) = RecordsFile.open(pa.table({"a": values}), schema).portions()
    return portion.codes["a"].tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("kind", [pa.int8(), pa.float32(), pa.decimal128(9, 2)])
@pytest.mark.parametrize("encoded", [False, True])
def test_a_code_is_no_number_in_a_typed_column(kind: pa.DataType, encoded: bool) -> None:
    values = pa.array([0, -9, 4, None, -8, 2], pa.int8()).cast(kind)
    values = values.dictionary_encode() if encoded else values
    missing = Missing(values=["-9", "-8", ""], policy="category")
    grid = Column(name="a", kind="numeric", bounds=[0, 4], step=2, type=str(kind), missing=missing)
    assert codes(values, grid) == [0, 3, 2, 3, 3, 1]
    assert codes(values, grid.model_copy(update={"missing": Missing(policy="category")})) == [
        *(0, 0, 2, 3, 0, 1)  # unless told, the nearest point
    ]


@pytest.mark.parametrize(
    ("kind", "values", "categories", "code"),
    [
        (pa.int8(), [1, -9, 2], ["1", "2"], "-9"),
        (pa.bool_(), [True, False, None], ["true"], "false"),
        (pa.date32(), [19000, 0, 19001], ["2022-01-08", "2022-01-09"], "1970-01-01"),
    ],
)
def test_a_code_is_no_category_in_a_typed_column(
    kind: pa.DataType, values: list[Any], categories: list[str], code: str
) -> None:
    own = Column(
        name="a",
        kind="categorical",
        categories=categories,
        type=str(kind),
        missing=Missing(values=[code], policy="category"),
    )
    last = len(categories)
    expected = [0, last, min(1, last)]
    assert codes(pa.array(values, kind), own) == expected


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("NA", "the missing value 'NA' of 'a'; allowed: values of int8"),
        ("300", "the missing value '300' of 'a'; allowed: values of int8"),
        ("01", "'1' of 'a' is a category and a missing value; allowed: one"),
    ],
)
def test_a_code_that_the_type_cannot_hold_is_refused(code: str, words: str) -> None:
    column = {"name": "a", "kind": "categorical", "categories": ["1"], "type": "int8"}
    columns = [column | {"missing": {"values": [code], "policy": "category"}}]
    with pytest.raises(DataError) as error:
        schema_from_dict(ABOUT | {"file": {"kind": "parquet"}, "columns": columns})
    assert words in str(error.value)
