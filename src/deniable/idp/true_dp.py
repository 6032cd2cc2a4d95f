"""Generate synthetic numeric records and classifiers with epsilon-differential privacy.

They compete with [idp]'s methods at the same budget. The class of each record is public, and so are
the bounds [0, U_j]. Two files are neighbours if the attributes of one record differ.

**Histograms.** For each attribute, the records of each class are counted in bins of equal width.
Every count gets discrete Laplace noise of scale 2 / epsilon_j. *Proof of epsilon:* a record that
changes subtracts 1 from one bin and adds 1 to another. So the l1 distance between the two tables of
an attribute is at most 2. The probabilities of any noisy table differ by a factor of at most exp(2
epsilon_j / 2). The m tables are drawn independently, so for all of them the factor is at most
exp(sum of epsilon_j) = exp(epsilon). No scale, bin or bound depends on the records, so this holds
for all pairs of neighbours, in both directions. All results from the tables are post-processing
(Dwork and Roth, 2014, Propositions 2.1 and 3.16). The same holds if the class is also protected.

**Medians and threshold rules.** The exponential mechanism draws a point of [0, U] with a density
proportional to exp(epsilon q / (2 D)). The score q of a point changes by at most D if one record
changes. *Proof of epsilon* (McSherry and Talwar, 2007): the change multiplies the numerator, and
the integral in the denominator, by a factor between exp(-epsilon / 2) and exp(epsilon / 2). So
densities differ by a factor of at most exp(epsilon), for any two neighbours.

Scores are constant between neighbouring values of the records. So the draw is exact: first an
interval, with a weight of its width times exp(epsilon q / (2 D)), then a uniform point in it. These
draws are in ordinary floating point. Use them for experiments, not for releases.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from deniable.arrays import Codes, Counts, Floats, Positions
from deniable.errors import DeniableError
from deniable.estimation import euclidean_projection
from deniable.idp.methods import split_budget
from deniable.sampling import Noise

TABLE_DISTANCE = 2
"""Largest l1 distance between the tables of an attribute if two files differ in one record."""
BINS_TO_MAXIMUM = 16
"""Number of bins of a histogram from 0 to the largest value; wider domains have more bins."""


@dataclass(frozen=True, eq=False)
class NoisyHistograms:
    """Noisy counts of each attribute in each class.

    The released `counts`, shape (attributes, classes, bins), are unbiased and can be below 0. Bins
    divide [0, U_j] equally, with U_j in `upper`. The sizes of classes, `class_counts`, are public.
    """

    counts: Counts
    class_counts: Counts
    upper: Floats

    @property
    def bins(self) -> int:
        """Number of bins of an attribute."""
        return int(self.counts.shape[2])

    def distributions(self) -> Floats:
        """Return the distributions closest to the noisy proportions, in the shape of the counts."""
        return euclidean_projection(self.counts / np.maximum(self.class_counts, 1)[:, None])

    def synthesize(self, labels: Codes, generator: Generator) -> Floats:
        """Draw records, each attribute separately, from the distributions of the record's class.

        `labels` has the class code of each record. Within a bin the `generator` draws uniform
        values. The shape is (records, attributes).
        """
        distributions = self.distributions()
        widths = self.upper / self.bins
        records = np.empty((len(labels), len(self.upper)))
        for code in np.unique(labels):
            members = np.flatnonzero(labels == code)
            for attribute, cumulative in enumerate(np.cumsum(distributions[:, code], axis=1)):
                drawn = generator.random(members.size) * cumulative[-1]
                bins = np.searchsorted(cumulative, drawn, side="right")
                places = np.minimum(bins, self.bins - 1) + generator.random(members.size)
                records[members, attribute] = places * widths[attribute]
        return records


def bins_of_domain(upper: Floats, values: Floats) -> int:
    """Return the number of bins in [0, U_j] if `BINS_TO_MAXIMUM` cover the largest value.

    `upper`, U_j, has the shape (attributes,), `values` (records, attributes).
    """
    return math.ceil(round(BINS_TO_MAXIMUM * float(np.max(upper / values.max(axis=0))), 6))


def noisy_histograms(
    values: ArrayLike,
    labels: Codes,
    classes: int,
    upper: ArrayLike,
    *,
    bins: int,
    epsilon: float,
    noise: Noise,
) -> NoisyHistograms:
    """Release histograms of each attribute in each class with epsilon-differential privacy.

    The proof is in the module's docstring. `values` have the shape (records, attributes); values
    outside [0, U_j] count in the nearest of `bins`. `labels` are codes of `classes`, shape
    (records,). The bounds `upper`, shape (attributes,), above 0, must not depend on the data.
    `epsilon`, above 0, is allocated evenly to the attributes. `noise` is added to counts.
    """
    bounds = np.array(upper, dtype=float)
    counts = histograms(values, labels, classes, bounds, bins)
    noisy = noise.add_whole(counts, TABLE_DISTANCE / split_budget(epsilon, len(bounds))[0])
    return NoisyHistograms(noisy, np.bincount(labels, minlength=classes), bounds)


def histograms(values: ArrayLike, labels: Codes, classes: int, upper: Floats, bins: int) -> Counts:
    """Count the records of each class in bins of each attribute, without noise.

    The shape is (attributes, `classes`, `bins`). See `noisy_histograms` for `values`, `labels`,
    `upper`.
    """
    table = np.asarray(values, dtype=float)
    attributes = len(upper)
    if table.ndim != 2 or table.shape != (len(labels), attributes):
        raise DeniableError(
            f"values of shape {table.shape} do not fit {len(labels)} records with classes and "
            f"{attributes} bounds; give one row per record and one column per bound"
        )
    if bins < 1 or not np.all(upper > 0):
        raise DeniableError(f"{bins} bins of [0, U]; give at least 1 bin and U above 0")
    codes = binned(table, upper, bins) + bins * np.asarray(labels, dtype=np.int64)[:, None]
    counts = [np.bincount(column, minlength=classes * bins) for column in codes.T]
    return np.stack(counts).reshape(attributes, classes, bins)


def binned(values: Floats, upper: Floats, bins: int) -> Counts:
    """Return the bin of each of `values` in [0, `upper`]; outside it, the nearest of `bins`."""
    return np.minimum(np.floor(np.clip(values / upper, 0.0, 1.0) * bins), bins - 1).astype(np.int64)


def naive_bayes(tables: NoisyHistograms, values: ArrayLike) -> Counts:
    """Return the most probable class of each record if attributes are independent in a class.

    The `tables` are released, and the `values` have the shape (records, attributes).
    """
    codes = binned(np.asarray(values, dtype=float), tables.upper, tables.bins)
    # Values that do not occur have the weight of half a record, as with Jeffreys' prior.
    records = tables.class_counts.astype(float)
    seen = tables.distributions() * records[:, None] + 0.5
    log_shares = np.log(seen / (records[:, None] + 0.5 * tables.bins))
    scores = np.log(records + 0.5) + sum(
        log_shares[attribute][:, column].T for attribute, column in enumerate(codes.T)
    )
    return np.asarray(np.argmax(scores, axis=1))


def median_log_densities(values: Floats, upper: float, epsilon: float) -> tuple[Floats, Floats]:
    """Return the intervals of [0, U], and the log weight of each, for an `epsilon`-private median.

    The score of a point is minus the distance between the number of values below it and half of
    all. One record changes it by at most 1. `values`, shape (records,), are clipped to [0,
    `upper`]. Edges have the shape (records + 2,), log weights (records + 1,), -inf at width 0.
    """
    ordered = np.sort(np.clip(np.asarray(values, dtype=float), 0.0, upper))
    edges = np.concatenate([[0.0], ordered, [upper]])
    scores = -np.abs(np.arange(ordered.size + 1) - ordered.size / 2)
    return edges, _log(np.diff(edges)) + epsilon * scores / 2


def class_medians(
    values: ArrayLike,
    labels: Codes,
    classes: int,
    upper: ArrayLike,
    epsilon: float,
    generator: Generator,
    runs: int = 1,
) -> Floats:
    """Draw the median of each attribute in each class with epsilon-differential privacy.

    A record is in one class, so each class can use the whole budget of an attribute, epsilon / m.
    `values`, `labels`, `classes`, `upper` and `epsilon` are as for `noisy_histograms`. The
    `generator` draws an array, shape (`runs`, attributes, classes).
    """
    table, bounds = np.asarray(values, dtype=float), np.asarray(upper, dtype=float)
    share = split_budget(epsilon, len(bounds))[0]
    medians = np.empty((runs, len(bounds), classes))
    for attribute, bound in enumerate(bounds):
        for code in range(classes):
            part = table[labels == code, attribute]
            edges, log_weights = median_log_densities(part, float(bound), share)
            chosen = _chosen(log_weights, generator, runs)
            medians[:, attribute, code] = _within(edges, chosen, generator)
    return medians


@dataclass(frozen=True)
class ThresholdRule:
    """A rule: class `above`, 0 or 1, over the `threshold` of `attribute`, else the other class."""

    attribute: int
    threshold: float
    above: int

    def predict(self, values: ArrayLike) -> Counts:
        """Return the class of each record, shape (records,), of `values` (records, attributes)."""
        column = np.asarray(values, dtype=float)[:, self.attribute]
        return np.asarray(np.where(column > self.threshold, self.above, 1 - self.above))


def rule_log_densities(
    values: Floats, labels: Codes, upper: float, epsilon: float, weights: Floats
) -> tuple[Floats, Floats]:
    """Return the intervals for the threshold of one attribute, and the log weight of each rule.

    The score of a rule is the summed weight of the correctly classified records. The `weights` of
    classes are public and at most 1, so one record changes the score by at most 1. Widths are in
    units of U, `upper`. The `values` of the attribute and `labels`, 0 or 1, have the shape
    (records,). A rule drawn by the log weights is `epsilon`-private. Edges have the shape (records
    + 2,), log weights (2, records + 1): by class above the threshold and interval.
    """
    column = np.clip(np.asarray(values, dtype=float), 0.0, upper)
    order = np.argsort(column, kind="stable")
    edges = np.concatenate([[0.0], column[order], [upper]])
    weighted = (np.where(labels == each, weights[each], 0.0)[order] for each in (0, 1))
    zero, one = (np.append(0.0, np.cumsum(each)) for each in weighted)  # below the threshold
    scores = np.stack([one + (zero[-1] - zero), zero + (one[-1] - one)])
    return edges, _log(np.diff(edges) / upper) + epsilon * scores / 2


def threshold_rule(
    values: ArrayLike, labels: Codes, upper: ArrayLike, epsilon: float, generator: Generator
) -> ThresholdRule:
    """Draw a classifier of two classes with epsilon-differential privacy from `generator`.

    The exponential mechanism draws attribute, threshold and direction at once. The weights of
    classes are in inverse proportion to their public sizes, 1 for the smaller one. `values`,
    `labels`, `upper` and `epsilon` are as for `noisy_histograms`; both classes, 0 and 1, occur.
    """
    table, bounds = np.asarray(values, dtype=float), np.asarray(upper, dtype=float)
    sizes = np.bincount(labels, minlength=2)
    if sizes.size != 2 or not np.all(sizes):
        raise DeniableError("a threshold rule needs records of two classes, coded 0 and 1")
    split_budget(epsilon, 1)
    weights = sizes.min() / sizes
    rules = [
        rule_log_densities(column, labels, bound, epsilon, weights)
        for column, bound in zip(table.T, bounds.tolist(), strict=True)
    ]
    log_weights = np.stack([each for _, each in rules])
    chosen = _chosen(log_weights.reshape(-1), generator, 1)
    attribute, above, _ = np.unravel_index(chosen[0], log_weights.shape)
    edges, _ = rules[int(attribute)]
    threshold = _within(edges, chosen % log_weights.shape[2], generator)[0]
    return ThresholdRule(int(attribute), float(threshold), int(above))


def _chosen(log_weights: Floats, generator: Generator, runs: int) -> Positions:
    """Draw intervals in proportion to their weights, shape (runs,)."""
    steps = np.cumsum(np.exp(log_weights - log_weights.max()))
    drawn = np.searchsorted(steps, generator.random(runs) * steps[-1], side="right")
    return np.asarray(np.minimum(drawn, len(steps) - 1), dtype=np.intp)


def _within(edges: Floats, intervals: Positions, generator: Generator) -> Floats:
    below, above = edges[intervals], edges[intervals + 1]
    return np.asarray(below + generator.random(len(intervals)) * (above - below))


def _log(widths: Floats) -> Floats:
    return np.asarray(np.log(widths, out=np.full(widths.shape, -np.inf), where=widths > 0))
