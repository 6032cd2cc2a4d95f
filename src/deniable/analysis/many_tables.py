"""Analyses that combine many tables: consistent tables, and two-step maximum likelihood."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd

from deniable.analysis.answers import EstimateOptions, Tables, named_guesses, values_of
from deniable.analysis.base import ReleaseSource
from deniable.analysis.estimator import Estimator
from deniable.arrays import Flags, Floats
from deniable.contingency import (
    Independence,
    NoisyTable,
    consistent_tables,
    marginal,
    two_step_estimate,
)
from deniable.errors import DeniableError
from deniable.responses import Table

MAX_CELLS_OF_PAIR = 400  # cells of a pair of columns that is analysed by default
IMPOSSIBLE = -100.0
MAX_CELLS = 50_000  # cells of all tables together; consistency then takes some ten seconds
Chosen = tuple[list[Table], dict[str, str]]
"""Tables to analyse together, and the reason for each default table that is left out."""


class ConsistentEstimates(NamedTuple):
    """Consistent tables.

    `tables` has one row per cell of a table: ``columns`` and ``values``, joined by " x ";
    ``estimate``, ``standard_error`` (for the population), and ``consistent``, which is not negative
    and sums to 1. All shared marginal distributions agree. ``attrs["left_out"]`` has the tables
    that are left out by default, with the reasons. `disagreement` has one row per category:
    ``column``, ``value``, number of ``tables``, the ``lowest``, ``median`` and ``highest`` of their
    estimates, and the ``consistent`` proportion.
    """

    tables: pd.DataFrame
    disagreement: pd.DataFrame


class _Estimate(NamedTuple):
    """The unbiased estimate of a table; all arrays have the table's shape."""

    table: Table
    proportions: Floats  # can be negative
    errors: Floats  # for the population; not a number where a variance is estimated below zero
    impossible: Flags  # cells that no record can have

    @property
    def names(self) -> tuple[str, ...]:
        return self.table.domain.names

    @property
    def noisy(self) -> Floats:
        """The proportions, far below 0 in impossible cells, so that the nearest table has 0."""
        return np.where(self.impossible, IMPOSSIBLE, self.proportions)

    @property
    def precision(self) -> float:
        """One over the average variance of a cell; 1 if no variance is known or all are 0."""
        variances = self.errors[np.isfinite(self.errors) & ~self.impossible] ** 2
        return 1 / (float(variances.mean()) or 1.0) if variances.size else 1.0


class ManyTableEstimates(ReleaseSource):
    """Estimates from many tables at once, which share columns."""

    def consistent(
        self, tables: Tables | None = None, *, weight: str | None = None
    ) -> ConsistentEstimates:
        """Return the closest tables that agree on all shared marginal distributions ([rrba], 4.3).

        The method is weighted least squares; the weight of a table is one over the average variance
        of its cells. See `deniable.contingency.agreement`. `tables` and `weight` are as in
        `independence_of_pairs`.
        """
        estimates, left_out = self._unbiased(tables, weight)
        noisy = [NoisyTable(each.names, each.noisy, each.precision) for each in estimates]
        found = consistent_tables(noisy)
        found |= {e.names: np.where(e.impossible, 0.0, found[e.names]) for e in estimates}
        more = [{"standard_error": e.errors, "consistent": found[e.names]} for e in estimates]
        return ConsistentEstimates(
            _by_cell(estimates, more, left_out), self._disagreement(estimates, found)
        )

    def two_step(self, tables: Tables | None = None, *, weight: str | None = None) -> pd.DataFrame:
        """Return the nearest non-negative tables, and the independence models fitted to these.

        See [rrba], section 6, and `deniable.contingency.two_step_estimate`. There is one row per
        cell of a table: ``columns`` and ``values``, joined by " x "; ``estimate``; ``nearest``,
        which is not negative and sums to 1; ``independent``, expected if the columns were
        independent. ``attrs["left_out"]`` has the tables left out, with the reasons. `tables` and
        `weight` are as in `independence_of_pairs`.
        """
        estimates, left_out = self._unbiased(tables, weight)
        steps: dict[tuple[str, ...], dict[str, Floats]] = {}
        for shape in dict.fromkeys(each.proportions.shape for each in estimates):
            alike = [each for each in estimates if each.proportions.shape == shape]
            noisy = np.array([each.noisy.reshape(-1) for each in alike])
            found = two_step_estimate(noisy, 1.0, Independence(shape))
            for each, nearest, fitted in zip(alike, *found, strict=True):
                steps[each.names] = {"nearest": nearest, "independent": fitted}
        return _by_cell(estimates, [steps[each.names] for each in estimates], left_out)

    def _chosen(self, requested: Tables | None, *, pairs_alone: bool = False) -> Chosen:
        """Return the `requested` tables, or the default ones.

        By default these are the collected tables of a collection. Otherwise (or with `pairs_alone`)
        they are all pairs of columns with at most 400 cells, the smallest ones first, up to 50,000
        cells in all. Raises `DeniableError` if no table is left, if a requested one cannot be
        estimated, or if the requested ones have over 50,000 cells.
        """
        domain, responses = self.domain, self.responses
        if requested is not None:
            names = list(dict.fromkeys(tuple(each) for each in requested))
            if not names or min(map(len, names)) < 2:
                problem = "tables of fewer than two columns; request tables of two or more"
                raise DeniableError(problem)
            if (total := sum(domain.project(each).size for each in names)) > MAX_CELLS:
                raise DeniableError(
                    f"the requested tables have {total:,} cells in all; at most {MAX_CELLS:,} are "
                    "analysed together. Request fewer or smaller tables"
                )
            return [responses.estimable_table(each) for each in names], {}
        collected = () if pairs_alone else responses.collected_tables
        in_order = sorted(collected or (), key=lambda each: [domain.position(n) for n in each])
        if not (names := in_order or list(combinations(domain.names, 2))):
            raise DeniableError("one column has no pairs; plan at least two columns")
        tables, left_out, total = {}, {}, 0
        for each in sorted(names, key=lambda each: domain.project(each).size):
            cells = domain.project(each).size
            try:
                if not collected and cells > MAX_CELLS_OF_PAIR:
                    raise DeniableError(f"{cells:,} cells, over {MAX_CELLS_OF_PAIR}")
                if total + cells > MAX_CELLS:
                    raise DeniableError(f"over {MAX_CELLS:,} cells in all")
                tables[each] = responses.estimable_table(each)
                total += cells
            except DeniableError as error:
                left_out[" x ".join(each)] = str(error)
        if not tables:
            first = next(iter(left_out.items()))
            raise DeniableError(
                f"no default table can be analysed, the first for this reason: {': '.join(first)}. "
                "Request tables by name"
            )
        return [tables[each] for each in names if each in tables], left_out

    def _unbiased(
        self, requested: Tables | None, weight: str | None
    ) -> tuple[list[_Estimate], dict[str, str]]:
        tables, left_out = self._chosen(requested)
        known, found = Estimator(self.responses, weight), []
        known.count(tables)
        for table in tables:
            proportions, errors = known.unbiased(table, EstimateOptions())
            if np.isfinite(proportions).all():
                shape, impossible = table.domain.shape, table.impossible
                parts = proportions.reshape(shape), errors.reshape(shape), impossible.reshape(shape)
                found.append(_Estimate(table, *parts))
            else:
                left_out[table.label] = "its matrix is singular"
        if not found:
            raise DeniableError(f"no table can be estimated: {listed(left_out)}")
        return found, left_out

    def _disagreement(
        self, estimates: Sequence[_Estimate], found: Mapping[tuple[str, ...], Floats]
    ) -> pd.DataFrame:
        parts = []
        for name, column in self._columns.items():
            if own := [each for each in estimates if name in each.names]:
                first = own[0]
                before = np.array([marginal(e.names, e.proportions, (name,)) for e in own])
                about = {
                    "column": name,
                    "value": values_of(first.table.domain[name], column),
                    "tables": len(own),
                    "lowest": before.min(axis=0),
                    "median": np.median(before, axis=0),
                    "highest": before.max(axis=0),
                    "consistent": marginal(first.names, found[first.names], (name,)),
                }
                parts.append(pd.DataFrame(about))
        return pd.concat(parts, ignore_index=True)


def listed(left_out: Mapping[str, str]) -> str:
    """Return tables that are `left_out` as text, with the reasons."""
    return "; ".join(f"{label}: {reason}" for label, reason in left_out.items())


def _by_cell(
    estimates: Sequence[_Estimate],
    more: Sequence[Mapping[str, Floats]],
    left_out: dict[str, str],
) -> pd.DataFrame:
    parts = []
    for each, own in zip(estimates, more, strict=True):
        about = {"columns": each.table.label, "values": each.table.domain.cell_labels()}
        numbers = {"estimate": each.proportions, **own}
        parts.append(pd.DataFrame(about | {k: v.reshape(-1) for k, v in numbers.items()}))
    tables = pd.concat(parts, ignore_index=True)
    tables.attrs["left_out"] = left_out
    return named_guesses(tables, ((each.table.label, each.errors) for each in estimates))
