"""A lower bound on epsilon from released numbers alone, for any algorithm.

**Proposition.** Let a file have the numbers x_1 .. x_n in one attribute, given to its records in an
order drawn uniformly at random; the other attributes are arbitrary. Let M be epsilon-DP for the
replacement of one record. Then every estimator T_i of record i's number from M's output has

    mean over i of E (X_i - T_i)^2  >=  exp(-2 epsilon) Var,    Var = mean of (x_s - mean)^2.

*Proof.* Write Pr(y | s) for the probability (density) of output y given that record i has the
number x_s, the others being in random order. Exchanging the numbers x_s and x_t between their two
holders is a bijection between the orders in which i has x_s and those in which it has x_t, and
changes two records: Pr(y | s) >= exp(-2 epsilon) Pr(y | t) for all s and t. Hence Pr(y | s) is at
least exp(-2 epsilon) times its mean over t, and the posterior weight of s is

    w_s = Pr(y | s) / sum_t Pr(y | t)  >=  exp(-2 epsilon) / n.

For any number T, sum_s w_s (x_s - T)^2 is at least exp(-2 epsilon) times mean_s (x_s - T)^2, and
that is at least Var. Take the mean over outputs and over i.  QED

So epsilon >= (1/2) ln(Var / MSE) for the MSE of any estimator that does not depend on the order,
such as the released number itself. If the mechanism treats records alike, its MSE on the file as it
is equals the mean over all orders, and releases of that file suffice. (Individual ranking does:
among equal values the order decides who joins which cluster, which does not change the sum of
squares.)

*Several attributes.* For each attribute alone the proposition bounds the epsilon of the whole
release, so the maximum over attributes is a bound. If attributes are released independently, each
from its own numbers alone, epsilon is the sum over attributes, and at least the sum of the bounds.

The bound is about differential privacy: two exchanged records, over all orders of the file, each
with its own noise scales. Definition 3 of [idp] is about the actual file only, and implies nothing
here.
"""

import numpy as np
import numpy.typing as npt
import scipy

from deniable.arrays import Floats
from deniable.errors import DeniableError

CONFIDENCE = 0.999


def epsilon_from_errors(variance: npt.ArrayLike, squared_error: npt.ArrayLike) -> Floats:
    """Return max(0, ln(`variance` / `squared_error`) / 2); infinite at error 0.

    The variance is above 0, with the number of records as its divisor.
    """
    with np.errstate(divide="ignore"):
        logarithm = np.log(np.asarray(variance, dtype=float)) - np.log(squared_error)
    return np.asarray(np.maximum(logarithm / 2, 0.0))


def certificate(true: npt.ArrayLike, released: npt.ArrayLike) -> Floats:
    """Return a lower bound on epsilon from each attribute of independent releases of a file.

    The bounds, shape (attributes,), are at least 0. Their maximum is a bound without assumptions,
    their sum one for attributes that are released independently.

    The estimator shrinks the released numbers towards the true mean, which is public in the
    proposition. The first half of the releases determines the factor. The error is the upper end of
    a 99.9 % interval (Student's, one-sided) from the second half. For a single release, the
    estimator is the released number, without an interval. `true` has the shape (records,
    attributes), `released` (runs, records, attributes); `DeniableError` for another shape.
    """
    numbers = np.asarray(true, dtype=float)
    runs = np.asarray(released, dtype=float)
    if runs.ndim != 3 or runs.shape[1:] != numbers.shape or not len(runs):
        raise DeniableError(
            f"releases have the shape {runs.shape}; they must be runs of {numbers.shape}, "
            "records by attributes"
        )
    centred = numbers - numbers.mean(axis=0)
    variance = np.mean(centred**2, axis=0)
    moved = runs - numbers.mean(axis=0)
    if len(runs) == 1:
        errors = np.mean((centred - moved) ** 2, axis=1)
        return epsilon_from_errors(variance, errors[0])
    half = len(runs) // 2
    fitted, measured = moved[:half], moved[half:]
    squares = np.mean(fitted**2, axis=(0, 1))
    products = np.mean(fitted * centred, axis=(0, 1))
    shrinking = np.divide(products, squares, out=np.zeros_like(squares), where=squares > 0)
    errors = np.mean((centred - shrinking * measured) ** 2, axis=1)
    upper, n = errors.mean(axis=0), len(errors)
    if n > 1:
        quantile = scipy.special.stdtrit(n - 1, CONFIDENCE)
        upper = upper + quantile * errors.std(axis=0, ddof=1) / np.sqrt(n)
    return epsilon_from_errors(variance, upper)
