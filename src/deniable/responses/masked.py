"""Masked numbers as responses, alone or beside randomized columns, and counts of histograms."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from deniable.arrays import Counts, Floats
from deniable.errors import DataError, DeniableError
from deniable.estimation import CONFIDENCE
from deniable.idp import HISTOGRAMS, QUANTILES, SHARE, NumericMechanism, estimate_numbers
from deniable.records import Domain, NumericMicrodata
from deniable.responses.base import Counted, ResponseBatch, Responses, open_protected
from deniable.responses.tables import AllAnswers, Table
from deniable.schema import Coder, Schema, ValidationErrors, weights_of

HISTOGRAM_COLUMNS = ("column", "class", "bin", "from", "to", "count")
"""Columns of the public file histograms.csv: the noisy count of each class in each bin."""
COLUMNS_OF_ESTIMATES = {
    "attribute": "column",
    "statistic": "statistic",
    "estimate": "estimate",
    "standard_error_file": "standard_error",
    "ci_low_file": "ci_low",
    "ci_high_file": "ci_high",
}
"""Columns of `deniable.idp.estimate_numbers`, and their names in `deniable.Released.numbers`."""


def histogram_table(
    mechanism: NumericMechanism, classes: Sequence[str], counts: Counts
) -> pd.DataFrame:
    """Return noisy `counts` as a table with the columns `HISTOGRAM_COLUMNS`.

    They have the shape (columns, classes, bins) for the `mechanism` and the names of `classes`,
    which are empty without classes.
    """
    domains, bins = mechanism.domains, mechanism.bins
    edges = domains.lower[:, None] + np.linspace(0.0, domains.widths, bins + 1, axis=1)
    column, code, place = (each.ravel() for each in np.indices(counts.shape))
    names, of_classes = np.array(domains.names)[column], np.array(classes or ("",))[code]
    ends = edges[column, place], edges[column, place + 1]
    values = names, of_classes, place, *ends, counts.ravel()
    return pd.DataFrame(dict(zip(HISTOGRAM_COLUMNS, values, strict=True)))


class MaskedResponses(Responses):
    """The masked numbers of records.

    The `source` is the protected file, or a table. Noisy counts are in the file ``histograms.csv``
    of the same folder, or in the ``attrs`` of a table. The `schema` has the columns that the
    `mechanism` masks, and the `class_column`. Raises `DataError` if a column is missing, a value is
    not a number or outside its bounds, or noisy counts are missing or do not match the plan.
    """

    lacking = (
        "masked numbers have no categories, so there are no tables and no proportions; estimate "
        "numbers, or randomize numeric columns, with bounds and a step, by deniable.make_plan"
    )

    def __init__(
        self,
        source: Any,
        schema: Schema,
        mechanism: NumericMechanism,
        class_column: str | None = None,
    ) -> None:
        self._schema, self.mechanism, self.class_column = schema, mechanism, class_column
        names = [*mechanism.domains.names, *([class_column] if class_column else [])]
        self._source = open_protected(source, schema.file.protected, names)
        self.counts = self._noisy_counts(source) if mechanism.by_histograms else None

    @property
    def records(self) -> int:
        return len(self.data)

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes; empty without a class column."""
        if self.class_column is None:
            return ()
        return self._schema[self.class_column].attribute().categories

    @cached_property
    def data(self) -> NumericMicrodata:
        """The protected records."""
        names, faults = self.mechanism.domains.names, ValidationErrors()
        read: dict[str, list[Floats]] = {name: [] for name in names}
        labels, coder, coded = list[Any](), None, list[str]()
        if self.class_column is not None:
            column = self._schema[self.class_column].released
            if self._schema.file.protected.kind == "csv":
                column = column.model_copy(update={"type": None})
            coder, coded = Coder(column, self._source.types[column.name]), [column.name]
        for piece in self._source.pieces(coded, names, faults):
            for name in names:
                values = weights_of(piece.batch.column(name), self._schema[name].decimal)
                self._refuse_outside(name, values, piece.first)
                read[name].append(values)
            if coder is not None:
                texts = piece.batch.column(coder.column.name)
                labels.append(coder.read(texts, faults, piece.where, piece.first)[0])
        faults.raise_if_any()
        if not any(map(len, read[names[0]])):
            raise DataError(f"{self._source.where}: no records, so nothing can be estimated")
        values = np.stack([np.concatenate(read[name]) for name in names], axis=1)
        if coder is None:
            return NumericMicrodata(names, values)
        classes = np.concatenate(labels)
        return NumericMicrodata(names, values, coder.column.name, self.classes, classes)

    def _refuse_outside(self, name: str, values: Floats, first: int) -> None:
        domains = self.mechanism.domains
        j = domains.names.index(name)
        bad = np.flatnonzero(~((values >= domains.lower[j]) & (values <= domains.upper[j])))
        if bad.size:
            value = values[bad[0]]
            has = "a value that is not a finite number" if not np.isfinite(value) else f"{value:g}"
            raise DataError(
                f"{self._source.where}: record {first + int(bad[0]) + 1:,}, column {name!r} has "
                f"{has}, but its masked numbers are from {domains.lower[j]:g} to "
                f"{domains.upper[j]:g}; plan and file are of different releases"
            )

    def _noisy_counts(self, source: Any) -> Counts:
        shape = len(self.mechanism.domains.names), len(self.classes) or 1, self.mechanism.bins
        if isinstance(source, str | Path):
            path = Path(source).with_name(f"{HISTOGRAMS}.csv")
            where, given = str(path), self._counts_of_file(path, shape)
        else:
            where, given = "the table", counts_in(source)
            if given is None:
                raise DataError(
                    "the table lacks the noisy counts that its records were drawn from; keep "
                    f"attrs[{HISTOGRAMS!r}] of the table that deniable.randomize returned"
                )
        counts = np.asarray(given)
        if counts.shape != shape or not np.issubdtype(counts.dtype, np.integer):
            raise DataError(
                f"{where}: noisy counts have the shape {counts.shape} and type {counts.dtype}, but "
                f"the plan needs integers of the shape {shape}; give the counts of this release"
            )
        return np.asarray(counts, dtype=np.int64)

    def _counts_of_file(self, path: Path, shape: tuple[int, ...]) -> Any:
        if not path.is_file():
            raise DataError(
                f"{path}: missing; put the file of noisy counts, which the records are drawn from, "
                "next to the protected file"
            )
        kept = {"column": str, "class": str, "from": str, "to": str}
        table = pd.read_csv(path, dtype=kept, keep_default_na=False)
        expected = histogram_table(self.mechanism, self.classes, np.zeros(shape, dtype=np.int64))
        same = list(table) == list(HISTOGRAM_COLUMNS) and len(table) == len(expected)
        for name in ("column", "class", "bin"):
            same = same and table[name].tolist() == expected[name].tolist()
        if not same:
            raise DataError(
                f"{path}: other columns, classes or bins than in the plan; plan and file are of "
                "different releases"
            )
        return table["count"].to_numpy().reshape(shape)

    def estimates(self, quantiles: Sequence[float] = QUANTILES) -> pd.DataFrame:
        """Return `deniable.idp.estimate_numbers` for all columns, with `quantiles` in (0, 1)."""
        for level in quantiles:
            if not 0 < level < 1:
                raise DeniableError(f"a quantile has the level {level}; give levels in (0, 1)")
        return estimate_numbers(self.mechanism, self.data, self.counts, quantiles)

    def numbers(
        self,
        names: Sequence[str] | None = None,
        quantiles: Sequence[float] = QUANTILES,
        weight: str | None = None,
        target: str | None = None,
        confidence: float = CONFIDENCE,
        **others: Any,
    ) -> pd.DataFrame:
        """Return mean, standard deviation and quantiles of the columns `names`, by default of all.

        The levels of `quantiles` are in (0, 1). Masked numbers have no `weight`, and have intervals
        only for the `target` "file" at a `confidence` of 95 %; `**others` have no effect. The table
        has the columns of `deniable.Released.numbers`, ``released``, the statistic of the masked
        numbers, and ``note``, the reason for a missing estimate. Raises `DeniableError` if a column
        does not exist, or another option is requested.
        """
        for name in names or ():
            self.data.position(name)
        if weight is not None:
            raise DeniableError(
                f"masked numbers have no column of weights {weight!r}; leave it out"
            )
        target = "file" if target in (None, "both") else target
        if (target, confidence) != ("file", CONFIDENCE):
            raise DeniableError(
                f"masked numbers have intervals for the records of the file, at {CONFIDENCE:g}: "
                f"use the target 'file', not {target!r} at {confidence:g}"
            )
        found = self.estimates(quantiles)
        wanted = found["statistic"] != SHARE
        if names is not None:
            wanted &= found["attribute"].isin(list(names))
        found = found[wanted].rename(columns=COLUMNS_OF_ESTIMATES).reset_index(drop=True)
        found = found.assign(confidence=confidence, target=target, records=self.records)
        about = ("confidence", "target", "records", "released", "note")
        return found[[*COLUMNS_OF_ESTIMATES.values(), *about]]

    def refuse_no_categories(self) -> None:
        raise DeniableError(self.lacking)


class MixedResponses(Responses):
    """The responses of a mixed plan: `masked` numbers beside tables of the `categories`."""

    def __init__(self, masked: MaskedResponses, categories: Responses) -> None:
        self.masked, self.categories = masked, categories
        self.has_randomized_records = categories.has_randomized_records

    @property
    def records(self) -> int:
        return self.categories.records

    def count(self, tables: Sequence[Domain], weight: str | None = None) -> list[Counted]:
        return self.categories.count(tables, weight)

    def batches(self, names: Iterable[str], weight: str | None = None) -> Iterator[ResponseBatch]:
        return self.categories.batches(names, weight)

    def clusters(self) -> list[Table]:
        return self.categories.clusters()

    def answers(self, weight: str | None = None, names: Sequence[str] = ()) -> AllAnswers:
        return self.categories.answers(weight, names)

    def table(self, names: Sequence[str]) -> Table:
        """Return the table of the columns `names`; raise `DeniableError` if one is masked."""
        if masked := [name for name in names if name in self.masked.mechanism.domains.names]:
            raise DeniableError(
                f"column {masked[0]!r} has masked numbers, so there is no table with it: no "
                "transition matrix describes their relation to other columns; estimate its "
                "numbers, or declare a step and randomize it"
            )
        return self.categories.table(names)

    def numbers(
        self, names: Sequence[str] | None, quantiles: Sequence[float], **options: Any
    ) -> pd.DataFrame | None:
        """Return statistics of the masked columns among `names`; None if there are none.

        `quantiles` and `**options` are as in `MaskedResponses.numbers`.
        """
        masked = self.masked.mechanism.domains.names
        own = None if names is None else [name for name in names if name in masked]
        return None if own == [] else self.masked.numbers(own, quantiles, **options)


def with_counts(table: pa.Table, counts: Counts | None) -> pa.Table:
    """Return a `table` that has noisy `counts` in its ``attrs`` if it becomes a DataFrame."""
    if counts is None:
        return table
    frame = table.slice(0, 0).to_pandas()
    frame.attrs[HISTOGRAMS] = counts.tolist()
    metadata = pa.Schema.from_pandas(frame, preserve_index=False).metadata
    return table.replace_schema_metadata(metadata)


def counts_in(table: Any) -> Any:
    """Return the noisy counts in a `table`, of Arrow or a DataFrame, or None."""
    if (attributes := getattr(table, "attrs", None)) is None:
        schema = getattr(table, "schema", None)
        attributes = (getattr(schema, "pandas_metadata", None) or {}).get("attributes") or {}
    return attributes.get(HISTOGRAMS)
