"""Invariant PRAM as a method: a matrix made anew of each file, and what that does.

A matrix that is computed from the file is random when the file is. Over samples, the variance of
S / n is (2.5) of [pram]; over neighbouring files, the reports of all records change their
probabilities when one record does.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy import special

from deniable.arrays import Counts, Floats
from deniable.channels import (
    INVARIANCE_TOLERANCE,
    Channel,
    conditional_covariance,
    distribution,
    invariance_gap,
    sampling_covariance,
    whole_counts,
)
from deniable.errors import ChannelError
from deniable.sampling import multinomial

Method = Callable[[Floats], Channel]
"""How an owner makes the matrix: from the proportions of the file, shape (size,), a channel."""

LARGEST_ENUMERATION = 200_000


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

    Raises
    ------
    ChannelError
        If there are over 200,000 tables, or a matrix is not invariant.
    """
    pi = distribution(proportions)
    total = sampling_covariance(pi, records)
    tables = math.comb(records + pi.size - 1, pi.size - 1)
    if tables > LARGEST_ENUMERATION:
        raise ChannelError(
            f"{records:,} records in {pi.size} categories have {tables:,} tables of counts, over "
            f"the limit of {LARGEST_ENUMERATION:,}; use simulated_covariance"
        )
    for table in _tables(records, pi.size):
        logarithm = special.gammaln(records + 1) - special.gammaln(table + 1).sum()
        chance = np.exp(logarithm + special.xlogy(table, pi).sum())
        if chance > 0:
            total = total + chance * _inflation(method, table)
    return total


@dataclass(frozen=True, eq=False)
class SimulatedCovariance:
    """A covariance matrix from simulation.

    Attributes
    ----------
    value, standard_error : array, shape (size, size)
        Entry by entry.
    replicates : int
    """

    value: Floats
    standard_error: Floats
    replicates: int


def simulated_covariance(
    method: Method,
    proportions: npt.ArrayLike,
    records: int,
    generator: np.random.Generator,
    replicates: int,
) -> SimulatedCovariance:
    """Estimate the covariance of S / n ([pram], (2.5)) without bias.

    Samples are drawn, reports are not: (2.4) is averaged, whose variation is of order 1 / n.

    Parameters
    ----------
    method, proportions, records
        As for `exact_covariance`.
    generator : numpy.random.Generator
    replicates : int, >= 2
    """
    if replicates < 2:
        raise ChannelError(f"a standard error needs at least 2 replicates, not {replicates}")
    pi = distribution(proportions)
    sampling = sampling_covariance(pi, records)
    tables = multinomial(generator, np.full(replicates, records), pi)
    draws = np.array([_inflation(method, table) for table in tables])
    error = draws.std(axis=0, ddof=1) / math.sqrt(replicates)
    return SimulatedCovariance(sampling + draws.mean(axis=0), error, replicates)


def _inflation(method: Method, table: Counts) -> Floats:
    shares = table / table.sum()
    channel = method(shares)
    gap = invariance_gap(channel, shares)
    if gap > INVARIANCE_TOLERANCE:
        raise ChannelError(
            f"the matrix for the counts {table.tolist()} moves a share by {gap:.3g}: (2.5) is for "
            "invariant matrices; make it with two_step, or mix such matrices"
        )
    return conditional_covariance(channel, table)


def _tables(records: int, size: int) -> Iterator[Counts]:
    for bars in combinations(range(records + size - 1), size - 1):
        edges = np.array([-1, *bars, records + size - 1])
        yield np.diff(edges) - 1


def whole_file_epsilon(method: Method, counts: npt.ArrayLike) -> float:
    """Return the epsilon of a released file whose matrix is made from it and kept secret.

    The largest |ln Pr(reports | file) / Pr(reports | neighbour)| over all reports of all records
    and all files that differ from this one in one record's category. The neighbour has another
    matrix, so that the reports of all other records tell of that record as well:

        sum over records j of max over v of ln(R[x_j, v] / R'[x'_j, v]).

    Compare with the epsilon of the matrix, which counts one report. Infinite if a category has a
    single record and is reported at all. To rounding, not exact.

    Parameters
    ----------
    method : callable
        From proportions to a channel.
    counts : array, shape (size,)
        True counts of the file.
    """
    true = whole_counts(counts)
    here = method(true / true.sum()).matrix()
    worst = 0.0
    for u in np.flatnonzero(true).tolist():
        for w in range(true.size):
            if w != u:
                moved = true.copy()
                moved[[u, w]] += (-1, 1)
                there = method(moved / moved.sum()).matrix()
                others = true.copy()
                others[u] -= 1
                worst = max(worst, _loss(here, there, others, u, w))
                worst = max(worst, _loss(there, here, others, w, u))
    return worst


def _loss(here: Floats, there: Floats, others: Counts, u: int, w: int) -> float:
    def largest(numerators: Floats, denominators: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            logarithms = np.log(numerators / denominators)
        return np.asarray(np.where(numerators > 0, logarithms, -np.inf).max(axis=-1))

    present = others > 0
    of_others = others[present] @ largest(here[present], there[present])
    return float(of_others + largest(here[u], there[w]))
