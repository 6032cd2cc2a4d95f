"""An invariant channel that only tests need."""

import numpy as np

from deniable.channels import Channel, DenseChannel, KeepOrReplace


def lazy(channel: Channel, theta: float) -> Channel:
    """Return theta I + (1 - theta) R, which is invariant for the same proportions as R."""
    if isinstance(channel, KeepOrReplace):
        weight = theta + (1 - theta) * channel.diagonal_weight
        return KeepOrReplace(weight, (1 - theta) * channel.replacement)
    return DenseChannel(theta * np.eye(channel.size) + (1 - theta) * channel.matrix())
