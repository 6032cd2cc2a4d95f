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
