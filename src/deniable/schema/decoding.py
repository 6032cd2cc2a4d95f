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
    attribute = reports or column.attribute()
    names = list(attribute.categories)
    missing = names.index(MISSING) if MISSING in names else -1
    if file.kind == "csv" and missing >= 0:
        names[missing] = next(iter(column.missing.values), "")
        missing = -1
    kept = [name for name in names if name != MISSING or file.kind == "csv"]
    texts = pa.array(names if missing < 0 else kept, pa.string())
    own = column.missing.policy == "category" and missing >= 0
    if own and missing != len(kept):
        raise DataError(f"{MISSING} of {column.name!r} is not the last of its reports")
    values = texts
    if column.type is not None:
        try:
            values = texts.cast(type_named(column.type))
        except pa.ArrowException:
            raise DataError(
                f"column {column.name!r}: reports such as {names[0]!r} are no {column.type}; give "
                "it bounds and a step, or categories, that are"
            ) from None
    numbers = np.ascontiguousarray(codes)
    indices = pa.array(numbers, mask=numbers == len(kept)) if own else pa.array(numbers)
    if column.type is None:
        return pa.DictionaryArray.from_arrays(indices, values)
    return pc.take(values, indices)
