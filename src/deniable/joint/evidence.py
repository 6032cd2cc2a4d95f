"""The randomized values of all records, as input of latent classes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
import scipy.sparse

from deniable.arrays import Codes, Floats, Positions, Sparse
from deniable.channels import Channel
from deniable.errors import DeniableError
from deniable.estimation import consistent
from deniable.records import Domain, connected
from deniable.responses import Answers

MAX_UNIT_CELLS = 1 << 15
"""Cells of columns that were randomized together."""
MAX_MERGED = 1 << 11
"""Joint randomized values of several parts; their probabilities serve all records."""


@dataclass(frozen=True, eq=False)
class Part:
    """Randomized values through one `channel` from the joint cells of some units."""

    units: tuple[int, ...]  # their positions, in the order of the channel's cells
    channel: Channel
    rows: Positions | None  # of the records that have a value; None if all have one
    codes: Codes  # of these records


@dataclass(frozen=True, eq=False)
class Merged:
    """Parts of the same `rows`, with one of `codes` for their joint randomized values."""

    parts: tuple[int, ...]  # their positions
    shape: tuple[int, ...]  # the number of randomized values of each
    rows: Positions | None
    codes: Codes

    @cached_property
    def indicators(self) -> Sparse:
        """Indicators of the joint values, shape (values, records with a value)."""
        size = self.codes.size
        entries = np.ones(size, np.float32), (self.codes, np.arange(size))
        return scipy.sparse.csr_array(entries, shape=(int(np.prod(self.shape)), size))


@dataclass(frozen=True, eq=False)
class Evidence:
    """The randomized values of `records`; `parts` are independent given the original record.

    Each of the `units` is one column, or a cluster that has impossible combinations. Units are
    independent within a latent class. `weights` have one positive number per record, or are None.
    """

    units: tuple[Domain, ...]
    parts: tuple[Part, ...]
    records: int
    weights: Floats | None = None

    @classmethod
    def of(cls, answers: Sequence[Answers], weights: Floats | None = None) -> "Evidence":
        """Return the evidence of `answers`, all of the same records.

        `weights` are of these records. They are scaled to the number of equally precise records.
        Raises `DeniableError` if a cluster has more than `MAX_UNIT_CELLS` cells.
        """
        units = [*_units_of(answers)]
        place = {name: at for at, unit in enumerate(units) for name in unit.names}
        parts = []
        for each in answers:
            own = tuple(dict.fromkeys(place[name] for name in each.cells.names))
            rows = None if each.codes.min(initial=0) >= 0 else np.flatnonzero(each.codes >= 0)
            codes = each.codes if rows is None else each.codes[rows]
            parts.append(Part(own, each.channel, rows, codes))
        records = answers[0].codes.size
        if weights is not None:
            weights = weights * (weights.sum() / (weights**2).sum())
        return cls(tuple(units), tuple(parts), records, weights)

    def part_of(self, rows: Positions) -> "Evidence":
        """Return the evidence of the records at the positions `rows`, which increase."""
        place = np.full(self.records, -1)
        place[rows] = np.arange(rows.size)
        parts = []
        for each in self.parts:
            if each.rows is None:
                parts.append(Part(each.units, each.channel, None, each.codes[rows]))
                continue
            own = place[each.rows]
            kept = own >= 0
            parts.append(Part(each.units, each.channel, own[kept], each.codes[kept]))
        weights = None if self.weights is None else self.weights[rows]
        return Evidence(self.units, tuple(parts), rows.size, weights)

    @cached_property
    def each_weight(self) -> Floats:
        """The weight of each record; 1 without weights."""
        return np.ones(self.records) if self.weights is None else self.weights

    def sum_of(self, values: Floats) -> float:
        """Return the weighted sum of `values`, one for each record."""
        return float(values.sum() if self.weights is None else self.weights @ values)

    def counts(self, part: Part) -> Floats:
        """Return the weighted counts of the randomized values of a `part`, shape (reports,)."""
        weights = self.weights
        if weights is not None and part.rows is not None:
            weights = weights[part.rows]
        return np.bincount(part.codes, weights, part.channel.reports).astype(float)

    @cached_property
    def margins(self) -> list[Floats]:
        """The distribution of each unit's cells, by the likelihood of each part that has it."""
        sums = [np.zeros(unit.size) for unit in self.units]
        for part in self.parts:
            if (counts := self.counts(part)).sum():
                found = consistent(counts, part.channel).proportions
                joint = found.reshape([self.units[at].size for at in part.units])
                for axis, at in enumerate(part.units):
                    others = tuple(other for other in range(joint.ndim) if other != axis)
                    sums[at] += counts.sum() * joint.sum(axis=others)
        return [own / own.sum() if own.sum() else np.full(own.size, 1 / own.size) for own in sums]

    @cached_property
    def merged(self) -> list[Merged]:
        """The parts, merged as far as the joint values are few, which saves most of the time."""
        limit = min(MAX_MERGED, max(self.records // 4, 2))
        found: list[Merged] = []
        for at, part in enumerate(self.parts):
            size = part.channel.reports
            for number, other in enumerate(found):
                complete = part.rows is None and other.rows is None
                if complete and np.prod(other.shape) * size <= limit:
                    codes = other.codes.astype(np.int32) * size + part.codes
                    found[number] = Merged((*other.parts, at), (*other.shape, size), None, codes)
                    break
            else:
                found.append(Merged((at,), (size,), part.rows, part.codes))
        return found

    @cached_property
    def complete(self) -> bool:
        """Whether every record has one randomized value about each unit."""
        places = [at for part in self.parts for at in part.units]
        return len(places) == len({*places}) and all(part.rows is None for part in self.parts)


def _units_of(answers: Sequence[Answers]) -> Iterator[Domain]:
    sets = {each.cells.names: each for each in answers}
    for each in sets.values():
        if each.cells.size > MAX_UNIT_CELLS:
            raise DeniableError(
                f"the cluster {' x '.join(each.cells.names)} has {each.cells.size:,} cells; a "
                f"joint distribution allows at most {MAX_UNIT_CELLS:,} per cluster. Estimate its "
                "tables instead"
            )
    domains = {name: each.cells.project([name]) for each in answers for name in each.cells.names}
    for group in connected(sets):
        (*within,) = (each for own, each in sets.items() if {*own} <= {*group})
        if len(within) == 1 and within[0].channel.possible_cells is not None:
            yield within[0].cells
        else:
            yield from (domains[name] for name in group)


def outer(factors: Sequence[Floats]) -> Floats:
    """Return the products of the rows of `factors`, of shape (classes, cells of all factors)."""
    return reduce(lambda a, b: (a[:, :, None] * b[:, None, :]).reshape(len(a), -1), factors)
