"""Variance inflation of randomized response, PRAM and invariant PRAM, in closed form ([pram]).

All mechanisms of an attribute are compared at one exact ε of their matrix. For invariant ones it is
conditional on a matrix that is computed from the file, and covers less. Their inflation stays below
2 as ε falls to 0, because they then release a sample from the original marginal distribution
(`deniable.pram.matrices.whole_file_epsilon`).
"""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from deniable import channels
from deniable.arrays import Counts, Floats
from deniable.pram import Method, margins, whole_file_epsilon
from deniable.privacy import channel_of_parity
from deniable.records import Microdata


def variance_inflation(data: Microdata, epsilons: Sequence[float]) -> pd.DataFrame:
    """Return the factor by which each mechanism inflates the variance of estimated proportions.

    - ``randomized_response``: generalized (Warner's for two categories), (1.2) and (1.3).
    - ``pram_given_parity``: the fixed matrix of parity exp(ε) with the largest diagonal, (3.6),
      which is also the matrix of randomized response.
    - ``invariant_two_step``: S / n with `two_step_with_epsilon`. The variance is (2.4) at the
      population's proportions, which differs from (2.5) by terms of order 1/n.
    - ``invariant_two_step_inverted``: the same, inverted with the known matrix, as in (1.2).
    - ``invariant_lazy``: S / n if values are kept with a probability, and otherwise drawn from the
      proportions of the file. The variance is exactly (2.5).
    - ``bound``: the largest variance of an invariant method, (2.6), without ε or retention.

    The populations are the marginal distributions of `data` without empty categories. `epsilons`
    are in (0, 30]. ``records`` is n, and ``retention`` is the expected proportion of unchanged
    records. ``trace_sampling`` and ``trace_added`` belong to covariance matrices for n records, and
    ``inflation`` is (sampling + added) / sampling.
    """
    return pd.DataFrame(
        {"attribute": name, "categories": counts.size, "epsilon": epsilon} | row
        for name, _, counts in margins(data)
        for epsilon in epsilons
        for row in inflations(np.asarray(counts / counts.sum()), epsilon, len(data))
    )


def inflations(shares: Floats, epsilon: float, records: int) -> list[dict[str, Any]]:
    """Return the rows of one attribute with positive `shares`, for one `epsilon` and `records`."""
    response = channels.KeepOrReplace.of_epsilon(shares.size, epsilon)
    eta = math.exp(epsilon)
    while (of_parity := channel_of_parity(shares.size, eta)).epsilon > epsilon:
        eta = math.nextafter(eta, 1.0)  # rounding made the exponential too large
    two_step = channels.two_step_with_epsilon(shares, epsilon)
    lazy = channels.lazy_resampling_with_epsilon(shares, epsilon)
    sampling = float(np.trace(channels.sampling_covariance(shares, records)))
    kept = lazy.diagonal_weight
    # (2.4), at proportions that need not belong to a whole number of records.
    conditional = float(np.sum(shares - shares @ two_step.matrix() ** 2) / records)
    added: Mapping[str, tuple[channels.Channel | None, float]] = {
        "randomized_response": (response, _fixed_matrix(response, shares, records)),
        "pram_given_parity": (of_parity, _fixed_matrix(of_parity, shares, records)),
        "invariant_two_step": (two_step, conditional),
        "invariant_two_step_inverted": (two_step, _fixed_matrix(two_step, shares, records)),
        "invariant_lazy": (lazy, (1 - kept**2) * (1 - 1 / records) * sampling),
        "bound": (None, (1 - 1 / records) * sampling),
    }
    names = ("mechanism", "records", "exact_epsilon", "retention", "trace_sampling", "trace_added")
    rows = []
    for name, (channel, trace) in added.items():
        exact = kept = math.nan
        if channel is not None:
            exact, kept = channel.epsilon, float(shares @ np.diag(channel.matrix()))
        row = dict(zip(names, (name, records, exact, kept, sampling, trace), strict=True))
        rows.append(row | {"inflation": 1 + trace / sampling})
    return rows


def whole_file_epsilons(data: Microdata, epsilons: Sequence[float]) -> pd.DataFrame:
    """Return the ε of the whole file for invariant matrices on `data` with `epsilons`.

    One record of the file changes. The matrix is kept secret (``whole_file_epsilon``) or published
    (``published_epsilon``: infinite, if the matrix discloses other proportions after the change;
    this is always the case here). ``resampling`` has epsilon 0, and ``smallest_count`` belongs to
    the rarest category.
    """
    rows = []
    for name, _, counts in margins(data):
        methods: list[tuple[float, str, Method]] = [(0.0, "resampling", channels.resampling)]
        for epsilon in epsilons:
            of_two_steps = partial(channels.two_step_with_epsilon, epsilon=epsilon)
            methods.append((epsilon, "invariant_two_step", of_two_steps))
            if counts.min() > 1:  # otherwise a neighbouring file has an empty category
                of_one = partial(channels.lazy_resampling_with_epsilon, epsilon=epsilon)
                methods.append((epsilon, "invariant_lazy", of_one))
        for epsilon, mechanism, method in methods:
            found = whole_file_epsilon(method, counts), _published_epsilon(method, counts)
            rows.append((name, counts.size, int(counts.min()), epsilon, mechanism, *found))
    names = ["attribute", "categories", "smallest_count", "epsilon", "mechanism"]
    return pd.DataFrame(rows, columns=[*names, "whole_file_epsilon", "published_epsilon"])


def _published_epsilon(method: Method, counts: Counts) -> float:
    """Return the ε of a published invariant matrix for one changed record."""
    moved = np.array(counts)
    moved[[counts.argmax(), counts.argmin()]] += (-1, 1)
    shares = [channels.disclosed_proportions(method(each / each.sum())) for each in (counts, moved)]
    apart = float(np.abs(shares[1] - shares[0]).max()) * counts.sum()  # in records
    return math.inf if apart > 0.5 else math.nan


def _fixed_matrix(channel: channels.Channel, shares: Floats, records: int) -> float:
    """Return the trace of the variance added by (1.3), infinite without an inverse."""
    if channel.singular:
        return math.inf
    return float(np.trace(channel.covariance(shares, records, "file")))
