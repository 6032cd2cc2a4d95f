"""A correction of latent classes by responses to two clusters, also where no table can be formed.

The likelihood of records stops early, so a few dependences of pairs are still too small, although
pairs are estimable without bias. So the classes take steps of EM for a composite likelihood: the
sum of the likelihoods of the responses about each two clusters (each two of their columns, if the
clusters are too large), and about each cluster of several columns. Counts suffice. Held-out
responses choose the number of rounds. At last the classes are fitted to tables of all pairs; those
of two columns that contradict the first classes move towards their responses.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, combinations, product

import numpy as np
from scipy.special import chdtrc

from deniable.arrays import Flags, Floats, quotients
from deniable.channels import Channel, KeepOrReplace, ProductChannel
from deniable.estimation import consistent
from deniable.joint.classes import LatentClasses, add_margins
from deniable.joint.evidence import Evidence, Part, outer
from deniable.joint.stacking import Stacked
from deniable.records import Domain
from deniable.responses import cells_of, margin_channel

MAX_JOINT = 1 << 17  # cells, and joint randomized values, of two clusters
MAX_WHOLE = 1 << 15  # cells of two clusters; of larger ones, each two columns are counted
MAX_ROUNDS = 400
MAX_STEPS = 100_000  # of all pairs together; more than 22 columns take fewer rounds
ROUNDS = 10  # between two scores
LEAST_PART = 0.005
"""The rounds end if the score gains less than this part of its gain since the start."""
LEVEL = 0.01  # of the test that two columns contradict the classes
TABLE_ROUNDS = 100


@dataclass(frozen=True, eq=False)
class _Counted:
    """Joint randomized values about units: their channel, and counts, shape (reports,).

    The units are in two groups, `left` and `right`, and the channel has their joint cells.
    """

    left: tuple[int, ...]  # positions
    right: tuple[int, ...]
    channel: Channel
    counts: Floats

    def reported(self, model: LatentClasses) -> Floats:
        """Return the distribution of the randomized values in a `model`."""
        return self.channel.reported(model.distribution((*self.left, *self.right)))

    def score(self, model: LatentClasses) -> float:
        """Return the quadratic score of a `model`, summed over the records."""
        reported = self.reported(model)
        return float(reported @ (2 * self.counts - self.counts.sum() * reported))

    def statistic(self, model: LatentClasses) -> float:
        """Return Pearson's statistic of the counts in a `model`."""
        expected = self.counts.sum() * self.reported(model)
        return float(quotients((self.counts - expected) ** 2, expected).sum())

    def degrees(self, model: LatentClasses) -> int:
        """Return the degrees of freedom beyond the distribution of each unit, at least 1."""
        fitted = sum(model.conditionals[at].shape[1] - 1 for at in (*self.left, *self.right))
        return int(max(self.counts.size - 1 - fitted, 1))

    def contradicts(self, classes: LatentClasses) -> bool:
        """Return whether two columns contradict `classes`, by Pearson's test at `LEVEL`."""
        columns = len(self.left + self.right) == len(self.channel.simple_factors) == 2
        p_value = chdtrc(self.degrees(classes), self.statistic(classes)) if columns else 1.0
        return bool(p_value < LEVEL) and not self.channel.singular

    def table(self, model: LatentClasses, *, moved: bool) -> "_Counted":
        """Return the table of a `model`; if `moved`, towards the most likely one of the counts.

        If the statistic of the model is X², with d degrees of freedom, the part of the deviation
        that is kept is the square root of 1 - d / X².
        """
        found = model.distribution((*self.left, *self.right))
        if moved and (statistic := self.statistic(model)) > self.degrees(model):
            kept = (1 - self.degrees(model) / statistic) ** 0.5
            expected = self.counts.sum() * self.reported(model)
            found = consistent(expected + kept * (self.counts - expected), self.channel).proportions
        return _Counted(self.left, self.right, KeepOrReplace.uniform(found.size, 1.0), found)

    def ratios(self, joint: Floats) -> Floats:
        """Return the expected over the present numbers of a distribution, `joint`, by cell."""
        reported = np.maximum(self.channel.reported(joint.reshape(-1)), 1e-300)
        ratios = self.channel.expected(self.counts / self.counts.sum() / reported)
        return np.asarray(ratios.reshape(joint.shape))


def corrected(stacked: Stacked, evidence: Evidence) -> tuple[LatentClasses, int, float]:
    """Return the corrected model, the number of rounds, and the held-out misfit.

    Each part of the records of the `stacked` model is held out: the model without it takes rounds
    with all other records. The number of rounds has the largest quadratic score of the held-out
    responses, summed over all parts. It suits the errors of tables better than the likelihood,
    which depends on rare values. Then come the tables of columns that contradict the stacked model.
    Nothing is corrected with one class, which is independence, or if the `evidence` is not complete
    (the misfit is NaN). The misfit is Pearson's statistic of held-out responses over its degrees.
    """
    parts = range(len(stacked.without))
    held_out = [_counted(evidence, stacked.fold == part) for part in parts]
    training = [_counted(evidence, stacked.fold != part) for part in parts]
    models = chosen = [*stacked.without]
    start = best = last = _score(models, held_out)
    rounds, several = 0, stacked.model.weights.size > len(parts)
    most = min(MAX_ROUNDS, MAX_STEPS // len(held_out[0])) if several and held_out[0] else 0
    for number in range(ROUNDS, most + 1, ROUNDS):
        models = [_improved(*each, ROUNDS) for each in zip(models, training, strict=True)]
        score = _score(models, held_out)
        if score > best:
            best, rounds, chosen = score, number, models
        if score - last < LEAST_PART * (score - start):
            break
        last = score
    every = _counted(evidence)
    model = _improved(stacked.model, every, rounds)
    moved = [most > 0 and each.contradicts(stacked.model) for each in every]
    if any(moved):
        tables = [each.table(model, moved=own) for each, own in zip(every, moved, strict=True)]
        model = _improved(model, tables, min(most, TABLE_ROUNDS))
    return model, rounds, _misfit(chosen, held_out)


def _score(models: Sequence[LatentClasses], held_out: Sequence[Sequence[_Counted]]) -> float:
    pairs = zip(models, held_out, strict=True)
    return sum(own.score(model) for model, counted in pairs for own in counted)


def _misfit(models: Sequence[LatentClasses], held_out: Sequence[Sequence[_Counted]]) -> float:
    pairs = [(m, own) for m, counted in zip(models, held_out, strict=True) for own in counted]
    degrees = sum(own.counts.size - 1 for _, own in pairs)
    return sum(own.statistic(m) for m, own in pairs) / degrees if degrees else math.nan


def _counted(evidence: Evidence, chosen: Flags | slice = slice(None)) -> list[_Counted]:
    """Return the counts about each cluster of several units, and about each two clusters."""
    if not evidence.complete:
        return []
    weights, found = evidence.each_weight[chosen], []
    several = [(part,) for part in evidence.parts if len(part.units) > 1]
    for own in chain(several, _pairs(evidence)):
        channel = ProductChannel(tuple(part.channel for part in own))
        codes = np.zeros(len(weights), dtype=np.int64)
        for part in own:
            codes = codes * part.channel.reports + part.codes[chosen]
        units, at = own[0].units, 1
        if len(own) > 1:
            units, at = units + own[1].units, len(units)
        if max(channel.size, channel.reports) <= MAX_JOINT:
            counts = np.bincount(codes, weights, channel.reports).astype(float)
            found.append(_Counted(units[:at], units[at:], channel, counts))
    return found


def _pairs(evidence: Evidence) -> Iterator[tuple[Part, Part]]:
    """Yield each two clusters; if they are too large, each two of their columns."""
    columns = cache(lambda part: [*_columns(part, evidence)])
    for one, other in combinations(evidence.parts, 2):
        if one.channel.size * other.channel.size <= MAX_WHOLE:
            yield one, other
        else:
            yield from product(columns(one), columns(other))


def _columns(part: Part, evidence: Evidence) -> Iterator[Part]:
    """Yield the randomized values of each unit of a `part` that has a channel of its own."""
    units = [evidence.units[at] for at in part.units]
    cluster = Domain(tuple(chain.from_iterable(units)))
    for at, unit in zip(part.units, units, strict=True):
        if len(units) == 1:
            yield part
        elif (channel := margin_channel(part.channel, cluster, unit.names)) is not None:
            yield Part((at,), channel, None, cells_of(cluster, unit)[part.codes])


def _improved(model: LatentClasses, counted: Sequence[_Counted], rounds: int) -> LatentClasses:
    for _ in range(rounds):
        model = _round(model, counted)
    return model


def _round(model: LatentClasses, counted: Sequence[_Counted]) -> LatentClasses:
    """Return the model after a step of EM for the composite likelihood."""
    own = model.conditionals
    numbers, expected = np.zeros(model.weights.size), [np.zeros_like(each) for each in own]
    for each in counted:
        left, right = (outer([own[at] for at in units]) for units in (each.left, each.right))
        left = left * model.weights[:, None]
        ratios = each.ratios(left.T @ right)
        sides = (each.left, left * (right @ ratios.T)), (each.right, right * (left @ ratios))
        numbers += sides[0][1].sum(axis=1)
        for units, cells in sides:
            add_margins(expected, units, cells)
    found = (quotients(each, each.sum(axis=1, keepdims=True)) for each in expected)
    return LatentClasses(numbers / numbers.sum(), tuple(found))
