"""Breaches, factors and beliefs of an intruder on Adult ([pram], section 3), without simulation."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, get_args

import numpy as np
import pandas as pd

from deniable import privacy
from deniable.arrays import Floats
from deniable.channels import Channel, DenseChannel, KeepOrReplace
from deniable.pram import shares
from deniable.records import Microdata

ATTRIBUTES = ("education", "occupation", "income")
PRIORS = (0.01, 0.05, 0.1, 0.25, 0.5)
EPSILONS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0)
THRESHOLDS = ((0.05, 0.2), (0.05, 0.5), (0.1, 0.5), (0.2, 0.5), (0.1, 0.9), (0.01, 0.5))
SIZES = (2, 5, 16)  # numbers of categories
MASSES = (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999)
"""Prior probabilities of the most common category in [pram], (3.12)."""
PROBABILITIES = (0.3, 0.5, 0.7)  # to keep the true category

SKEWED = [
    [0.70, 0.20, 0.05, 0.05],
    [0.10, 0.60, 0.20, 0.10],
    [0.05, 0.10, 0.75, 0.10],
    [0.15, 0.15, 0.10, 0.60],
]
CHANNELS: Mapping[str, Channel] = {
    "generalized randomized response": privacy.channel_of_parity(4, float(np.exp(np.log(15)))),
    "four different columns": DenseChannel(np.array(SKEWED)),
}  # a symmetric and an asymmetric channel of parity 15 that approach the bound


def bound_table() -> pd.DataFrame:
    """Return the bounds on a probability ``rho_1`` after a response ([pram], (3.9) and (3.13)).

    They hold for every channel with one of `EPSILONS` (``parity`` is its exponential), every set
    with a probability in `PRIORS`, and every response. Each such channel attains them under some
    prior. ``largest_factor`` is the ratio of posterior to prior.
    """
    rho_1, epsilon = np.array([*product(PRIORS, EPSILONS)]).T
    parity = np.exp(epsilon)
    low, high = privacy.smallest_posterior(rho_1, parity), privacy.largest_posterior(rho_1, parity)
    columns = {"rho_1": rho_1, "epsilon": epsilon, "parity": parity, "smallest_posterior": low}
    return pd.DataFrame(columns | {"largest_posterior": high, "largest_factor": high / rho_1})


def threshold_table() -> pd.DataFrame:
    """Return the largest parity that rules out every rho_1-to-rho_2 breach ([pram], (3.5)).

    The pairs (rho_1, rho_2) are `THRESHOLDS`. ``diagonal`` belongs to the matrix of that parity.
    Theorem 3.2 requires a parity of at most ``largest_factor``, rho_2 / rho_1.
    """
    rows = []
    for (rho_1, rho_2), size in product(THRESHOLDS, SIZES):
        parity = privacy.largest_parity(rho_1, rho_2)
        diagonal = float(privacy.channel_of_parity(size, parity).matrix()[0, 0])
        rows.append((rho_1, rho_2, size, parity, float(np.log(parity)), diagonal, rho_2 / rho_1))
    names = ["rho_1", "rho_2", "categories", "largest_parity", "largest_epsilon", "diagonal"]
    return pd.DataFrame(rows, columns=[*names, "largest_factor"])


def approach_table() -> pd.DataFrame:
    """Return the distance of priors of the form (3.12) in [pram] from the bound, on both sides.

    The channels are `CHANNELS`. ``mass`` is a in (3.12), from `MASSES`. ``ratio`` is posterior over
    prior, ``bound`` is the parity or its inverse, and ``gap`` is the relative distance of the ratio
    from the bound. ``category`` and ``report`` are codes.
    """
    rows = []
    for (name, channel), side, mass in product(CHANNELS.items(), get_args(privacy.Side), MASSES):
        found = privacy.prior_approaching_parity(channel, mass, side)
        ratio = float(found.ratio)
        bound = channel.parity if side == "largest" else 1 / channel.parity
        gap = abs(ratio / bound - 1)
        rows.append((name, side, mass, ratio, bound, gap, *found.members, found.report))
    names = ["channel", "side", "mass", "ratio", "bound", "gap", "category", "report"]
    return pd.DataFrame(rows, columns=names)


def intruder_table(data: Microdata, attributes: Sequence[str]) -> pd.DataFrame:
    """Return posteriors after each response, with the original proportions as the prior.

    The channel of each of the `attributes` of `data` keeps the true category with probability p,
    from `PROBABILITIES`, and otherwise takes any category with equal probability. So the posterior
    of the ``category`` in the response is the bound (3.9) for every prior. ``likeliest`` is the
    true category with the largest posterior; if the response is rare, it is often another one.
    """
    tables = []
    for named, channel, margin, categories in _channels(data, attributes):
        posterior = channel.posterior(margin)
        own, likeliest = posterior.diagonal(), np.array(categories)[posterior.argmax(axis=1)]
        factor = own / np.where(margin, margin, np.nan)
        columns = {"category": categories, "prior": margin, "posterior": own, "factor": factor}
        columns |= {"likeliest": likeliest, "likeliest_posterior": posterior.max(axis=1)}
        tables.append(pd.DataFrame(named | columns))
    return pd.concat(tables, ignore_index=True)


def worst_set_table(data: Microdata, attributes: Sequence[str]) -> pd.DataFrame:
    """Return the worst set of categories with the original proportions as the prior, and the bound.

    `data` and `attributes` are as in `intruder_table`. Among all sets with a prior probability
    below rho_1, from `PRIORS`, the worst set has the largest posterior after some response, and its
    complement the smallest. ``members`` are joined by " + ", and empty without such a set. If
    ``exact``, no set is worse. ``bound`` is the bound for all priors, ``largest_factor`` the
    largest factor of all responses.
    """
    rows = []
    for named, channel, margin, categories in _channels(data, attributes):
        largest, _ = privacy.extreme_factors(channel, margin)
        for rho_1 in PRIORS:
            row = named | {"rho_1": rho_1, "members": "", "report": "", "prior": np.nan}
            row |= {"posterior": np.nan, "exact": True}
            if worst := privacy.worst_set(channel, margin, rho_1):
                members = " + ".join(categories[u] for u in worst.members)
                row |= {"members": members, "report": categories[worst.report]}
                row |= {"prior": worst.prior_probability, "posterior": worst.posterior}
                row["exact"] = worst.exact
            bound = float(privacy.largest_posterior(rho_1, channel.parity))
            rows.append(row | {"bound": bound, "largest_factor": largest.ratio})
    return pd.DataFrame(rows)


def _channels(
    data: Microdata, attributes: Sequence[str]
) -> Iterator[tuple[dict[str, Any], Channel, Floats, Sequence[str]]]:
    """Yield columns that name a channel, the channel, the original proportions, and categories."""
    for name, p in product(attributes, PROBABILITIES):
        categories = data.domain[name].categories
        channel = KeepOrReplace.uniform(len(categories), p)
        named = {"attribute": name, "p": p, "epsilon": channel.epsilon, "parity": channel.parity}
        yield named, channel, shares(data, (name,)), categories
