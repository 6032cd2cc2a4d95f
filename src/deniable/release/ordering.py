"""Put protected records in the random order of a key by way of the disk, in bounded memory.

Leading bits of the first of two words divide the records into parts of about one batch each. Each
part is then sorted by itself. The order is the one of `deniable.sampling.KeyedDraws.order`.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from deniable.sampling import KeyedDraws, Words, by_words

BATCH = 1 << 18  # records
WORD_BITS = 64


def in_order_of_key(
    tables: Iterable[pa.Table], draws: KeyedDraws, records: int, scratch: Path
) -> Iterator[pa.Table]:
    """Yield the records of `tables` in the order of a key.

    Parameters
    ----------
    tables : iterable of pa.Table
        The protected records, in the order of the file. A dictionary-encoded column has the same
        dictionary in all tables.
    draws : KeyedDraws
        Draws under the key.
    records : int, at least 1
        Number of records of all tables.
    scratch : path
        An empty folder, which temporarily holds all records with their order.
    """
    bits, first = _bits(records), 0
    plain = _Plain()
    for table in tables:
        words = draws.order_words(range(first, first + len(table)))
        _put_by_part(plain.batch(table, words), words, bits, scratch)
        first += len(table)
    for path in sorted(scratch.iterdir()):
        batch = _read(path)
        path.unlink()
        yield plain.table(batch)


def _bits(records: int) -> int:
    """Return the number of leading bits that make parts of about one batch."""
    return max(0, (records - 1) // BATCH).bit_length()


class _Plain:
    """Tables with codes in place of dictionaries, so that files hold no dictionary."""

    def __init__(self) -> None:
        self._schema: pa.Schema | None = None
        self._dictionaries: dict[str, pa.Array] = {}

    def batch(self, table: pa.Table, words: Words) -> pa.RecordBatch:
        """Return the two `words` and the columns of a `table`, without dictionaries."""
        if self._schema is None:
            self._schema = table.schema
        arrays = [pa.array(np.ascontiguousarray(each)) for each in words.T]
        for name in table.column_names:
            array = _whole(table.column(name))
            if pa.types.is_dictionary(array.type):
                known = self._dictionaries.setdefault(name, array.dictionary)
                if known is not array.dictionary and not known.equals(array.dictionary):
                    raise ValueError(f"column {name!r} has another dictionary in a later table")
                array = array.indices
            arrays.append(array)
        places = [str(place) for place in range(len(arrays))]
        return pa.RecordBatch.from_arrays(arrays, names=places)

    def table(self, batch: pa.RecordBatch) -> pa.Table:
        """Return the table of a `batch`."""
        assert self._schema is not None
        arrays = list(batch.columns[2:])
        for place, name in enumerate(self._schema.names):
            if name in self._dictionaries:
                own = self._dictionaries[name]
                arrays[place] = pa.DictionaryArray.from_arrays(arrays[place], own)
        return pa.Table.from_arrays(arrays, names=self._schema.names)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _put_by_part(batch: pa.RecordBatch, words: Words, bits: int, scratch: Path) -> None:
    """Add a batch to the parts on the disk, each in the order of the file."""
    # In two steps: a shift by all bits of a number is not defined.
    part = (words[:, 0] >> np.uint64(WORD_BITS - 1 - bits)) >> np.uint64(1)
    part = part.astype(np.min_scalar_type(1 << bits))
    sizes = np.bincount(part, minlength=1 << bits)
    batch = batch.take(pa.array(np.argsort(part, kind="stable")))
    ends = np.cumsum(sizes)
    for number in np.flatnonzero(sizes).tolist():
        # Not held open: there may be more parts than a process may have files.
        with (scratch / f"{number:016x}").open("ab") as file:
            own = batch.slice(ends[number] - sizes[number], sizes[number])
            with pa.ipc.new_stream(file, batch.schema) as stream:
                stream.write_batch(own)


def _read(path: Path) -> pa.RecordBatch:
    """Return a part in the order of the key."""
    batches = []
    with pa.OSFile(str(path)) as file:
        while file.tell() < file.size():
            batches += pa.ipc.open_stream(file)
    table = pa.Table.from_batches(batches).combine_chunks()
    words = np.stack([table.column(place).to_numpy() for place in (0, 1)], axis=1)
    (batch,) = table.take(pa.array(by_words(words))).combine_chunks().to_batches()
    return batch
