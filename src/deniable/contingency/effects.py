"""Tables over sets of attributes, and their effects: what consistent tables have in common.

Every table over a set S of attributes is a sum of effects, one for each subset s of S: the part of
the margin over s that no smaller margin shows. See `deniable.contingency.consistency`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy import sparse

from deniable.arrays import Floats
from deniable.contingency.log_linear import contrasts
from deniable.errors import DeniableError

Names = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """A table of estimated proportions.

    Parameters
    ----------
    attributes : tuple of str
    proportions : finite, shape (categories of each attribute)
        Estimates: may be negative.
    precision : float, positive
        One over the variance of a cell, up to a factor common to all tables.
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
                f"the table over {named} has the shape {values.shape}; it must have one axis an "
                "attribute"
            )
        if not np.all(np.isfinite(values)):
            raise DeniableError(f"the table over {named} has cells that are not finite")
        if not (np.isfinite(self.precision) and self.precision > 0):
            raise DeniableError(
                f"the table over {named} has the precision {self.precision}; it must be positive"
            )
        values.setflags(write=False)
        object.__setattr__(self, "proportions", values)


def margin_of(table: NoisyTable, attributes: Sequence[str]) -> Floats:
    """Return the margin of a table over some of its attributes, axes in the order named."""
    kept = [table.attributes.index(name) for name in attributes]
    others = tuple(axis for axis in range(len(table.attributes)) if axis not in kept)
    left = [axis for axis in range(len(table.attributes)) if axis in kept]
    margin = table.proportions.sum(axis=others)
    return np.asarray(np.transpose(margin, [left.index(axis) for axis in kept]))


@dataclass(frozen=True, eq=False)
class Layout:
    """Where the cells of each table and the effects of each set of attributes stand.

    Attributes
    ----------
    sizes : mapping from attribute to int
        Numbers of categories.
    places : mapping from attributes to slice
        The cells of each table, in one long vector.
    effects : mapping from sets of attributes to slice
        The effects, in another.
    basis : sparse array, shape (cells, effects)
        From effects to cells.
    even : array, shape (cells,)
        The cells without any effect.
    """

    sizes: Mapping[str, int]
    places: Mapping[Names, slice]
    effects: Mapping[frozenset[str], slice]
    basis: sparse.csr_array
    even: Floats

    @classmethod
    def of(cls, tables: Sequence[NoisyTable], wanted: Sequence[Sequence[str]]) -> "Layout":
        """Lay out observed tables, and others that are wanted."""
        sizes = sizes_of(tables)
        sets = [table.attributes for table in tables] + [tuple(names) for names in wanted]
        for names in sets:
            if not names or len(set(names)) < len(names):
                raise DeniableError(f"a wanted table over {names}: name each attribute once")
            if unknown := [name for name in names if name not in sizes]:
                raise DeniableError(
                    f"no table has the attribute {unknown[0]!r}, so nothing is known of it; leave "
                    "it out of what is wanted"
                )
        places, effects, cells, number = {}, {}, 0, 0
        for names in dict.fromkeys(sets):
            size = int(np.prod([sizes[name] for name in names]))
            places[names] = slice(cells, cells + size)
            cells += size
            for subset in _subsets(names):
                if frozenset(subset) not in effects:
                    size = int(np.prod([sizes[name] - 1 for name in subset]))
                    effects[frozenset(subset)] = slice(number, number + size)
                    number += size
        blocks = {names: _block(names, sizes) for names in places}
        rows, columns, values, even = [], [], [], []
        order = _EffectOrder(effects, sizes)
        for names, place in places.items():
            at = order.positions(names)
            block = blocks[names]
            rows.append(np.repeat(np.arange(place.start, place.stop), len(at)))
            columns.append(np.tile(at, len(block)))
            values.append(block.reshape(-1))
            even.append(np.full(len(block), 1 / len(block)))
        basis = sparse.csr_array(
            (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))),
            shape=(cells, number),
        )
        return cls(sizes, places, effects, basis, np.concatenate(even))

    def cells(self, effects: Floats) -> Floats:
        """Return the cells that effects come to."""
        return np.asarray(self.even + self.basis @ effects)

    def observed(self, tables: Sequence[NoisyTable]) -> tuple[Floats, Floats]:
        """Return the observed cells and their weights, tables of the same attributes averaged."""
        total, weights = np.zeros_like(self.even), np.zeros_like(self.even)
        for table in tables:
            place = self.places[table.attributes]
            total[place] += table.precision * table.proportions.reshape(-1)
            weights[place] += table.precision
        observed = np.divide(total, weights, out=np.zeros_like(total), where=weights > 0)
        return observed, weights

    def average_effects(self, tables: Sequence[NoisyTable]) -> Floats:
        """Return each effect averaged by the precision of its margin; 0 where none was observed."""
        observed, weights = self.observed(tables)
        # Columns within a table are orthogonal; their squares are one over the cells that a cell
        # of the margin sums over.
        weighted = self.basis.T @ (weights * (observed - self.even))
        squares = self.basis.power(2).T @ weights
        return np.asarray(
            np.divide(weighted, squares, out=np.zeros_like(squares), where=squares > 0)
        )

    def unobserved(self, tables: Sequence[NoisyTable]) -> npt.NDArray[np.int64]:
        """Return the positions of effects that no table shows."""
        _, weights = self.observed(tables)
        return np.flatnonzero(self.basis.power(2).T @ weights == 0)

    def split(self, cells: Floats) -> dict[Names, Floats]:
        """Return the cells table by table."""
        return {
            names: cells[place].reshape([self.sizes[name] for name in names])
            for names, place in self.places.items()
        }


@dataclass(frozen=True)
class _EffectOrder:
    """Positions of a table's effects: the same for tables that name attributes in other orders."""

    effects: Mapping[frozenset[str], slice]
    sizes: Mapping[str, int]

    def positions(self, names: Names) -> npt.NDArray[np.int64]:
        found = []
        for subset in _subsets(names):
            place = self.effects[frozenset(subset)]
            canonical = sorted(subset)
            grid = np.arange(place.start, place.stop).reshape(
                [self.sizes[name] - 1 for name in canonical]
            )
            axes = [canonical.index(name) for name in subset]
            found.append(np.transpose(grid, axes).reshape(-1))
        return np.concatenate(found)


def _subsets(names: Names) -> list[Names]:
    return [s for size in range(1, len(names) + 1) for s in combinations(names, size)]


def _block(names: Names, sizes: Mapping[str, int]) -> Floats:
    """Return a table's basis: a margin's effect, spread evenly over what the margin sums."""
    columns = []
    for subset in _subsets(names):
        column = np.ones((1, 1))
        for name in names:
            size = sizes[name]
            factor = contrasts(size) if name in subset else np.full((size, 1), 1 / size)
            column = np.kron(column, factor)
        columns.append(column)
    return np.hstack(columns)


def sizes_of(tables: Sequence[NoisyTable]) -> dict[str, int]:
    """Return the number of categories of each attribute, the same in all tables."""
    sizes: dict[str, int] = {}
    for table in tables:
        for name, size in zip(table.attributes, table.proportions.shape, strict=True):
            if sizes.setdefault(name, size) != size:
                raise DeniableError(
                    f"the attribute {name!r} has {sizes[name]} categories in one table and {size} "
                    f"in that over {' x '.join(table.attributes)}; give all of them the same"
                )
    return sizes
