"""Products of channels: attributes that are randomized independently."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from deniable.arrays import Codes, Counts, Floats, Positions
from deniable.channels.base import Channel
from deniable.channels.exact import product_of_ratios
from deniable.errors import ChannelError, shown
from deniable.records import MAX_RAVELLED_DOMAIN
from deniable.sampling import KeyedColumn, RandomSource

Number = TypeVar("Number", bound=np.generic)


@dataclass(frozen=True, eq=False)
class ProductChannel(Channel):
    """The Kronecker product of channels, one for each attribute, never formed as one matrix.

    The `factors` are one or more channels in the order of the attributes. Cells are numbered as in
    `Domain.ravel`: the last attribute changes fastest. Draws and inverses act on one axis of the
    table at a time. Tables of randomized values have the axes of `report_shape`.

    The parity of the product is the product of the parities, and epsilon is the sum of the
    epsilons. This is exact, because one pair of records is the worst case for every factor. Raises
    `ChannelError` if the factors are not channels, or there is none.

    Examples
    --------
    >>> from deniable.channels import KeepOrReplace
    >>> coin = KeepOrReplace.uniform(2, keep=0.5)
    >>> ProductChannel((coin, coin)).parity
    9.0
    """

    factors: tuple[Channel, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.factors, Iterable):
            raise ChannelError(f"factors are {shown(self.factors)}; give a list of channels")
        object.__setattr__(self, "factors", tuple(self.factors))
        for factor in self.factors:
            if not isinstance(factor, Channel):
                raise ChannelError(f"a factor is {shown(factor)}; give channels")
        if not self.factors:
            raise ChannelError("a product needs at least one channel")

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return tuple(factor.size for factor in self.factors)

    @cached_property
    def report_shape(self) -> tuple[int, ...]:
        return tuple(factor.reports for factor in self.factors)

    @property
    def simple_factors(self) -> tuple[Channel, ...]:
        return tuple(inner for factor in self.factors for inner in factor.simple_factors)

    @cached_property
    def size(self) -> int:
        return math.prod(self.shape)

    @cached_property
    def reports(self) -> int:
        return math.prod(self.report_shape)

    @cached_property
    def singular(self) -> bool:
        return any(factor.singular for factor in self.factors)

    @property
    def possible_cells(self) -> Positions | None:
        flags = [np.ones(factor.size, dtype=bool) for factor in self.factors]
        for own, factor in zip(flags, self.factors, strict=True):
            if (cells := factor.possible_cells) is not None:
                own[:] = np.isin(np.arange(factor.size), cells)
        return None if all(map(np.all, flags)) else np.flatnonzero(reduce(np.kron, flags))

    def margin(self, positions: Sequence[int]) -> "ProductChannel":
        """Return the channel of the attributes at `positions`, for their marginal distribution."""
        return ProductChannel(tuple(self.factors[position] for position in positions))

    def randomize_columns(
        self, columns: Sequence[Codes], source: RandomSource
    ) -> tuple[Codes, ...]:
        """Return randomized `columns` of codes, one for each attribute, drawn from `source`."""
        if len(columns) != len(self.factors):
            raise ChannelError(
                f"{len(self.factors)} channels, but {len(columns)} columns of codes; give one "
                "column per channel"
            )
        pairs = zip(self.factors, columns, strict=True)
        return tuple(factor.randomize(column, source) for factor, column in pairs)

    def _drawn(self, true: Codes, source: RandomSource) -> Codes:
        reports = self.randomize_columns(np.unravel_index(true, self.shape), source)
        return np.ravel_multi_index(reports, self.report_shape).astype(self._report_type(true))

    def _drawn_keyed(self, true: Codes, column: KeyedColumn) -> Codes:
        columns = np.unravel_index(true, self.shape)
        reports = tuple(
            factor.randomize_keyed(columns[position], column.factor(position))
            for position, factor in enumerate(self.factors)
        )
        return np.ravel_multi_index(reports, self.report_shape).astype(self._report_type(true))

    def _fitting_codes(self, codes: Codes) -> Codes:
        true = super()._fitting_codes(codes)
        if max(self.size, self.reports) > MAX_RAVELLED_DOMAIN:
            raise ChannelError(
                f"{max(self.size, self.reports):.3g} joint cells are too many for 64-bit codes; "
                "randomize the attributes with randomize_columns"
            )
        return true

    def _drawn_counts(self, true: Counts, generator: np.random.Generator) -> Counts:
        # Attributes are randomized independently, so one channel after the other is applied.
        return self._along_axes(
            lambda factor, values: factor.randomize_counts(values, generator), true, self.shape
        )

    def reported(self, proportions: npt.ArrayLike) -> Floats:
        x = self._fitting(proportions, "proportions")
        return self._along_axes(lambda factor, part: factor.reported(part), x, self.shape)

    def expected(self, values: npt.ArrayLike) -> Floats:
        x = self._fitting(values, "values", self.reports)
        return self._along_axes(lambda factor, part: factor.expected(part), x, self.report_shape)

    def solve_transposed(self, reported: Floats) -> Floats:
        return self._along_axes(lambda f, x: f.solve_transposed(x), reported, self.report_shape)

    def solve(self, weights: Floats) -> Floats:
        return self._along_axes(lambda factor, values: factor.solve(values), weights, self.shape)

    def moments(self, reported: Floats, power: int) -> Floats:
        # Powers of a product's entries are products of powers.
        return self._along_axes(lambda f, x: f.moments(x, power), reported, self.report_shape)

    def own_moments(self, power: int) -> Floats:
        moments = list[Any](factor.own_moments(power) for factor in self.factors)
        return np.asarray(reduce(np.kron, moments))

    def _along_axes(
        self,
        step: Callable[[Channel, npt.NDArray[Number]], npt.NDArray[Number]],
        values: npt.NDArray[Number],
        shape: tuple[int, ...],
    ) -> npt.NDArray[Number]:
        table = values.reshape(*values.shape[:-1], *shape)
        last = table.ndim - 1
        for at, factor in enumerate(self.factors, start=table.ndim - len(self.factors)):
            before, after = range(at), range(at, last)
            moved = table.transpose(*before, *(axis + 1 for axis in after), at)
            table = step(factor, np.ascontiguousarray(moved)).transpose(*before, last, *after)
        lead = values.shape[:-1]
        return np.ascontiguousarray(table).reshape(*lead, math.prod(table.shape[len(lead) :]))

    def of_least_variance(self, proportions: npt.ArrayLike) -> Channel:
        if self.square:
            return self
        table = self._fitting(proportions, "the proportions").reshape(self.shape)
        axes = range(len(self.factors))
        return ProductChannel(
            tuple(
                factor.of_least_variance(table.sum(axis=tuple(a for a in axes if a != position)))
                for position, factor in enumerate(self.factors)
            )
        )

    def exact_column(self, report: int) -> list[Fraction]:
        joint = [Fraction(1)]
        parts = np.unravel_index(report, self.report_shape)
        for factor, part in zip(self.factors, parts, strict=True):
            own = factor.exact_column(int(part))
            joint = [left * right for left in joint for right in own]
        return joint

    @property
    def exact_parity(self) -> Fraction | None:
        return product_of_ratios(factor.exact_parity for factor in self.factors)

    def parity_of_attribute(self, shape: tuple[int, ...], position: int) -> Fraction | None:
        return self.factors[position].exact_parity

    def _fill_matrix(self) -> Floats:
        matrices = list[Any](factor.matrix() for factor in self.factors)
        return np.asarray(reduce(np.kron, matrices))
