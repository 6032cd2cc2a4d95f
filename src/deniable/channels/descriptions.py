"""Channels as JSON values with exact parameters: fractions, and whole-number weights.

A probability is a fraction as text, such as "3/8". Probabilities of several outcomes are whole
numbers over one stated denominator: ``{"denominator": 8, "weights": [3, 5]}``. Each number is
exactly the float of the channel, so a channel that is read has the same bits.

Rows of a matrix, and replacement weights, are divided by their sum, exactly. In "keep-or-replace"
a category is never kept if its weight and the negative ``diagonal_weight`` add up to 0.
"""

import operator
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from deniable.arrays import Floats
from deniable.channels.base import Channel
from deniable.errors import ChannelError, DeniableError, named_types, shown

EDITED = "the file was edited; create it again"
FRACTION = re.compile(r"-?[0-9]{1,400}(/[1-9][0-9]{0,399})?")  # of bounded size, without exponent


def fraction_to_json(value: float) -> str:
    """Return the exact fraction of a float, `value`, as text.

    Examples
    --------
    >>> fraction_to_json(0.375), fraction_to_json(1.0)
    ('3/8', '1')
    """
    return str(Fraction(value))


def fraction_from_json(text: Any) -> float:
    """Return the float of a fraction, `text`, that `fraction_to_json` returned.

    Raises `ChannelError` if it is not a fraction, or not exactly a float.
    """
    if not isinstance(text, str):
        raise ChannelError(f'{shown(text)} is not a fraction in quotes, such as "3/8"; {EDITED}')
    try:
        if not FRACTION.fullmatch(text):
            raise ValueError
        value = float(Fraction(text))
    except (ValueError, OverflowError):
        raise ChannelError(f'{shown(text)} is not a fraction, such as "3/8"; {EDITED}') from None
    if fraction_to_json(value) != text:
        raise ChannelError(
            f"{shown(text)} is not the exact fraction of a float in lowest terms; {EDITED}"
        )
    return value


def weights_to_json(values: Floats) -> dict[str, Any]:
    """Return `values`, floats in 1 or 2 dimensions, as whole numbers over one denominator.

    Examples
    --------
    >>> weights_to_json(np.array([0.375, 0.5]))
    {'denominator': 8, 'weights': [3, 4]}
    """
    ratios = [value.as_integer_ratio() for value in np.ravel(values).tolist()]
    denominator = max((below for _, below in ratios), default=1)  # all are powers of 2
    weights = [above * (denominator // below) for above, below in ratios]
    shaped = np.array(weights, dtype=object).reshape(np.shape(values))
    return {"denominator": denominator, "weights": shaped.tolist()}


def weights_from_json(value: Any) -> Floats:
    """Return the floats of a `value` that `weights_to_json` returned.

    Raises `ChannelError` if a number is not whole, or a quotient is not exactly a float.
    """
    try:
        denominator = operator.index(value["denominator"])
        weights = np.array(value["weights"], dtype=object)
        floats = [operator.index(each) / denominator for each in weights.reshape(-1)]
        found = np.array(floats).reshape(weights.shape)
    except (TypeError, KeyError, ValueError, ArithmeticError):
        raise ChannelError(
            f"{shown(value)} is not a denominator with whole-number weights; {EDITED}"
        ) from None
    if found.ndim in (1, 2) and found.size and weights_to_json(found) != value:
        raise ChannelError(f"weights over {shown(denominator)} are not exactly floats; {EDITED}")
    return found


class Parameter(NamedTuple):
    """The functions `to_json` and `from_json` that write and read a parameter of a channel."""

    to_json: Callable[[Any], Any]
    from_json: Callable[[Any], Any]


def _whole(value: Any) -> int:
    if isinstance(value, bool):
        raise TypeError(f"{value} is not a whole number")
    return operator.index(value)


WHOLE = Parameter(int, _whole)
PROBABILITY = Parameter(fraction_to_json, fraction_from_json)
WEIGHTS = Parameter(weights_to_json, weights_from_json)
FLAGS = Parameter(lambda flags: flags.astype(int).tolist(), lambda known: np.array(known) == 1)
TWO_LEVEL = {"categories": WHOLE, "probability": PROBABILITY}
WINDOW = {"cells": WHOLE, "half_width": WHOLE}
KINDS: dict[str, tuple[str, dict[str, Parameter]]] = {
    "keep-or-replace": ("KeepOrReplace", {"diagonal_weight": PROBABILITY, "replacement": WEIGHTS}),
    "subset-selection": ("SubsetSelection", TWO_LEVEL | {"subset_size": WHOLE}),
    "hadamard-response": ("HadamardResponse", TWO_LEVEL),
    "projective-geometry": ("ProjectiveGeometry", TWO_LEVEL | {"prime": WHOLE}),
    "square-wave": ("SquareWave", WINDOW | {"inside": PROBABILITY}),
    "square-wave-or-missing": ("SquareWaveOrMissing", WINDOW | {"weights": WEIGHTS}),
}
"""Class of `deniable.channels` and parameters of each kind; a class is loaded when needed."""
ARGUMENTS = {"matrix": "entries"}  # arguments with another name than their parameter
OPTIONAL = {"reference"}


@named_types
def channel_to_json(channel: Channel) -> dict[str, Any]:
    """Return the kind and the exact parameters of a `channel`, as JSON values.

    Raises `ChannelError` if the class of the channel has no JSON form.
    """
    names = [each.__name__ for each in type(channel).__mro__]
    for kind, (of, parameters) in KINDS.items():
        if of in names:
            given = {name: getattr(channel, ARGUMENTS.get(name, name)) for name in parameters}
            return {"kind": kind} | {
                name: parameters[name].to_json(own)
                for name, own in given.items()
                if own is not None
            }
    raise ChannelError(f"a {type(channel).__name__} has no JSON form")


@named_types
def channel_from_json(value: Mapping[str, Any]) -> Channel:
    """Return the channel that a `value` of `channel_to_json` describes, also if read from JSON.

    Raises `ChannelError` if the kind is unknown, a parameter is missing, or a number is invalid.
    """
    try:
        if (kind := value["kind"]) not in KINDS:
            raise ChannelError(
                f"unknown kind of channel {shown(kind)}; allowed: {', '.join(KINDS)}"
            )
        of, parameters = KINDS[kind]
        arguments = {
            ARGUMENTS.get(name, name): form.from_json(value[name])
            for name, form in parameters.items()
            if name not in OPTIONAL or value.get(name) is not None
        }
        channel: Channel = getattr(import_module("deniable.channels"), of)(**arguments)
        return channel
    except KeyError as error:
        raise ChannelError(f"a channel's description lacks {error}; write it again") from None
    except DeniableError:
        raise
    except (TypeError, ValueError) as error:
        raise ChannelError(f"not a channel's description ({error}); write it again") from None


CHANNEL = Parameter(channel_to_json, channel_from_json)
FACTORS = Parameter(
    lambda factors: [channel_to_json(each) for each in factors],
    lambda factors: tuple(map(channel_from_json, factors)),
)
KINDS["restricted"] = "RestrictedChannel", {"inner": CHANNEL, "possible": FLAGS}
KINDS["dense"] = "DenseChannel", {"matrix": WEIGHTS, "reference": WEIGHTS}
KINDS["product"] = "ProductChannel", {"factors": FACTORS}
