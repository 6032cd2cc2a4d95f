"""Products of scores of columns that were randomized separately."""

from collections.abc import Iterator, Sequence
from functools import reduce
from math import prod

import numpy as np
import scipy

from deniable.arrays import Codes, Floats

AT_ONCE = 1 << 22  # scores that are in memory at a time


def factors(
    matrices: Sequence[Floats], codes: Sequence[Codes]
) -> Iterator[tuple[slice, Floats, Floats]]:
    """Yield slices of the records, and two factors of their scores, of shape (sets, records).

    The first factor is the product of all sides but the last, the second is the last side. The
    `matrices` have the scores of each side, shape (sets, reports), and `codes` the randomized
    values of each side, shape (records,).
    """
    *others, last = matrices
    step = max(1, AT_ONCE // (prod(len(each) for each in others) + len(last)))
    for start in range(0, codes[0].size, step):
        part = slice(start, start + step)
        own = [matrix[:, each[part]] for matrix, each in zip(others, codes, strict=False)]
        first = reduce(scipy.linalg.khatri_rao, own, np.ones((1, codes[0][part].size)))
        yield part, first, last[:, codes[-1][part]]


def sums_of_scores(
    matrices: Sequence[Floats], codes: Sequence[Codes], weights: Floats | None = None
) -> Floats:
    """Return the sum of the scores of all records by their `weights`, by set of both factors.

    The `matrices` and `codes` are as in `factors`, and the shape is (sets, sets).
    """
    sums = np.zeros((prod(len(each) for each in matrices[:-1]), len(matrices[-1])))
    for part, left, right in factors(matrices, codes):
        sums += (left if weights is None else left * weights[part]) @ right.T
    return sums
