"""Baskets in a text file: one basket per line, with items between delimiters.

Blanks around items, empty and repeated items have no effect. A blank line is an empty basket.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deniable.arrays import Positions
from deniable.errors import DataError, shown
from deniable.schema.column import Column, FileFormat
from deniable.schema.faults import ValidationErrors
from deniable.schema.formats.csv_text import BLOCK_BYTES, DELIMITERS, Utf8Stream, first_text
from deniable.schema.formats.sources import Batches, Names, Source, refuse_bad_names, rows_of
from deniable.schema.model import Schema


class TransactionsSource(Source):
    """The text file of baskets at `path`, with the items of a `schema`.

    Raises `DataError` if the file cannot be read, or a basket cannot name an item of the schema.
    """

    unit = "line"

    def __init__(self, path: Path, schema: Schema) -> None:
        self.where, self._path = str(path), path
        self.format = format_of(path, schema.file.delimiter or " ", schema.file.encoding or "utf-8")
        self._ignored = schema.file.unknown_items == "ignore"
        mark = str(self.format.delimiter)
        for each in schema.columns:
            if mark in each.name or each.name != each.name.strip():
                raise DataError(
                    f"{path}: no basket can name the item {shown(each.name)}, because {mark!r} "
                    "separates items, and blanks around items are removed; correct the schema"
                )
        self._values = {
            each.name: pa.array(each.categories or ["absent", "present"]) for each in schema.columns
        }
        self.types = dict.fromkeys(self._values, pa.dictionary(pa.int8(), pa.string()))

    def _read(self, wanted: Names, coded: Names, rows: int, faults: ValidationErrors) -> Batches:
        first, names = 0, pa.array(list(self.types), pa.string())
        for lines in _lines_of(self._path, self.format, rows_of(len(names), rows)):
            baskets, items = _items_of(lines, self.format)
            codes = pc.index_in(items, value_set=names).fill_null(-1).to_numpy()
            known = codes >= 0
            if not (self._ignored or known.all()):
                self._refuse(items.filter(pa.array(~known)), first + baskets[~known], faults)
            present = np.zeros((len(names), len(lines)), dtype=np.int8)
            present[codes[known], baskets[known]] = 1
            arrays = (
                pa.DictionaryArray.from_arrays(pa.array(column), values)
                for column, values in zip(present, self._values.values(), strict=True)
            )
            batch = pa.record_batch(dict(zip(self.types, arrays, strict=True)))
            yield self.where, batch.select(wanted)
            first += len(lines)

    def _refuse(self, items: pa.Array, lines: Positions, faults: ValidationErrors) -> None:
        coded = items.dictionary_encode()
        pairs = np.unique(np.stack([coded.indices.to_numpy(), lines]), axis=1)
        found, at, times = np.unique(pairs[0], return_index=True, return_counts=True)
        for item, place, number in zip(found, at, times, strict=True):
            what = (
                f"item {shown(coded.dictionary[int(item)].as_py())} is not in the schema; correct "
                "it, add it to the schema, or write unknown_items: ignore"
            )
            faults.add(self.where, int(pairs[1, place]), what, int(number))


def format_of(path: Path, delimiter: str | None, encoding: str | None) -> FileFormat:
    """Return the format of the file of baskets at `path`; raise `DataError` if it is unreadable.

    By default the `encoding` is detected, and the `delimiter` is the first of , ; tab | or a blank.
    """
    _, encoding, sample = first_text(path, encoding)
    mark = delimiter or next((each for each in DELIMITERS if each in sample), " ")
    return FileFormat(kind="transactions", delimiter=mark, encoding=encoding)


def open_transactions(
    path: Path | str, delimiter: str | None, encoding: str | None
) -> TransactionsSource:
    """Open the file at `path` with all its items; for `delimiter`, `encoding` see `format_of`."""
    form, found = format_of(Path(path), delimiter, encoding), set[str]()
    for lines in _lines_of(Path(path), form, rows_of(1)):
        found.update(_items_of(lines, form)[1].unique().to_pylist())
    refuse_bad_names(str(path), sorted(found))
    if not found:
        raise DataError(f"{path}: no basket has an item; give a file with one basket per line")
    columns = [Column(name=name, kind="left_out") for name in sorted(found)]
    return TransactionsSource(Path(path), Schema(file=form, columns=columns))


def _lines_of(path: Path, form: FileFormat, most: int) -> Iterator[list[bytes]]:
    rest = b""
    with Utf8Stream(path, str(form.encoding)) as text:
        while block := text.read():
            *lines, rest = (rest + block).split(b"\n")
            for start in range(0, len(lines), most):
                yield lines[start : start + most]
            if len(rest) > BLOCK_BYTES:
                raise DataError(
                    f"{path}: line {text.lines + 1:,} has over {BLOCK_BYTES:,} bytes; write each "
                    "basket on a line of its own"
                )
    if rest:
        yield [rest]


def _items_of(lines: list[bytes], form: FileFormat) -> tuple[Positions, pa.Array]:
    """Return all items of `lines`, and the line of each, from 0."""
    split = pc.split_pattern(pa.array(lines, pa.binary()).cast(pa.string()), str(form.delimiter))
    items = pc.utf8_trim_whitespace(split.flatten())
    there = pc.not_equal(items, "")
    return np.asarray(pc.list_parent_indices(split).filter(there)), items.filter(there)
