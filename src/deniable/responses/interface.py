"""The interface of protected records: tables that can be counted, and batches that can be read."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from deniable.arrays import Codes, Counts, Floats
from deniable.estimation import WeightedCounts
from deniable.records import Domain
from deniable.responses.tables import Table


@dataclass(frozen=True)
class Batch:
    """Some protected records.

    Attributes
    ----------
    codes : dict of str to array of unsigned integers, shape (records,)
        Randomized values by column.
    weights : array, shape (records,), or None
    """

    codes: dict[str, Codes]
    weights: Floats | None

    def joint(self, reports: Domain) -> Codes:
        """Return the codes of joint cells of the columns `reports`, shape (records,)."""
        if len(reports) == 1:
            return self.codes[reports.names[0]]
        columns = tuple(self.codes[name].astype(np.intp) for name in reports.names)
        return np.ravel_multi_index(columns, reports.shape)


@dataclass(frozen=True, eq=False)
class Counted:
    """Counts of the randomized values of some columns.

    Attributes
    ----------
    counts : array, shape (reports,)
        With weights: counts of as many records as equal weights would need
        (`WeightedCounts.effective`).
    records : int, at least 1
        Number of records counted. Records of weight 0 are left out.
    weighted : WeightedCounts of one stratum, or None
    """

    counts: Counts | Floats
    records: int
    weighted: WeightedCounts | None = None


class Responses(ABC):
    """Protected records, from which tables are estimated."""

    @property
    @abstractmethod
    def records(self) -> int:
        """Number of protected records, or of clients that answered."""

    @abstractmethod
    def table(self, names: Sequence[str]) -> Table:
        """Return the table of the columns `names`, with the channel of its randomized values."""

    @abstractmethod
    def count(self, tables: Sequence[Domain], weight: str | None = None) -> list[Counted]:
        """Return the counts of the randomized values of each of `tables`.

        Parameters
        ----------
        tables : sequence of Domain
            The `Table.reports` of tables.
        weight : str, optional
            The name of a released column of weights.
        """

    @abstractmethod
    def portions(self, names: Iterable[str], weight: str | None = None) -> Iterator[Batch]:
        """Yield the records in batches.

        Parameters
        ----------
        names : iterable of str
            Columns of randomized values.
        weight : str, optional
            The name of a released column of weights. Records of weight 0 are left out.
        """
