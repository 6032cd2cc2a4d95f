"""Responses with masked numbers and randomized columns of the same records."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pandas as pd

from deniable.errors import DeniableError
from deniable.records import Domain
from deniable.responses.base import Counted, ResponseBatch, Responses
from deniable.responses.masked import MaskedResponses
from deniable.responses.tables import Table


class MixedResponses(Responses):
    """The responses of a mixed plan: `masked` numbers, and tables of the `categories`."""

    has_randomized_records = True

    def __init__(self, masked: MaskedResponses, categories: Responses) -> None:
        self.masked, self.categories = masked, categories

    @property
    def records(self) -> int:
        return self.categories.records

    def table(self, names: Sequence[str]) -> Table:
        """Return the table of the columns `names`; raise `DeniableError` if one is masked."""
        if masked := [name for name in names if name in self.masked.mechanism.domains.names]:
            raise DeniableError(
                f"column {masked[0]!r} has masked numbers, so there is no table with it: no "
                "transition matrix describes their relation to other columns; estimate its "
                "numbers, or declare a step and randomize it"
            )
        return self.categories.table(names)

    def count(self, tables: Sequence[Domain], weight: str | None = None) -> list[Counted]:
        return self.categories.count(tables, weight)

    def batches(self, names: Iterable[str], weight: str | None = None) -> Iterator[ResponseBatch]:
        return self.categories.batches(names, weight)

    def clusters(self) -> list[Table]:
        return self.categories.clusters()

    def numbers(
        self, names: Sequence[str] | None, quantiles: Sequence[float], **options: Any
    ) -> pd.DataFrame | None:
        """Return statistics of the masked columns among `names`; None if there are none.

        `quantiles` and `**options` are as in `MaskedResponses.numbers`.
        """
        masked = self.masked.mechanism.domains.names
        own = None if names is None else [name for name in names if name in masked]
        return None if own == [] else self.masked.numbers(own, quantiles, **options)
