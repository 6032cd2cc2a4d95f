"""Channels through JSON, bit for bit."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from tests.channels.channel_cases import CHANNELS, channels

from deniable.channels import (
    Channel,
    DenseChannel,
    KeepOrReplace,
    ProductChannel,
    channel_from_json,
    channel_to_json,
)
from deniable.errors import ChannelError


def assert_same(first: Channel, second: Channel) -> None:
    assert type(first) is type(second)
    match first, second:
        case KeepOrReplace(), KeepOrReplace():
            assert first.diagonal_weight.hex() == second.diagonal_weight.hex()
            assert first.replacement.tobytes() == second.replacement.tobytes()
        case DenseChannel(), DenseChannel():
            assert first.entries.tobytes() == second.entries.tobytes()
        case ProductChannel(), ProductChannel():
            for one, other in zip(first.factors, second.factors, strict=True):
                assert_same(one, other)


@settings(deadline=None, max_examples=150, derandomize=True)
@given(channels)
def test_round_trip_bit_for_bit(channel):
    text = json.dumps(channel_to_json(channel), allow_nan=False)
    again = channel_from_json(json.loads(text))
    assert_same(again, channel)
    assert json.dumps(channel_to_json(again)) == text
    assert again.epsilon == channel.epsilon


@pytest.mark.parametrize("channel", CHANNELS.values(), ids=CHANNELS.keys())
def test_same_draws_after_a_round_trip(channel):
    again = channel_from_json(json.loads(json.dumps(channel_to_json(channel))))
    codes = np.arange(500) % channel.size
    np.testing.assert_array_equal(
        again.randomize(codes, np.random.default_rng(1)),
        channel.randomize(codes, np.random.default_rng(1)),
    )


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"kind": "magic"}, "unknown kind of channel 'magic'; there are keep-or-replace"),
        ({}, "lacks 'kind'"),
        ({"kind": "dense"}, "lacks 'matrix'"),
        ({"kind": "keep-or-replace", "diagonal_weight": 0.5}, "lacks 'replacement'"),
        ({"kind": "product"}, "lacks 'factors'"),
        ({"kind": "product", "factors": []}, "at least one channel"),
        ({"kind": "product", "factors": [{"kind": "dense"}]}, "lacks 'matrix'"),
        ({"kind": "product", "factors": 3}, "no channel's description"),
        ({"kind": "dense", "matrix": [[0.5, 0.4], [0, 1]]}, r"row 0 sums to 0\.9"),
        ({"kind": "dense", "matrix": [[0.5, 0.5], [1]]}, "no channel's description"),
        ({"kind": "dense", "matrix": [["a", "b"], ["c", "d"]]}, "no channel's .*'a'"),
        ({"kind": "dense", "matrix": None}, "must be square|no channel's description"),
        (
            {"kind": "keep-or-replace", "diagonal_weight": "half", "replacement": [0.5]},
            "no channel's description .*'half'",
        ),
        ([], "no channel's description"),
        (None, "no channel's description"),
        ("dense", "no channel's description"),
    ],
)
def test_what_describes_no_channel(value, message):
    with pytest.raises(ChannelError, match=message):
        channel_from_json(value)


def test_an_unknown_kind_has_no_json_form():
    class Other(Channel):
        pass

    Other.__abstractmethods__ = frozenset()
    with pytest.raises(ChannelError, match="a Other has no JSON form"):
        channel_to_json(Other())
