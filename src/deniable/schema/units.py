"""Units with several records, such as households, in a column of a file."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deniable.arrays import Codes
from deniable.errors import DataError, shown
from deniable.schema.column import Column
from deniable.schema.faults import ValidationErrors
from deniable.schema.formats import Piece
from deniable.schema.types import is_text


def codes_of_units(values: Sequence[pa.Array]) -> Codes:
    """Return the number of the unit of each record, from batches of `values` of a unit's column."""
    texts = pa.concat_arrays([each.cast(pa.large_string()) for each in values])
    return np.asarray(texts.dictionary_encode().indices)


def refuse_excess(column: Column, values: Sequence[pa.Array], where: str) -> None:
    """Raise `DataError` if a unit has more records than its `column` allows.

    The `values` are batches of the column, in the file `where`.
    """
    texts = pa.concat_arrays([each.cast(pa.large_string()) for each in values])
    found, most = pc.value_counts(texts), column.records_per_unit or 1
    sizes = np.asarray(found.field("counts"))
    if sizes.max() > most:
        name = shown(found.field("values")[int(sizes.argmax())].as_py())
        raise DataError(
            f"{where}: column {shown(column.name)}: the unit {name} has {sizes.max():,} records, "
            f"over records_per_unit {most:,} ({(sizes > most).sum():,} units have more); state a "
            "larger number that is known without the records, or excess: limit"
        )


def refuse_bad_units(
    column: Column, values: pa.Array, piece: Piece, faults: ValidationErrors
) -> None:
    """Add `values` of a unit's `column`, in a `piece` of a file, that name no unit to `faults`."""
    about, kind = f"column {shown(column.name)}", values.type
    if not (is_text(kind) or pa.types.is_integer(kind)):
        what = f"{about} has {kind}, which does not name units; give text or integers"
        faults.add(piece.where, piece.first, what, len(values))
        return
    texts = values.cast(pa.string()).fill_null("")
    if (empty := np.flatnonzero(np.asarray(pc.equal(texts, "")))).size:
        what = f"{about} has no value; every record needs a unit"
        faults.add(piece.where, piece.first + int(empty[0]), what, empty.size)
