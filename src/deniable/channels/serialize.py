"""Channels as plain JSON values, so that a release says exactly what was done."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from deniable.channels.base import Channel
from deniable.channels.dense import DenseChannel
from deniable.channels.keep_or_replace import KeepOrReplace
from deniable.channels.product import ProductChannel
from deniable.errors import ChannelError, DeniableError


def channel_to_json(channel: Channel) -> dict[str, Any]:
    """Describe a channel by its kind and its parameters, to the last bit of each float."""
    if isinstance(channel, KeepOrReplace):
        return {
            "kind": "keep-or-replace",
            "diagonal_weight": channel.diagonal_weight,
            "replacement": channel.replacement.tolist(),
        }
    if isinstance(channel, DenseChannel):
        return {"kind": "dense", "matrix": channel.entries.tolist()}
    if isinstance(channel, ProductChannel):
        return {"kind": "product", "factors": [channel_to_json(f) for f in channel.factors]}
    raise ChannelError(f"a {type(channel).__name__} has no JSON form")


def channel_from_json(value: Mapping[str, Any]) -> Channel:
    """Rebuild a channel from `channel_to_json`.

    Raises
    ------
    ChannelError
        If the kind is unknown, a parameter is missing, or the numbers are no channel.
    """
    try:
        match value["kind"]:
            case "keep-or-replace":
                return KeepOrReplace(value["diagonal_weight"], np.array(value["replacement"]))
            case "dense":
                return DenseChannel(np.array(value["matrix"]))
            case "product":
                return ProductChannel(tuple(map(channel_from_json, value["factors"])))
            case kind:
                raise ChannelError(
                    f"unknown kind of channel {kind!r}; there are keep-or-replace, dense, product"
                )
    except KeyError as error:
        raise ChannelError(f"a channel's description lacks {error}; write it again") from None
    except DeniableError:
        raise
    except (TypeError, ValueError) as error:
        raise ChannelError(f"no channel's description ({error}); write it again") from None
