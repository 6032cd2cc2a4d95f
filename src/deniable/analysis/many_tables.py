"""Estimates of many tables at once, for analyses that combine them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from deniable.analysis.answers import Asked
from deniable.analysis.estimator import Estimator
from deniable.arrays import Floats
from deniable.errors import DeniableError
from deniable.records import Domain
from deniable.responses import Responses, Table

MAX_CELLS_OF_PAIR = 400
"""Cells of a pair of columns up to which it is analysed by default."""
MAX_CELLS = 50_000
"""Cells of all tables together; consistency then takes some ten seconds."""
JOINED = " x "
Requested = Sequence[Sequence[str]] | None
"""Tables by the names of their columns; None for the default."""


@dataclass(frozen=True, eq=False)
class ChosenTables:
    """Tables to analyse together.

    Attributes
    ----------
    tables : tuple of Table
    left_out : dict of str to str
        Default tables that are not analysed: columns, joined by " x ", and the reason.
    """

    tables: tuple[Table, ...]
    left_out: dict[str, str]

    @classmethod
    def of(
        cls,
        responses: Responses,
        domain: Domain,
        requested: Requested,
        *,
        pairs_alone: bool = False,
    ) -> "ChosenTables":
        """Return the `requested` tables of some `responses`, or the default ones.

        By default these are the collected tables of a collection, else (or with `pairs_alone`) all
        pairs of columns of the `domain` with at most 400 cells; the smallest ones first, up to
        50,000 cells in all.

        Raises
        ------
        DeniableError
            If there is no table, or a requested one cannot be estimated, or the requested ones have
            more cells.
        """
        if requested is not None:
            return cls(_requested(responses, domain, requested), {})
        collected = () if pairs_alone else responses.collected_tables
        in_order = sorted(collected or (), key=lambda each: [domain.position(n) for n in each])
        names = in_order or list(combinations(domain.names, 2))
        if not names:
            raise DeniableError("one column has no pairs; plan at least two columns")
        cells = {each: domain.project(each).size for each in names}
        tables, left_out, total = {}, {}, 0
        for each in sorted(names, key=cells.__getitem__):
            reason = ""
            if not collected and cells[each] > MAX_CELLS_OF_PAIR:
                reason = f"{cells[each]:,} cells, over {MAX_CELLS_OF_PAIR}"
            elif total + cells[each] > MAX_CELLS:
                reason = f"over {MAX_CELLS:,} cells in all"
            else:
                try:
                    tables[each] = _estimable(responses, each)
                    total += cells[each]
                except DeniableError as error:
                    reason = str(error)
            if reason:
                left_out[JOINED.join(each)] = reason
        if not tables:
            first = next(iter(left_out.items()))
            raise DeniableError(
                f"no default table can be analysed, the first for this reason: {': '.join(first)}. "
                "Request tables by name"
            )
        return cls(tuple(tables[each] for each in names if each in tables), left_out)


def _requested(
    responses: Responses, domain: Domain, requested: Sequence[Sequence[str]]
) -> tuple[Table, ...]:
    names = list(dict.fromkeys(tuple(each) for each in requested))
    if not names or min(map(len, names)) < 2:
        raise DeniableError("tables of fewer than two columns; request tables of two or more")
    total = sum(domain.project(each).size for each in names)
    if total > MAX_CELLS:
        raise DeniableError(
            f"the requested tables have {total:,} cells in all; at most {MAX_CELLS:,} are analysed "
            "together. Request fewer or smaller tables"
        )
    return tuple(_estimable(responses, each) for each in names)


def _estimable(responses: Responses, names: Sequence[str]) -> Table:
    table = responses.table(names)
    table.refuse_too_large()
    return table


@dataclass(frozen=True, eq=False)
class TableEstimate:
    """The unbiased estimate of a table.

    Attributes
    ----------
    domain : Domain
        Its attributes.
    proportions : array, shape of the domain
        They can be negative.
    standard_errors : array, shape (cells,)
        For the population; not a number where a variance is estimated below zero.
    """

    domain: Domain
    proportions: Floats
    standard_errors: Floats

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its columns."""
        return self.domain.names

    @property
    def label(self) -> str:
        """The names of its columns, joined by " x "."""
        return JOINED.join(self.names)

    @property
    def precision(self) -> float:
        """One over the average variance of a cell; 1 if no variance is known or all are 0."""
        known = self.standard_errors[np.isfinite(self.standard_errors)] ** 2
        return 1 / (float(known.mean()) or 1.0) if known.size else 1.0


def unbiased_estimates(
    chosen: ChosenTables, responses: Responses, weight: str | None
) -> tuple[list[TableEstimate], dict[str, str]]:
    """Return the unbiased estimates of `chosen` tables, and the tables left out.

    Parameters
    ----------
    chosen : ChosenTables
    responses : Responses
    weight : str or None
        The released column of weights that records count by.
    """
    known, left_out = Estimator(responses, weight), dict(chosen.left_out)
    known.count(chosen.tables)
    found = []
    for table in chosen.tables:
        proportions, errors = known.unbiased(table, Asked())
        own = TableEstimate(table.domain, proportions.reshape(table.domain.shape), errors)
        if np.isfinite(proportions).all():
            found.append(own)
        else:
            left_out[own.label] = "its matrix is singular"
    if not found:
        raise DeniableError(
            f"no table can be estimated: {'; '.join(f'{k}: {v}' for k, v in left_out.items())}"
        )
    return found, left_out
