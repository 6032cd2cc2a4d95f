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


def one_of_three(values: Iterable[Any]) -> list[Any]:
    """Return parameters of which one in three is tested by ``make test``, the first among them."""
    return [slow(value) if place % 3 else value for place, value in enumerate(values)]
