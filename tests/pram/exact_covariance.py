"""The covariance of reports whose matrix is made anew of each sample, over all samples."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy import special
from tests.channels.invariant_channels import invariance_gap

from deniable.arrays import Counts, Floats
from deniable.channels.invariant import (
    INVARIANCE_TOLERANCE,
    conditional_covariance,
    sampling_covariance,
)
from deniable.channels.maps import distribution
from deniable.pram import Method


def exact_covariance(method: Method, proportions: npt.ArrayLike, records: int) -> Floats:
    """Return the covariance of S / n, matrix made anew of each sample ([pram], (2.5)).

    Over all tables of counts that a sample can have, which are few only if it is small.

    Parameters
    ----------
    method : callable
        From the sample's proportions to a channel that is invariant for them.
    proportions : array, shape (size,)
        pi of the population.
    records : int, >= 1
    """
    pi = distribution(proportions)
    total = sampling_covariance(pi, records)
    for table in _tables(records, pi.size):
        logarithm = special.gammaln(records + 1) - special.gammaln(table + 1).sum()
        chance = np.exp(logarithm + special.xlogy(table, pi).sum())
        if chance > 0:
            total = total + chance * _inflation(method, table)
    return total


def _inflation(method: Method, table: Counts) -> Floats:
    shares = table / table.sum()
    channel = method(shares)
    assert invariance_gap(channel, shares) <= INVARIANCE_TOLERANCE  # (2.5) is for such matrices
    return conditional_covariance(table, channel)


def _tables(records: int, size: int) -> Iterator[Counts]:
    for bars in combinations(range(records + size - 1), size - 1):
        edges = np.array([-1, *bars, records + size - 1])
        yield np.diff(edges) - 1
