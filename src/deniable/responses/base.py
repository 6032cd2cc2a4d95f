"""The interface of all responses: protected records as input of the estimators."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from deniable import estimation
from deniable.arrays import Codes, Counts, Floats
from deniable.errors import DataError, DeniableError
from deniable.records import Domain, shortened
from deniable.responses.tables import AllAnswers, Table
from deniable.schema import FileFormat, Source, open_source

AllCodes = tuple[list[Codes], Floats | None]  # of all records, with their weights


@dataclass(frozen=True)
class ResponseBatch:
    """A batch of protected records."""

    codes: dict[str, Codes]  # codes of the randomized values, by column
    weights: Floats | None  # weights of the records

    def joint(self, reports: Domain) -> Codes:
        """Return the codes of the joint cells of columns, `reports`, shape (records,)."""
        if len(reports) == 1:
            return self.codes[reports.names[0]]
        columns = tuple(self.codes[name].astype(np.intp) for name in reports.names)
        return np.ravel_multi_index(columns, reports.shape)


@dataclass(frozen=True, eq=False)
class Counted:
    """Counts of randomized values, where each record counts as one, or by its weight."""

    tally: Counts  # numbers of records, shape (reports,), without records of weight 0
    weighted: "estimation.WeightedCounts | None" = None  # of one stratum
    file: int | None = None
    """Number of records of the file, if the counted records are a simple random sample of them."""
    weight: str | None = None
    """The column of the weights."""

    @cached_property
    def counts(self) -> Counts | Floats:
        """The counts; with weights, counts of equally precise records without weights."""
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
        within = estimation.WeightedCounts(*sums, records, self.weighted.largest)
        return Counted(self.tally[at], within, weight=self.weight)


def open_protected(source: Any, form: FileFormat, names: Iterable[str]) -> Source:
    """Open a protected file or table, `source`, with the format `form` of a file.

    Raises `DataError` if it cannot be read, or lacks one of the columns `names`.
    """
    opened = open_source(source, form.delimiter, form.encoding)
    for name in names:
        if name not in opened.types:
            raise DataError(
                f"{opened.where}: no column {name!r}, only {shortened(', '.join(opened.types))}; "
                "plan and file are of different releases. Give the plan and file of one release"
            )
    return opened


class Responses(ABC):
    """Protected records, as a source of counts for estimation.

    Each method raises `DeniableError` if the kind of plan has no such data.
    """

    lacking: str = "the plan has no columns that are randomized record by record"
    """The message of these errors."""
    has_randomized_records: bool = False
    """Whether there are single records with randomized values of each column or cluster."""

    @property
    @abstractmethod
    def records(self) -> int:
        """Number of protected records, or of clients with an answer."""

    @property
    def collected_tables(self) -> tuple[tuple[str, ...], ...] | None:
        """The tables that clients randomized; None if each set of columns is a table."""
        return None

    def table(self, names: Sequence[str]) -> Table:
        """Return the table of the columns `names`."""
        raise DeniableError(self.lacking)

    def estimable_table(self, names: Sequence[str]) -> Table:
        """Return the table of the columns `names`; raise `DeniableError` if it is too large."""
        table = self.table(names)
        table.refuse_too_large()
        return table

    def count(self, tables: Sequence[Domain], weight: str | None = None) -> list[Counted]:
        """Return flat counts of the randomized values of `tables`, each the `reports` of a `Table`.

        Records are weighted by the released column `weight`, if one is named.
        """
        raise DeniableError(self.lacking)

    def batches(self, names: Iterable[str], weight: str | None = None) -> Iterator[ResponseBatch]:
        """Yield batches of records: the columns `names`, and the column `weight`."""
        raise DeniableError(self.lacking)

    def codes(self, tables: Sequence[Domain], weight: str | None = None) -> AllCodes:
        """Return each record's codes of the joint cells of `tables`, and weights by `weight`.

        The `tables` are of randomized values.
        """
        batches = self.batches({name for table in tables for name in table.names}, weight)
        read = [([batch.joint(table) for table in tables], batch.weights) for batch in batches]
        codes = [np.concatenate(own) for own in zip(*(each for each, _ in read), strict=True)]
        weights = [own for _, own in read if own is not None]
        return codes, np.concatenate(weights) if weights else None

    def clusters(self) -> list[Table]:
        """Return the table of each group of columns that were randomized together."""
        raise DeniableError(self.lacking)

    def answers(self, weight: str | None = None, names: Sequence[str] = ()) -> AllAnswers:
        """Return the randomized values of all records, and their weights by the column `weight`.

        There is one part per cluster of columns and channel: strata and forms have channels of
        their own, and columns that are released unchanged have channels that keep each value. Given
        the original record, all parts of a record are independent. Records of weight 0 are left
        out. With `names`, clusters without these columns may be left out; a collection returns
        answers about one table of all these columns.
        """
        raise DeniableError(self.lacking)

    def refuse_no_categories(self) -> None:
        """Raise `DeniableError` if the records have masked numbers, and no categories."""
        return

    def numbers(
        self, names: Sequence[str] | None, quantiles: Sequence[float], **options: Any
    ) -> pd.DataFrame | None:
        """Return statistics of masked numbers, or None if numbers are estimated from tables.

        `names`, `quantiles` and `**options` are as in `deniable.Released.numbers`.
        """
        return None
