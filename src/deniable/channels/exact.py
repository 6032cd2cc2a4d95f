"""Exact probabilities: checks, ratios, rounded logarithms, and floats closest to an epsilon."""

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache
from numbers import Real

import numpy as np
import numpy.typing as npt

from deniable.arrays import Flags, Floats
from deniable.errors import ChannelError, DeniableError, shown

MAX_EPSILON = 30.0  # exp(30) is 10^13: with a larger one no value would ever be replaced
ROW_SUM_TOLERANCE = 1e-9
# With 100 digits, a ratio that is not within 1e-20 of 1 has 60 digits more than a float, so that
# the direction of rounding is certain.
_PRECISE = Context(prec=100)
_SLACK = Decimal("1e-60")
_CLOSE_TO_ONE = Fraction(1, 10**20)

Number = float | Fraction
Prior = Sequence[Number] | npt.ArrayLike  # a probability for each category, by its decimals


def as_written(value: Number | str) -> Fraction:
    """Return the number `value` as a fraction; floats by their shortest decimals: 0.1 is 1/10."""
    try:
        return value if isinstance(value, Fraction) else Fraction(str(value))
    except ValueError:
        raise DeniableError(
            f"{value!r} is not a finite number; give a float or a Fraction"
        ) from None


def proportion(value: Number, name: str) -> Fraction:
    """Return a `value` as a fraction; raise `DeniableError`, with its `name`, if not in (0, 1)."""
    exact = as_written(value)
    if not 0 < exact < 1:
        raise DeniableError(f"{name} is {value}; it must be in (0, 1)")
    return exact


def thresholds(rho_1: Number, rho_2: Number) -> tuple[Fraction, Fraction]:
    """Return `rho_1` and `rho_2` as fractions; raise `DeniableError` unless 0 < 1st < 2nd < 1."""
    low, high = proportion(rho_1, "rho_1"), proportion(rho_2, "rho_2")
    if low >= high:
        raise DeniableError(f"rho_1 is {rho_1}, rho_2 is {rho_2}; rho_1 must be the smaller one")
    return low, high


def exact_distribution(size: int, prior: Prior) -> tuple[Fraction, ...]:
    """Return a `prior` over `size` categories as fractions of sum 1.

    Raises `ChannelError` if an entry is negative or the given sum is not 1 within 1e-9.
    """
    values = [as_written(value) for value in np.asarray(prior, dtype=object).ravel()]
    total = sum(values, Fraction())
    if len(values) != size:
        raise ChannelError(
            f"a prior of {len(values)} probabilities does not fit a channel over {size} "
            "categories; give one per category"
        )
    if min(values) < 0 or abs(total - 1) > ROW_SUM_TOLERANCE:
        raise ChannelError("the prior must be one distribution: not negative, sum 1")
    return tuple(value / total for value in values)


def exact_ratio(larger: float | Fraction, smaller: float | Fraction) -> Fraction | None:
    """Return `larger` / `smaller`; 0/0 is 1 and a/0 is None (infinite) ([pram], Definition 3.3)."""
    if larger == smaller:
        return Fraction(1)
    return Fraction(larger) / Fraction(smaller) if smaller else None


def product_of_ratios(ratios: Iterable[Fraction | None]) -> Fraction | None:
    """Return the product of `ratios`, or None (infinite) if one of them is None."""
    product = Fraction(1)
    for ratio in ratios:
        if ratio is None:
            return None
        product *= ratio
    return product


def rounded_up(ratio: Fraction | None) -> float:
    """Return the smallest float that is not below `ratio`; infinity for None."""
    if ratio is None:
        return math.inf
    try:
        nearest = ratio.numerator / ratio.denominator
    except OverflowError:  # above the largest float, for example a product of many attributes
        return math.inf
    return nearest if Fraction(nearest) >= ratio else math.nextafter(nearest, math.inf)


def rounded_down(exact: Fraction) -> float:
    """Return the largest float that is not above `exact`."""
    nearest = exact.numerator / exact.denominator
    return nearest if Fraction(nearest) <= exact else math.nextafter(nearest, -math.inf)


def log_rounded_up(ratio: Fraction | None) -> float:
    """Return a float not below ln(`ratio`), at most one float above it, for a ratio >= 1.

    The result is infinite for None, an infinite ratio.
    """
    if ratio is None:
        return math.inf
    if ratio - 1 < _CLOSE_TO_ONE:
        return rounded_up(ratio - 1)  # ln(1 + x) is below x, by less than the precision of floats
    logarithm = _PRECISE.ln(_PRECISE.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)))
    nearest = float(logarithm)
    certain = Decimal(nearest) >= logarithm + abs(logarithm) * _SLACK
    return nearest if certain else math.nextafter(nearest, math.inf)


def largest_column_ratio(matrix: Floats) -> Fraction | None:
    """Return max over columns of (largest / smallest entry) of a `matrix`; None if infinite.

    The ratio is exact: each entry is divided by the exact sum of its row.
    """
    sums = matrix.sum(axis=1, keepdims=True)
    larger, smaller = (matrix / sums).max(axis=0), (matrix / sums).min(axis=0)
    if np.any((smaller == 0) & (larger > 0)):
        return None
    with np.errstate(invalid="ignore", over="ignore"):
        approximate = np.where(larger == smaller, 1.0, larger / smaller)
    # Floats find the few columns that may have the largest ratio; fractions decide among them.
    near = np.flatnonzero(approximate >= approximate.max() * (1 - 1e-12))
    sum_of_row = cache(lambda u: exact_sum(matrix[u]))
    rising: list[int] = []  # rows sorted by their exact sums, when needed

    def shares(candidates: Flags, v: int, step: int) -> list[Fraction]:
        """Return exact probabilities of a column's candidates, one for each distinct entry."""
        rows = np.flatnonzero(candidates)
        if rows.size > 1:  # among equal entries, the row with the extreme sum decides
            rising[:] = rising or sorted(range(len(matrix)), key=sum_of_row)
            rows = np.array(rising[::step])
            rows = rows[candidates[rows]]
            rows = rows[np.unique(matrix[rows, v], return_index=True)[1]]
        return [Fraction(float(matrix[u, v])) / sum_of_row(u) for u in rows.tolist()]

    worst = Fraction(1)
    for v in near[larger[near] > 0].tolist():
        column = matrix[:, v] / sums[:, 0]
        largest = max(shares(column >= larger[v] * (1 - 1e-12), v, 1))
        smallest = min(shares(column <= smaller[v] * (1 + 1e-12), v, -1))
        worst = max(worst, largest / smallest)
    return worst


def exact_sum(values: Floats) -> Fraction:
    """Return the exact sum of `values`, from their whole mantissas."""
    fractions, exponents = np.frexp(values)
    mantissas = (fractions * 2.0**53).astype(np.int64).astype(object)
    lowest = int(exponents.min())
    whole = int((mantissas << (exponents - lowest).astype(object)).sum())
    return whole * Fraction(2) ** (lowest - 53)


def refuse_no_number(name: str, value: object) -> None:
    """Raise `ChannelError` unless `value`, called `name`, is one number in the range of floats."""
    if type(value) is float:  # the usual case, checked 40 times as fast
        return
    if isinstance(value, Real) and not isinstance(value, bool):
        with suppress(OverflowError):
            float(value)
            return
    raise ChannelError(f"{name} is {shown(value)}; give one number, such as 0.5")


def numbers_in(name: str, values: object) -> Floats:
    """Return a copy of `values`, called `name`; raise `ChannelError` unless they are numbers."""
    try:
        return np.array(values, dtype=float) + 0.0  # no negative zero
    except (TypeError, ValueError, OverflowError) as error:
        raise ChannelError(
            f"{name} is {shown(values)}, which is not an array of numbers ({error}); give numbers, "
            "in rows of equal length"
        ) from None


def refuse_epsilon(epsilon: float) -> None:
    """Raise `ChannelError` unless `epsilon` is above 0 and at most 30."""
    refuse_no_number("epsilon", epsilon)
    if not 0 < epsilon <= MAX_EPSILON:
        raise ChannelError(f"epsilon is {epsilon}; it must be above 0 and at most {MAX_EPSILON:g}")


def refuse_bad_budget(epsilon: float) -> None:
    """Raise `DeniableError` unless `epsilon`, a budget, is a finite number above 0."""
    refuse_no_number("epsilon", epsilon)
    if not 0 < epsilon < math.inf:
        raise DeniableError(f"epsilon is {epsilon}; it must be a finite number above 0")


def closest_within(
    epsilon: float, first: float, parity: Callable[[float], Fraction], growing: bool = True
) -> float:
    """Return the probability with the largest exact epsilon that is not above `epsilon`.

    The search continues float by float from `first`, the probability apart from rounding. The
    `parity` of a probability is exact, and below 1 if the true value is less likely than another.
    It increases with the probability if `growing`, else it decreases. Raises `ChannelError` if
    epsilon is not in (0, 30], or too small for floats.
    """
    refuse_epsilon(epsilon)

    def within(probability: float) -> bool:
        ratio = parity(probability)
        return ratio <= 1 or log_rounded_up(ratio) <= epsilon

    less, more = (0.0, 1.0) if growing else (1.0, 0.0)
    found = min(first, math.nextafter(1.0, 0.0))  # at 1 the parity is not defined
    while not within(found):
        found = math.nextafter(found, less)
    while 0 < (larger := math.nextafter(found, more)) < 1 and within(larger):
        found = larger
    if parity(found) <= 1:
        raise ChannelError(
            f"epsilon is {epsilon:g}, which is too small for floats to meet; give a larger one"
        )
    return found
