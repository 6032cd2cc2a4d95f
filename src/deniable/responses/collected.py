"""Responses of a collection of tables: counts of randomized cells for each table."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from deniable.arrays import Counts, Floats
from deniable.channels import Channel, DenseChannel, KeepOrReplace
from deniable.errors import DataError, DeniableError, shown
from deniable.records import Attribute, Domain
from deniable.responses.base import Counted, Responses, open_protected
from deniable.responses.tables import AllAnswers, Answers, Side, Table, cells_of, domain_of
from deniable.rrba import (
    FLOOR_ROUNDING,
    SEPARATOR,
    CollectionDesign,
    Combination,
    TableAnswers,
    answers_by_table,
    table_channel,
)
from deniable.schema import FileFormat, ValidationErrors, is_number, is_text, weights_of

TEXTS = ("attributes", "categories")
NUMBERS = {"block": True, "p": False, "fake": False, "reports": True}  # whether they are whole
ROUNDING = 1e-9  # the largest difference from 1 of the sum of a distribution of fake answers


class CollectedResponses(Responses):
    """The responses of a collection.

    The `source`, a path or a table, has one row per cell, table and block, as
    `deniable.rrba.collect_answers` returns them. `form` has delimiter and encoding of a CSV file.
    Raises `DataError` if a column or a table is missing, or p, q or the cells of a table differ
    from the `design`.
    """

    lacking = "a collection has no columns that are randomized record by record; request a table"

    def __init__(self, source: Any, design: CollectionDesign, form: FileFormat) -> None:
        self._design, self._counts = design, dict[tuple[str, ...], Counts]()
        where, answers = _read(source, form)
        for names, own in answers.groupby("attributes", sort=False):
            _refuse_other_table(where, design, str(names), own)
        self._tables = answers_by_table(design, answers)

    @property
    def records(self) -> int:
        """Number of clients that answered; each client received one question."""
        return sum(self._tables[question[0]].number for question in self._design.questions)

    @property
    def collected_tables(self) -> tuple[Combination, ...]:
        return tuple(self._tables)

    def answers_about(self, names: Combination) -> TableAnswers:
        """Return the answers about the collected table of columns `names`."""
        return self._tables[names]

    def table(self, names: Sequence[str]) -> Table:
        """Return the table of columns `names`, from all collected tables that contain them.

        If a client answers about several of these, only the first table counts, because all answers
        are about one record. The question of a client is random and known; it is a part of the
        randomized value. Raises `DeniableError` if no name is given, a name is unknown or given
        twice, or no collected table contains all columns.
        """
        domain = domain_of(self._design.domain, names)
        if not (ways := self._ways(domain)):
            size = max(map(len, self._design.tables))
            raise DeniableError(
                f"no table of {', '.join(domain.names)} was collected: tables have {size} columns; "
                "name fewer, or collect larger tables"
            )
        if self._design.memory:  # each client randomized columns separately, for all tables
            ((_, self._counts[domain.names]),) = ways
            columns = [domain.project((name,)) for name in domain.names]
            keep = next(iter(self._tables.values())).keep
            channels = [KeepOrReplace.uniform(own.size, keep) for own in columns]
            return Table(domain, tuple(map(Side, columns, columns, channels)))
        total = sum(int(reports.sum()) for _, reports in ways)
        channel: Channel = ways[0][0]
        if len(ways) > 1:
            shares = [(each.matrix(), reports.sum() / total) for each, reports in ways]
            channel = DenseChannel(np.hstack([matrix * share for matrix, share in shares]))
        labels = tuple(f"{way}: {cell}" for way in range(len(ways)) for cell in range(domain.size))
        reports = Domain((Attribute(f"answers about {SEPARATOR.join(names)}", labels),))
        self._counts[reports.names] = np.concatenate([reports for _, reports in ways])
        return Table(domain, (Side(domain, reports, channel),))

    def _ways(self, domain: Domain) -> list[tuple[Channel, Counts]]:
        """Return the different channels of the answers about some columns, and their counts."""
        found: dict[tuple[float, bytes], tuple[Floats, Counts]] = {}
        for question in self._design.questions:
            for names in [each for each in question if set(domain.names) <= set(each)][:1]:
                answers = self._tables[names]
                cells = cells_of(self._design.domain.project(names), domain)
                fake: Floats = np.bincount(cells, answers.average_fake, domain.size).astype(float)
                sums = np.bincount(cells, answers.reports.sum(axis=0), domain.size)
                reports: Counts = sums.astype(np.int64)
                key = answers.keep, fake.round(12).tobytes()
                if key in found:
                    fake, reports = found[key][0], reports + found[key][1]
                found[key] = fake, reports
        return [(table_channel(fake, keep), n) for (keep, _), (fake, n) in found.items()]

    def answers(self, weight: str | None = None, names: Sequence[str] = ()) -> AllAnswers:
        """Return the answers about each largest table, each as a record of its own.

        There is no `weight`. The answers of one client about several tables are not linked, so the
        columns `names` have one table of all of them; see `table`.
        """
        _refuse_weights(weight)
        every = list(map(set, self._tables))
        largest = [own for own in self._tables if not any(set(own) < each for each in every)]
        tables = [self.estimable_table(own) for own in ([names] if names else largest)]
        counts = [self._counts[table.reports.names] for table in tables]
        codes = np.concatenate([np.repeat(np.arange(own.size), own) for own in counts])
        about = np.repeat(np.arange(len(tables)), [own.sum() for own in counts])
        return [
            Answers(table.cells, table.channel, np.where(about == number, codes, -1))
            for number, table in enumerate(tables)
        ], None

    def count(self, tables: Sequence[Domain], weight: str | None = None) -> list[Counted]:
        _refuse_weights(weight)
        found = [self._counts[table.names] for table in tables]
        return [Counted(counts, file=self.records) for counts in found]


def _refuse_weights(weight: str | None) -> None:
    if weight is not None:
        raise DeniableError(
            f"a collection has no column of weights {weight!r}, and no records; leave it out"
        )


def _read(source: Any, form: FileFormat) -> tuple[str, pd.DataFrame]:
    columns, faults = (*TEXTS, *NUMBERS), ValidationErrors()
    opened = open_protected(source, form, columns)
    batches = [piece.batch for piece in opened.pieces([], columns, faults)]
    faults.raise_if_any()
    read = pa.Table.from_batches(batches).combine_chunks()
    found: dict[str, Any] = {name: read[name].cast(pa.string()).to_pylist() for name in TEXTS}
    for name, whole in NUMBERS.items():
        usable = is_text(read[name].type) or is_number(read[name].type)
        numbers = weights_of(read[name], ".") if usable else np.full(len(read), np.nan)
        right = (numbers >= 0) & (numbers < np.inf) & ((np.floor(numbers) == numbers) | (not whole))
        if not right.all():
            row, kind = int(right.argmin()), "a whole number from 0" if whole else "a number from 0"
            raise DataError(
                f"{opened.where}: row {row + 1}, column {name!r} has "
                f"{shown(read[name][row].as_py())}; enter {kind}, or restore the file"
            )
        found[name] = numbers
    return opened.where, pd.DataFrame(found)


def _refuse_other_table(
    where: str, design: CollectionDesign, attributes: str, rows: pd.DataFrame
) -> None:
    table = design.tables.get(tuple(attributes.split(SEPARATOR)))
    place = f"{where}: the answers about {attributes}"
    if table is None:
        raise DataError(f"{place}: the plan has no such table; plan and answers do not match")
    if other := set(rows["p"]) - {table.keep}:
        raise DataError(
            f"{place}: p is {other.pop():g}, but {table.keep:g} in the plan; give plan and answers "
            "of the same release"
        )
    labels = design.domain.project(table.attributes).cell_labels()
    if rows["categories"].tolist() != labels * (len(rows) // len(labels)):
        raise DataError(
            f"{place}: categories or their order differ from the plan, or the table is not "
            "complete; restore the file"
        )
    fake = rows["fake"].to_numpy().reshape(-1, table.cells)
    least = table.floor * (1 - FLOOR_ROUNDING) / table.cells
    if fake.min() < least or np.abs(fake.sum(axis=1) - 1).max() > ROUNDING:
        raise DataError(
            f"{place}: fake is not a distribution with cells of at least {least:g}, the plan's "
            "floor; plan and answers do not match"
        )
