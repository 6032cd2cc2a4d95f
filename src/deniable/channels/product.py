"""Products of channels: attributes randomized independently of each other."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from deniable.arrays import Codes, Counts, Floats
from deniable.channels.base import Channel
from deniable.errors import ChannelError
from deniable.records import LARGEST_RAVELLED_DOMAIN, refuse_foreign_codes
from deniable.sampling import RandomSource

Number = TypeVar("Number", bound=np.generic)


@dataclass(frozen=True, eq=False)
class ProductChannel(Channel):
    """The Kronecker product of channels, one an attribute, never formed as one matrix.

    Cells are numbered as `Domain.ravel` numbers them: the last attribute runs fastest. Draws and
    inverses go along one axis of the table at a time.

    The parity of the product is the product of the parities, its epsilon their sum: independent
    reports of one record compose exactly (the worst pair of records is worst on every attribute).

    Parameters
    ----------
    factors : tuple of Channel

    Examples
    --------
    >>> from deniable.channels import KeepOrReplace
    >>> coin = KeepOrReplace.uniform(2, keep=0.5)
    >>> ProductChannel((coin, coin)).parity
    9.0
    """

    factors: tuple[Channel, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "factors", tuple(self.factors))
        if not self.factors:
            raise ChannelError("a product needs at least one channel")

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of categories of each attribute."""
        return tuple(factor.size for factor in self.factors)

    @property
    def size(self) -> int:
        """Number of cells."""
        return math.prod(self.shape)

    @property
    def singular(self) -> bool:
        """Whether a factor is singular."""
        return any(factor.singular for factor in self.factors)

    def margin(self, positions: Sequence[int]) -> "ProductChannel":
        """Return the channel of some of the attributes: margins pass through it alone."""
        return ProductChannel(tuple(self.factors[position] for position in positions))

    def randomize_columns(
        self, columns: Sequence[Codes], source: RandomSource
    ) -> tuple[Codes, ...]:
        """Randomize records kept as one column of codes an attribute."""
        if len(columns) != len(self.factors):
            raise ChannelError(f"{len(self.factors)} channels, but {len(columns)} columns of codes")
        return tuple(
            factor.randomize(column, source)
            for factor, column in zip(self.factors, columns, strict=True)
        )

    def randomize(self, codes: Codes, source: RandomSource) -> Codes:
        """Randomize records kept as codes of joint cells; see `Channel.randomize`."""
        joint = np.asarray(codes)
        refuse_foreign_codes(joint, self.size, "the codes to randomize")
        if self.size > LARGEST_RAVELLED_DOMAIN:
            raise ChannelError(
                f"{self.size:.3g} joint cells are too many for 64-bit codes; "
                "randomize the attributes with randomize_columns"
            )
        columns = np.unravel_index(joint, self.shape)
        reports = self.randomize_columns(columns, source)
        return np.ravel_multi_index(reports, self.shape).astype(joint.dtype)

    def randomize_counts(self, counts: npt.ArrayLike, generator: np.random.Generator) -> Counts:
        """Draw counts of reports, axis by axis; see `Channel.randomize_counts`.

        Exact: attributes are randomized independently, so each table cell's records may pass
        through one attribute's channel after the other.
        """
        table = self._whole_counts(counts)

        def draw(factor: Channel, values: Counts) -> Counts:
            return factor.randomize_counts(values, generator)

        return self._along_axes(draw, table)

    def reported(self, proportions: npt.ArrayLike) -> Floats:
        """Return the distribution of reports."""
        x = np.asarray(proportions, dtype=float)
        self._refuse_misfit(x, "proportions")
        return self._along_axes(lambda factor, values: factor.reported(values), x)

    def expected(self, values: npt.ArrayLike) -> Floats:
        """Return the expectation of x(report) for each true cell."""
        x = np.asarray(values, dtype=float)
        self._refuse_misfit(x, "values")
        return self._along_axes(lambda factor, part: factor.expected(part), x)

    def _solve_transposed(self, reported: Floats) -> Floats:
        return self._along_axes(lambda factor, values: factor._solve_transposed(values), reported)

    def _solve(self, weights: Floats) -> Floats:
        return self._along_axes(lambda factor, values: factor._solve(values), weights)

    def _second_moments(self, reported: Floats) -> Floats:
        # Squares of a product's entries are products of squares.
        return self._along_axes(lambda factor, values: factor._second_moments(values), reported)

    def _along_axes(
        self,
        step: Callable[[Channel, npt.NDArray[Number]], npt.NDArray[Number]],
        values: npt.NDArray[Number],
    ) -> npt.NDArray[Number]:
        table = values.reshape(*values.shape[:-1], *self.shape)
        for position, factor in enumerate(self.factors):
            axis = position - len(self.factors)
            moved = np.ascontiguousarray(np.moveaxis(table, axis, -1))
            table = np.moveaxis(step(factor, moved), -1, axis)
        return np.ascontiguousarray(table).reshape(values.shape)

    def _largest_ratio(self) -> Fraction | None:
        parities = [factor._largest_ratio() for factor in self.factors]
        if any(parity is None for parity in parities):
            return None
        return math.prod((p for p in parities if p is not None), start=Fraction(1))

    def _fill_matrix(self) -> Floats:
        matrix: Floats = np.ones((1, 1))
        for factor in self.factors:
            matrix = np.asarray(np.kron(matrix, factor._fill_matrix()), dtype=float)
        return matrix
