"""Lower bounds on epsilon from attacks on one release, and from errors of released numbers.

**Attacks** decide which of two neighbours is the original file of a release. For two equally likely
neighbours, an attack on an epsilon-DP release is right with at most the probability e^epsilon / (1
+ e^epsilon). An attack that is right more often proves a larger epsilon, at its interval's
confidence.

- *Likelihood*: the intruder sees the noisy centroids and chooses the neighbour of higher
  likelihood. No other attack on them is better.
- *Partition*: the intruder sees records, and uses only the equality of their values. A release that
  splits a cluster of one neighbour comes from the other one. If both are possible, a coin decides.
  Noise and epsilon do not matter.

**Does a method always protect at least as well as microaggregation alone?** [idp] (section 1)
claims this by post-processing: a function of the microaggregated file and of random draws reveals
no more than that file. The argument is sound for ``dp_um``, because its noise depends on the sizes
of clusters only. It does not apply to ``idp_ls`` and ``idp_cbls``. Their scales depend on values
inside the cluster that the microaggregated file does not contain. The preprocessed centroid is not
even the cluster's mean. Two clusters with the same mean are equal after microaggregation. With
``idp_cbls`` the loss between their releases (`privacy_loss_at_equal_centroids`) is infinite for (1,
2, 3) and (2, 2, 2). The latter is released as exactly 2, which reveals all three values.

**Errors** bound epsilon for any algorithm. *Proposition.* Let the numbers x_1 .. x_n of one
attribute be assigned to the records of a file in an order drawn uniformly at random. The other
attributes are arbitrary. Let M be epsilon-DP for the replacement of one record. Then every
estimator T_i of record i's number from M's output has

    mean over i of E (X_i - T_i)^2  >=  exp(-2 epsilon) Var,    Var = mean of (x_s - mean)^2.

*Proof.* Write Pr(y | s) for the probability (density) of output y given that record i has the
number x_s and the others are in random order. Exchange the numbers x_s and x_t between their two
records. This is a bijection between the orders in which i has x_s and the orders in which it has
x_t, and it changes two records. So Pr(y | s) >= exp(-2 epsilon) Pr(y | t) for all s and t. Hence
Pr(y | s) is at least exp(-2 epsilon) times its mean over t, and the posterior weight of s is

    w_s = Pr(y | s) / sum_t Pr(y | t)  >=  exp(-2 epsilon) / n.

For any number T, sum_s w_s (x_s - T)^2 is at least exp(-2 epsilon) times mean_s (x_s - T)^2, and
this mean is at least Var. Take the mean over outputs and over i. QED

So epsilon >= (1/2) ln(Var / MSE) for the MSE of any estimator that does not depend on the order,
such as the released number itself. If the mechanism treats all records in the same way, its MSE on
the actual file equals the mean over all orders, and releases of that file suffice. (Individual
ranking does: the order decides the clusters of equal values, not the sum of squares.)

*Several attributes.* For each attribute alone the proposition bounds the epsilon of the whole
release, so the maximum over attributes is a bound. If attributes are released independently, each
from its own numbers alone, epsilon is the sum over attributes, and at least the sum of the bounds.

The bound is for differential privacy: two exchanged records, over all orders of the file, each with
its own noise scales. It does not apply to Definition 3 of [idp], which is for the actual file only.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import scipy

from deniable.arrays import Flags, Floats, Positions, quotients
from deniable.errors import DeniableError
from deniable.estimation import clopper_pearson
from deniable.idp.audit.losses import Cut, loss_between
from deniable.idp.methods import Variant, masking
from deniable.idp.microaggregation import Ranking

BLOCK = 200  # releases that are drawn together
CONFIDENCE = 0.999


@dataclass(frozen=True)
class Accuracy:
    """The number of `right` decisions of an attack, out of `tried`, at least one."""

    right: int
    tried: int

    @property
    def value(self) -> float:
        """The proportion of right decisions."""
        return self.right / self.tried

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the Clopper-Pearson interval with at least the given `confidence`."""
        low, high = clopper_pearson(self.right, self.tried, confidence)
        return float(low), float(high)

    def epsilon(self) -> float:
        """Return the lower bound on epsilon, from the lower end of `interval`."""
        low, _ = self.interval()
        return math.inf if low >= 1 else max(0.0, math.log(low / (1 - low))) if low > 0 else 0.0


@dataclass(frozen=True, eq=False)
class NoisyCentroids:
    """The centroids of one data set, with Laplace noise and clipped to their domains.

    `centres`, in [0, `upper`], `scales` and `upper` have the shape (centroids,).
    """

    centres: Floats
    scales: Floats
    upper: Floats

    def draw(self, generator: np.random.Generator, runs: int) -> Floats:
        """Return releases drawn by the `generator`, shape (`runs`, centroids)."""
        noise = generator.laplace(size=(runs, self.centres.size))
        return np.clip(self.centres + self.scales * noise, 0.0, self.upper)

    def log_likelihood(self, released: Floats) -> Floats:
        """Return the log likelihood, shape (runs,), of `released` centroids, (runs, centroids).

        The density refers to length inside the domain, and to points at its ends and exact
        centroids.
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
    """Attack releases from both data sets; `judged` is above 0 if it decides for the actual one."""
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
    """Attack centroids by their likelihood.

    About half of the `runs` releases come from each data set, `actual` or `neighbour`, with noise
    from the `generator`. If only one data set has a centroid without noise, its exact value
    decides, because under the other one it has probability 0. A coin decides ties.
    """
    exact_here, exact_there = _telling(actual, neighbour), _telling(neighbour, actual)

    def judged(draws: Floats) -> Floats:
        seen_here = (draws[:, exact_here] == actual.centres[exact_here]).any(axis=1)
        seen_there = (draws[:, exact_there] == neighbour.centres[exact_there]).any(axis=1)
        one, other = actual.log_likelihood(draws), neighbour.log_likelihood(draws)
        with np.errstate(invalid="ignore"):  # both are impossible
            ratio = np.where(one == other, 0.0, one - other)
        return np.where(seen_here, np.inf, np.where(seen_there, -np.inf, ratio))

    return _attacked(
        partial(actual.draw, generator), partial(neighbour.draw, generator), judged, generator, runs
    )


def _telling(one: NoisyCentroids, other: NoisyCentroids) -> Flags:
    """Return the centroids that only `one` has without noise, strictly inside the domain."""
    inside = (one.centres > 0) & (one.centres < one.upper)
    return np.asarray((one.scales == 0) & (other.scales > 0) & inside)


def constant_within(clusters: Positions, released: Floats) -> Flags:
    """Return whether `released` values, shape (runs, records), are equal in all `clusters`.

    `clusters` has the cluster of each record. The result has the shape (runs,).
    """
    _, first, which = np.unique(clusters, return_index=True, return_inverse=True)
    return np.asarray((released == released[:, first[which]]).all(axis=1))


def partition_attack(
    actual: tuple[NoisyCentroids, Positions],
    neighbour: tuple[NoisyCentroids, Positions],
    generator: np.random.Generator,
    runs: int,
) -> Accuracy:
    """Attack released records of one attribute by the equality of their values.

    `actual` and `neighbour` have centroids and the cluster of each record. About half of the `runs`
    releases come from each, with noise from the `generator`.
    """
    (model, clusters), (other_model, other_clusters) = actual, neighbour
    return _attacked(
        lambda size: model.draw(generator, size)[:, clusters],
        lambda size: other_model.draw(generator, size)[:, other_clusters],
        lambda released: (
            constant_within(clusters, released).astype(float)
            - constant_within(other_clusters, released)
        ),
        generator,
        runs,
    )


def privacy_loss_at_equal_centroids(
    method: Variant, one: npt.ArrayLike, other: npt.ArrayLike, upper: float, epsilon: float
) -> float:
    """Return the privacy loss between releases of two single clusters with the same mean.

    `one` and `other` are their values in [0, `upper`]. The `method` masks both at `epsilon` > 0.
    """
    columns = [np.asarray(each, dtype=float)[:, None] for each in (one, other)]
    a, b = (masking(method, Ranking.of(each), len(each), [upper], epsilon) for each in columns)
    return float(loss_between(a.centres[0], a.scales[0], b.centres[0], b.scales[0], upper)[0])


def certain_values(cut: Cut) -> tuple[float, float]:
    """Return the proportions of values of an attribute, `cut` into clusters, known with certainty.

    The first is known from microaggregated means alone. A mean at an end of the domain reveals its
    cluster. Equal means of neighbouring clusters also do, because the largest value of one is at
    most the smallest of the other. No other mean reveals a value. The second is known from exact
    centroids, of clusters without noise by Proposition 3: an exact preprocessed centroid reveals
    the value of all its records.
    """
    lowest = cut.edges.smallest()
    equal = lowest == cut.edges.largest()
    at_end = equal & ((lowest == 0) | (lowest == cut.upper))
    means = np.where(equal, lowest, np.nan)
    like_next = means[1:] == means[:-1]
    told = at_end | np.append(like_next, False) | np.append(False, like_next)
    microaggregated, exact = (cut.sizes[those].sum() / cut.values.size for those in (told, equal))
    return float(microaggregated), float(exact)


def epsilon_from_errors(variance: npt.ArrayLike, squared_error: npt.ArrayLike) -> Floats:
    """Return max(0, ln(`variance` / `squared_error`) / 2), infinite for an error of 0.

    The variance is above 0, with the number of records as its divisor.
    """
    with np.errstate(divide="ignore"):
        logarithm = np.log(np.asarray(variance, dtype=float)) - np.log(squared_error)
    return np.asarray(np.maximum(logarithm / 2, 0.0))


def certificate(true: npt.ArrayLike, released: npt.ArrayLike) -> Floats:
    """Return a lower bound on epsilon from each attribute of independent releases of a file.

    The bounds, shape (attributes,), are at least 0. Their maximum is a bound without assumptions.
    Their sum is a bound if attributes are released independently.

    The estimator shrinks the released numbers towards the original mean, which is public in the
    proposition. The first half of the releases determines the factor. The error is the upper end of
    a 99.9 % interval (Student's, one-sided) from the second half. For a single release, the
    estimator is the released number, without an interval. `true` has the shape (records,
    attributes), `released` (runs, records, attributes). Raises `DeniableError` for another shape.
    """
    numbers = np.asarray(true, dtype=float)
    runs = np.asarray(released, dtype=float)
    if runs.ndim != 3 or runs.shape[1:] != numbers.shape or not len(runs):
        raise DeniableError(
            f"releases have the shape {runs.shape}; they must be runs of {numbers.shape}, "
            "records by attributes"
        )
    centred = numbers - numbers.mean(axis=0)
    variance = np.mean(centred**2, axis=0)
    moved = runs - numbers.mean(axis=0)
    if len(runs) == 1:
        errors = np.mean((centred - moved) ** 2, axis=1)
        return epsilon_from_errors(variance, errors[0])
    half = len(runs) // 2
    fitted, measured = moved[:half], moved[half:]
    squares = np.mean(fitted**2, axis=(0, 1))
    products = np.mean(fitted * centred, axis=(0, 1))
    errors = np.mean((centred - quotients(products, squares) * measured) ** 2, axis=1)
    upper, n = errors.mean(axis=0), len(errors)
    if n > 1:
        quantile = scipy.special.stdtrit(n - 1, CONFIDENCE)
        upper = upper + quantile * errors.std(axis=0, ddof=1) / np.sqrt(n)
    return epsilon_from_errors(variance, upper)
