"""The channels of a release that is asked for by its epsilon: a share of it for each block."""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from deniable.channels import (
    Channel,
    HadamardResponse,
    KeepOrReplace,
    ProjectiveGeometry,
    SubsetSelection,
)
from deniable.errors import ChannelError, DeniableError
from deniable.randomized_response import Protocol
from deniable.records import Domain
from deniable.release import ChannelKind

LARGEST_MATRIX = 2**18
"""Entries of a channel's matrix, which is published and audited entry by entry."""

MAKERS: Mapping[ChannelKind, Callable[[int, float], Channel]] = {
    "generalized-rr": KeepOrReplace.of_epsilon,
    "subset-selection": SubsetSelection.of_epsilon,
    "hadamard": HadamardResponse.of_epsilon,
    "projective-geometry": ProjectiveGeometry.of_epsilon,
}


def channel_at(kind: ChannelKind, size: int, epsilon: float) -> Channel:
    """Return a channel over so many categories whose exact epsilon is at most this one.

    "best" is that of the least computed variance of an estimated proportion, on average over
    categories that are equally frequent, of the kinds whose matrix has up to `LARGEST_MATRIX`
    entries; of two alike the one that is listed first.

    Raises
    ------
    DeniableError
        If there is no such channel, its matrix is larger, or its epsilon above what was asked for.
    """
    if size == 1:
        return KeepOrReplace(1.0, np.zeros(1))
    kinds = tuple(MAKERS) if kind == "best" else (kind,)
    found, refusals = [], []
    for each in kinds:
        try:
            channel = MAKERS[each](size, epsilon)
        except ChannelError as error:
            refusals.append(str(error))
            continue
        if channel.size * channel.reports <= LARGEST_MATRIX:
            found.append(channel)
        else:
            refusals.append(
                f"{each} of {size:,} categories has {channel.reports:,} reports at epsilon "
                f"{epsilon:.4g}, over {LARGEST_MATRIX:,} entries; choose another channel"
            )
    if not found:
        raise DeniableError(refusals[0])
    chosen = min(found, key=_mean_variance)
    if chosen.epsilon > epsilon:
        raise DeniableError(
            f"the channel's exact epsilon is {chosen.epsilon!r}, above {epsilon!r}; report this"
        )
    return chosen


def _mean_variance(channel: Channel) -> float:
    """Return n times the mean variance of estimates of equally frequent categories, but for 1/k."""
    if channel.singular:
        return math.inf
    even = np.full(channel.size, 1 / channel.size)
    # Equal to the last bit where two kinds are the same channel in another order.
    return float(f"{channel.second_moments(channel.reported(even)).mean():.12g}")


def protocol_within(
    domain: Domain, blocks: Sequence[tuple[str, ...]], kind: ChannelKind, epsilon: float
) -> Protocol:
    """Return a channel for each block, whose exact epsilons add up to at most `epsilon`.

    Each has an equal share; a block of a single cell, which tells nothing, needs none.

    Raises `DeniableError` as `channel_at`, naming the block; and if no block has two cells.
    """
    sizes = [domain.project(block).size for block in blocks]
    spending = sum(size > 1 for size in sizes)
    if not spending:
        raise DeniableError("each attribute has one category, so that nothing is to be randomized")
    share = epsilon / spending
    while True:
        channels = []
        for block, size in zip(blocks, sizes, strict=True):
            try:
                channels.append(channel_at(kind, size, share))
            except DeniableError as error:
                raise DeniableError(f"{' x '.join(block)}: {error}") from None
        protocol = Protocol(domain, tuple(blocks), tuple(channels))
        if protocol.epsilon <= epsilon:
            return protocol
        # The shares, or their sum, were rounded up.
        share = math.nextafter(share, 0.0)
