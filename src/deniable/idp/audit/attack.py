"""Attacks on one release, which ask from which of two neighbours it was made.

A mechanism that is epsilon-DP lets no intruder answer that, for two neighbours that are equally
likely beforehand, with more than probability e^epsilon / (1 + e^epsilon) of being right. An attack
that is right more often proves that epsilon is larger, to the confidence of its interval.

- *Likelihood*: the intruder sees the noisy centroids and takes the neighbour of higher likelihood,
  which is the best that can be done with them.
- *Partition*: the intruder sees records, and asks only which of them have equal values: a release
  that breaks up a cluster of one neighbour was made from the other. Neither noise nor epsilon
  matters to it. If both are possible, a coin decides.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from deniable.arrays import Flags, Floats, Positions
from deniable.estimation import clopper_pearson

BLOCK = 200  # releases that are drawn together


@dataclass(frozen=True)
class Accuracy:
    """How often an attack was right.

    Attributes
    ----------
    right, tried : int
    """

    right: int
    tried: int

    @property
    def value(self) -> float:
        """The share of right answers."""
        return self.right / self.tried

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the Clopper-Pearson interval, which covers with at least that confidence."""
        low, high = clopper_pearson(self.right, self.tried, confidence)
        return float(low), float(high)

    def epsilon(self, confidence: float = 0.95) -> float:
        """Return the lower bound on epsilon that the lower end of the interval proves."""
        low, _ = self.interval(confidence)
        return math.inf if low >= 1 else max(0.0, math.log(low / (1 - low))) if low > 0 else 0.0


def largest_accuracy(epsilon: float) -> float:
    """Return e^epsilon / (1 + e^epsilon), the most that epsilon-DP allows any attack."""
    return float(special.expit(epsilon))


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
        """Return releases, shape (runs, centroids)."""
        noise = generator.laplace(size=(runs, self.centres.size))
        return np.clip(self.centres + self.scales * noise, 0.0, self.upper)

    def log_likelihood(self, released: Floats) -> Floats:
        """Return the log likelihood of releases, shape (runs,).

        With respect to length inside the domain, and to points at its ends and at exact centroids.
        """
        noisy = self.scales > 0
        y, m, b = released[:, noisy], self.centres[noisy], self.scales[noisy]
        inside = (y > 0) & (y < self.upper[noisy])
        log = -np.abs(y - m) / b - np.log(2.0) - np.where(inside, np.log(b), 0.0)
        exact = np.all(released[:, ~noisy] == self.centres[~noisy], axis=1)
        return np.where(exact, log.sum(axis=1), -np.inf)


def likelihood_attack(
    actual: NoisyCentroids, neighbour: NoisyCentroids, generator: np.random.Generator, runs: int
) -> Accuracy:
    """Attack centroids by their likelihood; half of the releases are of each data set.

    A centroid without noise under one of the two only decides at once: the other gives its exact
    value with probability 0. Ties are decided by a coin.
    """
    exact_here, exact_there = _telling(actual, neighbour), _telling(neighbour, actual)
    right = 0
    for start in range(0, runs, BLOCK):
        size = min(BLOCK, runs - start)
        truth = generator.random(size) < 0.5
        draws = np.where(
            truth[:, None], actual.draw(generator, size), neighbour.draw(generator, size)
        )
        ratio = _log_ratio(draws, actual, neighbour)
        seen_here = (draws[:, exact_here] == actual.centres[exact_here]).any(axis=1)
        seen_there = (draws[:, exact_there] == neighbour.centres[exact_there]).any(axis=1)
        ratio = np.where(seen_here, np.inf, np.where(seen_there, -np.inf, ratio))
        answer = np.where(ratio == 0, generator.random(size) < 0.5, ratio > 0)
        right += int((answer == truth).sum())
    return Accuracy(right, runs)


def _log_ratio(draws: Floats, actual: NoisyCentroids, neighbour: NoisyCentroids) -> Floats:
    here, there = actual.log_likelihood(draws), neighbour.log_likelihood(draws)
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

    Attributes
    ----------
    order : array, shape (records,)
        Records, cluster by cluster.
    starts : array, shape (clusters,)
        Where each cluster begins in that order.
    """

    order: Positions
    starts: Positions

    @classmethod
    def of(cls, clusters: Positions) -> "Blocks":
        """Make blocks of the cluster of each record."""
        order = np.argsort(clusters, kind="stable")
        return cls(order, np.flatnonzero(np.diff(clusters[order], prepend=-1)))

    def are_constant_in(self, released: Floats) -> Flags:
        """Return whether all records of every cluster have one value, shape (runs,).

        Parameters
        ----------
        released : array, shape (runs, records)
        """
        values = released[:, self.order]
        highest = np.maximum.reduceat(values, self.starts, axis=1)
        return np.asarray((highest == np.minimum.reduceat(values, self.starts, axis=1)).all(axis=1))


def partition_attack(
    actual: NoisyCentroids,
    neighbour: NoisyCentroids,
    clusters: Positions,
    neighbour_clusters: Positions,
    generator: np.random.Generator,
    runs: int,
) -> Accuracy:
    """Attack released records of one attribute by which of them have equal values.

    Parameters
    ----------
    actual, neighbour : NoisyCentroids
        Half of the releases are of each.
    clusters, neighbour_clusters : array, shape (records,)
        The cluster of each record under each.
    """
    here, there = Blocks.of(clusters), Blocks.of(neighbour_clusters)
    right = 0
    for start in range(0, runs, BLOCK):
        size = min(BLOCK, runs - start)
        truth = generator.random(size) < 0.5
        released = np.where(
            truth[:, None],
            actual.draw(generator, size)[:, clusters],
            neighbour.draw(generator, size)[:, neighbour_clusters],
        )
        possible, other = here.are_constant_in(released), there.are_constant_in(released)
        answer = np.where(possible != other, possible, generator.random(size) < 0.5)
        right += int((answer == truth).sum())
    return Accuracy(right, runs)
