"""The protected file of a release, read as codes of reports: the columns asked for, in portions."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from deniable.arrays import Codes, Counts, Floats
from deniable.channels import SquareWave
from deniable.errors import DataError
from deniable.plan import Plan
from deniable.records import Domain, shortened
from deniable.schema import MISSING, Column

KINDS = ("csv", "parquet", "arrow")
CSV_BLOCK = 1 << 24  # bytes
PORTION = 1 << 18  # records
OFF_GRID = 1e-6  # of a step: what text may have lost of a number

Coded = Callable[[str], int]
"""From the text of a value to the code of the report that it is, -1 if it is none."""


@dataclass(frozen=True)
class Portion:
    """Some records: codes of reports, and weights, each of shape (records,), by column."""

    codes: dict[str, Codes]
    weights: dict[str, Floats]

    def joint(self, reports: Domain) -> Codes:
        """Return the codes of cells of some columns of reports."""
        if len(reports) == 1:
            return self.codes[reports.names[0]]
        columns = tuple(self.codes[name].astype(np.intp) for name in reports.names)
        return np.ravel_multi_index(columns, reports.shape)


class Protected:
    """The records that were released.

    Parameters
    ----------
    folder : Path
        With one file of the name ``protected`` and the ending csv, parquet or arrow.
    plan : Plan
        What was done to the records.

    Raises
    ------
    DataError
        If there is no such file, or several.
    """

    def __init__(self, folder: Path, plan: Plan) -> None:
        there = [kind for kind in KINDS if (folder / f"protected.{kind}").is_file()]
        if len(there) != 1:
            found = ", ".join(f"protected.{kind}" for kind in there) or "none"
            raise DataError(
                f"{folder}: one of protected.csv, .parquet or .arrow belongs here; there: {found}"
            )
        self.path, self.kind, self.plan = folder / f"protected.{there[0]}", there[0], plan
        self.reports = plan.protocol.report_domain

    def count(self, tables: Sequence[Domain]) -> list[Counts]:
        """Return the counts of some tables of reports, each flat, from one pass over the file."""
        found = [np.zeros(table.size, dtype=np.int64) for table in tables]
        for portion in self.portions({name for table in tables for name in table.names}):
            for table, counts in zip(tables, found, strict=True):
                counts += np.bincount(portion.joint(table), minlength=table.size)
        return found

    def portions(self, names: Iterable[str], weights: Sequence[str] = ()) -> Iterator[Portion]:
        """Yield portions of the file, with these columns of reports and these of weights.

        Raises
        ------
        DataError
            If a column is missing, a value is no report, a weight no number that is not negative,
            or there are no records.
        """
        wanted = [name for name in self.reports.names if name in set(names)]
        coded = {name: self._coded(name) for name in wanted}
        before = 0
        for columns in self._columns([*wanted, *weights]):
            codes = {name: self._codes(name, columns[name], coded[name], before) for name in wanted}
            yield Portion(codes, {name: self._weights(name, columns[name]) for name in weights})
            before += len(next(iter(columns.values())))
        if not before:
            raise DataError(f"{self.path}: no records, so nothing can be estimated")

    def _columns(self, names: list[str]) -> Iterator[dict[str, pa.Array]]:
        # A finished group or batch is let go: files that are iterated whole keep them.
        readers = {"csv": _of_csv, "parquet": _of_parquet, "arrow": _of_arrow}
        try:
            yield from readers[self.kind](self.path, names, self.plan)
        except (pa.ArrowException, OSError) as error:
            reason = str(error).splitlines()[0]
            raise DataError(
                f"{self.path}: not readable as {self.kind} ({reason}); restore what was published "
                "from a copy"
            ) from None

    def _coded(self, name: str) -> Coded:
        """Return what takes the text of a value of a column of reports to its code."""
        labels = self.reports[name].categories
        columns = {column.name: column for column in self.plan.schema.randomized}
        known = {label: code for code, label in enumerate(labels)}
        if name not in columns:
            return lambda text: known.get(text, -1)
        column = columns[name]
        if MISSING in known:
            known = dict.fromkeys(column.missing.values, known[MISSING]) | known
        points = _points(self.plan, column)
        if points is None:
            return lambda text: known.get(text, -1)
        low, step = points[0], points[1] - points[0]

        def code(text: str) -> int:
            try:
                place = (float(text) - low) / step
                near = round(place)
            except (ValueError, OverflowError):
                return known.get(text, -1)
            on_grid = abs(place - near) <= OFF_GRID and 0 <= near < len(points)
            return near if on_grid else known.get(text, -1)

        return code

    def _codes(self, name: str, values: pa.Array, coded: Coded, before: int) -> Codes:
        if not pa.types.is_dictionary(values.type):
            values = values.dictionary_encode()
        texts = values.dictionary.cast(pa.string()).to_pylist()
        null = coded(MISSING)
        table = np.array([null if text is None else coded(text) for text in texts] + [null])
        codes = table[values.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)]
        if codes.size and codes.min() < 0:
            bad = int(codes.argmin())
            labels = ", ".join(map(repr, self.reports[name].categories))
            raise DataError(
                f"{self.path}: record {before + bad + 1}, column {name!r} has "
                f"{shortened(str(values[bad].as_py()))!r}, which the plan's channel never reports "
                f"(it reports {shortened(labels)}); plan and file are of different releases"
            )
        return codes.astype(self.reports[name].code_type)

    def _weights(self, name: str, values: pa.Array) -> Floats:
        weights = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
        bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
        if bad.size:
            raise DataError(
                f"{self.path}: column {name!r} has the weight {weights[bad[0]]}; weights must be "
                "numbers that are not negative, so estimate without them"
            )
        return np.asarray(weights, dtype=float)


def _points(plan: Plan, column: Column) -> Floats | None:
    """Return the numbers that are reported of a column, None where its reports are texts.

    A square wave reports beyond either end of the grid.
    """
    if column.kind != "numeric":
        return None
    (cluster,) = (each for each in plan.protocol.clusters if column.name in each)
    reports = plan.protocol.reported_as(cluster)
    if reports.names == cluster and reports[column.name] == column.attribute():
        return column.points
    channel = plan.protocol.channel_of(cluster)
    if isinstance(channel, SquareWave) and channel.size == column.points.size:
        step = column.points[1] - column.points[0]
        beyond = np.arange(-channel.half_width, channel.size + channel.half_width)
        return np.asarray(column.points[0] + step * beyond)
    return None


def _of_csv(path: Path, names: list[str], plan: Plan) -> Iterator[dict[str, pa.Array]]:
    from pyarrow import csv as arrow_csv  # noqa: PLC0415 - seldom needed, slow to import

    form = plan.schema.file
    reader = arrow_csv.open_csv(
        path,
        read_options=arrow_csv.ReadOptions(
            block_size=CSV_BLOCK, encoding=form.encoding or "utf-8", use_threads=False
        ),
        parse_options=arrow_csv.ParseOptions(
            delimiter=form.delimiter or ",", newlines_in_values=True
        ),
        convert_options=arrow_csv.ConvertOptions(
            include_columns=names,
            column_types={name: pa.string() for name in names},
            strings_can_be_null=False,
        ),
    )
    for batch in reader:
        yield dict(zip(names, batch.columns, strict=True))


def _of_parquet(path: Path, names: list[str], _: Plan) -> Iterator[dict[str, pa.Array]]:
    with pq.ParquetFile(path) as file:
        groups = file.num_row_groups
        _refuse_missing(path, names, file.schema_arrow)
    for group in range(groups):
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(PORTION, [group], names):
                yield {name: batch.column(name) for name in names}


def _of_arrow(path: Path, names: list[str], _: Plan) -> Iterator[dict[str, pa.Array]]:
    with pa.memory_map(str(path)) as source, pa.ipc.open_file(source) as file:
        _refuse_missing(path, names, file.schema)
        for number in range(file.num_record_batches):
            batch = file.get_batch(number)
            yield {name: batch.column(name) for name in names}


def _refuse_missing(path: Path, names: list[str], schema: Any) -> None:
    for name in names:
        if schema.names.count(name) != 1:
            raise DataError(
                f"{path}: the plan has the column {name!r}, but the columns are "
                f"{', '.join(schema.names)}; plan and file are of different releases"
            )
