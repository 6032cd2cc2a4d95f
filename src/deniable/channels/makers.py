"""Registry of the kinds of channels, and the protocol of least variance at an epsilon."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from deniable.channels.base import MAX_NOISE_POINTS, Channel
from deniable.channels.keep_or_replace import KeepOrReplace
from deniable.channels.numeric import SquareWave, laplace_channel, staircase_channel
from deniable.channels.protocols import (
    MAX_ENUMERATED,
    MAX_TALLY,
    MAX_TRANSFORM,
    HadamardResponse,
    ProjectiveGeometry,
    SubsetSelection,
    TwoLevelChannel,
    projective_work,
)

MAX_WORK = 2**32  # largest number of steps in the estimate of a chosen protocol: seconds


@dataclass(frozen=True)
class Maker:
    """A kind of channel that is defined by a number of cells and a target epsilon.

    `of_epsilon` takes both and returns a channel with an exact epsilon of at most the target. If
    `on_grid`, cells are the points on the grid of one number, in order. There are at most
    `max_cells`; None means no limit.
    """

    of_epsilon: Callable[[int, float], Channel]
    on_grid: bool = False
    max_cells: int | None = None


MAKERS: Mapping[str, Maker] = {
    "generalized-rr": Maker(KeepOrReplace.of_epsilon),
    "subset-selection": Maker(SubsetSelection.of_epsilon),
    "hadamard": Maker(HadamardResponse.of_epsilon),
    "projective-geometry": Maker(ProjectiveGeometry.of_epsilon),
    "square-wave": Maker(SquareWave.of_epsilon, on_grid=True),
    "laplace": Maker(laplace_channel, on_grid=True, max_cells=MAX_NOISE_POINTS),
    "staircase": Maker(staircase_channel, on_grid=True, max_cells=MAX_NOISE_POINTS),
}
"""Kinds of channels, by their names in the option `mechanism` of plans."""


@dataclass(frozen=True)
class ProtocolCandidate:
    """A protocol at an epsilon, with its variance.

    The `kind` is as in `MAKERS`, and the `channel` has a `name`. The `variance` is n times the mean
    variance of the own estimates of the categories, including sampling.
    """

    kind: str
    name: str
    channel: Channel
    variance: float


def protocol_candidates(size: int, epsilon: float) -> list[ProtocolCandidate]:
    """Return the protocols for an epsilon, sorted by the mean variance of their own estimates.

    They are generalized randomized response, and subset selection, Hadamard response and projective
    geometry response if an estimate takes at most seconds. Each has at most the exact `epsilon`, in
    (0, 30], for `size` categories, at least 1. Variances are for equally frequent categories; the
    inverse "least" can only lower them. Raises `ChannelError` if an argument is out of range.
    """
    response = KeepOrReplace.of_epsilon(size, epsilon)
    reported = 1 / size  # each category's proportion of the values
    variance = reported * (1 - reported) / response.diagonal_weight**2
    name = "generalized randomized response"
    found = [ProtocolCandidate("generalized-rr", name, response, variance)]
    for kind, name, channel, work in _two_level(size, epsilon) if size > 1 else ():
        if work <= MAX_WORK:
            variance = float(channel.own_variance(1 / size))
            found.append(ProtocolCandidate(kind, name, channel, variance))
    # Rounded, so that two kinds that are the same channel in another order have equal variances.
    return sorted(found, key=lambda each: float(f"{each.variance:.12g}"))


def best_protocol(size: int, epsilon: float) -> ProtocolCandidate:
    """Return the protocol of least variance; see `protocol_candidates` for `size` and `epsilon`.

    Examples
    --------
    >>> best_protocol(10, 1.0).name
    'subset selection'
    >>> best_protocol(100_000, 1.0).name
    'projective geometry response'
    """
    return protocol_candidates(size, epsilon)[0]


def _two_level(size: int, epsilon: float) -> Iterator[tuple[str, str, TwoLevelChannel, float]]:
    """Yield kinds, names, channels, and the approximate steps of an estimate from a tally."""
    subsets = SubsetSelection.of_epsilon(size, epsilon)
    if subsets.subset_size > 1 and subsets.reports <= MAX_ENUMERATED:
        work = float(subsets.reports * subsets.subset_size)
        yield "subset-selection", "subset selection", subsets, work
    hadamard = HadamardResponse.of_epsilon(size, epsilon)
    if hadamard.reports <= MAX_TALLY:
        work = hadamard.reports * math.log2(hadamard.reports)
        yield "hadamard", "Hadamard response", hadamard, work
    if size < MAX_TRANSFORM:
        geometry = ProjectiveGeometry.of_epsilon(size, epsilon, largest_work=MAX_WORK)
        if geometry.dimension > 2:  # else one value per category, and one or more without
            work = projective_work(size, geometry.prime)
            yield "projective-geometry", "projective geometry response", geometry, work
