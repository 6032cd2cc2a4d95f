"""Tables that agree on the margins that they share ([rrba], 4.3).

Every table over a set S of attributes is a sum of effects, one for each subset s of S: the main
effects, the interactions of two, and so on, each the part of the margin over s that no smaller
margin shows. Tables agree on all shared margins if and only if each effect that several of them
have is the same in all; effects of a table are orthogonal to each other. So

- the consistent tables closest in weighted squares have, of each effect, the average of what the
  tables say, weighted by the precision of that margin in each: the closed form. With one shared
  margin it moves this margin to its average and spreads the change evenly. It is the solution
  whenever it has no negative cell;
- else the effects are the variables of a quadratic program, or of a linear one for absolute misfit
  (`deniable.contingency.programs`), and agreement needs no constraint and has no tolerance.

Tables that nobody observed are reconstructed with the others: effects that some table shows are
taken from there, the rest make the sum of squares smallest, as [rrba] has it. Interactions that
were in no view are then as even as the margins allow, not as independent.

The printed program demands equality with margins that disagree: with noise it has no solution.
Here the misfit is minimised instead (the slack form), over all tables together; ties are broken by
the smallest sum of squares. `reconstruct_printed` keeps the printed form for consistent tables.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from deniable.arrays import Floats
from deniable.contingency.effects import Layout, Names, NoisyTable, margin_of, sizes_of
from deniable.errors import DeniableError

__all__ = [
    "ConsistentTables",
    "NoisyTable",
    "consistent_tables",
    "largest_disagreement",
    "margin_of",
    "reconstruct_printed",
]

Norm = Literal["l2", "l1"]

AGREEMENT = 1e-9
"""Largest difference of shared margins that counts as agreement."""


@dataclass(frozen=True, eq=False)
class ConsistentTables:
    """Distributions that agree on all shared margins.

    Attributes
    ----------
    tables : mapping from attributes to array
        First those that were observed, then those that were wanted beside.
    closed_form : bool
        Whether no program was needed.
    """

    tables: Mapping[Names, Floats]
    closed_form: bool

    def __getitem__(self, attributes: Sequence[str]) -> Floats:
        return self.tables[tuple(attributes)]

    def largest_disagreement(self) -> float:
        """Return the largest difference between shared margins of any two tables."""
        return largest_disagreement([NoisyTable(*item) for item in self.tables.items()])


def consistent_tables(
    tables: Sequence[NoisyTable],
    wanted: Sequence[Sequence[str]] = (),
    *,
    norm: Norm = "l2",
) -> ConsistentTables:
    """Return the distributions closest to noisy tables that agree on all shared margins.

    Parameters
    ----------
    tables : sequence of NoisyTable
        Tables over the same attributes are averaged.
    wanted : sequence of sequences of str
        Further tables to reconstruct, over attributes that the tables have.
    norm : "l2" or "l1"
        Of the misfit. ``l2`` weights squares by the precision of the tables, ``l1`` absolute
        differences by its root.

    Raises
    ------
    DeniableError
        If tables differ in the categories of an attribute, or a wanted attribute is in none.

    Examples
    --------
    >>> first = NoisyTable(("a", "b"), np.array([[0.3, 0.3], [0.2, 0.2]]))
    >>> second = NoisyTable(("a", "c"), np.array([[0.2, 0.2], [0.3, 0.3]]))
    >>> consistent_tables([first, second])["a", "b"]
    array([[0.25, 0.25],
           [0.25, 0.25]])
    """
    if norm not in ("l2", "l1"):
        raise DeniableError(f"unknown norm {norm!r}; use l2 or l1")
    if not tables:
        raise DeniableError("there are no tables to make consistent; give at least one")
    layout = Layout.of(tables, wanted)
    observed, weights = layout.observed(tables)
    effects = layout.average_effects(tables)
    closed_form = norm == "l2" and bool(np.all(layout.cells(effects) >= 0))
    if not closed_form:
        effects = _by_program(layout, observed, weights, norm)
    return ConsistentTables(layout.split(_without_negatives(layout, effects)), closed_form)


def reconstruct_printed(attributes: Sequence[str], tables: Sequence[NoisyTable]) -> Floats:
    """Return the table of least squares that has the margins of all given tables, exactly.

    The program of [rrba], 4.3, as printed; for tables that agree already.

    Parameters
    ----------
    attributes : sequence of str
        All in one table, in several, or no two of them in any.
    tables : sequence of NoisyTable

    Raises
    ------
    DeniableError
        If the tables disagree, or no non-negative table has their margins; then use
        `consistent_tables`.
    """
    apart = largest_disagreement(tables)
    if apart > AGREEMENT:
        raise DeniableError(
            f"the tables disagree on shared margins by up to {apart:.3g}, so no table has the "
            "margins of all; make them consistent first (consistent_tables)"
        )
    names = tuple(attributes)
    layout = Layout.of(tables, [names])
    effects = layout.average_effects(tables)
    own = layout.places[names]
    found = layout.cells(effects)[own]
    if np.any(found < -AGREEMENT):
        from deniable.contingency.programs import smallest_norm  # noqa: PLC0415 - takes a second

        free = layout.unobserved(tables)
        extra = smallest_norm(found, layout.basis[own][:, free])
        if extra is None:
            raise DeniableError(
                f"no table over {' x '.join(names)} has the margins of the given tables without a "
                "negative cell; use consistent_tables, which minimises the misfit instead"
            )
        effects[free] = extra
        found = layout.cells(effects)[own]
    # What the solver left below zero is rounding.
    return np.asarray(np.maximum(found, 0.0).reshape([layout.sizes[name] for name in names]))


def largest_disagreement(tables: Sequence[NoisyTable]) -> float:
    """Return the largest difference between shared margins of any two tables, totals included."""
    sizes_of(tables)
    largest = max((abs(float(t.proportions.sum()) - 1) for t in tables), default=0.0)
    for first, second in combinations(tables, 2):
        shared = [name for name in first.attributes if name in second.attributes]
        if shared:
            apart = margin_of(first, shared) - margin_of(second, shared)
            largest = max(largest, float(np.abs(apart).max()))
    return largest


def _by_program(layout: Layout, observed: Floats, weights: Floats, norm: Norm) -> Floats:
    from deniable.contingency.programs import (  # noqa: PLC0415 - cvxpy takes a second
        least_absolute,
        least_squares,
        smallest_norm,
    )

    if norm == "l1":
        return least_absolute(layout.even, layout.basis, observed, np.sqrt(weights))
    effects = least_squares(layout.even, layout.basis, observed, weights)
    shown = layout.basis.power(2).T @ weights > 0
    free = np.flatnonzero(~shown)
    if not free.size:
        return effects
    # The observed tables are settled; of the others the smallest.
    settled = np.where(shown, effects, 0.0)
    touched = np.flatnonzero(abs(layout.basis[:, free]).sum(axis=1) > 0)
    known = layout.cells(_evened(layout, settled, effects))[touched]
    extra = smallest_norm(known, layout.basis[touched][:, free])
    if extra is not None:
        effects = effects.copy()
        effects[free] = extra
    return effects


def _evened(layout: Layout, settled: Floats, effects: Floats) -> Floats:
    """Shrink settled effects by what the solver left below zero: then the rest has a solution."""
    short = max(-float(layout.cells(effects).min()), 0.0)
    return settled * (1 - _share_to_even(layout, short))


def _without_negatives(layout: Layout, effects: Floats) -> Floats:
    """Return the cells of consistent tables, without what a solver left below zero.

    All effects shrink by one factor: even tables are consistent, and so is what lies between.
    """
    cells = layout.cells(effects)
    short = -float(cells.min())
    if short <= 0:
        return cells
    cells = layout.cells(effects * (1 - _share_to_even(layout, short)))
    return np.maximum(cells, 0.0)


def _share_to_even(layout: Layout, short: float) -> float:
    least = float(layout.even.min())
    return short / (short + least) * (1 + 1e-9) if short > 0 else 0.0
