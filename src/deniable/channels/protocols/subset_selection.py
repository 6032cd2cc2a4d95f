"""Subset selection: a value is a subset of the categories, more likely with the true one."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from deniable.arrays import Codes, Counts, Flags, Floats, Sparse
from deniable.channels.asked import refuse_epsilon
from deniable.channels.maps import refuse_other_than_whole
from deniable.channels.protocols import pure
from deniable.errors import ChannelError

MAX_ENUMERATED = 2**24  # subsets up to which all of them are gone through, for sums over a tally


@dataclass(frozen=True, eq=False)
class SubsetSelection(pure.TwoLevelChannel):
    """Report a subset of d of the k categories: with the true one among them, or without it.

    m = C(k, d), c = C(k - 1, d - 1), l = C(k - 2, d - 2). With d about k / (exp(epsilon) + 1) no
    channel of this epsilon has a lower worst mean variance as the records grow. d = 1 is
    generalized randomized response. The subset {a_1 < ... < a_d} has the code C(a_1, 1) + ... +
    C(a_d, d): colexicographic order. The `subset_size` is d, from 1 to k - 1, with C(k, d) below 2
    ** 63; `categories` and `probability` are as in `TwoLevelChannel`.

    SOURCE: Ye and Barg 2018, [subset_selection].

    Examples
    --------
    >>> channel = SubsetSelection(4, 2, 0.75)
    >>> channel.matrix()[0]
    array([0.25      , 0.25      , 0.08333333, 0.25      , 0.08333333,
           0.08333333])
    >>> channel.members, channel.shared
    (3, 1)
    """

    categories: int
    subset_size: int
    probability: float

    def __post_init__(self) -> None:
        pure.refuse_few_categories(self.size, "subset selection")
        refuse_other_than_whole("the size of subsets", self.subset_size, 0)
        if not 1 <= self.subset_size < self.size:
            raise ChannelError(
                f"subsets of {self.subset_size} of {self.size} categories; choose from 1 to "
                f"{self.size - 1}"
            )
        # Counted only where that is quick: 64 of 128 or more are over 2 ** 63 for sure.
        if min(self.subset_size, self.size - self.subset_size) > 63 or self.reports >= 2**63:
            raise ChannelError(
                f"there are over 2 ** 63 subsets of {self.subset_size} of {self.size} categories, "
                "which 63 bits cannot number; choose another size, or ProjectiveGeometry"
            )
        self._check_probability()

    @property
    def returns_categories(self) -> bool:
        return self.subset_size == 1

    @classmethod
    def of_epsilon(
        cls, size: int, epsilon: float, subset_size: int | None = None
    ) -> "SubsetSelection":
        """Return the channel of `size` categories with at most the exact `epsilon`, in (0, 30].

        By default the `subset_size`, among those with subsets that can be numbered, gives the own
        estimate of a category as frequent as all others the least variance.
        """
        pure.refuse_few_categories(size, "subset selection")
        refuse_epsilon(epsilon)
        if subset_size is None:
            sizes = range(1, max(2, size // 2 + 1))
            numbered = itertools.takewhile(lambda d: math.comb(size, d) < 2**63, sizes)
            subset_size = min(numbered, key=lambda d: _variance(size, d, epsilon))
        refuse_other_than_whole("the size of subsets", subset_size, 1, size)
        probability = pure.probability_of_epsilon(epsilon, size, subset_size)  # c / m is d / k
        return cls(size, subset_size, probability)

    @property
    def reports(self) -> int:
        return math.comb(self.size, self.subset_size)

    @property
    def members(self) -> int:
        return math.comb(self.size - 1, self.subset_size - 1)

    @property
    def shared(self) -> int:
        return math.comb(self.size - 2, self.subset_size - 2) if self.subset_size > 1 else 0

    def place(self, categories: Counts, indexes: Counts) -> Counts:
        """Return value number j: in the order of their codes among the categories but u.

        The j are `indexes`, one for each of `categories`; see `TwoLevelChannel.place`. Number j < c
        has d - 1 categories besides u, number j - c has d others.
        """
        reports = np.empty_like(indexes)
        own = indexes < self.members
        reports[own] = self._codes(categories[own], indexes[own], self.subset_size - 1)
        ranks = indexes[~own] - self.members
        reports[~own] = self._codes(categories[~own], ranks, self.subset_size)
        return reports

    def _codes(self, categories: Counts, ranks: Counts, others: int) -> Counts:
        """Return the codes of subsets of so many other categories, by rank, and of u if needed."""
        codes, smaller = np.zeros_like(ranks), np.zeros_like(ranks)
        inserted, left = self.subset_size - others, ranks.copy()
        for position in range(others, 0, -1):
            element = self._largest(position, left)
            left -= self._binomials[position, element]
            above = element >= categories
            smaller += ~above
            codes += self._binomials[position + inserted * above, element + above]
        if inserted:
            codes += self._binomials[smaller + 1, categories]
        return codes

    def _largest(self, position: int, ranks: Counts) -> Counts:
        """Return the largest a with C(a, position) <= rank."""
        end = self.size - self.subset_size + position
        return np.searchsorted(self._binomials[position, :end], ranks, side="right") - 1

    @cached_property
    def _binomials(self) -> Counts:
        """C(a, i) for position i of an element a of a subset, 0 where a cannot stand there."""
        table = np.zeros((self.subset_size + 1, self.size), dtype=np.int64)
        room = self.size - self.subset_size
        table[0, :room] = 1
        for position in range(1, self.subset_size + 1):
            before = table[position - 1, : room + position - 1]
            table[position, 1 : room + position] = np.cumsum(before)
        return table

    def elements(self, reports: Codes) -> Counts:
        """Return the categories in each of `reports`, ascending, shape (reports, subset_size)."""
        left = np.array(reports, dtype=np.int64)
        found = np.empty((left.size, self.subset_size), dtype=np.int64)
        for position in range(self.subset_size, 0, -1):
            element = self._largest(position, left)
            left -= self._binomials[position, element]
            found[:, position - 1] = element
        return found

    def supported_by(self, reports: Codes, category: int) -> Flags:
        codes = np.asarray(reports)
        found = self.elements(codes.reshape(-1)) == category
        return np.asarray(found.any(axis=1).reshape(codes.shape))

    def membership_sums(self, values: Floats) -> Floats:
        rows = np.reshape(values, (-1, self.reports))
        sums = np.zeros((len(rows), self.size))
        for start, subsets in self._subsets():
            sums += rows[:, start : start + pure.CHUNK_RECORDS] @ subsets
        return sums.reshape(*np.shape(values)[:-1], self.size)

    def point_sums(self, weights: Floats) -> Floats:
        rows = np.reshape(weights, (-1, self.size))
        sums = [subsets @ rows.T for _, subsets in self._subsets()]
        return np.concatenate(sums).T.reshape(*np.shape(weights)[:-1], self.reports)

    def _subsets(self) -> Iterator[tuple[int, Sparse]]:
        """Yield rows of the incidence of subsets and categories, in batches, with the first row."""
        self.refuse_large_tally(MAX_ENUMERATED)
        yield 0, self._first_subsets
        for start in range(pure.CHUNK_RECORDS, self.reports, pure.CHUNK_RECORDS):
            yield start, self._incidence(start)

    @cached_property
    def _first_subsets(self) -> Sparse:
        return self._incidence(0)

    def _incidence(self, start: int) -> Sparse:
        codes = np.arange(start, min(start + pure.CHUNK_RECORDS, self.reports))
        elements = self.elements(codes)
        starts = np.arange(0, elements.size + 1, self.subset_size)
        shape = (len(codes), self.size)
        return scipy.sparse.csr_array((np.ones(elements.size), elements.reshape(-1), starts), shape)


def _variance(size: int, subset_size: int, epsilon: float) -> float:
    """Return n times the variance of a category as frequent as all others, by the own inverse.

    SOURCE: [subset_selection], for the file and the sampling of its records together.
    """
    d = subset_size
    p = d / (d + (size - d) * math.exp(-epsilon))
    q = (d - p) / (size - 1)  # of the d - 1 or d others in the subset
    supported = q + (p - q) / size
    return supported * (1 - supported) / (p - q) ** 2
