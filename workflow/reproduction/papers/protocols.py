"""Compare protocols without a curator at a requested epsilon: variance and exact epsilon.

The numbers depend on no data, so that they need no table.
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
MAX_ENTRIES = 2**14  # entries up to which the audit takes the ratios of a matrix column by column
PROTOCOLS: Mapping[str, Callable[[int, float], Any]] = {
    "generalized randomized response": MAKERS["generalized-rr"].of_epsilon,
    "subset selection": MAKERS["subset-selection"].of_epsilon,
    "Hadamard response": MAKERS["hadamard"].of_epsilon,
    "projective geometry response": MAKERS["projective-geometry"].of_epsilon,
    "optimized unary encoding": lambda size, epsilon: UnaryEncoding(min(size, MAX_BITS), epsilon),
    "local hashing": LocalHashing,
}
"""Protocols for a number of categories and an epsilon, by name. The last two serve comparison: they
are not channels, and nothing is drawn from them."""


def protocols(tables: Tables) -> dict[str, Any]:
    """Prepare the variances of all protocols and the chosen one, by size and epsilon.

    Variances are of a category's own estimate, times n, if all categories are equally frequent.
    ``drawn`` is the lowest exact epsilon of the row's channels. The `tables` are not read.
    """
    rows = []
    for size, epsilon in product(SIZES, EPSILONS):
        channels = {name: made(size, epsilon) for name, made in PROTOCOLS.items()}
        variances = {}
        for name, channel in channels.items():
            if isinstance(channel, TwoLevelChannel | SupportedProtocol):
                variances[name] = float(channel.own_variance(1 / size))
            else:
                second = channel.second_moments(channel.reported(np.full(size, 1 / size)))
                variances[name] = float(second[0]) - 1 / size**2
        drawn = min(channel.epsilon for channel in channels.values())
        row = {"size": size, "epsilon": epsilon, "drawn": drawn, "variances": variances}
        rows.append(row | {"chosen": best_protocol(size, epsilon).name})
    return {"names": tuple(PROTOCOLS), "rows": rows}


def audited_protocols() -> pd.DataFrame:
    """Compare the requested with the exact epsilons of all channels, one row per channel.

    ``exact_epsilon`` comes from the exact probabilities of all reports, rounded up, and
    ``shipped_epsilon`` from the dense matrix, if there is one. ``of`` is the origin of the exact
    one: all responses, or the closed form if the matrix is too large. It has no tolerance.
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
