"""Attacks on one release, which ask from which of two neighbours it was made.

A mechanism that is epsilon-DP lets no intruder answer that, for two neighbours that are equally
likely beforehand, with more than probability e^epsilon / (1 + e^epsilon) of being right. An attack
that is right more often proves that epsilon is larger, to the confidence of its interval.

- *Likelihood*: the intruder sees the noisy centroids and takes the neighbour of higher likelihood,
  which is the best that can be done with them.
- *Partition*: the intruder sees records, and asks only which of them have equal values: a release
  that breaks up a cluster of one neighbour was made from the other. Neither noise nor epsilon
  matters to it. If both are possible, a coin decides.

**Is there never less protection than microaggregation alone offers?** [idp] (section 1) says so.
The argument would be post-processing: whatever is made of the microaggregated file by chance alone
tells no more than that file. It is sound for ``dp_um``, whose noise depends on the clusters' sizes
only. It does not apply to ``idp_ls`` and ``idp_cbls``: their scales depend on values inside the
cluster that the microaggregated file does not show, and the preprocessed centroid is not even the
cluster's mean. Two clusters with the same mean are one and the same after microaggregation; the
loss between their releases (`privacy_loss_at_equal_centroids`) is, with ``idp_cbls``, infinite for
(1, 2, 3) and (2, 2, 2): the latter is released as exactly 2, and a value without noise reveals all
three values. `certain_values` and `link_records` compare what intruders learn of files.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import scipy

from deniable.arrays import Flags, Floats, Positions
from deniable.estimation import clopper_pearson
from deniable.idp.audit.changes import Cut
from deniable.idp.audit.losses import loss_between
from deniable.idp.methods import Variant, masking
from deniable.idp.microaggregation import Ranking

BLOCK = 200  # releases that are drawn together


@dataclass(frozen=True)
class Accuracy:
    """How often an attack was `right`, and how often it was `tried`, at least once."""

    right: int
    tried: int

    @property
    def value(self) -> float:
        """The share of right answers."""
        return self.right / self.tried

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the Clopper-Pearson interval, which covers with at least that `confidence`."""
        low, high = clopper_pearson(self.right, self.tried, confidence)
        return float(low), float(high)

    def epsilon(self, confidence: float = 0.95) -> float:
        """Return the bound on epsilon that the lower end of `interval` proves at a `confidence`."""
        low, _ = self.interval(confidence)
        return math.inf if low >= 1 else max(0.0, math.log(low / (1 - low))) if low > 0 else 0.0


def largest_accuracy(epsilon: float) -> float:
    """Return e^`epsilon` / (1 + e^epsilon), the most that epsilon-DP allows any attack."""
    return float(scipy.special.expit(epsilon))


@dataclass(frozen=True, eq=False)
class NoisyCentroids:
    """Centroids with Laplace noise, clipped to their domains, as one data set would release them.

    Attributes
    ----------
    centres, scales, upper : array, shape (centroids,)
        Centres lie in [0, upper].
    """

    centres: Floats
    scales: Floats
    upper: Floats

    def draw(self, generator: np.random.Generator, runs: int) -> Floats:
        """Return releases drawn by the `generator`, shape (`runs`, centroids)."""
        noise = generator.laplace(size=(runs, self.centres.size))
        return np.clip(self.centres + self.scales * noise, 0.0, self.upper)

    def log_likelihood(self, released: Floats) -> Floats:
        """Return the log likelihood, shape (runs,), of what is `released`, (runs, centroids).

        With respect to length inside the domain, and to points at its ends and at exact centroids.
        """
        noisy = self.scales > 0
        y, m, b = released[:, noisy], self.centres[noisy], self.scales[noisy]
        inside = (y > 0) & (y < self.upper[noisy])
        log = -np.abs(y - m) / b - np.log(2.0) - np.where(inside, np.log(b), 0.0)
        exact = np.all(released[:, ~noisy] == self.centres[~noisy], axis=1)
        return np.where(exact, log.sum(axis=1), -np.inf)


def _attacked(
    actual: Callable[[int], Floats],
    neighbour: Callable[[int], Floats],
    judged: Callable[[Floats], Floats],
    generator: np.random.Generator,
    runs: int,
) -> Accuracy:
    """Attack releases, of which each of the two data sets makes half, as many at once as asked.

    What is judged above 0 is taken to be of the actual data set, below 0 of the neighbour; at 0 a
    coin decides.
    """
    right = 0
    for start in range(0, runs, BLOCK):
        size = min(BLOCK, runs - start)
        truth = generator.random(size) < 0.5
        found = judged(np.where(truth[:, None], actual(size), neighbour(size)))
        answer = np.where(found == 0, generator.random(size) < 0.5, found > 0)
        right += int((answer == truth).sum())
    return Accuracy(right, runs)


def likelihood_attack(
    actual: NoisyCentroids, neighbour: NoisyCentroids, generator: np.random.Generator, runs: int
) -> Accuracy:
    """Attack centroids by their likelihood; half of the `runs` release each data set.

    The `actual` one or its `neighbour`, by noise that the `generator` draws.

    A centroid without noise under one of the two only decides at once: the other gives its exact
    value with probability 0. Ties are decided by a coin.
    """
    exact_here, exact_there = _telling(actual, neighbour), _telling(neighbour, actual)

    def judged(draws: Floats) -> Floats:
        seen_here = (draws[:, exact_here] == actual.centres[exact_here]).any(axis=1)
        seen_there = (draws[:, exact_there] == neighbour.centres[exact_there]).any(axis=1)
        ratio = _log_ratio(actual.log_likelihood(draws), neighbour.log_likelihood(draws))
        return np.where(seen_here, np.inf, np.where(seen_there, -np.inf, ratio))

    return _attacked(
        partial(actual.draw, generator), partial(neighbour.draw, generator), judged, generator, runs
    )


def _log_ratio(here: Floats, there: Floats) -> Floats:
    """Return here - there; what neither can have made tells nothing."""
    both = np.isfinite(here) & np.isfinite(there)
    ratio = np.where(np.isfinite(here), np.inf, np.where(np.isfinite(there), -np.inf, 0.0))
    ratio[both] = here[both] - there[both]
    return ratio


def _telling(one: NoisyCentroids, other: NoisyCentroids) -> Flags:
    """Return which centroids are exact under one only, at a value that the other all but never has.

    At an end of the domain both have a point with positive probability, which is compared as such.
    """
    inside = (one.centres > 0) & (one.centres < one.upper)
    return np.asarray((one.scales == 0) & (other.scales > 0) & inside)


@dataclass(frozen=True, eq=False)
class Blocks:
    """Which records have one value, whatever it is.

    `order` has the records, cluster by cluster, and `starts` where each begins in that order.
    """

    order: Positions
    starts: Positions

    @classmethod
    def of(cls, clusters: Positions) -> "Blocks":
        """Make blocks of `clusters`, the cluster of each record."""
        order = np.argsort(clusters, kind="stable")
        return cls(order, np.flatnonzero(np.diff(clusters[order], prepend=-1)))

    def are_constant_in(self, released: Floats) -> Flags:
        """Return whether all records of every cluster have one value, by run.

        The values `released` have the shape (runs, records).
        """
        values = released[:, self.order]
        highest = np.maximum.reduceat(values, self.starts, axis=1)
        return np.asarray((highest == np.minimum.reduceat(values, self.starts, axis=1)).all(axis=1))


def partition_attack(
    actual: tuple[NoisyCentroids, Positions],
    neighbour: tuple[NoisyCentroids, Positions],
    generator: np.random.Generator,
    runs: int,
) -> Accuracy:
    """Attack released records of one attribute by which of them have equal values.

    Half of the `runs` release the `actual` data set, the others its `neighbour`, by noise that the
    `generator` draws; each is given by its centroids and by the cluster of each record.
    """
    (model, clusters), (other_model, other_clusters) = actual, neighbour
    here, there = Blocks.of(clusters), Blocks.of(other_clusters)

    def judged(released: Floats) -> Floats:
        possible, other = (blocks.are_constant_in(released) for blocks in (here, there))
        return possible.astype(float) - other

    return _attacked(
        lambda size: model.draw(generator, size)[:, clusters],
        lambda size: other_model.draw(generator, size)[:, other_clusters],
        judged,
        generator,
        runs,
    )


def privacy_loss_at_equal_centroids(
    method: Variant, one: npt.ArrayLike, other: npt.ArrayLike, upper: float, epsilon: float
) -> float:
    """Return the loss between releases of two single clusters with the same mean.

    They are given by their values in [0, `upper`], `one` and the `other`, of one sum, so that
    microaggregation makes the same of them. The `method` masks both at `epsilon`, above 0.
    """
    columns = [np.asarray(each, dtype=float)[:, None] for each in (one, other)]
    a, b = (masking(method, Ranking.of(each), len(each), [upper], epsilon) for each in columns)
    return float(loss_between(a.centres[0], a.scales[0], b.centres[0], b.scales[0], upper)[0])


@dataclass(frozen=True)
class CertainValues:
    """Shares of the values of an attribute that an intruder knows for certain.

    Attributes
    ----------
    microaggregated : float
        From the means alone.
    exact_centroids : float
        From clusters that Proposition 3 gives no noise.
    """

    microaggregated: float
    exact_centroids: float


def certain_values(cut: Cut) -> CertainValues:
    """Return what is known for certain of one attribute, `cut` into clusters, of [0, upper].

    From an exact preprocessed centroid: the value of all its records. From a microaggregated file:
    a mean at an end of the domain, and means of neighbouring clusters that are equal (the one's
    largest value is at most the other's smallest), say that all values of these clusters are equal
    to it; of values that may be any numbers of the domain, no other mean does.
    """
    lowest = cut.edges.smallest()
    equal = lowest == cut.edges.largest()
    at_end = equal & ((lowest == 0) | (lowest == cut.upper))
    means = np.where(equal, lowest, np.nan)
    like_next = means[1:] == means[:-1]
    told = at_end | np.append(like_next, False) | np.append(False, like_next)
    microaggregated, exact = (cut.sizes[those].sum() / cut.values.size for those in (told, equal))
    return CertainValues(float(microaggregated), float(exact))
