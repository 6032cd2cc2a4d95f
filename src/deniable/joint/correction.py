"""A correction of latent classes by all pairs of units, on the table of all units.

A few latent classes leave out some dependence of pairs, although pairs are estimable without bias.
So the table of the model is moved towards the most likely distribution of each pair in turn, by EM
steps of the pair's own likelihood: each cell is multiplied by the new over the old probability of
its pair. The number of rounds is chosen on held-out responses. The result is the model times one
factor per pair, so its interactions of three and more units come from the latent classes.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats, Positions, quotients
from deniable.channels import ProductChannel
from deniable.joint.evidence import Evidence
from deniable.joint.stacking import Stacked

MAX_TABLE = 1 << 21
"""Cells of the table of all units; larger tables are not formed, and not corrected."""
MAX_PAIR = 1 << 20  # cells, and joint randomized values, of a pair
MAX_ROUNDS = 12
INNER_STEPS = 3  # EM steps of a pair, before the table follows

Pair = tuple[int, int]
Singles = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class _Counted:
    """The joint randomized values of two units: their channel, and counts, shape (reports,)."""

    channel: ProductChannel
    counts: Floats

    def likelihood(self, pair: Floats) -> float:
        """Return the log-likelihood of a distribution of the `pair`, shape (cells,)."""
        seen = self.counts > 0
        return float(self.counts[seen] @ np.log(self.channel.reported(pair)[seen]))

    def improved(self, pair: Floats) -> Floats:
        """Return the distribution after some EM steps from a `pair`, a positive distribution."""
        shares = self.counts / self.counts.sum()
        for _ in range(INNER_STEPS):
            reported = np.maximum(self.channel.reported(pair), 1e-300)
            pair = pair * self.channel.expected(shares / reported)
        return np.asarray(pair / pair.sum())


def pair_of(table: Singles, pair: Pair) -> Floats:
    """Return the distribution of two axes of a `table`, flat; the axes of the `pair` increase."""
    i, j = pair
    inner = math.prod(table.shape[j + 1 :])
    values = table.reshape(-1, inner) @ np.ones(inner, table.dtype) if inner > 1 else table
    outer = math.prod(table.shape[:i])
    values = values.reshape(outer, -1)
    values = np.ones(outer, table.dtype) @ values if outer > 1 else values
    values = values.reshape(table.shape[i], -1, table.shape[j]).sum(axis=1, dtype=float)
    return np.asarray(values.reshape(-1) / values.sum())


def corrected(stacked: Stacked, evidence: Evidence) -> tuple[dict[Pair, Floats], int]:
    """Return a factor for each pair of units, by which the table is multiplied, and the rounds.

    The number of rounds is the one of the largest likelihood of the pairs of the first part of the
    records, if the table of the model without this part moves towards the pairs of all others.
    There are no factors if the `evidence` is not complete, or the table is too large.
    """
    cells = math.prod(unit.size for unit in evidence.units)
    if not evidence.complete or len(evidence.units) == 1 or cells > MAX_TABLE:
        return {}, 0
    held_out = _pairs(evidence, np.flatnonzero(stacked.fold == 0))
    training = _pairs(evidence, np.flatnonzero(stacked.fold != 0))
    best, rounds = -np.inf, 0
    for number, found in enumerate(_rounds(stacked.without[0].table(), training, {})):
        reached = sum(held_out[pair].likelihood(own) for pair, own in found.items())
        if reached < best or number > MAX_ROUNDS:
            break
        best, rounds = reached, number
    factors: dict[Pair, Floats] = {}
    for _ in islice(_rounds(stacked.model.table(), _pairs(evidence), factors), rounds + 1):
        pass
    return factors if rounds else {}, rounds


def _pairs(evidence: Evidence, rows: Positions | None = None) -> dict[Pair, _Counted]:
    found = {}
    own = np.ones(evidence.records) if evidence.weights is None else evidence.weights
    chosen = slice(None) if rows is None else rows
    for one, other in combinations(sorted(evidence.parts, key=lambda part: part.units), 2):
        channel = ProductChannel((one.channel, other.channel))
        if max(channel.size, channel.reports) <= MAX_PAIR:
            codes = one.codes[chosen].astype(np.int64) * other.channel.reports + other.codes[chosen]
            counts = np.bincount(codes, own[chosen], channel.reports).astype(float)
            found[one.units[0], other.units[0]] = _Counted(channel, counts)
    return found


def _rounds(
    table: Singles, pairs: Mapping[Pair, _Counted], factors: dict[Pair, Floats]
) -> Iterator[dict[Pair, Floats]]:
    """Yield the distributions of all pairs of the `table`, and change it and the `factors`."""
    while True:
        yield {pair: pair_of(table, pair) for pair in pairs}
        for pair, counted in pairs.items():
            old = pair_of(table, pair)
            ratio = quotients(counted.improved(old), old)
            factors[pair] = factors.get(pair, 1.0) * ratio
            multiply(table, pair, ratio)


def multiply(table: Singles, pair: Pair, factor: Floats) -> None:
    """Multiply a `table` by a `factor` over the cells of two of its axes, a `pair`."""
    shape = [1] * table.ndim
    for axis in pair:
        shape[axis] = table.shape[axis]
    table *= factor.reshape(shape).astype(table.dtype)
