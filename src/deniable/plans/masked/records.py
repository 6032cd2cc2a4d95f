"""The numeric records of a masked plan, and a check of its columns."""

from collections.abc import Sequence

import numpy as np

from deniable.errors import DeniableError
from deniable.records import NumericMicrodata
from deniable.schema import RecordBatch, Schema


def refuse_other_columns(schema: Schema, class_column: str | None) -> None:
    """Raise `DeniableError` if a `schema` has columns other than numbers and `class_column`."""
    if class_column is not None and schema[class_column].kind != "categorical":
        raise DeniableError(
            f"the class column {class_column!r} is {schema[class_column].kind}; name a categorical "
            "column"
        )
    if not any(each.continuous for each in schema.columns):
        raise DeniableError("no column to mask; name a numeric column")
    for column in schema.randomized:
        if not column.continuous and column.name != class_column:
            raise DeniableError(
                f"column {column.name!r} is neither a number without a step nor the class column; "
                "make the plan by MaskedPlan.from_schema, or leave the column out"
            )


def numeric_records(
    schema: Schema, batches: Sequence[RecordBatch], class_column: str | None = None
) -> NumericMicrodata:
    """Return the numbers in `batches` of a `schema`, and the classes in a `class_column`."""
    names = tuple(each.name for each in schema.columns if each.continuous)
    columns = [np.concatenate([each.numbers[name] for each in batches]) for name in names]
    values = np.stack(columns, axis=1)
    if class_column is None:
        return NumericMicrodata(names, values)
    labels = np.concatenate([each.codes[class_column] for each in batches])
    classes = schema[class_column].attribute().categories
    return NumericMicrodata(names, values, class_column, classes, labels)
