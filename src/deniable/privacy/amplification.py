"""Guarantees for all priors and sets, from the parity of a channel ([pram], section 3).

Let eta be the parity. A randomized value is at most eta times as likely within a set Q as outside.
So the posterior odds of Q are at most eta times its prior odds, and at least 1/eta times. With the
prior probability rho this means

    rho / (eta - (eta - 1) rho)  <=  posterior  <=  eta rho / (1 + (eta - 1) rho).

A prior with rho on the category that gives the randomized value most often, and 1 - rho on the one
that gives it least often, attains both bounds. So bound (3.5) is necessary and sufficient.

Returned priors are positive everywhere, as in [pram], so no intruder needs to exclude a category.
All arithmetic is rational.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.channels import (
    Channel,
    KeepOrReplace,
    Number,
    as_written,
    exact_ratio,
    proportion,
    rounded_down,
    thresholds,
)
from deniable.errors import DeniableError, named_types, refuse_unknown
from deniable.privacy.requirement import parity_of_breach

Side = Literal["largest", "smallest"]


@dataclass(frozen=True)
class Witness:
    """A prior, a set and a randomized value with an extreme posterior.

    The `prior` is positive everywhere. The set has the `members`, the `prior_probability`, and the
    `posterior` given the randomized value `report`.
    """

    prior: tuple[Fraction, ...]
    members: tuple[int, ...]
    report: int
    prior_probability: Fraction
    posterior: Fraction

    @property
    def ratio(self) -> Fraction:
        """The posterior divided by the prior probability."""
        return self.posterior / self.prior_probability


@named_types
def largest_parity(rho_1: Number, rho_2: Number) -> float:
    """Return the parity up to which no breach is possible, [pram], (3.5), rounded down.

    It is rho_2 (1 - rho_1) / (rho_1 (1 - rho_2)), for 0 < `rho_1` < `rho_2` < 1. Floats are taken
    as their decimal text: 0.1 is 1/10.

    Examples
    --------
    >>> largest_parity(0.1, 0.5)
    9.0
    """
    return rounded_down(parity_of_breach(rho_1, rho_2))


def witness(channel: Channel, rho_1: Number, rho_2: Number) -> Witness | None:
    """Return an exact breach; None if no prior and set has one ([pram], Theorem 3.1).

    Upward breaches from `rho_1` to `rho_2`, and downward breaches, are impossible if and only if
    the parity is at most `largest_parity`. At equality there is none, because the inequalities of
    Definition 3.1 are strict. With weak inequalities, as in its source, a prior probability of
    rho_1 reaches rho_2. A downward breach is an upward (1 - rho_2)-to-(1 - rho_1) breach of the
    complement.

    The category that gives the decisive randomized value most often has a prior between the least
    that reaches rho_2 and rho_1. The category that gives it least often has nearly all of the rest.
    The `channel` has at most 4,096 categories, and 0 < `rho_1` < `rho_2` < 1.
    """
    low, high = thresholds(rho_1, rho_2)
    parity = channel.exact_parity
    if parity is not None and parity <= parity_of_breach(low, high):
        return None
    report, most, least, column = _decisive(channel, parity)
    # (1) m P > high (m P + (1 - m) p), with P and p the largest and smallest entry.
    enough = high * column[least] / ((1 - high) * column[most] + high * column[least])
    mass = (enough + low) / 2
    # (2) The same, after a part of 1 - m has moved from p to entries that are at most P.
    spare = mass * column[most] * (1 - high) / high - (1 - mass) * column[least]
    share = min(spare / (column[most] - column[least]), 1 - mass) / 2
    others = channel.size - 2
    prior = [share / others if others else Fraction()] * channel.size
    prior[most] = mass
    prior[least] = 1 - mass - (share if others else 0)
    return _given(prior, most, report, column)


@named_types
def largest_posterior(prior_probability: npt.ArrayLike, parity: npt.ArrayLike) -> Floats:
    """Return the largest posterior of any set of a prior probability: [pram], (3.9).

    It is eta rho / (1 + (eta - 1) rho) for each `prior_probability` rho, in [0, 1], and `parity`
    eta >= 1, which broadcast. An infinite parity gives 1 (0 for rho = 0).

    Examples
    --------
    >>> largest_posterior([0.1, 0.5], 9)
    array([0.5, 0.9])
    """
    rho, eta = _bound_arguments(prior_probability, parity)
    denominator = rho + (1 - rho) / eta
    return np.divide(rho, denominator, out=np.zeros_like(denominator), where=rho > 0)


@named_types
def smallest_posterior(prior_probability: npt.ArrayLike, parity: npt.ArrayLike) -> Floats:
    """Return the smallest posterior of any set of a prior probability: [pram], (3.13).

    It is rho / (eta - (eta - 1) rho). For `prior_probability` and `parity` see `largest_posterior`.
    An infinite parity gives 0 (1 for rho = 1).
    """
    rho, eta = _bound_arguments(prior_probability, parity)
    odds = np.divide(rho, eta)
    denominator = odds + (1 - rho)
    return np.divide(odds, denominator, out=np.ones_like(denominator), where=rho < 1)


def channel_of_parity(size: int, parity: Number) -> KeepOrReplace:
    """Return the channel of [pram], section 3, with a given parity eta.

    The diagonal is eta / (eta + k - 1), and other entries are 1 / (eta + k - 1). `size` is k >= 1.
    The exact parity, >= 1, is at most `parity`. It is smaller by at most one step of the diagonal
    weight (eta - 1) / (eta + k - 1), a float.

    Examples
    --------
    >>> channel = channel_of_parity(4, 5)
    >>> channel.matrix()[0], channel.parity
    (array([0.625, 0.125, 0.125, 0.125]), 5.0)
    """
    eta = min(as_written(parity), Fraction(parity))
    if size < 1:
        raise DeniableError(f"a channel over {size} categories; give at least 1")
    if eta < 1:
        raise DeniableError(f"a parity is at least 1, not {parity}")
    return KeepOrReplace.uniform(size, rounded_down((eta - 1) / (eta + size - 1)))


def prior_approaching_parity(channel: Channel, mass: Number, side: Side = "largest") -> Witness:
    """Return the prior of [pram], (3.12), with a ratio that tends to the parity as mass -> 1.

    The category that gives the decisive randomized value least often has the prior `mass`, in (0,
    1), and the others share the rest evenly. The ratio belongs to the category that gives it most
    often. For the `side` "smallest" the two categories are exchanged, and the ratio tends to 1 /
    parity. The `channel` has 2 to 4,096 categories.
    """
    refuse_unknown("side", side, get_args(Side))
    report, most, least, column = _decisive(channel, channel.exact_parity)
    heavy, category = (least, most) if side == "largest" else (most, least)
    weight = proportion(mass, "the mass")
    prior = [(1 - weight) / (channel.size - 1)] * channel.size
    prior[heavy] = weight
    return _given(prior, category, report, column)


def _bound_arguments(prior: npt.ArrayLike, parity: npt.ArrayLike) -> tuple[Floats, Floats]:
    rho, eta = np.asarray(prior, dtype=float), np.asarray(parity, dtype=float)
    if not np.all((rho >= 0) & (rho <= 1)):
        raise DeniableError("a prior probability is not in [0, 1]; give probabilities")
    if not np.all(eta >= 1):
        raise DeniableError("a parity is below 1; parities are at least 1")
    return rho, eta


def _decisive(channel: Channel, parity: Fraction | None) -> tuple[int, int, int, list[Fraction]]:
    """Return a randomized value, the categories that give it most and least often, its column."""
    if channel.size == 1:
        raise DeniableError("with one category there is nothing to learn; give at least 2")
    matrix = channel.matrix()
    high, low = matrix.max(axis=0), matrix.min(axis=0)
    ratios = np.divide(high, low, out=np.where(high > 0, np.inf, 0.0), where=low > 0)
    # Floats determine the order; the first column that attains the exact parity is returned.
    for report in np.argsort(-ratios, kind="stable").tolist():
        column = channel.exact_column(report)
        most, least = column.index(max(column)), column.index(min(column))
        if exact_ratio(column[most], column[least]) == parity and column[most]:
            return report, most, least if least != most else (most + 1) % channel.size, column
    raise AssertionError("some column attains the parity")  # it is the maximum over the columns


def _given(prior: list[Fraction], category: int, report: int, column: list[Fraction]) -> Witness:
    """Return the category with its posterior given a randomized value with this column."""
    joint = [p * q for p, q in zip(prior, column, strict=True)]
    posterior = joint[category] / sum(joint, Fraction())
    return Witness(tuple(prior), (category,), report, prior[category], posterior)
