"""A CSV file in the form of another: its delimiter, encoding, mark and line ends.

Values stand in quotation marks where a reader needs them, as Python's `csv` has it by default: with
a delimiter, a quotation mark or a line break, and what is empty in a file of one column, whose line
would be none. Quoted are the few texts of a column's categories, not the records'.
"""

import codecs
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deniable.errors import DataError, shown
from deniable.schema import CsvForm, FileFormat

ROWS = 1 << 15  # joined to text at a time
TEXT = pa.large_string()


class CsvFile:
    """A CSV file that is written, with a header.

    Parameters
    ----------
    path : path
    file : FileFormat
        By default with commas, in UTF-8.
    names : sequence of str
        Of the columns.
    form : CsvForm
    """

    def __init__(self, path: Path, file: FileFormat, names: Sequence[str], form: CsvForm) -> None:
        delimiter, last = file.delimiter or ",", len(names) - 1
        self._ends = [form.line_end if i == last else delimiter for i in range(len(names))]
        unsafe = rf'["\r\n\x{ord(delimiter):02x}]'
        self._unsafe = unsafe if last else f"^$|{unsafe}"
        self._encoding = codecs.lookup(file.encoding or "utf-8").name
        self._encoder = codecs.getincrementalencoder(self._encoding)()
        self._stream = path.open("wb")
        if form.marked:
            self._stream.write(codecs.BOM_UTF8)
        self.write([pa.array([name]) for name in names])

    def write(self, arrays: Sequence[pa.Array]) -> None:
        """Write the next records, `arrays` of text or dictionaries of it, one a column.

        A missing value is empty.
        """
        columns = [self._cells(each, end) for each, end in zip(arrays, self._ends, strict=True)]
        for start in range(0, len(arrays[0]), ROWS):
            parts = [
                each.slice(start, ROWS) if codes is None else each.take(codes.slice(start, ROWS))
                for each, codes in columns
            ]
            rows = _joined(*parts)
            _, ends, text = rows.buffers()
            made = text.slice(0, int(np.frombuffer(ends, dtype=np.int64)[len(rows)]))
            if self._encoding != "utf-8":
                made = self._encoded(str(made, "utf-8"))
            self._stream.write(made)

    def _cells(self, array: pa.Array, end: str) -> tuple[pa.Array, pa.Array | None]:
        """Return what stands in the file, with its `end`: of records, or by their codes."""
        codes = None
        if pa.types.is_dictionary(array.type) and not array.null_count:
            array, codes = array.dictionary, array.indices
        text = array.cast(TEXT).fill_null("")
        unsafe = pc.match_substring_regex(text, self._unsafe)
        if pc.any(unsafe).as_py():
            quoted = _joined(_scalar('"'), pc.replace_substring(text, '"', '""'), _scalar('"'))
            text = pc.if_else(unsafe, quoted, text)
        return _joined(text, _scalar(end)), codes

    def _encoded(self, text: str) -> bytes:
        try:
            return self._encoder.encode(text)
        except UnicodeEncodeError as error:
            has = shown(text[error.start])
            raise DataError(
                f"an identifier has {has}, which the encoding {self._encoding} of the schema has "
                "not; declare another encoding, or leave the identifiers out"
            ) from None

    def close(self) -> None:
        """End the file."""
        self._stream.close()


def _scalar(text: str) -> pa.Scalar:
    return pa.scalar(text, TEXT)


def _joined(*parts: pa.Array | pa.Scalar) -> pa.Array:
    return pc.binary_join_element_wise(*parts, _scalar(""))
