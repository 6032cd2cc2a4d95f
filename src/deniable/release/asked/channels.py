"""The channels of a release that is asked for by its epsilon: a share of it for each block."""

from collections.abc import Sequence
from functools import partial

from deniable.channels import MAKERS, Channel, best_protocol
from deniable.errors import DeniableError
from deniable.randomized_response import Protocol, protocol_from_epsilon
from deniable.records import Domain
from deniable.release import ChannelKind

LARGEST_MATRIX = 2**18
"""Entries of a channel's matrix, which is published and audited entry by entry."""


def channel_at(kind: ChannelKind, size: int, epsilon: float) -> Channel:
    """Return a channel over `size` categories, at least 2, of at most this exact `epsilon`.

    Its `kind` is one of those that a config names; "best" is the first of
    `deniable.channels.best_protocol`'s candidates, least variance first,
    whose matrix has up to `LARGEST_MATRIX` entries; how many steps an estimate takes is not asked.

    Raises
    ------
    DeniableError
        If there is no such channel, or its matrix is larger.
    """
    if kind == "best":
        found = [candidate.channel for candidate in best_protocol(size, epsilon).candidates]
    else:
        found = [MAKERS[kind](size, epsilon)]
    for channel in found:
        if channel.size * channel.reports <= LARGEST_MATRIX:
            return channel
    fewest = min(channel.reports for channel in found)
    raise DeniableError(
        f"{kind} of {size:,} categories has {fewest:,} reports at epsilon {epsilon:.4g}, over "
        f"{LARGEST_MATRIX:,} entries; "
        + ("make blocks of fewer cells" if kind == "best" else "choose another channel")
    )


def protocol_within(
    domain: Domain, blocks: Sequence[tuple[str, ...]], kind: ChannelKind, epsilon: float
) -> Protocol:
    """Return a channel of a `kind` for each of `blocks`; exact epsilons sum to at most `epsilon`.

    The blocks are attributes of the `domain`.
    Each has an equal share; a block of a single cell, which tells nothing, needs none.

    Raises `DeniableError` as `channel_at`, naming the block; and if no block has two cells.
    """
    return protocol_from_epsilon(domain, epsilon, tuple(blocks), maker=partial(channel_at, kind))
