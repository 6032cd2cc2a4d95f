"""Channels: row-stochastic matrices P[u, v] = Pr(report v | true u), in three kinds."""

from deniable.channel.base import Channel, Target
from deniable.channel.dense import DenseChannel
from deniable.channel.keep_or_replace import KeepOrReplace
from deniable.channel.product import ProductChannel
from deniable.channel.serialize import channel_from_json, channel_to_json

__all__ = [
    "Channel",
    "DenseChannel",
    "KeepOrReplace",
    "ProductChannel",
    "Target",
    "channel_from_json",
    "channel_to_json",
]
