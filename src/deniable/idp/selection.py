"""The exponential mechanism on a line: differentially private medians and threshold rules.

Both draw a point of [0, U] with a density proportional to exp(epsilon q / (2 D)), where the score q
of a point changes by at most D when one record changes. *Proof of epsilon* (McSherry and Talwar,
2007): the change multiplies the numerator by at most exp(epsilon / 2) and the integral that it is
divided by by at most the same factor, so densities differ by a factor of at most exp(epsilon), for
any two neighbours. As in `deniable.idp.histograms`, the class of a record is public.

Scores are constant between neighbouring values of the records. So the draw is exact: an interval by
its width times exp(epsilon q / (2 D)), then a point of it, uniformly. It needs no grid, and costs
epsilon only for the logarithm of how much wider [0, U] is than where the score is high.

The draws are in ordinary floating point: for experiments, not for releases.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.arrays import Codes, Counts, Floats, Positions
from deniable.errors import DeniableError
from deniable.idp.methods import split_budget


def median_log_densities(values: Floats, upper: float, epsilon: float) -> tuple[Floats, Floats]:
    """Return the intervals of [0, U], and the log weight of each, for a private median.

    The score of a point is minus the distance of the number of values below it from half of all;
    one record changes it by at most 1.

    Parameters
    ----------
    values : array, shape (records,)
        Values outside [0, U] are taken as its ends.
    upper : float, > 0
    epsilon : float, > 0

    Returns
    -------
    edges : array, shape (records + 2,)
    log_weights : array, shape (records + 1,)
        -inf for an interval without width; not normalized.
    """
    ordered = np.sort(np.clip(np.asarray(values, dtype=float), 0.0, upper))
    edges = np.concatenate([[0.0], ordered, [upper]])
    scores = -np.abs(np.arange(ordered.size + 1) - ordered.size / 2)
    return edges, _log(np.diff(edges)) + epsilon * scores / 2


def class_medians(
    values: npt.ArrayLike,
    labels: Codes,
    classes: int,
    upper: npt.ArrayLike,
    epsilon: float,
    generator: np.random.Generator,
    runs: int = 1,
) -> Floats:
    """Draw the median of each attribute in each class with epsilon-differential privacy.

    A record touches one class, so the classes of an attribute share its budget, epsilon / m.

    Parameters
    ----------
    values : array, shape (records, attributes)
    labels : array of class codes, shape (records,)
    upper : array, shape (attributes,)
    epsilon : float, > 0

    Returns
    -------
    array, shape (runs, attributes, classes)
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
    """Answers one class above a threshold of one attribute, and the other below.

    Attributes
    ----------
    attribute : int
    threshold : float
    above : int
        The class, 0 or 1, of values above the threshold.
    """

    attribute: int
    threshold: float
    above: int

    def predict(self, values: npt.ArrayLike) -> Counts:
        """Return the class of each record, shape (records,)."""
        column = np.asarray(values, dtype=float)[:, self.attribute]
        return np.asarray(np.where(column > self.threshold, self.above, 1 - self.above))


def rule_log_densities(
    values: Floats, labels: Codes, upper: float, epsilon: float, weights: Floats
) -> tuple[Floats, Floats]:
    """Return the intervals for the threshold of one attribute, and the log weight of each rule.

    The score of a rule is the summed weight of the records that it classifies rightly; the weights
    of the classes are public and at most 1, so one record changes it by at most 1. Attributes
    count alike: widths are in units of U.

    Returns
    -------
    edges : array, shape (records + 2,)
    log_weights : array, shape (2, records + 1)
        By the class above the threshold, then by the threshold's interval.
    """
    column = np.clip(np.asarray(values, dtype=float), 0.0, upper)
    order = np.argsort(column, kind="stable")
    edges = np.concatenate([[0.0], column[order], [upper]])
    of_one = np.where(labels == 1, weights[1], 0.0)[order]
    of_zero = np.where(labels == 0, weights[0], 0.0)[order]
    one_below = np.concatenate([[0.0], np.cumsum(of_one)])
    zero_below = np.concatenate([[0.0], np.cumsum(of_zero)])
    one_above = zero_below + (one_below[-1] - one_below)
    zero_above = one_below + (zero_below[-1] - zero_below)
    widths = _log(np.diff(edges) / upper)
    return edges, widths + epsilon * np.stack([zero_above, one_above]) / 2


def threshold_rule(
    values: npt.ArrayLike,
    labels: Codes,
    upper: npt.ArrayLike,
    epsilon: float,
    generator: np.random.Generator,
) -> ThresholdRule:
    """Draw a classifier of two classes with epsilon-differential privacy.

    Attribute, threshold and direction are drawn at once by the exponential mechanism. Classes
    weigh in inverse proportion to their public sizes, the smaller one 1.

    Parameters
    ----------
    values : array, shape (records, attributes)
    labels : array of 0 and 1, shape (records,)
        Both must occur.
    upper : array, shape (attributes,)
    epsilon : float, > 0
    """
    table, bounds = np.asarray(values, dtype=float), np.asarray(upper, dtype=float)
    sizes = np.bincount(labels, minlength=2)
    if sizes.size != 2 or not np.all(sizes):
        raise DeniableError("a threshold rule needs records of two classes, coded 0 and 1")
    split_budget(epsilon, 1)
    weights = sizes.min() / sizes
    all_edges, all_weights = [], []
    for column, bound in zip(table.T, bounds.tolist(), strict=True):
        edges, log_weights = rule_log_densities(column, labels, bound, epsilon, weights)
        all_edges.append(edges)
        all_weights.append(log_weights)
    log_weights = np.stack(all_weights)
    chosen = _chosen(log_weights.reshape(-1), generator, 1)
    attribute, above, _ = np.unravel_index(chosen[0], log_weights.shape)
    interval = chosen % log_weights.shape[2]
    threshold = _within(all_edges[int(attribute)], interval, generator)[0]
    return ThresholdRule(int(attribute), float(threshold), int(above))


def _chosen(log_weights: Floats, generator: np.random.Generator, runs: int) -> Positions:
    """Draw intervals in proportion to their weights, shape (runs,)."""
    weights = np.exp(log_weights - log_weights.max())
    steps = np.cumsum(weights)
    drawn = np.searchsorted(steps, generator.random(runs) * steps[-1], side="right")
    return np.asarray(np.minimum(drawn, len(steps) - 1), dtype=np.intp)


def _within(edges: Floats, intervals: Positions, generator: np.random.Generator) -> Floats:
    below, above = edges[intervals], edges[intervals + 1]
    return np.asarray(below + generator.random(len(intervals)) * (above - below))


def _log(widths: Floats) -> Floats:
    return np.asarray(np.log(widths, out=np.full(widths.shape, -np.inf), where=widths > 0))
