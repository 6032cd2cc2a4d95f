"""Compare variances claimed for invariant PRAM with true variances ([pram], section 2).

A replicate draws a sample of records from the distribution of an attribute. Like an owner, it
computes the matrix from the sample and randomizes. Then it compares the claimed variances of the
estimate, and their intervals, with the true values. All variances are traces in units of the
sampling variance: they are variance inflations.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from deniable.arrays import Counts, Flags, Floats
from deniable.channels import KeepOrReplace, two_step
from deniable.errors import DeniableError
from deniable.estimation import Z_95
from deniable.pram import shares
from deniable.records import Microdata
from deniable.sampling import multinomial

from reproduction.study import Cell, Simulated, Simulator, measured

CLAIMS: Mapping[str, tuple[str, ...]] = {
    "shares": ("multinomial", "fixed_matrix", "conditional", "bound"),
    "inverted": ("multinomial", "fixed_matrix", "conditional"),
}
"""The claims of variance, by estimator.

- ``multinomial``: a user who treats randomized values as original, (diag(s) - s s') / n.
- ``fixed_matrix``: a user with the matrix who assumes that it was fixed beforehand, (1.3).
- ``conditional``: the owner, (2.4) plus the variance of sampling.
- ``bound``: a user without the matrix, (2.6).
"""


@dataclass(frozen=True, eq=False)
class InvariantPram(Simulator):
    """Simulator of estimated proportions after invariant PRAM, and of claims on their variance.

    The populations are the marginal distributions of `data` without empty categories. A setting has
    ``attribute``, ``records``, ``method`` and ``p``:

    - ``two_step``: two steps, from the matrix that keeps a category with probability p, and
      otherwise takes any category with equal probability.
    - ``lazy``: keep with probability p, otherwise draw from the sample's proportions. By (2.5) the
      inflation of S / n is 1 + (1 - p^2) (1 - 1/n).
    - ``resampling``: draw all values from the sample's proportions, for any p. It attains (2.6).
    - ``two_step_fixed``: as ``two_step``, but computed once from the population. This is a control,
      because no owner knows the population. Its randomized values are multinomial with the
      population's proportions, so S / n has the variance of sampling.

    Estimators are ``shares``, the proportions S / n of randomized values, and ``inverted``, (1.2),
    except for ``resampling``. The claim ``none`` has ``squared_error`` and ``inflation``. The mean
    of the latter is the true variance (2.5), without the noise of randomized values. For ``shares``
    it is the closed form in every replicate, except for ``two_step``, which has no closed form.
    `CLAIMS` have ``claimed_inflation``, ``claimed_to_true`` and the ``coverage`` of nominal 95 %
    intervals for all categories, the rarest and the most common.
    """

    data: Microdata

    def simulate(self, cell: Cell, generator: np.random.Generator, replicates: int) -> Simulated:
        pi, n, method = self._margin(cell["attribute"]), cell["records"], cell["method"]
        counts = multinomial(generator, np.full(replicates, n), pi)
        matrices = matrices_of(method, cell["p"], counts / n, pi)
        found = estimates(counts, matrices, randomize_batch(counts, matrices, generator))
        unit = (1 - np.sum(pi**2)) / n
        for estimator, claims in _claims(method).items():
            estimate, variances = found[estimator]
            errors = np.abs(estimate - pi)
            true = unit + variances["added"].sum(axis=1)
            if method == "two_step_fixed":
                true = np.full(replicates, unit)
                if estimator == "inverted":
                    moments = _weighted_squares(pi[None], inverses(matrices[:1], counts[:1] > 0))
                    true = np.full(replicates, (moments - pi**2).sum() / n)
            elif estimator == "shares" and method != "two_step":
                kept = cell["p"] if method == "lazy" else 0.0
                true = np.full(replicates, unit * (1 + (1 - kept**2) * (1 - 1 / n)))
            measures = {"squared_error": (errors**2).sum(axis=1) / unit, "inflation": true / unit}
            yield from measured(measures, estimator=estimator, claim="none")
            for claim in claims:
                claimed = variances[claim].sum(axis=1)
                covered = errors <= Z_95 * np.sqrt(np.maximum(variances[claim], 0.0))
                # The mean over a block replaces the expectation: it varies by about a thousandth.
                measures = {
                    "claimed_inflation": claimed / unit,
                    "claimed_to_true": claimed / true.mean(),
                    "coverage": covered.mean(axis=1),
                    "coverage_rarest": covered[:, pi.argmin()],
                    "coverage_commonest": covered[:, pi.argmax()],
                }
                yield from measured(measures, estimator=estimator, claim=claim)

    def _margin(self, attribute: str) -> Floats:
        every = shares(self.data, (attribute,))
        margin = every[every > 0]
        if margin.size < 2:
            raise DeniableError(
                f"all records have the same {attribute}, so its variance is 0; choose another "
                "attribute"
            )
        return margin


def estimates(
    counts: Counts, matrices: Floats, reports: Counts
) -> dict[str, tuple[Floats, dict[str, Floats]]]:
    """Return each estimate, and the claimed variances of its entries with (2.4) as "added".

    True `counts` and randomized `reports` have the shape (replicates, categories). If the
    `matrices` have no inverse, estimates and claims that need it are left out.
    """
    n = int(counts[0].sum())
    true, reported = counts / n, np.asarray(reports / n)
    found = {"shares": (reported, {"added": (true - _weighted_squares(true, matrices)) / n})}
    fixed: dict[str, Floats] = {}
    if np.any(matrices != matrices[:, :1]):  # otherwise no matrix can be inverted
        inverse = inverses(matrices, counts > 0)
        inverted = np.asarray(np.einsum("rv,rvu->ru", reported, inverse))
        found["inverted"] = inverted, {"added": (_weighted_squares(true, inverse) - true) / n}
        moments = _weighted_squares(reported, inverse)
        fixed["fixed_matrix"] = (moments - inverted**2) / (n - 1)
    for estimate, claims in found.values():
        own = estimate * (1 - estimate) / (n - 1)
        conditional = true * (1 - true) / (n - 1) + claims["added"]
        claims.update(fixed, multinomial=own, bound=(2 - 1 / n) * own, conditional=conditional)
    return found


def matrices_of(method: str, p: float, samples: Floats, pi: Floats) -> Floats:
    """Return the matrix of each replicate by a `method`, shape (replicates, size, size).

    It is computed from the proportions of each of the `samples`, shape (replicates, size), or for
    the control from the proportions `pi` of the population. The probability `p` is in (0, 1).
    """
    runs, size = samples.shape
    first = KeepOrReplace.uniform(size, p)
    if method == "two_step_fixed":
        return np.asarray(np.broadcast_to(two_step(first, pi).matrix(), (runs, size, size)))
    if method == "two_step":
        P = first.matrix()
        bayes = P.T * samples[:, None, :] / (samples @ P)[:, :, None]
        matrices = P @ bayes
        return np.asarray(matrices / matrices.sum(axis=2, keepdims=True))
    kept = p if method == "lazy" else 0.0
    drawn = (1 - kept) * np.broadcast_to(samples[:, None, :], (runs, size, size))
    return np.asarray(kept * np.eye(size) + drawn)


def randomize_batch(true: Counts, matrices: Floats, generator: np.random.Generator) -> Counts:
    """Randomize `true` counts with a `generator`; return counts, shape (replicates, size).

    The `matrices` have the shape (replicates, size, size). NumPy adds rounding errors to the last
    category. In each replicate the most common one is last, so no empty category gets records.
    """
    order = np.argsort(true, axis=1)
    sorted_columns = np.take_along_axis(matrices, order[:, None, :], axis=2)
    drawn = np.zeros_like(true)
    for category in range(true.shape[1]):
        drawn += generator.multinomial(true[:, category], sorted_columns[:, category])
    reports = np.empty_like(true)
    np.put_along_axis(reports, order, drawn, axis=1)
    return reports


def inverses(matrices: Floats, occurring: Flags) -> Floats:
    """Return the inverses of `matrices` on `occurring` categories, with 1 for the others."""
    size = matrices.shape[-1]
    both = occurring[:, :, None] & occurring[:, None, :]
    apart = np.eye(size) * ~occurring[:, None, :]
    return np.asarray(np.linalg.inv(np.where(both, matrices, 0.0) + apart))


def _weighted_squares(weights: Floats, matrices: Floats) -> Floats:
    return np.asarray(np.einsum("ru,ruv->rv", weights, matrices**2))


def _claims(method: str) -> dict[str, list[str]]:
    """Return the claims of a `method` by estimator.

    Resampling has no inverse. The matrix of the control is not invariant for the sample, but (2.4)
    requires invariance.
    """
    estimators = ["shares"] if method == "resampling" else [*CLAIMS]
    absent = {"resampling": "fixed_matrix", "two_step_fixed": "conditional"}.get(method)
    return {each: [claim for claim in CLAIMS[each] if claim != absent] for each in estimators}
