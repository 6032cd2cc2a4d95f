"""Which variants of a test `make test` leaves to `make test-all`."""

from collections.abc import Iterable
from typing import Any

import pytest


def slow(*values: Any) -> Any:
    """Return a parameter, or the parameters of one variant, marked slow."""
    return pytest.param(*values, marks=pytest.mark.slow)


def all_but_first(values: Iterable[Any]) -> list[Any]:
    """Return parameters of which only the first is tested by ``make test``."""
    first, *others = values
    return [first, *map(slow, others)]


def one_in(number: int, variants: Iterable[Any]) -> list[Any]:
    """Return variants of which one in so many is tested by ``make test``, the first among them.

    A tuple has the parameters of one variant.
    """
    several = [each if isinstance(each, tuple) else (each,) for each in variants]
    return [
        slow(*each) if place % number else pytest.param(*each) for place, each in enumerate(several)
    ]
