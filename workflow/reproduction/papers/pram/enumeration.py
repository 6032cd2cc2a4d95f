"""All tables of counts of a few records, each with its probability."""

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise, product

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


def reports_given(counts: Sequence[int], matrix: Floats) -> Distribution:
    """Return the probability of every table of randomized values, given the original `counts`.

    The row of each category in `matrix`, shape (categories, reports), distributes its records.
    """
    found: Distribution = {(0,) * np.shape(matrix)[1]: 1.0}
    for count, row in zip(counts, matrix, strict=True):
        spread = multinomial(count, row)
        step: Distribution = {}
        for (before, p), (more, q) in product(found.items(), spread.items()):
            table = tuple(a + b for a, b in zip(before, more, strict=True))
            step[table] = step.get(table, 0.0) + p * q
        found = step
    return found


def moments(
    distribution: Distribution, values: dict[tuple[int, ...], Floats]
) -> tuple[Floats, Floats]:
    """Return the mean and the covariance matrix of a vector that depends on the table.

    Tables have the `distribution`, and `values` has the vector, shape (n,), of each table.
    """
    weights = np.array(list(distribution.values()))
    vectors = np.array([values[table] for table in distribution])
    mean = weights @ vectors
    centred = vectors - mean
    return mean, (centred * weights[:, None]).T @ centred
