"""Files of SPSS (.sav, .zsav) and Stata (.dta) with their value labels, by pyreadstat.

User-missing values and ranges are missing values, as these programs count them. Numbers are
doubles, as SPSS stores them. Value labels are read for a draft; a schema has them as a recode.
"""

import re
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deniable.errors import DataError, from_extras, shown
from deniable.schema.column import FileFormat
from deniable.schema.faults import ValidationErrors
from deniable.schema.formats.sources import (
    MAX_VALUES,
    Batches,
    Names,
    Source,
    open_source,
    refuse_bad_names,
)
from deniable.schema.types import number_text

SPSS_MAGIC, STATA_MAGIC = (b"$FL2", b"$FL3"), b"<stata_dta>"
SPSS_ENDINGS, STATA_ENDINGS = (".sav", ".zsav"), (".dta",)
STATA_END, SAMPLE = b"</stata_dta>", 64
ROWS = 1 << 16  # of a batch
DATES = re.compile(r"(A|E|J|S)?DATE[0-9]*|%-?td.*")
TIMES = re.compile(r"DATETIME.*|YMDHMS.*|%-?t[cC].*")
EPOCHS = {"spss": 141_428, "stata": 3_653}  # days from 1582-10-14, and from 1960-01-01, to 1970
MAX_DAYS = 3_000_000
TICKS = {"spss": 1_000, "stata": 1}  # milliseconds of a unit of a time
DAY = 86_400_000  # milliseconds


def open_survey(source: Any, delimiter: str | None = None, encoding: str | None = None) -> Source:
    """Open the records of a `source`, also of SPSS and Stata.

    `delimiter` and `encoding` are as in `open_source`.
    """
    if isinstance(source, (str, Path)) and (path := Path(source)).is_file():
        with path.open("rb") as stream:
            start = stream.read(len(STATA_MAGIC))
        if start.startswith(SPSS_MAGIC) or path.suffix.lower() in SPSS_ENDINGS:
            return SurveySource(path, "spss", encoding)
        if start.startswith(STATA_MAGIC) or path.suffix.lower() in STATA_ENDINGS:
            return SurveySource(path, "stata", encoding)
    return open_source(source, delimiter, encoding)


class SurveySource(Source):
    """The file of a `kind` at `path`; its `encoding` is by default the one that it states.

    `labels` are in the order of values, without user-missing values, which are the `codes`.
    """

    def __init__(self, path: Path, kind: Literal["spss", "stata"], encoding: str | None) -> None:
        self.where, self._path, self._kind, self._encoding = str(path), path, kind, encoding
        self.format = FileFormat(kind=kind, encoding=encoding)
        with path.open("rb") as file:
            start = file.read(len(STATA_MAGIC))
            file.seek(max(path.stat().st_size - SAMPLE, 0))
            if start == STATA_MAGIC and STATA_END not in file.read():
                raise DataError(f"{path}: the end of the file is missing; save it again in Stata")
        metadata = self._read_rows(metadataonly=True, user_missing=True)[1]
        refuse_bad_names(self.where, metadata.column_names)
        if not metadata.column_names:
            raise DataError(f"{path}: no columns; give a file with records")
        self.expected = max(metadata.number_rows or 0, 0)
        self._formats = metadata.original_variable_types
        self.types = {
            name: self._type(name, metadata.readstat_variable_types[name] == "string")
            for name in metadata.column_names
        }
        measures = metadata.variable_measure.items()
        self.ordinal = {name for name, measure in measures if measure == "ordinal"}
        self.codes: dict[str, list[str]] = {}
        self.labels: dict[str, dict[str, str]] = {}
        for name, given in metadata.variable_value_labels.items():
            ranges = metadata.missing_ranges.get(name, [])
            text = pa.types.is_string(self.types[name])
            # Letters are the codes of missing numbers in Stata.
            own = {value: label for value, label in given.items() if isinstance(value, str) == text}
            kept = [v for v in sorted(own) if not any(e["lo"] <= v <= e["hi"] for e in ranges)]
            self.labels[name] = {_text(value): str(own[value]) for value in kept}
        for name, ranges in metadata.missing_ranges.items():
            single = {each["lo"] for each in ranges if each["lo"] == each["hi"]}
            self.codes[name] = [_text(value) for value in sorted(single)]

    def _type(self, name: str, text: bool) -> pa.DataType:
        if text:
            return pa.string()
        if DATES.fullmatch(self._formats[name] or ""):
            return pa.date32()
        return pa.timestamp("ms") if TIMES.fullmatch(self._formats[name] or "") else pa.float64()

    def _read_rows(self, **options: Any) -> tuple[dict[str, list[Any]], Any]:
        with from_extras():
            import pyreadstat  # noqa: PLC0415 - an extra
        read = pyreadstat.read_sav if self._kind == "spss" else pyreadstat.read_dta
        name = {"spss": "SPSS", "stata": "Stata"}[self._kind]
        options |= {"output_format": "dict", "disable_datetime_conversion": True}
        try:
            return read(str(self._path), encoding=self._encoding, **options)
        except MemoryError:
            raise
        except Exception as error:  # the library raises errors of many types for damaged files
            reason = str(error).partition("\n")[0] or type(error).__name__
            raise DataError(
                f"{self._path}: not readable as {name} ({reason}); save the file again in that "
                "program, or give its encoding in the schema"
            ) from None

    def _read(self, wanted: Names, coded: Names, rows: int, faults: ValidationErrors) -> Batches:
        number, at = min(rows, ROWS, max(MAX_VALUES // 4 // max(len(wanted), 1), 1)), 0
        names = list(wanted) or list(self.types)[:1]
        while True:
            found, _ = self._read_rows(usecols=names, row_offset=at, row_limit=number)
            records = len(found[names[0]])
            if records:
                arrays = [self._array(name, found[name]) for name in names]
                yield self.where, pa.record_batch(arrays, names=names).select(list(wanted))
            at += records
            if records < number:
                break
        if at < self.expected:
            raise DataError(
                f"{self._path}: it states {self.expected:,} records, and has {at:,}, so the file "
                "is damaged; save it again"
            )

    def _array(self, name: str, values: list[Any]) -> pa.Array:
        if pa.types.is_string(kind := self.types[name]):
            return pc.utf8_rtrim(pa.array(values, kind), " ")
        numbers = np.array(values, dtype=np.float64)
        if pa.types.is_floating(kind):
            return pa.array(numbers, from_pandas=True)
        # A date of Stata is a number of days.
        tick = DAY if pa.types.is_date(kind) and self._kind == "stata" else TICKS[self._kind]
        times = np.rint(numbers * tick) - EPOCHS[self._kind] * DAY
        if (far := np.abs(times) > MAX_DAYS * DAY).any():
            value = shown(values[int(far.argmax())])
            problem = f"column {shown(name)} has the date {value}, beyond all calendars"
            raise DataError(f"{self._path}: {problem}; correct it")
        missing = np.isnan(times)
        whole = pa.array(np.where(missing, 0, times).astype(np.int64), mask=missing)
        return whole.cast(pa.timestamp("ms")).cast(kind)


def _text(value: Any) -> str:
    return value.rstrip(" ") if isinstance(value, str) else number_text(float(value))
