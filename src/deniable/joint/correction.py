"""A correction of latent classes by responses to two clusters, on the table of all units.

A few latent classes leave out some dependence of pairs, although pairs are estimable without bias.
So the table of the model takes steps of EM in turn: for the cells of each cluster, and for the
pairs of columns of two clusters. A step multiplies the table by what the responses expect, over
what it has. The number of rounds is chosen on held-out responses. The result is the model times a
factor for each cluster and pair, so other interactions come from the latent classes.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, islice, product

import numpy as np

from deniable.arrays import Flags, Floats, quotients
from deniable.channels import Channel, ProductChannel
from deniable.joint.classes import Singles
from deniable.joint.evidence import Evidence
from deniable.joint.stacking import Stacked

MAX_TABLE = 1 << 21
"""Cells of the table of all units; larger tables are not formed, and not corrected."""
MAX_JOINT = 1 << 20  # cells, and joint randomized values, of two clusters
MAX_ROUNDS = 16
BLOCK = 512  # cells that are multiplied at once

Units = tuple[int, ...]  # positions, in increasing order


@dataclass(frozen=True, eq=False)
class _Counted:
    """Joint randomized values about some units: their channel, and counts, shape (reports,)."""

    channel: Channel
    counts: Floats
    factors: tuple[Units, ...]  # the sets of units that get a factor

    def score(self, joint: Floats) -> float:
        """Return the quadratic score of a distribution of the units, `joint`, of any shape.

        It is the sum over records.
        """
        reported = self.channel.reported(joint.reshape(-1))
        return float(reported @ (2 * self.counts - self.counts.sum() * reported))

    def expected(self, joint: Floats) -> Floats:
        """Return the distribution after a step of EM from a positive one, `joint`."""
        reported = np.maximum(self.channel.reported(joint.reshape(-1)), 1e-300)
        ratio = self.channel.expected(self.counts / self.counts.sum() / reported)
        return np.asarray(joint * ratio.reshape(joint.shape))


def margin_of(table: Singles, units: Units) -> Floats:
    """Return the distribution of some axes of a `table`, the `units`."""
    shape, outer, values = table.shape, 1, table
    inner = math.prod(shape[units[-1] + 1 :])
    if inner > 1:
        values = table.reshape(-1, inner) @ np.ones(inner, table.dtype)  # faster than `sum`
    for at, size in enumerate(shape[: units[-1]]):
        if at in units:
            outer *= size
        else:
            values = np.ones(size, table.dtype) @ values.reshape(outer, size, -1)
    found = values.reshape([shape[at] for at in units]).astype(float)
    return np.asarray(found / found.sum())


@dataclass(frozen=True, eq=False)
class Correction:
    """`factors` of clusters and pairs of units, after some `rounds`, and the held-out `misfit`.

    The `misfit` is Pearson's statistic over its degrees of freedom, summed over the joint
    randomized values of two clusters. It is NaN if records are not complete.
    """

    factors: Mapping[Units, Floats]
    rounds: int
    misfit: float


def corrected(stacked: Stacked, evidence: Evidence) -> Correction:
    """Return factors of clusters and pairs, by which the table is multiplied.

    Each part of the records of the `stacked` model is held out: the table without it takes rounds
    with all other records. The number of rounds has the largest quadratic score of the held-out
    responses, summed over all parts. It suits the errors of tables better than the likelihood,
    which depends on rare values. There are no factors if the `evidence` is not complete, or the
    table is too large.
    """
    parts = range(len(stacked.without))
    held_out = [_counted(evidence, stacked.fold == part) for part in parts]
    cells = math.prod(unit.size for unit in evidence.units)
    if not held_out[0] or cells > MAX_TABLE:
        without = [{own: m.distribution(own) for own in held_out[0]} for m in stacked.without]
        return Correction({}, 0, _misfit(held_out, without))
    training = (_counted(evidence, stacked.fold != part) for part in parts)
    tables = (model.table() for model in stacked.without)
    runs = [_rounds(table, counted, {}) for table, counted in zip(tables, training, strict=True)]
    best, rounds, chosen = -np.inf, 0, list[Mapping[Units, Floats]]()
    for number, found in enumerate(islice(zip(*runs, strict=True), MAX_ROUNDS + 1)):
        reached = sum(
            counted.score(own[units])
            for part, own in zip(held_out, found, strict=True)
            for units, counted in part.items()
        )
        if reached <= best:
            break
        best, rounds, chosen = reached, number, [*found]
    factors: dict[Units, Floats] = {}
    for _ in islice(_rounds(stacked.model.table(), _counted(evidence), factors), rounds):
        pass
    return Correction(factors, rounds, _misfit(held_out, chosen))


def _misfit(
    held_out: Sequence[Mapping[Units, _Counted]], found: Sequence[Mapping[Units, Floats]]
) -> float:
    statistic = degrees = 0.0
    for part, distributions in zip(held_out, found, strict=True):
        for units, own in part.items():
            expected = own.counts.sum() * own.channel.reported(distributions[units].reshape(-1))
            statistic += float(quotients((own.counts - expected) ** 2, expected).sum())
            degrees += own.counts.size - 1
    return statistic / degrees if degrees else math.nan


def _counted(evidence: Evidence, chosen: Flags | slice = slice(None)) -> dict[Units, _Counted]:
    """Return the counts about each cluster of several units, and about each pair of clusters."""
    if not evidence.complete:
        return {}
    weights = evidence.each_weight[chosen]
    parts, found = sorted(evidence.parts, key=lambda part: part.units), dict[Units, _Counted]()
    sets = chain([(part,) for part in parts if len(part.units) > 1], combinations(parts, 2))
    for own in sets:
        channel: Channel = ProductChannel(tuple(part.channel for part in own))
        codes = np.zeros(len(weights), dtype=np.int64)
        for part in own:
            codes = codes * part.channel.reports + part.codes[chosen]
        units = tuple(chain.from_iterable(part.units for part in own))
        factors = tuple(product(*(part.units for part in own))) if len(own) > 1 else (units,)
        if max(channel.size, channel.reports) <= MAX_JOINT:
            counts = np.bincount(codes, weights, channel.reports).astype(float)
            found[units] = _Counted(channel, counts, factors)
    return found


def _rounds(
    table: Singles, counted: Mapping[Units, _Counted], factors: dict[Units, Floats]
) -> Iterator[dict[Units, Floats]]:
    """Improve the `table` in rounds, and change the `factors` accordingly.

    Yield after each round the distribution of each key of `counted` when the round reached it.
    """
    while True:
        found = {}
        for units, own in counted.items():
            joint = found[units] = margin_of(table, units)
            expected = own.expected(joint)
            for axes in own.factors:
                others = tuple(at for at, unit in enumerate(units) if unit not in axes)
                ratio = quotients(expected.sum(axis=others), joint.sum(axis=others))
                joint = joint * np.expand_dims(ratio, others)
                factors[axes] = factors.get(axes, 1.0) * ratio
                multiply(table, axes, ratio)
        yield found


def multiply(table: Singles, units: Units, factor: Floats) -> None:
    """Multiply a `table` by a `factor` over the cells of some of its axes, the `units`."""
    shape = [size if at in units else 1 for at, size in enumerate(table.shape)]
    sizes = np.cumprod(table.shape[::-1])[::-1]
    first = int(np.searchsorted(-sizes, -BLOCK, side="right"))  # the last axes as one is faster
    block = np.broadcast_to(factor.reshape(shape), (*shape[:first], *table.shape[first:]))
    flat = block.reshape(*shape[:first], -1).astype(table.dtype)
    table.reshape(*table.shape[:first], -1)[...] *= flat
