"""Privacy breaches under a given prior: what one report tells an intruder ([pram], section 3).

An intruder has a prior over the true categories and sees one report. Q is a set of categories, a
property that the intruder asks about. What holds for all priors is in
`deniable.privacy.amplification`.

Strict inequalities are decided as such: in floats where these can tell, in rational numbers where
they cannot. A number is taken as it is written: 0.1 is 1/10, a Fraction is itself.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

import numpy as np

from deniable.arrays import Floats
from deniable.channels import Channel, Number, Prior, exact_distribution, proportion, thresholds
from deniable.errors import ChannelError, refuse_unknown
from deniable.privacy.worst_sets import largest_posterior_below

Direction = Literal["upward", "downward"]

UNSURE = 1e-9
"""Floats that are closer to a threshold than this leave the decision to rational numbers."""


@dataclass(frozen=True, eq=False)
class Breach:
    """The reports that cause a breach with respect to one set under one prior (Definition 3.1).

    Attributes
    ----------
    prior_probability : float
        Of the set.
    posterior : shape (reports,)
        Of the set given each report; NaN for a report that cannot occur under the prior.
    upward, downward : tuple of int
        The reports that cause an upward rho_1-to-rho_2, a downward rho_2-to-rho_1 breach.
    """

    prior_probability: float
    posterior: Floats
    upward: tuple[int, ...]
    downward: tuple[int, ...]


@dataclass(frozen=True)
class WorstSet:
    """The set whose posterior moves furthest, of all sets that a prior makes unlikely, or likely.

    Attributes
    ----------
    members
        Codes of its categories.
    report
        The one that moves it.
    prior_probability, posterior
        Of the set, before and after that report; in [0, 1].
    bound
        No such set has a larger posterior (downward: a smaller one).
    exact
        Whether the bound is attained by `members`.
    """

    members: tuple[int, ...]
    report: int
    prior_probability: float
    posterior: float
    bound: float
    exact: bool


@dataclass(frozen=True)
class Factors:
    """The `largest` and the `smallest` ratio of posterior to prior.

    `largest_members` and `smallest_members` are the codes of the sets that have them, after the
    reports `largest_report` and `smallest_report`.
    """

    largest: float
    largest_members: tuple[int, ...]
    largest_report: int
    smallest: float
    smallest_members: tuple[int, ...]
    smallest_report: int


def posterior_of_set(channel: Channel, prior: Prior, members: Iterable[int]) -> Floats:
    """Return Pr(true category in Q | report), from [pram], (3.1).

    Parameters
    ----------
    channel : Channel
        Of at most 4,096 categories.
    prior : shape (size,), one distribution
    members : iterable of int
        Q, as codes of categories.

    Returns
    -------
    array, shape (reports,), NaN for reports that cannot occur under the prior

    Raises
    ------
    ChannelError
        If the prior is no distribution over the channel's categories, Q is empty or has a code
        that is none.

    Examples
    --------
    >>> from deniable.channels import KeepOrReplace
    >>> channel = KeepOrReplace.uniform(4, keep=0.5)
    >>> posterior_of_set(channel, [0.25] * 4, [0, 1])
    array([0.75, 0.75, 0.25, 0.25])
    """
    exact = exact_distribution(channel.size, prior)
    return _posterior(channel, exact, _members(channel, members))


def find_breaches(
    channel: Channel, prior: Prior, members: Iterable[int], rho_1: Number, rho_2: Number
) -> Breach:
    """Return which reports cause a breach with respect to Q ([pram], Definition 3.1).

    Upward: Pr(Q) < rho_1 and Pr(Q | report) > rho_2. Downward: Pr(Q) > rho_2 and
    Pr(Q | report) < rho_1. All strict; reports that cannot occur under the prior cause none. For
    other parameters, and what is refused, see `posterior_of_set`.

    Parameters
    ----------
    channel : Channel
        What reports go through.
    prior : shape (categories,)
        Probabilities of the true categories.
    members : iterable of int
        Codes of the categories in Q.
    rho_1, rho_2 : float or Fraction
        0 < rho_1 < rho_2 < 1.

    Raises
    ------
    DeniableError
        If rho_1 and rho_2 are not as stated.

    Examples
    --------
    >>> from deniable.channels import KeepOrReplace
    >>> channel = KeepOrReplace.uniform(4, keep=0.5)
    >>> find_breaches(channel, [0.1, 0.3, 0.3, 0.3], [0], 0.2, 0.3).upward
    (0,)
    """
    low, high = thresholds(rho_1, rho_2)
    exact = exact_distribution(channel.size, prior)
    chosen = _members(channel, members)
    probability = sum((exact[u] for u in chosen), Fraction())
    posterior = _posterior(channel, exact, chosen)
    upward: tuple[int, ...] = ()
    downward: tuple[int, ...] = ()
    if probability < low:
        upward = _reports_above(posterior, high, exact, chosen, channel)
    elif probability > high:
        others = tuple(sorted(set(range(channel.size)) - set(chosen)))
        downward = _reports_above(1 - posterior, 1 - low, exact, others, channel)
    return Breach(float(probability), posterior, upward, downward)


def worst_upward(channel: Channel, prior: Prior, rho_1: Number) -> WorstSet | None:
    """Return the set of `prior` probability below `rho_1` whose posterior can become largest.

    The prior is of the `channel`'s categories, shape (categories,); rho_1 is in (0, 1).

    An upward rho_1-to-rho_2 breach with respect to some Q exists under this prior if and only if
    that posterior is above rho_2. For each report it is a knapsack: exact for up to 40 categories
    of positive prior, beyond that a set found greedily and the bound of the fractional knapsack.
    None if no category has a prior probability that is positive and below rho_1.
    """
    exact = exact_distribution(channel.size, prior)
    found = largest_posterior_below(channel.matrix(), exact, proportion(rho_1, "rho_1"))
    return None if found is None else _worst_set(channel, exact, *found)


def worst_downward(channel: Channel, prior: Prior, rho_2: Number) -> WorstSet | None:
    """Return the set of `prior` probability above `rho_2` whose posterior can become smallest.

    By a report of the `channel`.

    The complement of the set of prior probability below 1 - rho_2 whose posterior can become
    largest ([pram], after Definition 3.1); see `worst_upward`. None if no category has a prior
    probability that is positive and below 1 - rho_2.
    """
    exact = exact_distribution(channel.size, prior)
    found = largest_posterior_below(channel.matrix(), exact, 1 - proportion(rho_2, "rho_2"))
    if found is None:
        return None
    others, report, bound, is_exact = found
    members = tuple(sorted(set(range(channel.size)) - set(others)))
    return _worst_set(channel, exact, members, report, 1 - bound, is_exact)


def permits_breach(
    channel: Channel, prior: Prior, rho_1: Number, rho_2: Number, direction: Direction = "upward"
) -> bool | None:
    """Return whether some Q has a breach under the `prior`; None if that is left open.

    The `channel` and the probabilities `rho_1`, `rho_2` are those of `find_breaches`.

    In the `direction` "upward" or "downward"; for the other parameters see `find_breaches`.

    It may be left open only with over 40 categories; see `worst_upward`.
    """
    low, high = thresholds(rho_1, rho_2)
    refuse_unknown("direction", direction, get_args(Direction))
    up = direction == "upward"
    worst = worst_upward(channel, prior, low) if up else worst_downward(channel, prior, high)
    if worst is None:
        return False
    found = find_breaches(channel, prior, worst.members, low, high)
    if found.upward if up else found.downward:
        return True
    within = worst.bound <= high if up else worst.bound >= low
    return False if worst.exact or within else None


def extreme_factors(channel: Channel, prior: Prior) -> Factors:
    """Return the extreme ratios Pr(Q | report) / Pr(Q), [pram], (3.7), over all sets and reports.

    The `prior`, shape (categories,), is of the `channel`'s categories. Attained by single
    categories: the ratio of a set is a weighted mean of those of its members.

    Examples
    --------
    >>> from deniable.channels import KeepOrReplace
    >>> found = extreme_factors(KeepOrReplace.uniform(2, keep=0.5), [0.1, 0.9])
    >>> round(found.largest, 6), found.largest_members, found.largest_report
    (2.5, (0,), 0)
    """
    weights = np.array([float(p) for p in exact_distribution(channel.size, prior)])
    matrix = channel.matrix()
    total = weights @ matrix
    possible = (weights > 0)[:, None] & (total > 0)
    ratios = np.divide(matrix, total, out=np.full_like(matrix, np.nan), where=possible)
    high = np.unravel_index(int(np.nanargmax(ratios)), ratios.shape)
    low = np.unravel_index(int(np.nanargmin(ratios)), ratios.shape)
    largest = float(ratios[high]), (int(high[0]),), int(high[1])
    smallest = float(ratios[low]), (int(low[0]),), int(low[1])
    return Factors(*largest, *smallest)


def _members(channel: Channel, members: Iterable[int]) -> tuple[int, ...]:
    """Return the set's codes in order, each once."""
    chosen = tuple(sorted({int(member) for member in members}))
    if not chosen:
        raise ChannelError("the set Q is empty; give at least one category")
    for member in chosen:
        if not 0 <= member < channel.size:
            raise ChannelError(
                f"the set Q has the category {member}, but the channel has 0 .. {channel.size - 1}"
            )
    return chosen


def _posterior(channel: Channel, prior: tuple[Fraction, ...], members: tuple[int, ...]) -> Floats:
    weights = np.array([float(p) for p in prior])
    matrix, chosen = channel.matrix(), list(members)
    total = weights @ matrix
    inside = weights[chosen] @ matrix[chosen]
    unknown = np.full(channel.reports, np.nan)
    return np.asarray(np.divide(inside, total, out=unknown, where=total > 0))


def _reports_above(
    posterior: Floats,
    threshold: Fraction,
    prior: tuple[Fraction, ...],
    members: tuple[int, ...],
    channel: Channel,
) -> tuple[int, ...]:
    distance = posterior - float(threshold)
    above = distance > UNSURE
    for report in np.flatnonzero(np.abs(distance) <= UNSURE).tolist():
        joint = [p * q for p, q in zip(prior, channel.exact_column(report), strict=True)]
        inside = sum((joint[u] for u in members), Fraction())
        above[report] = inside > threshold * sum(joint)
    return tuple(np.flatnonzero(above).tolist())


def _worst_set(
    channel: Channel,
    prior: tuple[Fraction, ...],
    members: tuple[int, ...],
    report: int,
    bound: float,
    exact: bool,
) -> WorstSet:
    posterior = float(_posterior(channel, prior, members)[report])
    probability = float(sum((prior[u] for u in members), Fraction()))
    return WorstSet(members, report, probability, posterior, posterior if exact else bound, exact)
