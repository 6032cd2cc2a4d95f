"""All that can happen to a few records: every table of counts, with its probability."""

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from deniable.arrays import Counts, Floats

Distribution = dict[tuple[int, ...], float]


def tables_of(records: int, categories: int) -> Iterator[tuple[int, ...]]:
    """Yield every table of counts with that total."""
    for bars in itertools.combinations(range(records + categories - 1), categories - 1):
        edges = (-1, *bars, records + categories - 1)
        yield tuple(right - left - 1 for left, right in itertools.pairwise(edges))


def multinomial(records: int, proportions: Sequence[float] | Floats) -> Distribution:
    """Return the probability of every table of counts."""
    return {
        counts: math.prod(
            [float(p) ** n for p, n in zip(proportions, counts, strict=True)],
            start=math.factorial(records) / math.prod(map(math.factorial, counts)),
        )
        for counts in tables_of(records, len(proportions))
    }


def reports_given(counts: Sequence[int], matrix: Floats) -> Distribution:
    """Return the probability of every table of reports, given the true counts.

    The records of each category are spread over reports by that category's row, independently.
    """
    found: Distribution = {(0,) * len(counts): 1.0}
    for count, row in zip(counts, matrix, strict=True):
        spread = multinomial(count, row)
        step: Distribution = {}
        for (before, p), (more, q) in itertools.product(found.items(), spread.items()):
            table = tuple(a + b for a, b in zip(before, more, strict=True))
            step[table] = step.get(table, 0.0) + p * q
        found = step
    return found


def moments(
    distribution: Distribution, values: dict[tuple[int, ...], Floats]
) -> tuple[Floats, Floats]:
    """Return the mean and the covariance matrix of a vector that depends on the table."""
    weights = np.array(list(distribution.values()))
    vectors = np.array([values[table] for table in distribution])
    mean = weights @ vectors
    centred = vectors - mean
    return mean, (centred * weights[:, None]).T @ centred


def as_counts(table: Sequence[int]) -> Counts:
    """Return a table as an array."""
    return np.array(table, dtype=np.int64)
