"""What a singular channel leaves: estimates of what it tells, uniform what it erases."""

import warnings
from collections.abc import Callable

import numpy as np

from deniable.arrays import Counts, Floats
from deniable.channels import Channel, ProductChannel


def unbiased_or_uniform(reports: Counts, channel: Channel) -> Floats:
    """Return the unbiased estimate; uniform, with a warning, where the channel is singular.

    In a product only the singular attributes are taken as uniform (and independent of the others);
    the margin of the others is estimated from their own reports.
    """
    return estimated_or_uniform(reports, channel, lambda counts, known: known.estimate(counts))


def estimated_or_uniform(
    reports: Counts, channel: Channel, estimate: Callable[[Counts, Channel], Floats]
) -> Floats:
    """Return an estimate; uniform, with a warning, where the channel is singular.

    Parameters
    ----------
    reports : counts, shape (..., cells)
    channel : Channel
    estimate : callable
        (counts, channel) -> proportions, for channels that are not singular.
    """
    if not channel.singular:
        return estimate(reports, channel)
    warnings.warn(
        f"the channel over {channel.size} cells is singular: what it erases is taken as uniform",
        RuntimeWarning,
        stacklevel=3,
    )
    if not isinstance(channel, ProductChannel):
        return np.full(reports.shape, 1 / channel.size)
    table = reports.reshape(-1, *channel.shape)
    erased = tuple(i + 1 for i, factor in enumerate(channel.factors) if factor.singular)
    known = [i for i, factor in enumerate(channel.factors) if not factor.singular]
    shape = [1 if i + 1 in erased else size for i, size in enumerate(channel.shape)]
    found = np.ones((len(table), *shape))
    if known:
        margin = table.sum(axis=erased).reshape(len(table), -1)
        found = estimate(margin, channel.margin(known)).reshape(len(table), *shape)
    cells = np.prod([channel.shape[i - 1] for i in erased])
    return np.broadcast_to(found / cells, table.shape).reshape(reports.shape)
