"""A correction of latent classes by all pairs of units, on the table of all units.

A few latent classes leave out some dependence of pairs, although pairs are estimable without bias.
So the table of the model is moved towards the most likely distribution of each pair in turn, by EM
steps of the pair's own likelihood: each cell is multiplied by the new over the old probability of
its pair. The number of rounds is chosen on held-out responses. The result is the model times one
factor per pair, so its interactions of three and more units come from the latent classes.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np

from deniable.arrays import Flags, Floats, quotients
from deniable.channels import ProductChannel
from deniable.joint.classes import Singles
from deniable.joint.evidence import Evidence
from deniable.joint.stacking import Stacked

MAX_TABLE = 1 << 21
"""Cells of the table of all units; larger tables are not formed, and not corrected."""
MAX_PAIR = 1 << 20  # cells, and joint randomized values, of a pair
MAX_ROUNDS = 12
LEAST_GAIN = 1.0  # held-out log-likelihood that a further round gains
INNER_STEPS = 3  # EM steps of a pair, before the table follows

Pair = tuple[int, int]


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


@dataclass(frozen=True, eq=False)
class Correction:
    """`factors` of pairs of units, after some `rounds`, and the `misfit` of held-out responses.

    The `misfit` is Pearson's statistic over its degrees of freedom, summed over the pairs of the
    randomized values of complete parts. It is NaN if there are no such pairs.
    """

    factors: Mapping[Pair, Floats]
    rounds: int
    misfit: float


def corrected(stacked: Stacked, evidence: Evidence) -> Correction:
    """Return a factor for each pair of units, by which the table is multiplied.

    Each part of the records of the `stacked` model is held out: the table without it moves towards
    the pairs of all other records. The number of rounds is the one with the largest likelihood of
    held-out pairs, summed over all parts. There are no factors if the `evidence` is not complete,
    or the table is too large.
    """
    parts = range(len(stacked.without))
    held_out = [_pairs(evidence, stacked.fold == part) for part in parts]
    cells = math.prod(unit.size for unit in evidence.units)
    if not held_out[0] or cells > MAX_TABLE:
        without = [{pair: m.distribution(pair) for pair in held_out[0]} for m in stacked.without]
        return Correction({}, 0, _misfit(held_out, without))
    training = (_pairs(evidence, stacked.fold != part) for part in parts)
    tables = (model.table() for model in stacked.without)
    runs = [_rounds(table, pairs, {}) for table, pairs in zip(tables, training, strict=True)]
    best, rounds, chosen = -np.inf, 0, list[Mapping[Pair, Floats]]()
    for number, found in enumerate(islice(zip(*runs, strict=True), MAX_ROUNDS + 1)):
        reached = sum(
            counted.likelihood(own[pair])
            for pairs, own in zip(held_out, found, strict=True)
            for pair, counted in pairs.items()
        )
        if reached < best + LEAST_GAIN:
            break
        best, rounds, chosen = reached, number, [*found]
    factors: dict[Pair, Floats] = {}
    for _ in islice(_rounds(stacked.model.table(), _pairs(evidence), factors), rounds):
        pass
    return Correction(factors, rounds, _misfit(held_out, chosen))


def _misfit(
    held_out: Sequence[Mapping[Pair, _Counted]], found: Sequence[Mapping[Pair, Floats]]
) -> float:
    statistic = degrees = 0.0
    for part, distributions in zip(held_out, found, strict=True):
        for pair, own in part.items():
            expected = own.counts.sum() * own.channel.reported(distributions[pair])
            statistic += float(quotients((own.counts - expected) ** 2, expected).sum())
            degrees += own.counts.size - 1
    return statistic / degrees if degrees else math.nan


def _pairs(evidence: Evidence, chosen: Flags | slice = slice(None)) -> dict[Pair, _Counted]:
    found: dict[Pair, _Counted] = {}
    if not evidence.complete:
        return found
    own = evidence.each_weight
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
    """Improve all pairs of the `table` in rounds, and change the `factors` accordingly.

    Yield after each round the distribution of each pair when the round reached it.
    """
    while True:
        found = {}
        for pair, counted in pairs.items():
            old = found[pair] = pair_of(table, pair)
            ratio = quotients(counted.improved(old), old)
            factors[pair] = factors.get(pair, 1.0) * ratio
            multiply(table, pair, ratio)
        yield found


def multiply(table: Singles, pair: Pair, factor: Floats) -> None:
    """Multiply a `table` by a `factor` over the cells of two of its axes, a `pair`."""
    shape = [1] * table.ndim
    for axis in pair:
        shape[axis] = table.shape[axis]
    table *= factor.reshape(shape).astype(table.dtype)
