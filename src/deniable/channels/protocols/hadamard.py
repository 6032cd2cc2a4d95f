"""Hadamard response: fast for any number of categories, nearly optimal below epsilon 1."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from deniable.arrays import Codes, Counts, Flags, Floats
from deniable.channels.protocols import pure

LEAST_STRIDE = 64
"""With smaller strides the transform multiplies by a small matrix, because loops would be short."""


@dataclass(frozen=True, eq=False)
class HadamardResponse(pure.TwoLevelChannel):
    """Hadamard response: values support a category where its row of a Hadamard matrix is +1.

    There are m = 2 ** t values, the least power of 2 above the number of `categories`. Category u
    has row w = u + 1 of Sylvester's matrix, S_u = {v: w and v have an even number of bits in
    common}. Row 0 has no -1 and belongs to no category. Half of the values support a category: c =
    m / 2, l = m / 4, and so q = 1 / 2. Thus n times the variance of a rare category is
    ((exp(epsilon) + 1) / (exp(epsilon) - 1)) ** 2. Value 0 supports every category and reveals
    nothing, but the construction includes it. The `probability` is as in `TwoLevelChannel`.

    SOURCE: Acharya, Sun and Zhang 2019, [hadamard_response], for high privacy.

    Examples
    --------
    >>> channel = HadamardResponse(3, 0.75)
    >>> channel.matrix()[0]
    array([0.375, 0.125, 0.375, 0.125])
    >>> channel.parity
    3.0
    """

    categories: int
    probability: float

    def __post_init__(self) -> None:
        pure.refuse_few_categories(self.size, "Hadamard response")
        self._check_probability()

    @classmethod
    def of_epsilon(cls, size: int, epsilon: float) -> "HadamardResponse":
        """Return the channel of `size` categories with at most the exact `epsilon`, in (0, 30]."""
        return cls(size, pure.probability_of_epsilon(epsilon, 2, 1))

    @cached_property
    def block_design(self) -> tuple[int, int, int]:
        reports = 1 << self.size.bit_length()
        return reports, reports // 2, reports // 4

    def place(self, categories: Counts, indexes: Counts) -> Counts:
        # The bits of value number j, except the pivot, are the low bits of j, in order. The pivot
        # is the lowest bit of the category's row. It makes the number of common bits even for a
        # member and odd for other values.
        rows = categories + 1
        pivot = rows & -rows
        free = indexes & (self.members - 1)
        reports = free + (free & -pivot)  # a gap at the pivot: bits from the pivot on move up
        odd = np.bitwise_count(reports & rows).astype(np.int64) & 1
        odd ^= indexes >> (self.reports.bit_length() - 2)
        return np.asarray(reports | (pivot & -odd))

    def supported_by(self, reports: Codes, category: int) -> Flags:
        common = np.asarray(reports).astype(np.int64) & (category + 1)
        return np.asarray(np.bitwise_count(common) % 2 == 0)

    def membership_sums(self, values: Floats) -> Floats:
        self.refuse_large_tally()
        transformed = _hadamard_transform(values)
        return np.asarray((transformed[..., :1] + transformed[..., 1 : self.size + 1]) / 2)

    def point_sums(self, weights: Floats) -> Floats:
        self.refuse_large_tally()
        rows = np.zeros((*weights.shape[:-1], self.reports))
        rows[..., 1 : self.size + 1] = weights
        return np.asarray((weights.sum(axis=-1, keepdims=True) + _hadamard_transform(rows)) / 2)


def _hadamard_transform(values: Floats) -> Floats:
    """Return H values along the last axis, with Sylvester's H: exact for integers below 2 ** 53."""
    found = np.array(values, dtype=float, order="C")
    length = found.shape[-1]
    within = min(length, LEAST_STRIDE)
    found = found.reshape(-1, within) @ scipy.linalg.hadamard(within, dtype=float)
    stride = within
    while stride < length:
        pairs = found.reshape(-1, 2, stride)
        difference = pairs[:, 0] - pairs[:, 1]
        pairs[:, 0] += pairs[:, 1]
        pairs[:, 1] = difference
        stride *= 2
    return np.asarray(found.reshape(np.shape(values)))
