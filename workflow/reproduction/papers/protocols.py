"""Protocols that need no curator, asked for by their epsilon: what is drawn, and what it costs.

Computed where it is shown: the numbers rest on no data.
"""

import math
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from deniable.channels import (
    MAKERS,
    Channel,
    LocalHashing,
    PureProtocol,
    UnaryEncoding,
    best_protocol,
)
from deniable.display import Tables
from deniable.privacy import FLOAT_TOLERANCE, column_epsilon, exact_epsilon, whole_weights

SIZES = (4, 16, 100, 10_000)
EPSILONS = (0.5, 1.0, 2.0, 4.0)
BITS = 16
"""Of unary encoding here, at most: neither its epsilon nor its variance depends on their number."""
MAX_MATRIX = 2**14
"""Entries up to which the audit takes the ratios of a matrix column by column."""


def _bits(size: int, epsilon: float) -> UnaryEncoding:
    return UnaryEncoding.of_epsilon(min(size, BITS), epsilon)


PROTOCOLS: Mapping[str, Callable[[int, float], Channel]] = {
    "generalized randomized response": MAKERS["generalized-rr"],
    "subset selection": MAKERS["subset-selection"],
    "Hadamard response": MAKERS["hadamard"],
    "projective geometry response": MAKERS["projective-geometry"],
    "optimized unary encoding": _bits,
    "local hashing": LocalHashing.of_epsilon,
}
"""Channels of a number of categories and an epsilon, by names; the last two to compare with."""


def protocols(tables: Tables) -> dict[str, Any]:
    """Prepare, by size and epsilon, the variance of each protocol, which is chosen, what is drawn.

    Variances are n times those of the own estimate of a category as frequent as all others.
    ``drawn`` is the lowest exact epsilon of the row's channels. The `tables` say nothing of it.
    """
    rows = []
    for size, epsilon in product(SIZES, EPSILONS):
        channels = {name: made(size, epsilon) for name, made in PROTOCOLS.items()}
        rows.append(
            {
                "size": size,
                "epsilon": epsilon,
                "drawn": min(channel.epsilon for channel in channels.values()),
                "variances": {name: _variance(each, size) for name, each in channels.items()},
                "chosen": best_protocol(size, epsilon).name,
            }
        )
    return {"names": tuple(PROTOCOLS), "rows": rows}


def _variance(channel: Channel, size: int) -> float:
    if isinstance(channel, PureProtocol):
        return float(channel.own_variance(1 / size))
    second = channel.second_moments(channel.reported(np.full(size, 1 / size)))
    return float(second[0]) - 1 / size**2


def audited_protocols() -> pd.DataFrame:
    """Audit the epsilons that the channels were asked for, a row a channel.

    ``mechanism``, ``epsilon``, ``categories``; ``claimed_epsilon``; ``exact_epsilon`` of the
    probabilities that are drawn, rounded up, and ``shipped_epsilon`` of the dense matrix, if there
    is one; ``of``, how the exact one was found: from all reports, or of too large a matrix by the
    closed form; ``holds``, which knows no tolerance for the exact one.
    """
    rows = []
    for (name, made), size, epsilon in product(PROTOCOLS.items(), SIZES, EPSILONS):
        channel = made(size, epsilon)
        if channel.size < size:
            continue
        if size * channel.reports <= MAX_MATRIX:
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
