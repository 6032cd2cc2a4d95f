"""Channels: row-stochastic matrices P[u, v] = Pr(report v | true u), in three kinds."""

from deniable.channels.base import Channel, Target
from deniable.channels.dense import DenseChannel
from deniable.channels.keep_or_replace import KeepOrReplace
from deniable.channels.product import ProductChannel
from deniable.channels.serialize import channel_from_json, channel_to_json

__all__ = [
    "Channel",
    "DenseChannel",
    "KeepOrReplace",
    "ProductChannel",
    "Target",
    "channel_from_json",
    "channel_to_json",
]
