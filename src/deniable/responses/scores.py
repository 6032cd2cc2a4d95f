"""Products of scores of columns that were randomized separately."""

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

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
        first = np.ones((1, codes[0][part].size))
        for matrix, own in zip(others, codes, strict=False):
            first = (first[:, None] * matrix[:, own[part]]).reshape(-1, first.shape[1])
        yield part, first, last[:, codes[-1][part]]
