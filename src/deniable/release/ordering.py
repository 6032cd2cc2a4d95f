"""Put protected records in the random order of a key, on the disk and in bounded memory.

Leading bits of random words divide the records into parts of about one batch, each sorted alone.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from deniable.sampling import KeyedDraws, Words, by_words
from deniable.schema import rows_of

BATCH = 1 << 18  # records
WORD_BITS = 64


def in_order_of_key(
    tables: Iterable[pa.Table], draws: KeyedDraws, records: int, scratch: Path
) -> Iterator[pa.Table]:
    """Yield the protected records of `tables` in the order of the key of `draws`.

    `records` is their number. The empty folder `scratch` temporarily contains all of them.
    """
    first = 0
    names: list[str] = []
    dictionaries: dict[str, pa.Array] = {}  # not in the files: a file has many streams
    for table in tables:
        names = table.column_names
        words = draws.order_words(range(first, first + len(table)))
        columns = [pa.array(np.ascontiguousarray(each)) for each in words.T]
        for name in names:
            column = table[name].combine_chunks()
            if pa.types.is_dictionary(column.type):
                if not dictionaries.setdefault(name, column.dictionary).equals(column.dictionary):
                    raise ValueError(f"column {name!r} has another dictionary in a later table")
                column = column.indices
            columns.append(column)
        placed = pa.table(columns, names=[str(place) for place in range(len(columns))])
        parts = (records - 1) // rows_of(len(names), BATCH)
        _put_by_part(placed, words, max(0, parts).bit_length(), scratch)
        first += len(table)
    for path in sorted(scratch.iterdir()):
        table = _read(path).rename_columns(names)
        path.unlink()
        for name, dictionary in dictionaries.items():
            coded = pa.DictionaryArray.from_arrays(table[name].combine_chunks(), dictionary)
            table = table.set_column(names.index(name), name, coded)
        yield table


def _put_by_part(table: pa.Table, words: Words, bits: int, scratch: Path) -> None:
    # In two steps, because a shift by all bits of a number is undefined.
    part = (words[:, 0] >> np.uint64(WORD_BITS - 1 - bits)) >> np.uint64(1)
    part = part.astype(np.min_scalar_type(1 << bits))
    sizes = np.bincount(part, minlength=1 << bits)
    table = table.take(pa.array(np.argsort(part, kind="stable")))
    ends = np.cumsum(sizes)
    for number in np.flatnonzero(sizes).tolist():
        # Not kept open, because there may be more parts than a process can open files.
        with (scratch / f"{number:016x}").open("ab") as file:
            own = table.slice(ends[number] - sizes[number], sizes[number])
            with pa.ipc.new_stream(file, table.schema) as stream:
                stream.write_table(own)


def _read(path: Path) -> pa.Table:
    """Return a part in the order of the key, without its words."""
    batches = []
    with pa.OSFile(str(path)) as file:
        while file.tell() < file.size():
            batches += pa.ipc.open_stream(file)
    table = pa.Table.from_batches(batches).combine_chunks()
    words = np.stack([table.column(place).to_numpy() for place in (0, 1)], axis=1)
    return table.select(range(2, table.num_columns)).take(pa.array(by_words(words)))
