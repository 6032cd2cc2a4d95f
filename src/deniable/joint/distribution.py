"""A joint distribution of all columns, by latent classes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.arrays import Flags, Floats, Positions
from deniable.errors import DeniableError
from deniable.joint.classes import LatentClasses
from deniable.joint.evidence import outer
from deniable.records import Domain, Microdata, attributes_to_json, domain_from_json

MAX_CELLS = 1 << 22
"""Cells of a table of some columns, and of the clusters that contain them."""
FORMAT = "deniable-joint"


@dataclass(frozen=True, eq=False)
class JointDistribution:
    """A distribution of all columns of a `domain` that answers each query consistently.

    It is a mixture of classes, the `model`, within which `units` are independent: single columns,
    or clusters with impossible combinations. So each probability is at least 0, and all tables
    agree. No table of all columns is formed.
    """

    domain: Domain
    units: tuple[Domain, ...]
    model: LatentClasses

    def table(self, names: Sequence[str]) -> Floats:
        """Return the distribution of the columns `names`, shape (cells,), the last fastest.

        Raises `DeniableError` if a name is unknown or given twice, or the table has more than
        `MAX_CELLS` cells.
        """
        own = self.domain.project(names)
        chosen = [at for at, unit in enumerate(self.units) if {*unit.names} & {*names}]
        cells = Domain(tuple(each for at in chosen for each in self.units[at]))
        if cells.size > MAX_CELLS:
            raise DeniableError(
                f"the table of {', '.join(names)} and their clusters has {cells.size:,} cells; at "
                f"most {MAX_CELLS:,} are computed. Name fewer columns, or give conditions"
            )
        joint: Any = self.model.distribution(chosen)
        axes = [cells.position(name) for name in own.names]
        return np.asarray(np.einsum(joint.reshape(cells.shape), range(len(cells)), axes).ravel())

    def probability(self, allowed: Mapping[str, Flags]) -> float:
        """Return the probability that each column has one of its `allowed` categories.

        The flags have one value per category; columns without flags may have any. The number of
        columns has no limit.
        """
        self.domain.project([*allowed] or self.domain.names)  # refuses other names
        sets = []
        for unit in self.units:
            flags = (allowed.get(each.name, np.ones(each.size)) for each in unit)
            sets.append(outer([np.asarray(own, dtype=float)[None] for own in flags])[0])
        within = [own @ flags for own, flags in zip(self.model.conditionals, sets, strict=True)]
        return float(self.model.weights @ np.prod(within, axis=0))

    def sample(
        self, records: int, generator: np.random.Generator, *, whole: bool = True
    ) -> Microdata:
        """Return so many `records`, at least 1, from the distribution, in random order.

        If `whole`, the cells of all columns are repeated as often as expected, up to one record;
        over `MAX_CELLS` cells, the classes, and the cells of each unit within a class. Otherwise
        all records are independent draws. The `generator` draws the records.
        """
        if records < 1:
            raise DeniableError(f"{records} synthetic records are requested; request at least 1")
        shape = [unit.size for unit in self.units]
        if whole and math.prod(shape) <= MAX_CELLS:
            table = self.model.distribution(range(len(shape)))
            codes = [*np.unravel_index(drawn_cells(table, records, generator, whole), shape)]
        else:
            classes = drawn_cells(self.model.weights, records, generator, whole)
            numbers = np.bincount(classes, minlength=self.model.weights.size).tolist()
            codes = []
            for unit in self.model.conditionals:
                pairs = zip(unit, numbers, strict=True)
                drawn = (drawn_cells(own, number, generator, whole) for own, number in pairs)
                codes.append(np.concatenate([*map(generator.permutation, drawn)]))
        columns = {
            name: column
            for unit, own in zip(self.units, codes, strict=True)
            for name, column in zip(unit.names, unit.unravel(own), strict=True)
        }
        order = generator.permutation(records)
        return Microdata(self.domain, tuple(columns[name][order] for name in self.domain.names))

    def distance_of_pairs(self, records: Microdata) -> float:
        """Return the mean total variation distance of pairs of columns of `records` from this one.

        It is NaN for one column.
        """
        distances = [
            np.abs(records.counts(pair).reshape(-1) / len(records) - self.table(pair)).sum() / 2
            for pair in combinations(self.domain.names, 2)
        ]
        return float(np.mean(distances)) if distances else np.nan

    def to_json(self) -> dict[str, Any]:
        """Return the distribution as plain values with 9 digits, for `from_json`."""
        return {
            "format": FORMAT,
            "version": 1,
            "columns": attributes_to_json(self.domain),
            "units": [list(unit.names) for unit in self.units],
            "weights": _rounded(self.model.weights),
            "conditionals": [_rounded(own) for own in self.model.conditionals],
        }

    @classmethod
    def from_json(cls, own: Mapping[str, Any]) -> "JointDistribution":
        """Return the distribution of plain values, `own`, as `to_json` returns them.

        Raises `DeniableError` if they are not those of a joint distribution.
        """
        if own.get("format") != FORMAT or own.get("version") != 1:
            raise DeniableError("this is not a joint distribution; give a file joint.json")
        try:
            domain = domain_from_json(own["columns"])
            units = tuple(domain.project(names) for names in own["units"])
            weights = np.array(own["weights"], dtype=float)
            shapes = [(weights.size, unit.size) for unit in units]
            pairs = zip(own["conditionals"], shapes, strict=True)
            conditionals = [np.array(each, float).reshape(shape) for each, shape in pairs]
        except (KeyError, TypeError, ValueError, IndexError) as error:
            why = f"{error} is missing" if isinstance(error, KeyError) else error
            raise DeniableError(f"joint.json: damaged or edited ({why}); make it again") from None
        return cls(domain, units, LatentClasses(weights, tuple(conditionals)))


def _rounded(values: Floats) -> list[Any]:
    texts = [f"{value:.9g}" for value in values.reshape(-1).tolist()]
    return list(np.array(texts, dtype=float).reshape(values.shape).tolist())


def drawn_cells(
    shares: npt.ArrayLike, number: int, generator: np.random.Generator, whole: bool
) -> Positions:
    """Return a `number` of cells, in increasing order, drawn in proportion to their `shares`.

    If `whole`, each cell occurs as often as expected up to 1, by systematic sampling: the
    `generator` draws one start. Otherwise all draws are independent.
    """
    reached = np.cumsum(np.ravel(shares), dtype=float)
    steps = (generator.random() + np.arange(number)) / max(number, 1)
    points = reached[-1] * (steps if whole else np.sort(generator.random(number)))
    found: Positions = np.searchsorted(reached, points, side="right")
    return np.minimum(found, int(np.searchsorted(reached, reached[-1])))  # the last one above 0
