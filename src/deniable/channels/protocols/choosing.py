"""The protocol of least variance for a number of categories and an epsilon."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.channels.base import Channel
from deniable.channels.keep_or_replace import KeepOrReplace
from deniable.channels.maps import distribution
from deniable.channels.protocols.hadamard import HadamardResponse
from deniable.channels.protocols.projective_geometry import (
    MAX_TRANSFORM as MAX_PROJECTIVE_TRANSFORM,
    ProjectiveGeometry,
    work as projective_work,
)
from deniable.channels.protocols.pure import MAX_TALLY
from deniable.channels.protocols.subset_selection import MAX_ENUMERATED, SubsetSelection
from deniable.errors import ChannelError

MAX_WORK = 2**32
"""Steps that the estimate of a chosen protocol may take: seconds."""


@dataclass(frozen=True)
class ProtocolCandidate:
    """A protocol at an epsilon, with its variance and cost.

    The `kind` is as in `deniable.channels.makers.MAKERS`, and the `channel` has a `name`. The
    `variance` is n times the mean variance of the own estimates of the categories, sampling
    included. The `work` is about the number of steps of an estimate from a tally, each of a
    nanosecond or a few.
    """

    kind: str
    name: str
    channel: Channel
    variance: float
    work: float


def protocol_candidates(
    size: int, epsilon: float, proportions: npt.ArrayLike | None = None
) -> list[ProtocolCandidate]:
    """Return the protocols of an exact epsilon, the least mean variance of own estimates first.

    They are generalized randomized response, subset selection, Hadamard response and projective
    geometry response. Each has at most the exact `epsilon`, in (0, 30], for `size` categories, at
    least 1. The inverse "least" can only lower the variances. The `proportions`, shape (size,), are
    about the true ones, by default all equal. Raises `ChannelError` if an argument is out of range.
    """
    if size < 1:
        raise ChannelError(f"a protocol is for at least one category, not {size}")
    even = np.array([1 / size])
    shares = even if proportions is None else distribution(proportions)
    if proportions is not None and shares.size != size:
        raise ChannelError(f"{shares.size} proportions for {size} categories; give one each")
    # Equal to the last bit where two kinds are the same channel in another order.
    return sorted(
        _candidates(size, epsilon, shares), key=lambda each: float(f"{each.variance:.12g}")
    )


def best_protocol(
    size: int, epsilon: float, proportions: npt.ArrayLike | None = None
) -> ProtocolCandidate:
    """Return the protocol of least variance with an estimate that takes seconds at most.

    The `size`, `epsilon` and `proportions` are as in `protocol_candidates`. Generalized randomized
    response is always allowed.

    Examples
    --------
    >>> best_protocol(10, 1.0).name
    'subset selection'
    >>> best_protocol(100_000, 1.0).name
    'projective geometry response'
    """
    return next(
        each
        for each in protocol_candidates(size, epsilon, proportions)
        if isinstance(each.channel, KeepOrReplace) or each.work <= MAX_WORK
    )


def _candidates(size: int, epsilon: float, shares: Floats) -> Iterator[ProtocolCandidate]:
    response = KeepOrReplace.of_epsilon(size, epsilon)
    variance = float(np.mean(_variance_of_response(response, shares)))
    yield ProtocolCandidate(
        "generalized-rr", "generalized randomized response", response, variance, size
    )
    if size < 2:
        return
    subsets = SubsetSelection.of_epsilon(size, epsilon)
    if subsets.subset_size > 1 and subsets.reports <= MAX_ENUMERATED:
        variance = float(np.mean(subsets.own_variance(shares)))
        work = subsets.reports * subsets.subset_size
        yield ProtocolCandidate("subset-selection", "subset selection", subsets, variance, work)
    hadamard = HadamardResponse.of_epsilon(size, epsilon)
    if hadamard.reports <= MAX_TALLY:
        variance = float(np.mean(hadamard.own_variance(shares)))
        steps = hadamard.reports * math.log2(hadamard.reports)
        yield ProtocolCandidate("hadamard", "Hadamard response", hadamard, variance, steps)
    if size < MAX_PROJECTIVE_TRANSFORM:
        geometry = ProjectiveGeometry.of_epsilon(size, epsilon, largest_work=MAX_WORK)
        if geometry.dimension == 2:  # one report for each category, and one or more for nobody
            return
        variance = float(np.mean(geometry.own_variance(shares)))
        yield ProtocolCandidate(
            "projective-geometry",
            "projective geometry response",
            geometry,
            variance,
            projective_work(size, geometry.prime),
        )


def _variance_of_response(response: KeepOrReplace, shares: Floats) -> Floats:
    """Return l (1 - l) / a ** 2, with l the share of a category among the reports."""
    a = response.diagonal_weight
    reported = (1 - a) / response.size + a * shares if response.size > 1 else shares
    return np.asarray(reported * (1 - reported) / a**2)
