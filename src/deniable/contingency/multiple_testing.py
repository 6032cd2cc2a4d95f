"""Adjust p-values for the number of tests."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats


def holm(p_values: npt.ArrayLike) -> Floats:
    """Return `p_values`, shape (tests,), adjusted by Holm's step-down method.

    A value that is not a number counts as no test and stays as it is.

    >>> holm([0.01, 0.04, 0.03]).round(4).tolist()
    [0.03, 0.06, 0.06]
    """
    return _adjusted(p_values, lambda n: np.arange(n, 0, -1), np.maximum.accumulate)


def benjamini_hochberg(p_values: npt.ArrayLike) -> Floats:
    """Return `p_values` adjusted by Benjamini and Hochberg's step-up method, otherwise as `holm`.

    >>> benjamini_hochberg([0.01, 0.04, 0.03]).round(4).tolist()
    [0.03, 0.04, 0.04]
    """
    return _adjusted(
        p_values, lambda n: n / np.arange(1, n + 1), lambda x: np.minimum.accumulate(x[::-1])[::-1]
    )


def _adjusted(
    p_values: npt.ArrayLike, factors: Callable[[int], Any], step: Callable[[Floats], Any]
) -> Floats:
    """Return p-values times factors, from the smallest on, in steps that do not decrease."""
    values = np.asarray(p_values, dtype=float)
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(values[known], kind="stable")]
    adjusted = np.full(values.shape, np.nan)
    adjusted[order] = np.minimum(step(factors(order.size) * values[order]), 1.0)
    return adjusted
