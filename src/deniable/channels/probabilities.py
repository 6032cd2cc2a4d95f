"""Probabilities as rational numbers: those that a user writes, and those that a channel draws."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.channels import Channel, KeepOrReplace, ProductChannel
from deniable.channels.base import ROW_SUM_TOLERANCE
from deniable.errors import ChannelError, DeniableError

Number = float | Fraction


def as_written(value: Number | str) -> Fraction:
    """Return a number as a fraction, a float by its shortest decimal form: 0.1 is 1/10."""
    try:
        return value if isinstance(value, Fraction) else Fraction(str(value))
    except ValueError:
        raise DeniableError(f"{value!r} is no finite number; give a float or a Fraction") from None


def proportion(value: Number, name: str) -> Fraction:
    """Return a number that must be in (0, 1) as a fraction."""
    exact = as_written(value)
    if not 0 < exact < 1:
        raise DeniableError(f"{name} is {value}; it must be in (0, 1)")
    return exact


def thresholds(rho_1: Number, rho_2: Number) -> tuple[Fraction, Fraction]:
    """Return rho_1 and rho_2 as fractions, 0 < rho_1 < rho_2 < 1."""
    low, high = proportion(rho_1, "rho_1"), proportion(rho_2, "rho_2")
    if low >= high:
        raise DeniableError(f"rho_1 is {rho_1}, rho_2 is {rho_2}; rho_1 must be the smaller one")
    return low, high


def exact_distribution(
    channel: Channel, prior: Sequence[Number] | npt.ArrayLike
) -> tuple[Fraction, ...]:
    """Return the prior as fractions of sum 1, in the proportions given."""
    values = [as_written(value) for value in np.asarray(prior, dtype=object).ravel()]
    total = sum(values, Fraction())
    if len(values) != channel.size:
        raise ChannelError(
            f"a prior of {len(values)} probabilities does not fit a channel over {channel.size} "
            "categories; give one a category"
        )
    if min(values) < 0 or abs(total - 1) > ROW_SUM_TOLERANCE:
        raise ChannelError("the prior must be one distribution: not negative, sum 1")
    return tuple(value / total for value in values)


@dataclass(frozen=True, eq=False)
class ExactMatrix:
    """The matrix that a channel draws from, column by column in fractions."""

    channel: Channel

    def column(self, report: int) -> list[Fraction]:
        """Return Pr(report | true category) for each true category."""
        channel = self.channel
        if isinstance(channel, KeepOrReplace):
            diagonal, elsewhere = channel.exact_entries(report)
            return [diagonal if u == report else elsewhere for u in range(channel.size)]
        if isinstance(channel, ProductChannel):
            joint = [Fraction(1)]
            for factor, part in zip(
                channel.factors, np.unravel_index(report, channel.shape), strict=True
            ):
                own = ExactMatrix(factor).column(int(part))
                joint = [left * right for left in joint for right in own]
            return joint
        entries = self._matrix[:, report].tolist()
        return [Fraction(p) / total for p, total in zip(entries, self._row_sums, strict=True)]

    @cached_property
    def _matrix(self) -> Floats:
        return self.channel.matrix()

    @cached_property
    def _row_sums(self) -> list[Fraction]:
        return [_exact_sum(row) for row in self._matrix]


def _exact_sum(values: Floats) -> Fraction:
    """Sum floats exactly: whole mantissas in two halves, exponent by exponent."""
    fractions, exponents = np.frexp(values)
    mantissas = (fractions * 2.0**53).astype(np.int64)
    lowest = int(exponents.min())
    high = np.bincount(exponents - lowest, mantissas >> 26)
    low = np.bincount(exponents - lowest, mantissas & (2**26 - 1))
    whole = 0
    for step, (upper, lower) in enumerate(zip(high.tolist(), low.tolist(), strict=True)):
        whole += ((int(upper) << 26) + int(lower)) << step
    return whole * Fraction(2) ** (lowest - 53)
