"""Adjust p-values for the number of tests."""

import numpy as np
import numpy.typing as npt
import scipy

from deniable.arrays import Floats


def holm(p_values: npt.ArrayLike) -> Floats:
    """Return `p_values`, shape (tests,), adjusted by Holm's step-down method.

    A NaN does not count as a test and stays as it is.

    >>> holm([0.01, 0.04, 0.03]).round(4).tolist()
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p_values, dtype=float)
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(values[known], kind="stable")]
    adjusted = np.full(values.shape, np.nan)
    steps = np.arange(order.size, 0, -1) * values[order]
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def benjamini_hochberg(p_values: npt.ArrayLike) -> Floats:
    """Return `p_values` adjusted by Benjamini and Hochberg's step-up method, otherwise as `holm`.

    >>> benjamini_hochberg([0.01, 0.04, 0.03]).round(4).tolist()
    [0.03, 0.04, 0.04]
    """
    values = np.asarray(p_values, dtype=float)
    known = ~np.isnan(values)
    adjusted = np.full(values.shape, np.nan)
    adjusted[known] = scipy.stats.false_discovery_control(values[known])
    return adjusted
