"""Answers that were collected in tables, block by block: what each table went through."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from deniable.arrays import Counts, Floats
from deniable.channels import Channel, DenseChannel
from deniable.errors import DataError, DeniableError, shown
from deniable.records import Attribute, Domain
from deniable.release import CollectionPlan
from deniable.release.collection import Answers, answers_of
from deniable.responses import Counted, Portion, Responses, Side, Table, cells_of
from deniable.rrba import Combination, table_channel

NEEDED = ("attributes", "block", "categories", "p", "fake", "reports")


class Collected(Responses):
    """The answers of a collection.

    Parameters
    ----------
    collection : DataFrame
        By `deniable.randomize`: a row a cell of a table in a block.
    plan : CollectionPlan

    Raises
    ------
    DataError
        If a column or a table is missing, or cells are none of the plan's.
    """

    def __init__(self, collection: Any, plan: CollectionPlan) -> None:
        self._design, self._counted = plan.design, dict[tuple[str, ...], Counts]()
        missing = [name for name in NEEDED if name not in getattr(collection, "columns", ())]
        if missing:
            raise DataError(
                f"the answers lack the column {missing[0]!r}; give what deniable.randomize returned"
            )
        given = pd.DataFrame(collection[list(NEEDED)])
        for name in ("p", "fake", "reports"):
            told = pd.to_numeric(given[name], errors="coerce")
            bad = np.flatnonzero(~(told >= 0) | (name == "reports") & (told % 1 != 0))
            if bad.size:
                raise DataError(
                    f"the answers: row {bad[0] + 1}, column {name!r} has "
                    f"{shown(given[name].tolist()[bad[0]])}; give what deniable.randomize returned"
                )
            given[name] = told
        self._answers = answers_of(self._design, given)
        cells = {str(name): own for name, own in given.groupby("attributes")["categories"]}
        for names in self._design.tables:
            labels = self._design.domain.project(names).cell_labels()
            own = [str(cell) for cell in cells[" x ".join(names)]]
            p, keep = self._answers[names].keep, self._design.tables[names].keep
            if not math.isclose(p, keep):
                raise DataError(
                    f"the answers about {' x '.join(names)}: p is {p:g}, by the plan {keep:g}; "
                    "plan and answers are of different collections"
                )
            if own != labels * (len(own) // len(labels)):
                raise DataError(
                    f"the answers about {' x '.join(names)}: the categories are not those of the "
                    "plan, in their order; give what deniable.randomize returned"
                )

    @property
    def records(self) -> int:
        """Number of clients, each of which was asked one view."""
        return sum(self._answers[view[0]].number for view in self._design.questions)

    def table(self, names: Sequence[str]) -> Table:
        """Return the table of some columns, from all collected tables that have them.

        Which of these a client is asked is chance, and known: that and its answer are the report.

        Parameters
        ----------
        names : sequence of str

        Raises
        ------
        DeniableError
            If there is none, one twice, one that the plan has not, or no table that has them all.
        """
        if not names:
            raise DeniableError("a table of no columns; name at least one")
        domain = self._design.domain.project(names)
        ways = self._ways(domain)
        if not ways:
            size = len(next(iter(self._design.tables)))
            raise DeniableError(
                f"no table of {', '.join(names)} was collected: a client tells of {size} columns "
                "at once, and of no more; name fewer, or collect larger tables"
            )
        asked = sum(int(reports.sum()) for _, reports in ways)
        channel: Channel = ways[0][0]
        if len(ways) > 1:
            shares = [(each.matrix(), reports.sum() / asked) for each, reports in ways]
            channel = DenseChannel(np.hstack([matrix * share for matrix, share in shares]))
        labels = tuple(f"{way}: {cell}" for way in range(len(ways)) for cell in range(domain.size))
        reports = Domain((Attribute(f"answers about {' x '.join(names)}", labels),))
        self._counted[reports.names] = np.concatenate([reports for _, reports in ways])
        return Table(domain, (Side(domain, reports, channel),))

    def _ways(self, domain: Domain) -> list[tuple[Channel, Counts]]:
        """Return the different channels by which some columns were asked, and the answers."""
        found: dict[tuple[float, bytes], tuple[Floats, Counts]] = {}
        for names, answers in self._answers.items():
            if not set(domain.names) <= set(names):
                continue
            fake, reports = self._margin(names, answers, domain)
            for table, counts in zip(fake, reports, strict=True):
                if counts.any():
                    key = answers.keep, table.tobytes()
                    found[key] = table, found[key][1] + counts if key in found else counts
        return [(table_channel(table, keep), n) for (keep, _), (table, n) in found.items()]

    def _margin(
        self, names: Combination, answers: Answers, domain: Domain
    ) -> tuple[Floats, Counts]:
        """Return tables and answers of each block, shape (blocks, cells), of some columns alone."""
        cells = cells_of(self._design.domain.project(names), domain)
        fake = np.zeros((len(answers.fake), domain.size))
        reports = np.zeros(fake.shape, dtype=np.int64)
        np.add.at(fake.T, cells, answers.fake.T)
        np.add.at(reports.T, cells, answers.reports.T)
        return fake, reports

    def count(self, tables: Sequence[Domain], weight: str | None = None) -> list[Counted]:
        """Return the answers of some `tables` of reports, each flat; no `weight` is known."""
        if weight is not None:
            raise DeniableError(f"a collection has no column of weights {weight!r}, and no records")
        found = [self._counted[table.names] for table in tables]
        return [Counted(counts) for counts in found]

    def portions(self, names: Iterable[str], weight: str | None = None) -> Iterator[Portion]:
        """Raise `DeniableError`: there are no records of these `names`, nor a `weight`."""
        raise DeniableError("RRBA collects tables, and no records; ask for a smaller table")
