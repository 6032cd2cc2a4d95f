"""Probabilities for a target epsilon, as close to it as floats allow and never above it."""

import math
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from deniable.arrays import Floats
from deniable.channels.exact import log_rounded_up
from deniable.errors import ChannelError, DeniableError, shown

if TYPE_CHECKING:
    from deniable.channels.base import Channel

CLOSER = 2.0**-50  # first relative step by which a target is lowered if rounding exceeds it
MAX_EPSILON = 30.0  # exp(30) is 10^13: with a larger one no value would ever be replaced


OfEpsilon = TypeVar("OfEpsilon", bound="Channel")


def refuse_no_number(name: str, value: object) -> None:
    """Raise `ChannelError` unless `value`, called `name`, is one number in the range of floats."""
    if type(value) is float:  # the usual case, checked 40 times as fast
        return
    if isinstance(value, Real) and not isinstance(value, bool):
        with suppress(OverflowError):
            float(value)
            return
    raise ChannelError(f"{name} is {shown(value)}; give one number, such as 0.5")


def numbers_in(name: str, values: object) -> Floats:
    """Return a copy of `values`, called `name`; raise `ChannelError` unless they are numbers."""
    try:
        return np.array(values, dtype=float) + 0.0  # no negative zero
    except (TypeError, ValueError, OverflowError) as error:
        raise ChannelError(
            f"{name} is {shown(values)}, which is not an array of numbers ({error}); give numbers, "
            "in rows of equal length"
        ) from None


def refuse_epsilon(epsilon: float) -> None:
    """Raise `ChannelError` unless `epsilon` is above 0 and at most 30."""
    refuse_no_number("epsilon", epsilon)
    if not 0 < epsilon <= MAX_EPSILON:
        raise ChannelError(f"epsilon is {epsilon}; it must be above 0 and at most {MAX_EPSILON:g}")


def refuse_bad_budget(epsilon: float) -> None:
    """Raise `DeniableError` unless `epsilon`, a budget, is a finite number above 0."""
    refuse_no_number("epsilon", epsilon)
    if not 0 < epsilon < math.inf:
        raise DeniableError(f"epsilon is {epsilon}; it must be a finite number above 0")


def closest_within(
    epsilon: float, first: float, parity: Callable[[float], Fraction], growing: bool = True
) -> float:
    """Return the probability with the largest exact epsilon that is not above `epsilon`.

    The search continues float by float from `first`, the probability apart from rounding. The
    `parity` of a probability is exact, and below 1 if the true value is less likely than another.
    It increases with the probability if `growing`, else it decreases. Raises `ChannelError` if
    epsilon is not in (0, 30], or too small for floats.
    """
    refuse_epsilon(epsilon)

    def within(probability: float) -> bool:
        ratio = parity(probability)
        return ratio <= 1 or log_rounded_up(ratio) <= epsilon

    less, more = (0.0, 1.0) if growing else (1.0, 0.0)
    found = min(first, math.nextafter(1.0, 0.0))  # at 1 the parity is not defined
    while not within(found):
        found = math.nextafter(found, less)
    while 0 < (larger := math.nextafter(found, more)) < 1 and within(larger):
        found = larger
    if parity(found) <= 1:
        raise ChannelError(
            f"epsilon is {epsilon:g}, which is too small for floats to meet; give a larger one"
        )
    return found


def channel_within(epsilon: float, of_target: Callable[[float], OfEpsilon]) -> OfEpsilon:
    """Return the channel of the largest tried target with an exact epsilon of at most `epsilon`.

    `of_target` returns the channel of a target. It is called with `epsilon`, in (0, 30], and then
    with slightly smaller targets, until the exact epsilon is not above `epsilon`.
    """
    target, step = epsilon, CLOSER
    while (channel := of_target(target)).epsilon > epsilon:
        target, step = target * (1 - step), 2 * step
    return channel
