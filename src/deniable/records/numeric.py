"""Numeric microdata: measurements and classes of records, in memory and on disk."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deniable.arrays import Counts, Floats
from deniable.errors import DataError, named_types
from deniable.records import arrow
from deniable.records.categorical import Microdata, encode, microdata_of
from deniable.records.domain import Attribute, refuse_foreign_codes

ClassCodes = npt.NDArray[np.int8]

TRAINING_SHARE = 0.66  # [idp], section 4.2
MAX_CLASSES = 127


@dataclass(frozen=True, eq=False)
class NumericMicrodata(arrow.ArrowRecords):
    """Records of finite numbers, and optionally the class of each record.

    The numeric attributes have `names`, and `values` of shape (records, attributes). Records can be
    classified by the attribute `class_name`, with names of `classes`. The `labels`, int8 of shape
    (records,), are codes 0 .. number of classes - 1. Without classes all three are empty. The
    `marks` are metadata that are stored with the file, such as its source. Raises `DataError` if
    shapes do not match, a name is empty or repeated, a value is not a finite number, or a label is
    not the code of a class.

    Examples
    --------
    >>> ages = NumericMicrodata(("age",), np.array([[17.0], [44]]), "sex", ("f", "m"), [1, 0])
    >>> ages.column("age"), ages.class_counts()
    (array([17., 44.]), array([1, 1]))
    """

    names: tuple[str, ...]
    values: Floats
    class_name: str = ""
    classes: tuple[str, ...] = ()
    labels: ClassCodes = field(default_factory=lambda: np.empty(0, dtype=np.int8))
    marks: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.names))
        object.__setattr__(self, "classes", tuple(self.classes))
        _refuse_bad_names(self)
        values, labels = _numbers(self.names, self.values), np.asarray(self.labels)
        expected = (len(values),) if self.classes else (0,)
        if labels.shape != expected:
            raise DataError(
                f"{len(values)} records and {len(self.classes)} classes, but labels of the shape "
                f"{labels.shape}; give labels of the shape {expected}"
            )
        if labels.size:
            refuse_foreign_codes(labels, len(self.classes), f"class {self.class_name!r}")
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "labels", labels.astype(np.int8))

    def __len__(self) -> int:
        return len(self.values)

    def position(self, name: str) -> int:
        """Return the position of the numeric attribute `name`, or raise `DataError`."""
        if name not in self.names:
            problem = f"there is no numeric attribute {name!r}; there are {', '.join(self.names)}"
            raise DataError(problem)
        return self.names.index(name)

    def column(self, name: str) -> Floats:
        """Return the values of the attribute `name`, shape (records,)."""
        return self.values[:, self.position(name)]

    def class_counts(self) -> Counts:
        """Return the number of records in each class, shape (classes,)."""
        return np.bincount(self.labels, minlength=len(self.classes))

    def select(self, names: Sequence[str]) -> "NumericMicrodata":
        """Return the records restricted to the attributes `names`, in this order, with classes."""
        columns = [self.position(name) for name in names]
        return replace(self, names=tuple(names), values=self.values[:, columns])

    def training_split(self) -> tuple["NumericMicrodata", "NumericMicrodata"]:
        """Return the first 66 % of the records, for training, and the others, for testing.

        The number of training records is rounded to the nearest integer (713 of Census, 3,233 of
        Wine; [idp], section 4.2). Raises `DataError` if either part would be empty.
        """
        first = round(TRAINING_SHARE * len(self))
        if not 0 < first < len(self):
            problem = f"{len(self)} records leave none for training or testing; give 2 or more"
            raise DataError(problem)
        return (
            replace(self, values=self.values[:first], labels=self.labels[:first]),
            replace(self, values=self.values[first:], labels=self.labels[first:]),
        )

    def to_arrow(self) -> pa.Table:
        """Return the records as an Arrow table of float columns, and the class as text."""
        columns: list[pa.Array] = [pa.array(column) for column in self.values.T]
        names = list(self.names)
        if self.classes:
            codes = pa.array(self.labels.astype(np.int32))
            columns.append(pa.DictionaryArray.from_arrays(codes, pa.array(self.classes)))
            names.append(self.class_name)
        about = {
            "attributes": list(self.names),
            "class": self.class_name,
            "classes": list(self.classes),
            "marks": dict(self.marks),
        }
        return pa.table(columns, names=names).replace_schema_metadata(
            {arrow.NUMERIC_KEY: json.dumps(about).encode()}
        )


def _refuse_bad_names(data: NumericMicrodata) -> None:
    if not data.names:
        raise DataError("no numeric attributes; give at least one")
    if bool(data.class_name) != bool(data.classes):
        raise DataError(
            f"the class attribute is {data.class_name!r} and its classes are {data.classes!r}; "
            "give both, or leave both empty"
        )
    if len(data.classes) > MAX_CLASSES:
        raise DataError(f"{len(data.classes)} classes; at most {MAX_CLASSES} are allowed")
    columns = (*data.names, *([data.class_name] if data.class_name else []))
    for kind, names in (("attribute", columns), ("class", data.classes)):
        for position, name in enumerate(names):
            if not isinstance(name, str) or not name:
                raise DataError(f"{kind} {position}: the name {name!r} is not text; give text")
            if name in names[:position]:
                raise DataError(f"the {kind} {name!r} is given twice; give each a name of its own")


def _numbers(names: tuple[str, ...], given: npt.ArrayLike) -> Floats:
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"the values are not all numbers ({error}); give numbers") from None
    if values.ndim != 2 or values.shape[1] != len(names):
        raise DataError(
            f"the values have the shape {values.shape}; give one row per record and a column for "
            f"each of the {len(names)} attributes"
        )
    if not (finite := np.isfinite(values)).all():
        record, attribute = np.argwhere(~finite)[0].tolist()
        raise DataError(
            f"record {record + 1}, column {names[attribute]!r} has the value "
            f"{values[record, attribute]}, which is not a finite number; give a number, or leave "
            "the record out"
        )
    return values


@named_types
def read_true_records(path: Path | str) -> Microdata | NumericMicrodata:
    """Read records from a Parquet file at `path` of `write_parquet`; its metadata state their kind.

    Raises `DataError` if the file is absent or not Parquet, or does not describe its attributes; if
    a column is absent; or if a value is not a finite number or an unknown category or class.
    """
    table, metadata = arrow.read_table(path)
    if arrow.NUMERIC_KEY not in metadata:
        return microdata_of(path, table, metadata)
    names, of_class, marks = arrow.parse_metadata(
        path, metadata[arrow.NUMERIC_KEY], _about, "numeric attributes"
    )
    columns = []
    for name in names:
        column = arrow.column_at(path, table, name)
        if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
            text = f"{path}: column {name!r} has {column.type}, not numbers; create the file again"
            raise DataError(text)
        # A null becomes NaN, which the checks of the records then report.
        columns.append(column.cast(pa.float64()).to_numpy())
    values = np.column_stack(columns) if columns else np.empty((table.num_rows, 0))
    given: dict[str, Any] = {}
    if of_class is not None:
        labels = encode(arrow.text_column(path, table, of_class.name), of_class, f"{path}")
        given = {"class_name": of_class.name, "classes": of_class.categories, "labels": labels}
    try:
        return NumericMicrodata(names, values, marks=marks, **given)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


def _about(about: Any) -> tuple[tuple[str, ...], Attribute | None, dict[str, str]]:
    names, name, classes = tuple(about["attributes"]), about["class"], tuple(about["classes"])
    if not all(isinstance(each, str) for each in (*names, name, *classes)):
        raise TypeError("a name is not text")
    return names, Attribute(name, classes) if name or classes else None, dict(about["marks"])
