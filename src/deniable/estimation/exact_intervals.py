"""Confidence intervals of probabilities that cover as stated whatever the number of trials."""

import numpy as np
import numpy.typing as npt
from scipy import special

from deniable.arrays import Floats

Z_95 = 1.959963984540054
"""The standard errors on either side of a normal estimate's 95 % interval."""


def clopper_pearson(
    events: npt.ArrayLike, trials: npt.ArrayLike, confidence: float = 0.95
) -> tuple[Floats, Floats]:
    """Return Clopper and Pearson's interval of a probability, or of several.

    It covers with at least the stated confidence, also where all trials agree: half of what is
    left of the confidence lies beyond either end.

    Parameters
    ----------
    events, trials : int or arrays of int, 0 <= events <= trials, trials >= 1
    confidence : float, in (0, 1)

    Returns
    -------
    tuple of arrays
        Lower and upper limits, of the shape that events and trials have together.

    Examples
    --------
    >>> low, high = clopper_pearson([0, 5], [100, 10])
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.0, 0.1871], [0.0362, 0.8129])
    """
    happened, tried = np.asarray(events), np.asarray(trials)
    tail = (1 - confidence) / 2
    low = special.betaincinv(happened, tried - happened + 1, tail)
    high = special.betaincinv(happened + 1, tried - happened, 1 - tail)
    # The limits at the ends, where one of the beta distribution's parameters is 0.
    return np.where(happened == 0, 0.0, low), np.where(happened == tried, 1.0, high)
