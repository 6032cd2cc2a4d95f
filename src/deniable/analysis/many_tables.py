"""Analyses that combine many tables: consistent tables, and two-step maximum likelihood."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from deniable.analysis.answers import EstimateOptions, Tables, values_of
from deniable.analysis.estimator import Estimator
from deniable.analysis.guesses import named_guesses
from deniable.arrays import Flags, Floats
from deniable.contingency import (
    LogLinearModel,
    NoisyTable,
    consistent_tables,
    marginal,
    two_step_estimate,
)
from deniable.errors import DeniableError
from deniable.records import Domain
from deniable.responses import Responses, Table
from deniable.schema import Column

MAX_CELLS_OF_PAIR = 400  # cells of a pair of columns that is analysed by default
IMPOSSIBLE = -100.0
MAX_CELLS = 50_000  # cells of all tables together; consistency then takes some ten seconds


@dataclass(frozen=True, eq=False)
class ChosenTables:
    """Tables to analyse together; `left_out` has the reason for each default table left out."""

    tables: tuple[Table, ...]  # to analyse
    left_out: dict[str, str]

    @classmethod
    def of(
        cls,
        responses: Responses,
        domain: Domain,
        requested: Tables | None,
        *,
        pairs_alone: bool = False,
    ) -> "ChosenTables":
        """Return the `requested` tables of some `responses`, or the default ones.

        By default these are the collected tables of a collection. Otherwise (or with `pairs_alone`)
        they are all pairs of columns of the `domain` with at most 400 cells, the smallest ones
        first, up to 50,000 cells in all. Raises `DeniableError` if no table is left, if a requested
        one cannot be estimated, or if the requested ones have over 50,000 cells.
        """
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
            return cls(tuple(responses.estimable_table(each) for each in names), {})
        collected = () if pairs_alone else responses.collected_tables
        in_order = sorted(collected or (), key=lambda each: [domain.position(n) for n in each])
        if not (names := in_order or list(combinations(domain.names, 2))):
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
                    tables[each] = responses.estimable_table(each)
                    total += cells[each]
                except DeniableError as error:
                    reason = str(error)
            if reason:
                left_out[" x ".join(each)] = reason
        if not tables:
            first = next(iter(left_out.items()))
            raise DeniableError(
                f"no default table can be analysed, the first for this reason: {': '.join(first)}. "
                "Request tables by name"
            )
        return cls(tuple(tables[each] for each in names if each in tables), left_out)


@dataclass(frozen=True, eq=False)
class TableEstimate:
    """The unbiased estimate of a `table`.

    The `proportions`, of the table's shape, can be negative. The `standard_errors`, shape (cells,),
    are for the population, and not a number where a variance is estimated below zero.
    """

    table: Table
    proportions: Floats
    standard_errors: Floats

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.table.domain.names

    @property
    def noisy(self) -> Floats:
        """The proportions, far below 0 in impossible cells, so that the nearest table has 0."""
        return np.where(self.impossible, IMPOSSIBLE, self.proportions)

    @cached_property
    def impossible(self) -> Flags:
        """Flags of the cells that no record can have, of the table's shape."""
        return self.table.impossible.reshape(self.proportions.shape)

    @property
    def precision(self) -> float:
        """One over the average variance of a cell; 1 if no variance is known or all are 0."""
        there = np.isfinite(self.standard_errors) & ~self.impossible.reshape(-1)
        known = self.standard_errors[there] ** 2
        return 1 / (float(known.mean()) or 1.0) if known.size else 1.0


def unbiased_estimates(
    chosen: ChosenTables, responses: Responses, weight: str | None
) -> tuple[list[TableEstimate], dict[str, str]]:
    """Return the unbiased estimates of `chosen` tables, and the tables left out, with reasons.

    Records of the `responses` count by the released column `weight`, if given.
    """
    known, left_out = Estimator(responses, weight), dict(chosen.left_out)
    known.count(chosen.tables)
    found = []
    for table in chosen.tables:
        proportions, errors = known.unbiased(table, EstimateOptions())
        if np.isfinite(proportions).all():
            found.append(TableEstimate(table, proportions.reshape(table.domain.shape), errors))
        else:
            left_out[table.label] = "its matrix is singular"
    if not found:
        raise DeniableError(f"no table can be estimated: {listed(left_out)}")
    return found, left_out


def listed(left_out: Mapping[str, str]) -> str:
    """Return tables that are `left_out` as text, with the reasons."""
    return "; ".join(f"{label}: {reason}" for label, reason in left_out.items())


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


def consistent_estimates(
    chosen: ChosenTables, responses: Responses, columns: Mapping[str, Column], weight: str | None
) -> ConsistentEstimates:
    """Return the closest tables that agree on all shared marginal distributions ([rrba], 4.3).

    The method is weighted least squares; the weight of a table is one over the average variance of
    its cells. See `deniable.contingency.agreement`. The `columns` of the schema are given by name.
    `chosen`, `responses` and `weight` are as in `unbiased_estimates`.
    """
    estimates, left_out = unbiased_estimates(chosen, responses, weight)
    noisy = [NoisyTable(each.names, each.noisy, each.precision) for each in estimates]
    found = consistent_tables(noisy)
    found |= {each.names: np.where(each.impossible, 0.0, found[each.names]) for each in estimates}
    more = [
        {"standard_error": each.standard_errors, "consistent": found[each.names].reshape(-1)}
        for each in estimates
    ]
    disagreement = pd.DataFrame(_disagreement(estimates, found, columns))
    return ConsistentEstimates(_by_cell(estimates, more, left_out), disagreement)


def two_step_estimates(
    chosen: ChosenTables, responses: Responses, weight: str | None
) -> pd.DataFrame:
    """Return the nearest non-negative tables, and the independence models fitted to these.

    See [rrba], section 6, and `deniable.contingency.two_step_estimate`. There is one row per cell
    of a table: ``columns`` and ``values``, joined by " x "; ``estimate``; ``nearest``, which is not
    negative and sums to 1; ``independent``, expected if the columns were independent.
    ``attrs["left_out"]`` has the tables left out, with the reasons. `chosen`, `responses` and
    `weight` are as in `unbiased_estimates`.
    """
    estimates, left_out = unbiased_estimates(chosen, responses, weight)
    steps: dict[TableEstimate, dict[str, Floats]] = {}
    for shape in dict.fromkeys(each.proportions.shape for each in estimates):
        alike = [each for each in estimates if each.proportions.shape == shape]
        noisy = np.array([each.noisy.reshape(-1) for each in alike])
        found = two_step_estimate(noisy, 1.0, LogLinearModel.independence(shape))
        for each, nearest, fitted in zip(alike, *found, strict=True):
            steps[each] = {"nearest": nearest, "independent": fitted}
    return _by_cell(estimates, [steps[each] for each in estimates], left_out)


def _by_cell(
    estimates: Sequence[TableEstimate],
    more: Sequence[Mapping[str, Floats]],
    left_out: dict[str, str],
) -> pd.DataFrame:
    parts = [
        pd.DataFrame(
            {
                "columns": each.table.label,
                "values": each.table.domain.cell_labels(),
                "estimate": each.proportions.reshape(-1),
                **own,
            }
        )
        for each, own in zip(estimates, more, strict=True)
    ]
    tables = pd.concat(parts, ignore_index=True)
    tables.attrs["left_out"] = left_out
    return named_guesses(tables, ((each.table.label, each.standard_errors) for each in estimates))


def _disagreement(
    estimates: Sequence[TableEstimate],
    found: Mapping[tuple[str, ...], Floats],
    columns: Mapping[str, Column],
) -> Iterator[dict[str, Any]]:
    by_name: dict[str, list[tuple[Floats, Floats]]] = {}
    for each in estimates:
        for name in each.names:
            pair = (each.proportions, found[each.names])
            before, after = (marginal(each.names, cells, (name,)) for cells in pair)
            by_name.setdefault(name, []).append((before, after))
    attributes = {each.name: each for estimate in estimates for each in estimate.table.domain}
    for name in columns:
        if name in by_name:
            before = np.array([own for own, _ in by_name[name]])
            for code, value in enumerate(values_of(attributes[name], columns[name])):
                yield {
                    "column": name,
                    "value": value,
                    "tables": len(before),
                    "lowest": before[:, code].min(),
                    "median": np.median(before[:, code]),
                    "highest": before[:, code].max(),
                    "consistent": by_name[name][0][1][code],
                }
