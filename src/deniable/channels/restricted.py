"""Channels over the possible cells of several columns, such as (age 0-14, single)."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deniable.arrays import Codes, Counts, Flags, Floats, Positions
from deniable.channels.base import Channel
from deniable.errors import ChannelError
from deniable.sampling import KeyedColumn, RandomSource


@dataclass(frozen=True, eq=False)
class RestrictedChannel(Channel):
    """A square channel `inner` over the `possible` ones among all cells of a cluster.

    The flags `possible`, shape (cells,), are public knowledge, and `inner` has as many
    categories. No randomized value is an impossible cell, and no record may have one. For the
    linear maps, an impossible cell formally stays itself. So P is [[inner, 0], [0, I]] after a
    permutation of cells, and estimates of impossible cells are exactly 0 without error. Epsilon and
    parity compare possible cells only, also for one attribute, which seldom changes alone. Raises
    `ChannelError` if `inner` and flags do not fit.

    Examples
    --------
    >>> from deniable.channels import KeepOrReplace
    >>> inner = KeepOrReplace.uniform(3, keep=0.5)
    >>> channel = RestrictedChannel(inner, np.array([True, True, False, True]))
    >>> channel.estimate([50, 30, 0, 20]).round(3).tolist(), channel.parity == inner.parity
    ([0.667, 0.267, 0.0, 0.067], True)
    """

    inner: Channel
    possible: Flags

    def __post_init__(self) -> None:
        if not self.inner.returns_categories or self.possible.sum() != self.inner.size:
            raise ChannelError(
                f"a channel over {self.inner.size} cells with {self.inner.reports} randomized "
                f"values for {self.possible.sum()} possible cells; give a square one over these"
            )

    @cached_property
    def possible_cells(self) -> Positions:
        return np.flatnonzero(self.possible)

    @property
    def size(self) -> int:
        return self.possible.size

    @property
    def singular(self) -> bool:
        return self.inner.singular

    def _fitting_codes(self, codes: Codes) -> Codes:
        true = super()._fitting_codes(codes)
        if true.size and not self.possible[true].all():
            raise ChannelError("a record has an impossible combination of categories; correct it")
        return true

    def _whole_counts(self, counts: npt.ArrayLike) -> Counts:
        true = super()._whole_counts(counts)
        if true[..., ~self.possible].any():
            raise ChannelError("counts of impossible combinations of categories must be 0")
        return true

    @cached_property
    def _place(self) -> Positions:
        return np.cumsum(self.possible) - 1

    def _drawn(self, true: Codes, source: RandomSource) -> Codes:
        drawn = self.inner.randomize(self._place[true], source)
        return self.possible_cells[drawn].astype(true.dtype)

    def _drawn_keyed(self, true: Codes, column: KeyedColumn) -> Codes:
        drawn = self.inner.randomize_keyed(self._place[true], column)
        return self.possible_cells[drawn].astype(true.dtype)

    def _drawn_counts(self, true: Counts, generator: np.random.Generator) -> Counts:
        drawn = np.zeros_like(true)
        drawn[..., self.possible] = self.inner.randomize_counts(true[..., self.possible], generator)
        return drawn

    def _mapped(self, step: Callable[[Floats], Floats], values: Floats) -> Floats:
        """Return the result of a `step` of `inner` at the possible cells, else the `values`."""
        found = np.array(values, dtype=float)
        found[..., self.possible] = step(found[..., self.possible])
        return found

    def reported(self, proportions: npt.ArrayLike) -> Floats:
        return self._mapped(self.inner.reported, self._fitting(proportions, "proportions"))

    def expected(self, values: npt.ArrayLike) -> Floats:
        return self._mapped(self.inner.expected, self._fitting(values, "values", self.reports))

    def solve_transposed(self, reported: Floats) -> Floats:
        return self._mapped(self.inner.solve_transposed, reported)

    def solve(self, weights: Floats) -> Floats:
        return self._mapped(self.inner.solve, weights)

    def moments(self, reported: Floats, power: int) -> Floats:
        return self._mapped(lambda values: self.inner.moments(values, power), reported)

    def own_moments(self, power: int) -> Floats:
        return self._mapped(lambda _: self.inner.own_moments(power), np.ones(self.size))

    @property
    def exact_parity(self) -> Fraction | None:
        return self.inner.exact_parity

    def exact_column(self, report: int) -> list[Fraction]:
        column = [Fraction(int(cell == report)) for cell in range(self.size)]
        if self.possible[report]:
            inner = self.inner.exact_column(int(self._place[report]))
            for cell, probability in zip(self.possible_cells.tolist(), inner, strict=True):
                column[cell] = probability
        return column

    def _fill_matrix(self) -> Floats:
        matrix = np.eye(self.size)
        matrix[np.ix_(self.possible_cells, self.possible_cells)] = self.inner.matrix()
        return matrix
