"""From codes back to values of a column's own type."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deniable.arrays import Codes
from deniable.errors import DataError
from deniable.records import Attribute
from deniable.schema.model import MISSING, Column, FileFormat
from deniable.schema.types import type_named


def decoded(
    column: Column, codes: Codes, file: FileFormat, reports: Attribute | None = None
) -> pa.Array:
    """Return the values that codes stand for.

    Parameters
    ----------
    column : Column
        A randomized one.
    codes : array of unsigned integers, shape (records,)
    file : FileFormat
        In CSV a missing value is the first of the column's missing values, elsewhere null.
    reports : Attribute, optional
        What codes are of, where a channel reports other categories than it is given: points beyond
        the ends of the grid, say. By default the column's own attribute.

    Returns
    -------
    pa.Array
        Of the column's type; text is dictionary-encoded, for a file has few different ones.

    Raises
    ------
    DataError
        If a category is no value of the column's type.

    Examples
    --------
    >>> age = Column(name="age", kind="numeric", bounds=[0, 4], step=2, type="int64")
    >>> decoded(age, np.array([0, 2], dtype=np.uint8), FileFormat(kind="arrow")).to_pylist()
    [0, 4]
    """
    names = list((reports or column.attribute()).categories)
    numbers = np.ascontiguousarray(codes)
    indices = pa.array(numbers)
    if MISSING in names:
        place = names.index(MISSING)
        if file.kind == "csv":
            names[place] = next(iter(column.missing.values), "")
        elif place < len(names) - 1:
            raise DataError(f"{MISSING} is not the last report of column {column.name!r}")
        else:
            indices = pa.array(numbers, mask=numbers == place)
            names.pop()
    texts = pa.array(names, pa.string())
    if column.type is None:
        return pa.DictionaryArray.from_arrays(indices, texts)
    try:
        return pc.take(texts.cast(type_named(column.type)), indices)
    except pa.ArrowException:
        raise DataError(
            f"column {column.name!r}: reports from {names[0]!r} to {names[-1]!r} are no "
            f"{column.type}; give it categories, or bounds and a step, that are"
        ) from None
