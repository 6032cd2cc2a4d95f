"""Invariant channels that only tests need, and the distance from invariance."""

import numpy as np

from deniable.channels import Channel, DenseChannel, KeepOrReplace, distribution


def lazy(channel: Channel, theta: float) -> Channel:
    """Return theta I + (1 - theta) R, which is invariant for the same proportions as R."""
    if isinstance(channel, KeepOrReplace):
        weight = theta + (1 - theta) * channel.diagonal_weight
        return KeepOrReplace(weight, (1 - theta) * channel.replacement)
    return DenseChannel(theta * np.eye(channel.size) + (1 - theta) * channel.matrix())


def invariance_gap(channel: Channel, proportions: np.ndarray) -> float:
    """Return max |P' pi - pi| of a channel."""
    shares = distribution(proportions)
    return float(np.max(np.abs(channel.reported(shares) - shares)))
