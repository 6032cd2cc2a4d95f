"""Compare protocols without a curator at a target ε: variance and exact ε.

The numbers do not depend on data, so the page needs no table of results for them.
"""

import math
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from deniable.channels import MAKERS, TwoLevelChannel, best_protocol
from deniable.display import Tables
from deniable.privacy import FLOAT_TOLERANCE, column_epsilon, exact_epsilon, whole_weights

from reproduction.papers.rrba import LocalHashing, SupportedProtocol, UnaryEncoding

SIZES = (4, 16, 100, 10_000)
EPSILONS = (0.5, 1.0, 2.0, 4.0)
MAX_BITS = 16  # of unary encoding: neither its epsilon nor its variance depends on their number
MAX_ENTRIES = 2**14  # largest matrix for which the audit computes ratios column by column
PROTOCOLS: Mapping[str, Callable[[int, float], Any]] = {
    "generalized randomized response": MAKERS["generalized-rr"].of_epsilon,
    "subset selection": MAKERS["subset-selection"].of_epsilon,
    "Hadamard response": MAKERS["hadamard"].of_epsilon,
    "projective geometry response": MAKERS["projective-geometry"].of_epsilon,
    "optimized unary encoding": lambda size, epsilon: UnaryEncoding(min(size, MAX_BITS), epsilon),
    "local hashing": LocalHashing,
}
"""Functions that return a protocol for a number of categories and an ε, by name. The last two are
only for comparison: they are not channels, and no value is randomized by them."""


def protocols(tables: Tables) -> dict[str, Any]:
    """Return the variances of all protocols and the chosen protocol, by size and ε.

    A variance is n times the variance of the estimate for one category, if all categories are
    equally frequent. ``drawn`` is the lowest exact ε of the channels in the row. The `tables` are
    not read.
    """
    rows = []
    for size, epsilon in product(SIZES, EPSILONS):
        channels = {name: made(size, epsilon) for name, made in PROTOCOLS.items()}
        variances = {}
        for name, channel in channels.items():
            if isinstance(channel, TwoLevelChannel | SupportedProtocol):
                variances[name] = float(channel.own_variance(1 / size))
            else:
                second = channel.moments(channel.reported(np.full(size, 1 / size)), 2)
                variances[name] = float(second[0]) - 1 / size**2
        drawn = min(channel.epsilon for channel in channels.values())
        row = {"size": size, "epsilon": epsilon, "drawn": drawn, "variances": variances}
        rows.append(row | {"chosen": best_protocol(size, epsilon).name})
    return {"names": tuple(PROTOCOLS), "rows": rows}


def audited_protocols() -> pd.DataFrame:
    """Return target and exact ε of all channels, one row per channel.

    ``exact_epsilon`` comes from the exact probabilities of all randomized values, rounded up, and
    ``shipped_epsilon`` from the dense matrix, if there is one. ``of`` is the origin of the exact ε:
    all randomized values, or the closed form if the matrix is too large. The exact ε is compared
    without tolerance.
    """
    rows = []
    for (name, made), size, epsilon in product(PROTOCOLS.items(), SIZES, EPSILONS):
        channel = made(size, epsilon)
        if channel.size < size:
            continue
        if size * channel.reports <= MAX_ENTRIES:
            exact = exact_epsilon(whole_weights(channel))
            shipped, of = column_epsilon(channel.matrix()), f"all {channel.reports:,} reports"
        else:
            exact, shipped, of = channel.epsilon, math.nan, "closed form"
        rows.append(
            {"mechanism": name, "epsilon": epsilon, "categories": size, "kind": "exact", "of": of}
            | {"claimed_epsilon": epsilon, "exact_epsilon": exact, "shipped_epsilon": shipped}
            | {"holds": exact <= epsilon and not shipped > epsilon * (1 + FLOAT_TOLERANCE)}
        )
    return pd.DataFrame(rows)
