"""How much of the reports' sampling error estimation passes on ([multirr], section 2.3).

The estimate is P'^-1 times the proportions of reports, so that errors in these are carried over by
P'^-1. The text measures this by the ratio of the largest to the smallest eigenvalue of P'. That is
a lower bound of the condition number, the factor by which a relative error can grow at worst.
Among matrices of a given parity whose eigenvalues are real and not negative, the form with p_u on
the diagonal and p_d elsewhere has the smallest of both. Among all matrices, as the text has it, it
has not: tests/test_propagation.py has the proof of the one and counterexamples to the other.
"""

import math

import numpy as np

from deniable.channels import Channel, KeepOrReplace, ProductChannel

LARGEST_EXPONENT = 700.0  # exp of more is no float


def propagation_factor(channel: Channel) -> float:
    """Return P_max / P_min, the ratio of the largest to the smallest |eigenvalue| of P'.

    P' = a I + b 1' has the eigenvalue 1 once and a otherwise: 1 / |a|. That is then no bound but
    the truth: errors of reports sum to 0 and are multiplied by exactly 1 / a. Eigenvalues of a
    product are products of eigenvalues, and so are the factors. All other channels are solved.

    Returns
    -------
    float
        In [1, inf]; infinite for a singular channel.

    Examples
    --------
    >>> propagation_factor(KeepOrReplace.uniform(4, keep=0.5))
    2.0
    """
    if channel.singular:
        return math.inf
    if isinstance(channel, ProductChannel):
        return math.prod(propagation_factor(factor) for factor in channel.factors)
    if isinstance(channel, KeepOrReplace):
        return 1 / abs(channel.diagonal_weight)
    eigenvalues = np.abs(np.linalg.eigvals(channel.matrix()))
    smallest = float(eigenvalues.min())
    return float(eigenvalues.max()) / smallest if smallest else math.inf


def condition_number(channel: Channel) -> float:
    """Return the ratio of the largest to the smallest singular value of P.

    At least `propagation_factor`, and equal to it for symmetric matrices. The n - 2 singular values
    of a I + 1 b' off the plane of 1 and b are |a|; the two in it have the product |a| and the sum
    of squares 2 a + n |b|^2.

    Returns
    -------
    float
        In [1, inf]; infinite for a singular channel.

    Examples
    --------
    >>> condition_number(KeepOrReplace.uniform(4, keep=0.5))
    2.0
    """
    if channel.singular:
        return math.inf
    if isinstance(channel, ProductChannel):
        return math.prod(condition_number(factor) for factor in channel.factors)
    if isinstance(channel, KeepOrReplace):
        a, b = channel.diagonal_weight, channel.replacement
        squares, product = 2 * a + b.size * float(b @ b), abs(a)
        difference = max(squares - 2 * product, 0.0)
        largest = (math.sqrt(squares + 2 * product) + math.sqrt(difference)) / 2
        return max(largest**2 / product, 1.0)
    return float(np.linalg.cond(channel.matrix()))


def smallest_propagation(size: int, epsilon: float) -> float:
    """Return the factor of the p_u / p_d form of [multirr], 2.3, (parity + r - 1) / (parity - 1).

    Its parity, p_u / p_d, is exp(epsilon). No matrix of at most this epsilon whose eigenvalues are
    real and not negative has a smaller factor.

    Examples
    --------
    >>> round(smallest_propagation(4, math.log(5)), 12)
    2.0
    """
    if size == 1 or epsilon > LARGEST_EXPONENT:
        return 1.0
    return 1 + size / math.expm1(epsilon) if epsilon > 0 else math.inf
