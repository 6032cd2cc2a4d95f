"""All tables of counts of a few records, each with its probability."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, pairwise

import numpy as np

from deniable.arrays import Floats

Distribution = dict[tuple[int, ...], float]  # the probability of each table of counts


def tables_of(records: int, categories: int) -> Iterator[tuple[int, ...]]:
    """Yield every table of counts over `categories` categories with the total `records`."""
    for bars in combinations(range(records + categories - 1), categories - 1):
        edges = (-1, *bars, records + categories - 1)
        yield tuple(right - left - 1 for left, right in pairwise(edges))


def multinomial(records: int, proportions: Sequence[float] | Floats) -> Distribution:
    """Return the probability of every table of counts of `records` records.

    Each falls into a category with its share of the `proportions`, of sum 1.
    """
    return {
        counts: math.prod(
            [float(p) ** n for p, n in zip(proportions, counts, strict=True)],
            start=math.factorial(records) / math.prod(map(math.factorial, counts)),
        )
        for counts in tables_of(records, len(proportions))
    }


def mixture(parts: Iterable[tuple[float, Distribution]]) -> Distribution:
    """Return the mixture of distributions, `parts` with their probabilities."""
    found: Distribution = {}
    for p, part in parts:
        for table, q in part.items():
            found[table] = found.get(table, 0.0) + p * q
    return found


def reports_given(counts: Sequence[int], matrix: Floats) -> Distribution:
    """Return the probability of every table of randomized values, given the original `counts`.

    The row of each category in `matrix`, shape (categories, reports), distributes its records.
    """
    found: Distribution = {(0,) * np.shape(matrix)[1]: 1.0}
    for count, row in zip(counts, matrix, strict=True):
        spread = multinomial(count, row)
        found = mixture(
            (p, {tuple(map(sum, zip(before, more, strict=True))): q for more, q in spread.items()})
            for before, p in found.items()
        )
    return found


def moments(
    distribution: Distribution, value: Callable[[tuple[int, ...]], Floats]
) -> tuple[Floats, Floats]:
    """Return the mean and the covariance matrix of `value`, a vector that depends on the table."""
    weights = np.array(list(distribution.values()))
    vectors = np.array([value(table) for table in distribution])
    mean = weights @ vectors
    centred = vectors - mean
    return mean, (centred * weights[:, None]).T @ centred
