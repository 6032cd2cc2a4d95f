"""Analyses of many tables of a release together."""

import pandas as pd

from deniable.analysis.consistency import ConsistentEstimates, consistent_estimates
from deniable.analysis.independence import tested_tables
from deniable.analysis.many_tables import ChosenTables, Requested
from deniable.analysis.two_step import two_step_estimates
from deniable.records import Domain
from deniable.responses import Responses
from deniable.schema import Column


class AnalysesOfTables:
    """Methods of `deniable.Released` that combine many tables."""

    _protected: Responses
    _columns: dict[str, Column]

    @property
    def domain(self) -> Domain:
        """The columns that have estimates, with their categories."""
        raise NotImplementedError

    def independence_of_pairs(
        self, tables: Requested = None, *, weight: str | None = None, seed: int = 0
    ) -> pd.DataFrame:
        """Return tests of independence of many tables, with p-values adjusted for their number.

        See `deniable.analysis.independence.tested_tables`.

        Parameters
        ----------
        tables : sequence of sequences of str, optional
            By default all collected tables of a collection, else all pairs of columns of at most
            400 cells, and at most 50,000 cells in all.
        weight : str, optional
            As in `margins`.
        seed : int, >= 0
            Of Monte Carlo tables, where p-values need these.

        Raises
        ------
        DeniableError
            If no table can be tested, or the requested ones have more cells.
        """
        chosen = ChosenTables.of(self._protected, self.domain, tables)
        return tested_tables(chosen, self._protected, weight, seed)

    def consistent(
        self, tables: Requested = None, *, weight: str | None = None
    ) -> ConsistentEstimates:
        """Return the closest tables that agree on all shared marginal distributions.

        See `deniable.analysis.consistency.consistent_estimates`.

        Parameters
        ----------
        tables, weight
            As in `independence_of_pairs`.

        Returns
        -------
        ConsistentEstimates
            Two tables, ``tables`` and ``disagreement``.

        Raises
        ------
        DeniableError
            If no table can be estimated, or the requested ones have more cells.
        """
        chosen = ChosenTables.of(self._protected, self.domain, tables)
        return consistent_estimates(chosen, self._protected, self._columns, weight)

    def two_step(self, tables: Requested = None, *, weight: str | None = None) -> pd.DataFrame:
        """Return the nearest non-negative tables, and independence fitted to these.

        See `deniable.analysis.two_step.two_step_estimates`.

        Parameters
        ----------
        tables, weight
            As in `independence_of_pairs`.

        Raises
        ------
        DeniableError
            As `consistent`.
        """
        chosen = ChosenTables.of(self._protected, self.domain, tables)
        return two_step_estimates(chosen, self._protected, weight)
