"""Estimate tables from noisy ones by two-step maximum likelihood ([rrba], section 6, (7)).

Step one finds the table of counts closest to a noisy one: non-negative, with the stated total. Step
two fits a log-linear model to that table as if it had been observed.

Step one minimizes gamma |T - T'|_1 + (1 - gamma) |T - T'|_2^2. For every gamma < 1 its only
solution is the Euclidean projection on the simplex with that total, so gamma has no effect.
*Proof:* the projection adds one number to all cells and replaces negative results by 0. If the
number is positive or zero, no cell falls, and |T - T'|_1 = n - sum T', the least for a table of
total n. If it is negative, cells of T' below 0 rise to 0, and no other cell rises. So the sum of
the increases is the least of any non-negative table. As the total is given, so is the sum of the
decreases. Hence the projection minimizes both norms, and for the second it is the only minimum. For
gamma = 1 it is one of several solutions.
"""

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.contingency.log_linear import LogLinearModel
from deniable.errors import DeniableError, named_types
from deniable.estimation import euclidean_projection


@named_types
def two_step_estimate(
    noisy: npt.ArrayLike, totals: npt.ArrayLike, model: LogLinearModel
) -> tuple[Floats, Floats]:
    """Return the nearest tables and the model's expected counts ([rrba], section 6), (..., cells).

    Parameters
    ----------
    noisy : finite, shape (..., cells)
        The noisy counts.
    totals : positive, shape (...) or a single number
        The number of records of each table.
    model : LogLinearModel
        The model of step two.

    Examples
    --------
    >>> model = LogLinearModel.independence((2, 2))
    >>> nearest, fitted = two_step_estimate([6.0, -2.0, 2.0, 2.0], 8, model)
    >>> nearest.round(2).tolist(), fitted.round(2).tolist()
    ([5.33, 0.0, 1.33, 1.33], [4.44, 0.89, 2.22, 0.44])
    """
    tables = nearest_tables(noisy, totals)
    return tables, model.fit(tables)


def nearest_tables(noisy: npt.ArrayLike, totals: npt.ArrayLike) -> Floats:
    """Return the non-negative tables of given totals closest to noisy ones ([rrba], (7)).

    For `noisy` and `totals` see `two_step_estimate`.

    Examples
    --------
    >>> nearest_tables([6.0, -2.0, 4.0], 8)
    array([5., 0., 3.])
    """
    values = np.asarray(noisy, dtype=float)
    if values.ndim == 0 or not values.shape[-1]:
        raise DeniableError("a noisy table needs at least one cell on the last axis")
    n = np.broadcast_to(positive_totals(totals), values.shape[:-1])
    # Add the same number to all cells. Without negative results this is the projection.
    shifted = values + ((n - values.sum(axis=-1)) / values.shape[-1])[..., None]
    short = ~(shifted.min(axis=-1) >= 0)  # also true for NaN
    if np.any(short):
        total = n[short][..., None]
        shifted[short] = total * euclidean_projection(shifted[short] / total)
    return np.asarray(shifted)


def positive_totals(totals: npt.ArrayLike) -> Floats:
    """Return `totals` as floats; raise `DeniableError` unless they are positive and finite."""
    n = np.asarray(totals, dtype=float)
    if not np.all(np.isfinite(n)) or np.any(n <= 0):
        raise DeniableError("the totals of tables must be finite and positive; drop empty tables")
    return n
