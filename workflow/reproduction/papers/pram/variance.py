"""Variance inflation of randomized response, PRAM and invariant PRAM, in closed form ([pram]).

All mechanisms of an attribute are held against each other at one exact epsilon of their matrix. For
the invariant ones that is conditional on a matrix that is made from the file, and covers less:
their inflation stays under 2 as epsilon falls to 0, as what they then release is a sample from the
true margin (`deniable.pram.matrices.whole_file_epsilon`).
"""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from deniable.arrays import Counts, Floats
from deniable.channels import (
    Channel,
    KeepOrReplace,
    disclosed_proportions,
    lazy_resampling_with_epsilon,
    resampling,
    sampling_covariance,
    two_step_with_epsilon,
)
from deniable.pram import Method, margins, whole_file_epsilon
from deniable.privacy import channel_of_parity
from deniable.records import Microdata

HALF_A_RECORD = 0.5


def variance_inflation(data: Microdata, epsilons: Sequence[float]) -> pd.DataFrame:
    """Return by how much each mechanism inflates the variance of an attribute's estimated shares.

    - ``randomized_response``: generalized (Warner's for two categories), (1.2) and (1.3).
    - ``pram_given_parity``: a fixed matrix of parity exp(epsilon) with the largest diagonal, (3.6):
      that of randomized response, reached from the other side.
    - ``invariant_two_step``: S / n through `two_step_with_epsilon`; (2.4) at the population's
      shares, which is (2.5) but for terms of order 1/n.
    - ``invariant_two_step_inverted``: the same, inverted by a user who knows the matrix, as (1.2)
      does.
    - ``invariant_lazy``: S / n where records are kept with a probability, else drawn from the
      file's shares; (2.5) exactly.
    - ``bound``: what no invariant method exceeds, (2.6), of no epsilon and retention of its own.

    Margins of `data` are taken for the population, without categories that no record has;
    `epsilons` are above 0, at most 30. ``records`` is n, ``retention`` the expected share of those
    whose category stays; ``trace_sampling`` and ``trace_added`` are of the covariance matrices, for
    n records, and ``inflation`` is (sampling + added) / sampling.
    """
    rows: list[dict[str, Any]] = []
    for name, _, counts in margins(data):
        for epsilon in epsilons:
            which = {"attribute": name, "categories": counts.size, "epsilon": epsilon}
            found = inflations(np.asarray(counts / counts.sum()), epsilon, len(data))
            rows += [which | row for row in found]
    return pd.DataFrame(rows)


def inflations(shares: Floats, epsilon: float, records: int) -> list[dict[str, Any]]:
    """Return the rows of one attribute and `epsilon`, from mechanism on, for so many `records`.

    No category's share is 0 in `shares`.
    """
    response = KeepOrReplace.of_epsilon(shares.size, epsilon)
    parity = _of_given_parity(shares.size, epsilon)
    two_step = two_step_with_epsilon(shares, epsilon)
    lazy = lazy_resampling_with_epsilon(shares, epsilon)
    sampling = float(np.trace(sampling_covariance(shares, records)))
    kept = lazy.diagonal_weight
    # (2.4), at shares that need not be those of a whole number of records.
    conditional = float(np.sum(shares - shares @ two_step.matrix() ** 2) / records)
    added: Mapping[str, tuple[Channel | None, float]] = {
        "randomized_response": (response, _fixed_matrix(response, shares, records)),
        "pram_given_parity": (parity, _fixed_matrix(parity, shares, records)),
        "invariant_two_step": (two_step, conditional),
        "invariant_two_step_inverted": (two_step, _fixed_matrix(two_step, shares, records)),
        "invariant_lazy": (lazy, (1 - kept**2) * (1 - 1 / records) * sampling),
        "bound": (None, (1 - 1 / records) * sampling),
    }
    return [
        {
            "mechanism": mechanism,
            "records": records,
            "exact_epsilon": np.nan if channel is None else channel.epsilon,
            "retention": np.nan if channel is None else float(shares @ np.diag(channel.matrix())),
            "trace_sampling": sampling,
            "trace_added": trace,
            "inflation": 1 + trace / sampling,
        }
        for mechanism, (channel, trace) in added.items()
    ]


def whole_file_epsilons(data: Microdata, epsilons: Sequence[float]) -> pd.DataFrame:
    """Return what the `epsilons` of invariant matrices leave out, by attribute of `data`.

    For a file in which one record changes, released with its matrix kept secret
    (``whole_file_epsilon``) or published (infinite if that discloses other shares after the change,
    as it does). ``resampling`` has epsilon 0; ``smallest_count`` is of the rarest category.
    """
    rows: list[dict[str, Any]] = []
    for name, _, counts in margins(data):
        methods: list[tuple[float, str, Method]] = [(0.0, "resampling", resampling)]
        for epsilon in epsilons:
            of_two_steps = partial(two_step_with_epsilon, epsilon=epsilon)
            methods.append((epsilon, "invariant_two_step", of_two_steps))
            if counts.min() > 1:  # else a neighbouring file has no record of a category
                of_one = partial(lazy_resampling_with_epsilon, epsilon=epsilon)
                methods.append((epsilon, "invariant_lazy", of_one))
        rows += [
            {
                "attribute": name,
                "categories": counts.size,
                "smallest_count": int(counts.min()),
                "epsilon": epsilon,
                "mechanism": mechanism,
                "whole_file_epsilon": whole_file_epsilon(method, counts),
                "published_epsilon": _published_epsilon(method, counts),
            }
            for epsilon, mechanism, method in methods
        ]
    return pd.DataFrame(rows)


def _published_epsilon(method: Method, counts: Counts) -> float:
    """Return what a published invariant matrix spends on the record that one change moves."""
    moved = np.array(counts)
    moved[[counts.argmax(), counts.argmin()]] += (-1, 1)
    shares = [disclosed_proportions(method(each / each.sum())) for each in (counts, moved)]
    apart = float(np.abs(shares[1] - shares[0]).max()) * counts.sum()  # in records
    return math.inf if apart > HALF_A_RECORD else math.nan


def _of_given_parity(size: int, epsilon: float) -> KeepOrReplace:
    parity = math.exp(epsilon)
    while (channel := channel_of_parity(size, parity)).epsilon > epsilon:
        parity = math.nextafter(parity, 1.0)  # the exponential was rounded up
    return channel


def _fixed_matrix(channel: Channel, shares: Floats, records: int) -> float:
    """Return the trace of what randomization adds by (1.3); infinite if nothing can be inverted."""
    if channel.singular:
        return math.inf
    return float(np.trace(channel.covariance(shares, records, "file")))
