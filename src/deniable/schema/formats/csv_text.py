"""CSV files: detection of delimiter and encoding, and records in bounded batches."""

import codecs
import csv
import io
import re
import time
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv as arrow_csv

from deniable.errors import DataError, disk_errors, shown
from deniable.schema.faults import ValidationErrors

BLOCK_BYTES = 1 << 21  # of a file, read at once, up to 12 blocks ahead; no record may be longer
LONGEST_WAIT, LET_GO = 10.0, 5e-3  # seconds
SAMPLE_BYTES = 1 << 16
DELIMITERS = ",;\t|"
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""Byte order marks and their encodings; the mark of UTF-16 is the beginning of UTF-32's."""
PACKED = (
    (b"\x1f\x8b", "gzip"),
    (b"PK\x03\x04", "ZIP or a spreadsheet"),
    (b"\xd0\xcf\x11", "XLS"),
    (b"$FL2", "SPSS"),
    (b"$FL3", "SPSS"),
    (b"<stata_dta>", "Stata"),
    (b"SQLite format 3\0", "SQLite"),
    (b"FEA1", "Feather of version 1"),
)


@dataclass(frozen=True)
class CsvForm:
    """The form of a CSV file that does not depend on its records.

    It has the `line_end`, and `marked` if UTF-8 text begins with a mark, as from spreadsheets.
    """

    line_end: str = "\n"
    marked: bool = False


@dataclass(frozen=True)
class CsvText:
    """A CSV file at `path` with columns called `names`, and its `form`.

    The `delimiter` is one ASCII character, and the `encoding` is a name that Python accepts.
    Without a `header` the first line is a record.
    """

    path: Path
    delimiter: str
    encoding: str
    names: tuple[str, ...]
    form: CsvForm
    header: bool = True

    @classmethod
    def open(
        cls, path: Path, delimiter: str | None = None, encoding: str | None = None
    ) -> "CsvText":
        """Open the file at `path`; a `delimiter` or `encoding` of None is detected.

        Raises `DataError` if it cannot be read, is not text in this encoding or has no header.
        """
        if delimiter is not None and (
            len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0'
        ):
            raise DataError(f"{path}: the delimiter is {delimiter!r}; give one ASCII character")
        start, encoding, sample = first_text(path, encoding)
        if not sample.strip():
            raise DataError(f"{path}: no text in the file; give one with a header and records")
        first = re.split(r"[\r\n]", sample, maxsplit=1)[0]
        if not first.strip():
            raise DataError(f"{path}: line 1 is empty; begin the file with the names of columns")
        if delimiter is None:
            delimiter = _found_delimiter(sample)
        try:
            names = next(csv.reader([first], delimiter=delimiter, strict=True))
        except csv.Error as error:
            problem = (
                f"{path}: line 1 is not a header ({error}); write the names of columns on one line"
            )
            raise DataError(problem) from None
        other = [each for each in DELIMITERS if each in first and each != delimiter]
        if len(names) == 1 and other:
            raise DataError(
                f"{path}: one column, {shown(first)}, with the delimiter {delimiter!r}; give the "
                f"delimiter of the file, likely {other[0]!r}"
            )
        marked = start.startswith(codecs.BOM_UTF8) and codecs.lookup(encoding).name == "utf-8"
        rest = sample[len(first) :]
        end = next((each for each in ("\r\n", "\n", "\r") if rest.startswith(each)), "\n")
        return cls(path, delimiter, encoding, tuple(names), CsvForm(end, marked))

    def batches(
        self, coded: Sequence[str], plain: Sequence[str], faults: ValidationErrors
    ) -> Iterator[Any]:
        """Yield record batches of the columns `coded`, dictionary-encoded, and `plain`.

        Errors of rows with another length than the header are added to `faults`. Raises `DataError`
        for an open quotation mark. A blank line is a record only if there is one column.
        """
        where, width, head = str(self.path), len(self.names), int(self.header)

        def note(row: Any) -> str:
            has = "value" if row.actual_columns == 1 else "values"
            what = f"has {row.actual_columns} {has} instead of {width}; correct that row"
            faults.add_row(where, row.number - head, f"({shown(row.text)}) {what}")
            return "skip"

        types = dict.fromkeys(coded, pa.dictionary(pa.int32(), pa.string()))
        rows, text, reader = head, Utf8Stream(self.path, self.encoding), None
        handle = _Handle(text)
        gone, source = weakref.ref(handle), pa.PythonFile(handle, mode="r")
        del handle
        try:
            reader = arrow_csv.open_csv(
                source,
                # Without threads, rows of another length have their number.
                read_options=arrow_csv.ReadOptions(
                    block_size=BLOCK_BYTES,
                    column_names=self.names,
                    skip_rows=head,
                    use_threads=False,
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self.delimiter,
                    newlines_in_values=True,
                    ignore_empty_lines=width > 1,
                    invalid_row_handler=note,
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=types | dict.fromkeys(plain, pa.string()),
                    include_columns=[name for name in self.names if name in {*coded, *plain}],
                    check_utf8=False,  # `Utf8Stream` returns only UTF-8
                    strings_can_be_null=False,
                ),
            )
            for batch in reader:
                rows += batch.num_rows
                yield batch
        except pa.ArrowInvalid as error:
            if text.lines > head or not str(error).startswith("Could not skip"):
                raise DataError(f"{where}: {_reason(error)}") from None
        finally:
            text.close()
            if reader is not None:
                reader.close()
            reader = source = None
            _await(gone)
        # More lines than rows: a value has a line break, or an open mark includes records.
        if text.quotes % 2 or (text.quotes and text.lines > rows):
            self._refuse_open_quotation()

    def _refuse_open_quotation(self) -> None:
        with self.path.open(encoding=_reading(self.encoding), newline="") as stream:
            reader = csv.reader(stream, delimiter=self.delimiter, strict=True)
            line = 1
            try:
                for _ in reader:
                    line = reader.line_num + 1
            except csv.Error as error:
                raise DataError(
                    f"{self.path}: line {line:,}: a quotation mark is left open, or is inside a "
                    f"quoted value ({error}); close it, or write it twice"
                ) from None


class _Handle:
    closed = False

    def __init__(self, text: "Utf8Stream") -> None:
        self.read = text.read

    def close(self) -> None:
        """Leave the text open for its owner."""


def _await(gone: "weakref.ref[_Handle]") -> None:
    """Wait for threads that read ahead; a process that ends before them hangs or aborts."""
    until = time.monotonic() + LONGEST_WAIT
    time.sleep(LET_GO)  # a thread releases its last bytes later than the handle
    while gone() is not None and time.monotonic() < until:
        time.sleep(1e-4)


class Utf8Stream(io.RawIOBase):
    """The text of the file at `path` in an `encoding` as UTF-8, with counts of lines and quotes."""

    def __init__(self, path: Path, encoding: str) -> None:
        super().__init__()
        self._path, self._encoding = path, encoding
        self._file = path.open("rb")
        self._decoder = codecs.getincrementaldecoder(_reading(encoding))()
        self._ready, self.lines, self.quotes = b"", 0, 0
        self._ended = True  # whether the last read byte ends a line

    def close(self) -> None:
        self._file.close()
        super().close()

    def read(self, size: int = -1) -> bytes:
        """Return at most `size` bytes of a block, by default all; empty at the end."""
        while not self._ready:
            raw = self._file.read(BLOCK_BYTES)
            try:
                self._ready = self._decoder.decode(raw, final=not raw).encode("utf-8")
            except UnicodeError as error:
                raise DataError(
                    f"{self._path}: after line {self.lines + 1 + _breaks(raw, error):,}: not text "
                    f"in the encoding {self._encoding}; give the encoding of the file, or convert "
                    "the file to UTF-8"
                ) from None
            self._count(self._ready)
            if not raw:
                break
        size = len(self._ready) if size < 0 else size
        given, self._ready = self._ready[:size], self._ready[size:]
        return given

    def _count(self, text: bytes) -> None:
        if b"\0" in text:
            line = self.lines + 1 + text[: text.index(b"\0")].count(b"\n")
            raise DataError(
                f"{self._path}: line {line:,} has the character NUL; remove it, or give the "
                "encoding of the file"
            )
        self.quotes += text.count(b'"')
        self.lines += text.count(b"\n")
        if text:
            self._ended = text.endswith(b"\n")
        elif not self._ended:
            self.lines, self._ended = self.lines + 1, True


def _breaks(raw: bytes, error: UnicodeError) -> int:
    return raw[: getattr(error, "start", 0)].count(b"\n")


def _reading(encoding: str) -> str:
    # A mark at the beginning is not a part of the first name.
    return "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding


def first_text(path: Path, encoding: str | None) -> tuple[bytes, str, str]:
    """Return the first bytes of the file at `path`, its encoding, and their text.

    An `encoding` of None is detected. Raises `DataError` if the file cannot be read or is not text.
    """
    with disk_errors(path), path.open("rb") as stream:
        start = stream.read(SAMPLE_BYTES)
    for magic, what in PACKED:
        if start.startswith(magic):
            raise DataError(f"{path}: this is {what}, not CSV; unpack it, or save it as CSV")
    encoding = _found_encoding(path, start) if encoding is None else encoding
    try:
        # Raises an error for names of other codecs, and names with characters that Python ignores.
        b"a".decode(encoding if encoding.isprintable() else "", "replace")
        return start, encoding, codecs.getincrementaldecoder(_reading(encoding))().decode(start)
    except (LookupError, ValueError) as error:
        if isinstance(error, UnicodeError):
            problem = f"line {1 + _breaks(start, error)} is not text in the encoding {encoding}"
        else:
            problem = f"the encoding {encoding!r} is unknown to Python"
        raise DataError(
            f"{path}: {problem}; give the encoding of the file, such as cp1252, or convert the "
            "file to UTF-8"
        ) from None


def _found_encoding(path: Path, start: bytes) -> str:
    """Return the encoding of the mark, UTF-16 for many zero bytes, or the first that decodes all.

    The last case tries UTF-8, Windows' and Latin 1 on the whole file, in this order.
    """
    for mark, name in MARKS:
        if start.startswith(mark):
            return name
    zeros = [start[each::2].count(0) for each in (0, 1)]
    if max(zeros) > len(start) / 8 and min(zeros) < max(zeros) / 8:
        # In UTF-16, every other byte of mostly ASCII text is zero. Zeros everywhere are not text.
        return "utf-16-le" if zeros[1] > zeros[0] else "utf-16-be"
    return next((name for name in ("utf-8", "cp1252") if _decodes(path, name)), "latin-1")


def _decodes(path: Path, encoding: str) -> bool:
    with path.open(encoding=encoding, newline="") as stream:
        try:
            while text := stream.read(BLOCK_BYTES):
                if "\0" in text:  # an error when the file is read
                    return True
        except UnicodeDecodeError:
            return False
    return True


def _found_delimiter(sample: str) -> str:
    """Return the delimiter that gives most lines the width of the first; of equals, the widest."""
    lines = re.split(r"\r\n|\n|\r", sample)
    whole = [line for line in lines[:-1] or lines if line.strip()]

    def fit(delimiter: str) -> tuple[float, int]:
        try:
            widths = [len(row) for row in csv.reader(whole, delimiter=delimiter)]
        except csv.Error:
            return 0.0, 1
        alike = sum(width == widths[0] for width in widths) / len(widths)
        return (alike, widths[0]) if widths[0] > 1 else (0.0, 1)

    return max(DELIMITERS, key=fit)  # the first, a comma, if there is one column


def _reason(error: Exception) -> str:
    text = str(error).splitlines()[0].removeprefix("CSV parse error: ")
    if text.startswith("straddling"):
        return (
            f"a record has over {BLOCK_BYTES:,} bytes: likely a quotation mark is left open; "
            "close it"
        )
    return f"{text}; correct the file"
