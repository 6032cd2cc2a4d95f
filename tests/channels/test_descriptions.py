"""Channels as JSON values: exact fractions, the same bits when read back, and named errors."""

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.channels.channel_cases import EVERY_CHANNEL, any_channels
from tests.channels.exact_descriptions import exact_parity, exact_rows

from deniable.channels import (
    Channel,
    DenseChannel,
    HadamardResponse,
    KeepOrReplace,
    ProductChannel,
    ProjectiveGeometry,
    SquareWave,
    SquareWaveOrMissing,
    SubsetSelection,
    log_rounded_up,
)
from deniable.channels.descriptions import (
    channel_from_json,
    channel_to_json,
    fraction_from_json,
    fraction_to_json,
    weights_from_json,
    weights_to_json,
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
            assert (first.reference is None) == (second.reference is None)
            if first.reference is not None:
                assert first.reference.tobytes() == second.reference.tobytes()
        case ProductChannel(), ProductChannel():
            for one, other in zip(first.factors, second.factors, strict=True):
                assert_same(one, other)


@settings(deadline=None, max_examples=150, derandomize=True)
@given(any_channels)
def test_round_trip_bit_for_bit(channel):
    text = json.dumps(channel_to_json(channel), allow_nan=False)
    again = channel_from_json(json.loads(text))
    assert_same(again, channel)
    assert json.dumps(channel_to_json(again)) == text
    assert again.epsilon == channel.epsilon


@pytest.mark.parametrize("channel", EVERY_CHANNEL.values(), ids=EVERY_CHANNEL.keys())
def test_same_draws_after_a_round_trip(channel):
    again = channel_from_json(json.loads(json.dumps(channel_to_json(channel))))
    assert_same(again, channel)
    codes = np.arange(500) % channel.size
    np.testing.assert_array_equal(
        again.randomize(codes, np.random.default_rng(1)),
        channel.randomize(codes, np.random.default_rng(1)),
    )


HALVES = {"denominator": 2, "weights": [1, 1]}
SQUARE = {"denominator": 2, "weights": [[1, 1], [0, 2]]}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"kind": "magic"}, "unknown kind of channel 'magic'; allowed: keep-or-replace"),
        ({}, "lacks 'kind'"),
        ({"kind": "dense"}, "lacks 'matrix'"),
        ({"kind": "keep-or-replace", "diagonal_weight": "1/2"}, "lacks 'replacement'"),
        ({"kind": "product"}, "lacks 'factors'"),
        ({"kind": "product", "factors": []}, "at least one channel"),
        ({"kind": "product", "factors": [{"kind": "dense"}]}, "lacks 'matrix'"),
        ({"kind": "product", "factors": 3}, "not a channel's description"),
        (
            {"kind": "dense", "matrix": SQUARE, "reference": {"denominator": 1, "weights": [2, 0]}},
            "the reference must be one",
        ),
        ({"kind": "dense", "matrix": SQUARE, "reference": "a"}, "not a denominator"),
        (
            {"kind": "dense", "matrix": {"denominator": 2, "weights": [[1, 0], [0, 2]]}},
            r"row 0 sums to 0\.5",
        ),
        ({"kind": "dense", "matrix": {"denominator": 2, "weights": [[1, 1], [2]]}}, "not a denom"),
        ({"kind": "dense", "matrix": {"denominator": 2, "weights": [["a"]]}}, "not a denominator"),
        ({"kind": "dense", "matrix": {"denominator": 2, "weights": [[0.5]]}}, "not a denominator"),
        ({"kind": "dense", "matrix": {"denominator": 0, "weights": [[1]]}}, "not a denominator"),
        (
            {"kind": "dense", "matrix": {"denominator": 3, "weights": [[1, 2]]}},
            "not exactly floats",
        ),
        (
            {"kind": "dense", "matrix": {"denominator": 4, "weights": [[2, 2]]}},
            "not exactly floats",
        ),
        ({"kind": "dense", "matrix": [[0.5, 0.5]]}, "not a denominator"),
        ({"kind": "dense", "matrix": None}, "not a denominator"),
        (
            {"kind": "keep-or-replace", "diagonal_weight": "half", "replacement": HALVES},
            "'half' is not a fraction",
        ),
        (
            {"kind": "keep-or-replace", "diagonal_weight": 0.5, "replacement": HALVES},
            "0.5 is not a fraction in quotes",
        ),
        (
            {"kind": "keep-or-replace", "diagonal_weight": "1/3", "replacement": HALVES},
            "'1/3' is not the exact fraction of a float",
        ),
        (
            {"kind": "keep-or-replace", "diagonal_weight": "2/4", "replacement": HALVES},
            "'2/4' is not the exact fraction of a float",
        ),
        (
            {"kind": "keep-or-replace", "diagonal_weight": "1/0", "replacement": HALVES},
            "'1/0' is not a fraction",
        ),
        ({"kind": "hadamard-response", "categories": 3.5, "probability": "1/2"}, "not a channel"),
        ([], "not a channel's description"),
        (None, "not a channel's description"),
        ("dense", "not a channel's description"),
    ],
)
def test_what_describes_no_channel(value, message):
    with pytest.raises(ChannelError, match=message):
        channel_from_json(value)


floats = st.one_of(
    st.floats(0, 1, width=64),
    st.sampled_from(
        [0.0, -0.0, 1.0, 0.1, 5e-324, 2.0**-1074, 1 - 2.0**-53, 2.2250738585072014e-308]
    ),
)


@settings(deadline=None, max_examples=300, derandomize=True)
@given(st.lists(floats, min_size=1, max_size=6))
def test_weights_are_exactly_the_floats(values):
    given_values = np.array(values) + 0.0
    form = json.loads(json.dumps(weights_to_json(given_values)))
    assert [Fraction(each, form["denominator"]) for each in form["weights"]] == [
        Fraction(each) for each in given_values.tolist()
    ]
    assert weights_from_json(form).tobytes() == given_values.tobytes()
    assert fraction_from_json(fraction_to_json(given_values[0])) == given_values[0]
    in_rows = given_values.reshape(1, -1)
    assert weights_from_json(weights_to_json(in_rows)).tobytes() == in_rows.tobytes()


@settings(deadline=None, max_examples=60, derandomize=True)
@given(
    st.integers(3, 40),
    st.floats(0.05, 8, allow_nan=False),
    st.sampled_from(["wave", "missing", "subset", "hadamard", "projective"]),
)
def test_protocols_are_read_back_bit_for_bit(size, epsilon, name):
    makers = {
        "wave": SquareWave,
        "missing": SquareWaveOrMissing,
        "subset": SubsetSelection,
        "hadamard": HadamardResponse,
        "projective": ProjectiveGeometry,
    }
    channel = makers[name].of_epsilon(size, epsilon)
    text = json.dumps(channel_to_json(channel), allow_nan=False)
    again = channel_from_json(json.loads(text))
    assert json.dumps(channel_to_json(again)) == text
    assert again.epsilon == channel.epsilon
    assert [again.exact_column(v) for v in (0, channel.reports - 1)] == [
        channel.exact_column(v) for v in (0, channel.reports - 1)
    ]


@settings(deadline=None, max_examples=150, derandomize=True)
@given(any_channels)
def test_epsilon_follows_exactly_from_the_stated_values(channel):
    stated = json.loads(json.dumps(channel_to_json(channel)))
    assert channel.exact_parity == exact_parity(exact_rows(stated))


@pytest.mark.parametrize("epsilon", [0.05, 0.7, 1.0, 3.3])
@pytest.mark.parametrize(
    "maker",
    [
        KeepOrReplace.of_epsilon,
        SubsetSelection.of_epsilon,
        SquareWave.of_epsilon,
        SquareWaveOrMissing.of_epsilon,
    ],
)
def test_a_target_is_kept_exactly_by_the_stated_values(maker, epsilon):
    for size in (2, 3, 6):
        channel = maker(size, epsilon)
        parity = exact_parity(exact_rows(channel_to_json(channel)))
        assert log_rounded_up(parity) == channel.epsilon <= epsilon


def test_an_unknown_kind_has_no_json_form():
    class Other(Channel):
        pass

    Other.__abstractmethods__ = frozenset()
    with pytest.raises(ChannelError, match="a Other has no JSON form"):
        channel_to_json(Other())
