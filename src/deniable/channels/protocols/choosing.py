"""The protocol of least variance for a number of categories and an epsilon."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from deniable.channels.base import Channel
from deniable.channels.keep_or_replace import KeepOrReplace
from deniable.channels.protocols.hadamard import HadamardResponse
from deniable.channels.protocols.projective_geometry import (
    MAX_TRANSFORM as MAX_PROJECTIVE_TRANSFORM,
    ProjectiveGeometry,
    work as projective_work,
)
from deniable.channels.protocols.pure import MAX_TALLY
from deniable.channels.protocols.subset_selection import MAX_ENUMERATED, SubsetSelection

MAX_WORK = 2**32  # largest number of steps in the estimate of a chosen protocol: seconds


@dataclass(frozen=True)
class ProtocolCandidate:
    """A protocol at an epsilon, with its variance and cost.

    The `kind` is as in `deniable.channels.makers.MAKERS`, and the `channel` has a `name`. The
    `variance` is n times the mean variance of the own estimates of the categories, including
    sampling. The `work` is the approximate number of steps of an estimate from a tally; a step
    takes one or a few nanoseconds.
    """

    kind: str
    name: str
    channel: Channel
    variance: float
    work: float


def protocol_candidates(size: int, epsilon: float) -> list[ProtocolCandidate]:
    """Return the protocols for an epsilon, sorted by the mean variance of their own estimates.

    They are generalized randomized response, subset selection, Hadamard response and projective
    geometry response. Each has at most the exact `epsilon`, in (0, 30], for `size` categories, at
    least 1. Variances are for equally frequent categories; the inverse "least" can only lower them.
    Raises `ChannelError` if an argument is out of range.
    """
    # Rounded, so that two kinds that are the same channel in another order have equal variances.
    return sorted(_candidates(size, epsilon), key=lambda each: float(f"{each.variance:.12g}"))


def best_protocol(size: int, epsilon: float) -> ProtocolCandidate:
    """Return the protocol of least variance among those with an estimate in at most seconds.

    The `size` and `epsilon` are as in `protocol_candidates`. Generalized randomized response is
    always allowed.

    Examples
    --------
    >>> best_protocol(10, 1.0).name
    'subset selection'
    >>> best_protocol(100_000, 1.0).name
    'projective geometry response'
    """
    return next(
        each
        for each in protocol_candidates(size, epsilon)
        if isinstance(each.channel, KeepOrReplace) or each.work <= MAX_WORK
    )


def _candidates(size: int, epsilon: float) -> Iterator[ProtocolCandidate]:
    response = KeepOrReplace.of_epsilon(size, epsilon)
    reported = 1 / size  # each category's proportion of the values
    variance = reported * (1 - reported) / response.diagonal_weight**2
    yield ProtocolCandidate(
        "generalized-rr", "generalized randomized response", response, variance, size
    )
    if size < 2:
        return
    subsets = SubsetSelection.of_epsilon(size, epsilon)
    if subsets.subset_size > 1 and subsets.reports <= MAX_ENUMERATED:
        variance = float(subsets.own_variance(1 / size))
        work = subsets.reports * subsets.subset_size
        yield ProtocolCandidate("subset-selection", "subset selection", subsets, variance, work)
    hadamard = HadamardResponse.of_epsilon(size, epsilon)
    if hadamard.reports <= MAX_TALLY:
        variance = float(hadamard.own_variance(1 / size))
        steps = hadamard.reports * math.log2(hadamard.reports)
        yield ProtocolCandidate("hadamard", "Hadamard response", hadamard, variance, steps)
    if size < MAX_PROJECTIVE_TRANSFORM:
        geometry = ProjectiveGeometry.of_epsilon(size, epsilon, largest_work=MAX_WORK)
        if geometry.dimension == 2:  # one value per category, and one or more without a category
            return
        name, variance = "projective geometry response", float(geometry.own_variance(1 / size))
        steps = projective_work(size, geometry.prime)
        yield ProtocolCandidate("projective-geometry", name, geometry, variance, steps)
