"""Make tables agree on the marginal distributions that they share ([rrba], 4.3).

Every table over a set S of attributes is a sum of effects, one for each subset s of S: main
effects, interactions of two, and so on. An effect is the part of the marginal distribution over s
that no smaller marginal contains. Tables agree on all shared marginals if and only if each common
effect is equal. The effects of a table are orthogonal. So

- for weighted squares there is a closed form: each effect of the closest tables is the average of
  the tables' effects, weighted by the precision of that marginal in each table. With one shared
  marginal, it moves this marginal to its average and spreads the change evenly. It is the solution
  if it has no negative cell;
- otherwise the effects are the variables of a quadratic program, or of a linear one for absolute
  misfit (`deniable.contingency.programs`). Agreement then needs no constraint and no tolerance.

Unobserved tables are reconstructed with the others. They take the effects that some observed table
has; the rest minimize the sum of squares, as in [rrba]. Unobserved interactions then make the table
as even as its marginals allow, which differs from independence.

The published program requires equality with all marginals. With noise these disagree, and it has no
solution. Here the joint misfit of all tables is minimized (the slack form), and the smallest sum of
squares breaks ties. `reconstruct_printed` has the published form for consistent tables.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy import sparse

from deniable.arrays import Floats, quotients
from deniable.contingency.agreement import (
    Names,
    in_order,
    marginal,
    nearest_agreeing,
    numbered,
)
from deniable.contingency.two_step import effect_columns, subsets
from deniable.errors import DeniableError, named_types, refuse_unknown

Norm = Literal["l2", "l1"]

AGREEMENT = 1e-9  # largest difference of shared marginals that counts as agreement


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """A table of estimated proportions.

    The `proportions` are finite and can be negative. They have one axis for each of the
    `attributes`. The positive `precision` is one over a cell's variance, up to a common factor.
    """

    attributes: Names
    proportions: Floats
    precision: float = 1.0

    def __post_init__(self) -> None:
        values = np.array(self.proportions, dtype=float)
        named = " x ".join(self.attributes)
        if not self.attributes or len(set(self.attributes)) < len(self.attributes):
            raise DeniableError(f"a table over {named or 'nothing'}: name each attribute once")
        if values.ndim != len(self.attributes) or not values.size:
            raise DeniableError(
                f"the table over {named} has the shape {values.shape}; it must have one axis "
                "per attribute"
            )
        if not np.all(np.isfinite(values)):
            raise DeniableError(
                f"the table over {named} has cells that are not finite; give numbers"
            )
        if not (np.isfinite(self.precision) and self.precision > 0):
            raise DeniableError(
                f"the table over {named} has the precision {self.precision}; it must be positive"
            )
        values.setflags(write=False)
        object.__setattr__(self, "proportions", values)


@dataclass(frozen=True, eq=False)
class Layout:
    """Positions of the cells of all tables in one long vector, and of effects in another.

    `sizes` has the number of categories of each attribute, and `places` the slice of each table's
    cells. `basis`, shape (cells, effects), maps effects to cells. `even`, shape (cells,), has the
    cells of tables without any effect.
    """

    sizes: Mapping[str, int]
    places: Mapping[Names, slice]
    basis: sparse.csr_array
    even: Floats

    @classmethod
    def of(cls, tables: Sequence[NoisyTable], wanted: Sequence[Sequence[str]]) -> "Layout":
        """Lay out observed `tables`, and further ones given by their attributes in `wanted`."""
        sizes = _sizes(tables)
        sets = [table.attributes for table in tables] + [tuple(names) for names in wanted]
        for names in sets:
            if not names or len(set(names)) < len(names):
                raise DeniableError(f"a wanted table over {names}: name each attribute once")
            if unknown := [name for name in names if name not in sizes]:
                raise DeniableError(
                    f"no table has the attribute {unknown[0]!r}; remove it from the wanted tables"
                )
        own = {names: subsets(names) for names in sets}
        every = dict.fromkeys(tuple(sorted(each)) for of in own.values() for each in of)
        numbers = numbered(every, sizes)
        effects, places, blocks, even = sum(map(np.size, numbers.values())), {}, [], []
        cells = 0
        for names, found in own.items():
            block = _all_effects(tuple(sizes[name] for name in names))
            at = np.concatenate([in_order(numbers, each) for each in found])
            size = len(block)
            entries = block.reshape(-1), np.tile(at, size), np.arange(size + 1) * at.size
            blocks.append(sparse.csr_array(entries, shape=(size, effects)))
            even.append(np.full(size, 1 / size))
            places[names] = slice(cells, cells + size)
            cells += size
        return cls(sizes, places, sparse.vstack(blocks, format="csr"), np.concatenate(even))

    def cells(self, effects: Floats) -> Floats:
        """Return the cells, shape (cells,), with the given `effects`, shape (effects,)."""
        return np.asarray(self.even + self.basis @ effects)

    def observed(self, tables: Sequence[NoisyTable]) -> tuple[Floats, Floats]:
        """Return the cells of observed `tables`, and their weights, both of shape (cells,).

        Tables of the same attributes are averaged by precision. Unobserved cells have the weight 0.
        """
        total, weights = np.zeros_like(self.even), np.zeros_like(self.even)
        for table in tables:
            place = self.places[table.attributes]
            total[place] += table.precision * table.proportions.reshape(-1)
            weights[place] += table.precision
        return quotients(total, weights), weights

    def average_effects(self, tables: Sequence[NoisyTable]) -> Floats:
        """Return effects averaged over `tables` by the marginal's precision; 0 if unobserved."""
        observed, weights = self.observed(tables)
        # Columns within a table are orthogonal. Their sum of squares is one over the number of
        # cells in each sum of the marginal.
        weighted = self.basis.T @ (weights * (observed - self.even))
        return quotients(weighted, self.basis.power(2).T @ weights)

    def not_shown(self, weights: Floats) -> npt.NDArray[np.int64]:
        """Return the positions of effects that no table has, from the `weights` of `observed`."""
        return np.flatnonzero(self.basis.power(2).T @ weights == 0)

    def split(self, cells: Floats) -> dict[Names, Floats]:
        """Return the `cells`, shape (cells,), by table, with one axis per attribute."""
        return {
            names: cells[place].reshape([self.sizes[name] for name in names])
            for names, place in self.places.items()
        }


@lru_cache(maxsize=64)
def _all_effects(shape: tuple[int, ...]) -> Floats:
    """Return the effects of all marginals of a table of this `shape`, in read-only columns.

    The effect of a marginal is spread evenly over the other attributes.
    """
    spread = [1 / size for size in shape]
    return effect_columns(shape, subsets(range(len(shape))), spread)


def _sizes(tables: Sequence[NoisyTable]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for table in tables:
        for name, size in zip(table.attributes, table.proportions.shape, strict=True):
            if sizes.setdefault(name, size) != size:
                raise DeniableError(
                    f"the attribute {name!r} has {sizes[name]} categories in one table and {size} "
                    f"in the one over {' x '.join(table.attributes)}; give all of them the same"
                )
    return sizes


@named_types
def consistent_tables(
    tables: Sequence[NoisyTable], wanted: Sequence[Sequence[str]] = (), *, norm: Norm = "l2"
) -> dict[Names, Floats]:
    """Return the distributions closest to noisy tables that agree on all shared marginals.

    The result maps attributes to arrays, first of the observed tables and then of the wanted ones.
    A `DeniableError` is raised if tables differ in an attribute's categories, or a wanted attribute
    is in no table.

    Parameters
    ----------
    tables : sequence of NoisyTable
        Tables over the same attributes are averaged.
    wanted : sequence of sequences of str
        Further tables to reconstruct, over attributes of the tables.
    norm : "l2" or "l1"
        Norm of the misfit. ``l2`` weights squares of differences by the precision of the tables,
        ``l1`` absolute differences by its root.

    Examples
    --------
    >>> first = NoisyTable(("a", "b"), np.array([[0.3, 0.3], [0.2, 0.2]]))
    >>> second = NoisyTable(("a", "c"), np.array([[0.2, 0.2], [0.3, 0.3]]))
    >>> consistent_tables([first, second])["a", "b"]
    array([[0.25, 0.25],
           [0.25, 0.25]])
    """
    refuse_unknown("norm", norm, get_args(Norm))
    if not tables:
        raise DeniableError("there are no tables to make consistent; give at least one")
    if norm == "l2" and not wanted:
        return _closest(tables)
    layout = Layout.of(tables, wanted)
    observed, weights = layout.observed(tables)
    effects = layout.average_effects(tables)
    if norm == "l1" or np.any(layout.cells(effects) < 0):
        effects = _by_program(layout, observed, weights, norm)
    cells = layout.cells(effects * (1 - _share_to_even(layout, effects)))
    return layout.split(np.maximum(cells, 0.0))


def _closest(tables: Sequence[NoisyTable]) -> dict[Names, Floats]:
    _sizes(tables)
    precisions, sums = defaultdict[Names, float](float), dict[Names, Floats]()
    for table in tables:
        names = table.attributes
        precisions[names] += table.precision
        sums[names] = sums.get(names, 0.0) + table.precision * table.proportions
    averages = {names: total / precisions[names] for names, total in sums.items()}
    return nearest_agreeing(averages, precisions)


def reconstruct_printed(attributes: Sequence[str], tables: Sequence[NoisyTable]) -> Floats:
    """Return the least-squares table over `attributes` that has the marginals of all `tables`.

    This is the published program of [rrba], 4.3. One table has all attributes, several have them
    together, or no table has two of them. A `DeniableError` is raised if the tables disagree, or if
    no table without a negative cell has their marginals. Then use `consistent_tables`.
    """
    if (apart := largest_disagreement(tables)) > AGREEMENT:
        raise DeniableError(
            f"the tables disagree on shared marginals by up to {apart:.3g}, so no table has the "
            "marginals of all; make them consistent first (consistent_tables)"
        )
    names = tuple(attributes)
    layout = Layout.of(tables, [names])
    effects = layout.average_effects(tables)
    own = layout.places[names]
    found = layout.cells(effects)[own]
    if np.any(found < -AGREEMENT):
        from deniable.contingency.programs import smallest_norm  # noqa: PLC0415 - takes a second

        _, weights = layout.observed(tables)
        free = layout.not_shown(weights)
        if (extra := smallest_norm(found, layout.basis[own][:, free])) is None:
            raise DeniableError(
                f"no table over {' x '.join(names)} without a negative cell has the marginals of "
                "the given tables; use consistent_tables, which minimizes the misfit instead"
            )
        effects[free] = extra
        found = layout.cells(effects)[own]
    # Values below zero are rounding errors of the solver.
    return np.asarray(np.maximum(found, 0.0).reshape([layout.sizes[name] for name in names]))


def largest_disagreement(tables: Sequence[NoisyTable]) -> float:
    """Return the largest difference between shared marginals of two `tables`, totals included."""
    _sizes(tables)
    largest = max((abs(float(t.proportions.sum()) - 1) for t in tables), default=0.0)
    for first, second in combinations(tables, 2):
        if shared := [name for name in first.attributes if name in second.attributes]:
            one, other = (marginal(t.attributes, t.proportions, shared) for t in (first, second))
            largest = max(largest, float(np.abs(one - other).max()))
    return largest


def _by_program(layout: Layout, observed: Floats, weights: Floats, norm: Norm) -> Floats:
    from deniable.contingency import programs  # noqa: PLC0415 - cvxpy takes a second

    if norm == "l1":
        return programs.least_absolute(layout.even, layout.basis, observed, np.sqrt(weights))
    effects = programs.least_squares(layout.even, layout.basis, observed, weights)
    if not (free := layout.not_shown(weights)).size:
        return effects
    # The observed tables are final. They shrink by the solver's values below zero, so that the
    # other tables have a solution; the smallest is taken.
    settled = effects.copy()
    settled[free] = 0.0
    touched = np.flatnonzero(abs(layout.basis[:, free]).sum(axis=1) > 0)
    known = layout.cells(settled * (1 - _share_to_even(layout, effects)))[touched]
    if (extra := programs.smallest_norm(known, layout.basis[touched][:, free])) is not None:
        effects = effects.copy()
        effects[free] = extra
    return effects


def _share_to_even(layout: Layout, effects: Floats) -> float:
    """Return the proportion by which effects must shrink until no cell is negative."""
    short, least = -float(layout.cells(effects).min()), float(layout.even.min())
    return short / (short + least) * (1 + 1e-9) if short > 0 else 0.0
