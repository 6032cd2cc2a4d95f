"""The protected file of a release, read as codes of reports: the columns asked for, in portions."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from deniable.analysis.strata import table_within_strata
from deniable.analysis.tables import Table
from deniable.arrays import Codes, Counts, Floats
from deniable.errors import DataError, shown
from deniable.estimation import WeightedCounts
from deniable.plans import Plan, reported_columns
from deniable.records import Domain, shortened
from deniable.release import StratifiedPlan
from deniable.schema import Faults, open_source, weights_of

KINDS = ("csv", "parquet", "arrow")
WEIGHTS = (1e-100, 1e100)
"""The least and the largest weight above 0, whose squares can be added up."""


@dataclass(frozen=True)
class Portion:
    """Some records: `codes` of reports by column, `weights` if asked for, of shape (records,)."""

    codes: dict[str, Codes]
    weights: Floats | None

    def joint(self, reports: Domain) -> Codes:
        """Return the codes of cells of some columns of `reports`."""
        if len(reports) == 1:
            return self.codes[reports.names[0]]
        columns = tuple(self.codes[name].astype(np.intp) for name in reports.names)
        return np.ravel_multi_index(columns, reports.shape)


@dataclass(frozen=True, eq=False)
class Counted:
    """The reports of some columns, counted: records as one each, or by their weights.

    Attributes
    ----------
    tally : shape (reports,)
        Numbers of records; those of weight 0 are left out.
    weighted : WeightedCounts, of one stratum, or None
    """

    tally: Counts
    weighted: WeightedCounts | None = None

    @cached_property
    def counts(self) -> Counts | Floats:
        """By weights, of as many records as would do with equal ones."""
        return self.tally if self.weighted is None else self.weighted.effective

    @cached_property
    def records(self) -> int:
        """Number of records that count."""
        return int(self.tally.sum())

    @property
    def proportions(self) -> Floats:
        """The weighted proportions of the randomized values."""
        return np.asarray(self.counts / self.counts.sum())

    def part(self, at: slice) -> "Counted":
        """Return the counts of some of the randomized values, at the positions `at`."""
        if self.weighted is None:
            return Counted(self.tally[at])
        records = np.array([self.tally[at].sum()])
        sums = self.weighted.weights[:, at], self.weighted.squares[:, at]
        return Counted(self.tally[at], WeightedCounts(*sums, records))


class Source(Protocol):
    """What tables are estimated from: reports that can be counted, and perhaps read."""

    def count(self, tables: Sequence[Domain], weight: str | None = None) -> list[Counted]:
        """Return `tables` of reports counted, each flat; by a `weight`, if there are any."""

    def portions(self, names: Iterable[str], weight: str | None = None) -> Iterator[Portion]:
        """Yield records with columns of these `names`, and of a `weight`."""


class Protected:
    """The records that were released.

    Parameters
    ----------
    source : Any
        A table of reports, or the path of a file of them.
    plan : Plan or StratifiedPlan
        What was done to the records.

    Raises
    ------
    DataError
        If it cannot be read, or lacks a column.
    """

    def __init__(self, source: Any, plan: Plan | StratifiedPlan) -> None:
        form, self._plan = plan.schema.file, plan
        written = plan if isinstance(plan, Plan) else plan.as_they_are
        protocol = written.protocol
        self._source = open_source(source, form.delimiter, form.encoding)
        self.where, self.as_text = self._source.where, form.kind == "csv"
        self._reports = {
            each.name: each
            for cluster in protocol.clusters
            for each in protocol.reported_as(cluster)
        }
        passed = [column for column in plan.schema.columns if column.name in plan.passed]
        self._decimals = {each.name: each.decimal for each in passed if each.kind == "weight"}
        self._texts = {each.name: each for each in reported_columns(written)}
        self._known: dict[tuple[str | None, tuple[str, ...]], Counted] = {}
        for name in (*self._reports, *plan.passed):
            if name not in self._source.types:
                raise DataError(
                    f"{self.where}: the plan has the column {name!r}, but the columns are "
                    f"{shortened(', '.join(self._source.types))}; plan and file are of different "
                    "releases"
                )

    @classmethod
    def in_folder(cls, folder: Path, plan: Plan) -> "Protected":
        """Return the records of a `folder`, made by a `plan`.

        It has one file of the name ``protected`` and the ending csv, parquet or arrow.

        Raises
        ------
        DataError
            If there is no such file, or several, or it lacks a column.
        """
        there = [kind for kind in KINDS if (folder / f"protected.{kind}").is_file()]
        if len(there) != 1:
            found = ", ".join(f"protected.{kind}" for kind in there) or "none"
            raise DataError(
                f"{folder}: one of protected.csv, .parquet or .arrow belongs here; there: {found}"
            )
        return cls(folder / f"protected.{there[0]}", plan)

    def table(self, names: Sequence[str]) -> Table:
        """Return the table of some columns by their `names`, as it can be estimated."""
        if isinstance(self._plan, Plan):
            return Table.of(self._plan.protocol, names)
        return table_within_strata(self._plan.protocol, names)

    def clusters(self) -> list[Table]:
        """Return the table of each group of columns that were randomized together."""
        plan = self._plan
        together = plan.protocol.clusters if isinstance(plan, Plan) else plan.protocol.blocks
        return [self.table(names) for names in together]

    def count(self, tables: Sequence[Domain], weight: str | None = None) -> list[Counted]:
        """Return `tables` of reports counted, each flat; of each the file is read once.

        For the `weight` see `portions`.
        """
        asked = {(weight, table.names): table for table in tables}
        new = {key: table for key, table in asked.items() if key not in self._known}
        if new:
            self._known |= zip(new, self._count(list(new.values()), weight), strict=True)
        return [self._known[weight, table.names] for table in tables]

    def _count(self, tables: Sequence[Domain], weight: str | None) -> list[Counted]:
        found = [np.zeros((1 if weight is None else 3, table.size)) for table in tables]
        for portion in self.portions({name for table in tables for name in table.names}, weight):
            own = portion.weights
            powers = [None] if own is None else [None, own, own**2]
            for sums, table in zip(found, tables, strict=True):
                cells = portion.joint(table)
                for row, power in enumerate(powers):
                    sums[row] += np.bincount(cells, power, table.size)
        tallies = [sums[0].astype(np.int64) for sums in found]
        if weight is None:
            return [Counted(tally) for tally in tallies]
        return [
            Counted(tally, WeightedCounts(sums[1:2], sums[2:], np.array([tally.sum()])))
            for tally, sums in zip(tallies, found, strict=True)
        ]

    def portions(self, names: Iterable[str], weight: str | None = None) -> Iterator[Portion]:
        """Yield portions of the file, with columns `names` of reports, of records that count.

        With a column of weights, `weight`, these are the ones of positive weight: others tell
        nothing.

        Raises
        ------
        DataError
            If a value is no report, a weight no number that is not negative, if there is no such
            column of weights, or no record that counts.
        """
        if weight is not None and weight not in self._decimals:
            there = ", ".join(self._decimals) or "none, so estimate without weights"
            raise DataError(
                f"{self.where}: the release has no column of weights {weight!r}; it has {there}"
            )
        wanted = [name for name in self._reports if name in set(names)]
        known, faults, records = {name: self._codes_of(name) for name in wanted}, Faults(), 0
        for piece in self._source.pieces(wanted, [] if weight is None else [weight], faults):
            faults.raise_if_any()
            batch, first = piece.batch, piece.first
            codes = {name: self._coded(name, batch[name], known[name], first) for name in wanted}
            weights = None
            if weight is not None:
                weights = self._weights(weight, batch[weight], first)
                counts = weights > 0
                codes = {name: column[counts] for name, column in codes.items()}
                weights = weights[counts]
            yield Portion(codes, weights)
            records += batch.num_rows if weights is None else weights.size
        faults.raise_if_any()
        if not records:
            all_zero = "" if weight is None else f" of positive weight by the column {weight!r}"
            raise DataError(f"{self.where}: no records{all_zero}, so nothing can be estimated")

    def _codes_of(self, name: str) -> dict[str | None, int]:
        """Return the code of each report of a column, by its text; that of null is by None."""
        told = self._texts[name]
        texts = told.texts if self.as_text else told.values.cast(pa.string()).to_pylist()
        return {text: code for code, text in enumerate(texts)}

    def _coded(self, name: str, values: pa.Array, known: dict[str | None, int], at: int) -> Codes:
        if not pa.types.is_dictionary(values.type):
            values = values.dictionary_encode()
        texts = [*self._texts_of(name, values.dictionary), None]
        table = np.array([known.get(text, -1) for text in texts])
        indices = values.indices.fill_null(len(texts) - 1)
        codes = table[np.asarray(indices)]
        if codes.size and codes.min() < 0:
            bad = int(codes.argmin())
            labels = ", ".join(str(text) for text in known)
            raise DataError(
                f"{self.where}: record {at + bad + 1:,}, column {name!r} has "
                f"{shortened(str(values[bad].as_py()))!r}, which the plan's channel never reports "
                f"(it reports {shortened(labels)}); plan and file are of different releases"
            )
        return np.asarray(codes, dtype=self._reports[name].code_type)

    def _texts_of(self, name: str, values: pa.Array) -> list[str | None]:
        """Return values as texts; whole numbers beside missing ones are floats in a DataFrame."""
        kind = self._texts[name].values.type
        if not self.as_text and values.type != kind:
            with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):  # else: told as no report
                values = values.cast(kind)
        texts: list[str | None] = values.cast(pa.string()).to_pylist()
        return texts

    def _weights(self, name: str, values: pa.Array, at: int) -> Floats:
        weights = weights_of(values, self._decimals[name])
        low, high = WEIGHTS
        bad = np.flatnonzero(~((weights == 0) | ((weights >= low) & (weights <= high))))
        if bad.size:
            raise DataError(
                f"{self.where}: record {at + int(bad[0]) + 1:,}, column {name!r} has the weight "
                f"{shown(values[int(bad[0])].as_py())}; weights must be 0 or numbers from {low:g} "
                f"to {high:g}, so estimate without them"
            )
        return weights
