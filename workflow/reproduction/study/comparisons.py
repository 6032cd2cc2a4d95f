"""Comparisons of estimates, and the verdict on a claim.

A comparison is a difference, positive if the claim is true, with its standard error. It
**supports** the claim by a one-sided test at `LEVEL`. It **contradicts** the claim by Holm's
procedure at `LEVEL` among all comparisons of the claim.

- A claim about *every* setting, an *order* (each step of it), an *average* (one comparison) or an
  *equality* **holds** if every comparison supports it: an intersection-union test needs no
  correction. It **fails** if one contradicts it. An equality has an equivalence margin. Two
  one-sided tests support it. A test with both tails contradicts it, so that either has its level.
- A claim about *some* setting **holds** if one comparison supports it, by Holm's procedure. It
  **fails** if each comparison contradicts it at `LEVEL`.
- It fails as **better than published** if our value is the better one in all contradictions.
- Otherwise it is **undecided**. An equality with a margin of our choice **depends on the margin**
  if a margin that is a quarter smaller or larger leads to another verdict.

Standard errors are computed from 95 % intervals: normal ones, or Student's if a row has
``freedom``. Estimates are assumed to be independent. Methods that answered the same queries are
compared by the interval of their difference instead.
"""

import math
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import numpy as np
import scipy

from deniable.contingency import holm
from deniable.estimation import Z_95

LEVEL = 0.05
POWER = 0.8
MARGINS = (0.75, 1.0, 1.25)  # factors of a margin of our choice: does the verdict depend on it?
SIMILAR = 1.2  # estimates within this factor of each other count as similar: our choice of margin

Kind = Literal["every", "some", "average", "order", "equality"]
BETTER: Literal["better than published"] = "better than published"
Decision = Literal[
    "holds", "fails", "better than published", "undecided", "depends on the margin", "surrogate"
]
Row = Mapping[Any, Any]
"""An estimate: ``median`` (a mean in some tables), ``ci_low``, ``ci_high``, and for an interval
from few replicates ``freedom``, its degrees of freedom."""
Pair = tuple[Row, Row]
Found = TypeVar("Found", bound=Sized)


@dataclass(frozen=True)
class Comparison:
    """A difference that is above 0 if the claim is true, below 0 if it is false."""

    difference: float  # in the unit of the estimates, or on the log scale
    error: float = 0.0  # its standard error: 0 if it is exact, infinite if nothing is known
    margin: float = 0.0  # of an equality: `difference` is the margin minus the distance
    picked_from: int = 1  # number of estimates that a compared one is an extreme of (Bonferroni)
    freedom: float = math.inf  # degrees of freedom of the standard error
    equality: bool = False  # whether it compares a distance with a margin, on both sides
    better: bool = False  # whether our value is better than the published value of an equality

    def p_value(self, sign: Literal[1, -1]) -> float:
        """Return the p-value of the test that supports (`sign` 1) or contradicts (-1) the claim.

        A distance contradicts an equality by both tails at the margin. If the margin is m standard
        errors, a distance of x or more has the probability Pr(Z > x - m) + Pr(Z > x + m) there.
        """
        if not self.error or not self.difference or math.isinf(self.error):
            return 0.0 if sign * self.difference > 0 and not self.error else 1.0
        ends = [-sign * self.difference]
        if self.equality and sign < 0:
            ends.append(self.difference - 2 * self.margin)
        tail = sum(float(scipy.special.stdtr(self.freedom, end / self.error)) for end in ends)
        return min(1.0, self.picked_from * tail)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the difference."""
        reach = _quantile(0.975, self.freedom) * self.error if self.error else 0.0
        return self.difference - reach, self.difference + reach

    @property
    def detectable(self) -> float:
        """The smallest difference that the test detects with 80 % power."""
        reach = (_quantile(each, self.freedom) for each in (1 - LEVEL / self.picked_from, POWER))
        return sum(reach) * self.error


UNKNOWN = Comparison(0.0, math.inf)  # neither supports a claim nor contradicts it


@dataclass(frozen=True)
class Outcome:
    """The comparisons that decide a claim."""

    comparisons: tuple[Comparison, ...]  # if empty, the claim is undecided
    figure: str  # the numbers for the reader, or the reason why there is no comparison
    kind: Kind = "every"  # of the claim
    our_margin: bool = False  # whether an equality has our margin instead of the text's precision

    @property
    def support(self) -> int:
        found = [each.p_value(1) for each in self.comparisons]
        return rejected(found) if self.kind == "some" else sum(p <= LEVEL for p in found)

    @property
    def contradict(self) -> int:
        found = [each.p_value(-1) for each in self.comparisons]
        return sum(p <= LEVEL for p in found) if self.kind == "some" else rejected(found)

    @property
    def p_values(self) -> tuple[float, float]:
        """The p-values of "holds" and "fails". A verdict is reached if its p-value <= `LEVEL`."""
        if not self.comparisons:
            return 1.0, 1.0
        found = [[each.p_value(sign) for each in self.comparisons] for sign in (1, -1)]
        at_once = [min(1.0, len(each) * min(each)) for each in found]
        if self.kind == "some":
            return at_once[0], max(found[1])
        return max(found[0]), at_once[1]

    @property
    def verdict(self) -> Decision:
        verdicts: set[Decision] = set()
        for factor in MARGINS if self.our_margin else (1.0,):
            holds, fails = self.with_margin(factor).p_values
            verdicts.add("fails" if fails <= LEVEL else "holds" if holds <= LEVEL else "undecided")
        if verdicts == {"fails"} and all(each.better for each in self.contradictions):
            return BETTER
        return verdicts.pop() if len(verdicts) == 1 else "depends on the margin"

    @property
    def contradictions(self) -> list[Comparison]:
        """The comparisons that contradict the claim, smallest p-value first."""
        return sorted(self.comparisons, key=lambda each: each.p_value(-1))[: self.contradict]

    @property
    def worst(self) -> Comparison | None:
        """The comparison with the least support for the claim, among those with finite errors."""
        told = [each for each in self.comparisons if math.isfinite(each.error)]
        return max(told, key=lambda each: (each.p_value(1), -each.difference), default=None)

    def with_margin(self, factor: float) -> "Outcome":
        """Return the outcome with each equivalence margin multiplied by a `factor` above 0."""
        moved = []
        for each in self.comparisons:
            difference = each.difference + (factor - 1) * each.margin
            moved.append(replace(each, difference=difference, margin=factor * each.margin))
        return replace(self, comparisons=tuple(moved))

    @property
    def support_by_margin(self) -> str:
        """The number of comparisons that support the claim with each factor of `MARGINS`."""
        tried = (self.with_margin(factor).support for factor in MARGINS)
        return " / ".join(map(str, tried)) + f" of {len(self.comparisons)}"


def rejected(p_values: Iterable[float]) -> int:
    """Return the number of hypotheses that Holm's procedure rejects at `LEVEL`, by `p_values`.

    >>> rejected([0.01, 0.04, 0.03]), rejected([0.01, 0.02, 0.03])
    (1, 3)
    """
    return int(np.count_nonzero(holm([*p_values]) <= LEVEL))


def below(pairs: Sequence[Pair], figure: str) -> Outcome:
    """Test that the first of each of `pairs` is below the second; `figure` is for the reader."""
    return Outcome(tuple(_above(second, first) for first, second in pairs), figure)


def below_one(ratios: Iterable[Row], figure: str) -> Outcome:
    """Test on the log scale that each of `ratios` is below 1; `figure` is as in `below`."""
    return below([(logarithms(row), exact_row(0.0)) for row in ratios], figure)


def on_average(pairs: Sequence[Pair], figure: str) -> Outcome:
    """Test that `pairs` are in order on average over logarithms; `figure` is as in `below`."""
    each = [_above(logarithms(second), logarithms(first)) for first, second in pairs]
    mean = math.fsum(one.difference for one in each) / len(each)
    error = math.hypot(*(one.error for one in each)) / len(each)
    return Outcome((Comparison(mean, error),), figure)


def equivalent(pairs: Sequence[Pair], figure: str, factor: float = SIMILAR) -> Outcome:
    """Test that `pairs` differ by at most a `factor`, our margin; `figure` is as in `below`."""
    logs = [(logarithms(first), logarithms(second)) for first, second in pairs]
    return replace(within_tolerance(logs, math.log(factor), figure), our_margin=True)


def within_tolerance(
    pairs: Sequence[Pair],
    margin: float,
    figure: str,
    picked_from: int = 1,
    *,
    larger_is_better: bool = False,
) -> Outcome:
    """Test that in each of `pairs` the estimates are at most `margin` apart, in their unit.

    An estimate is the extreme of `picked_from` estimates. The `figure` is as in `below`. With
    `larger_is_better`, the first of a pair is our value, and better if it is above the second, the
    published one.
    """
    found = (
        replace(
            gap,
            difference=margin - abs(gap.difference),
            margin=margin,
            picked_from=picked_from,
            equality=True,
            better=larger_is_better and gap.difference > 0,
        )
        for gap in (_above(*pair) for pair in pairs)
    )
    return Outcome(tuple(found), figure)


def _above(first: Row, second: Row) -> Comparison:
    difference = float(first["median"]) - float(second["median"])
    errors = _error(first), _error(second)
    error = math.hypot(*errors)
    if first["median"] == second["median"]:
        difference = 0.0  # also if both are infinite
    if not error or math.isinf(error):
        return Comparison(difference, error)
    # Degrees of freedom by Welch and Satterthwaite.
    pairs = zip(errors, (first, second), strict=True)
    parts = sum((each / error) ** 4 / row.get("freedom", math.inf) for each, row in pairs)
    return Comparison(difference, error, freedom=1 / parts if parts else math.inf)


def ratio(first: Row, second: Row) -> dict[str, float]:
    """Return the ratio of two independent medians, `first` to `second`, with its interval.

    The interval is computed on the log scale. A positive number over 0 is infinite, 0 over 0 is
    NaN. If an interval reaches 0, the interval of the ratio is 0 to infinity.
    """
    found = _above(logarithms(first), logarithms(second))
    if second["median"]:
        value = float(first["median"]) / float(second["median"])
    else:
        value = math.inf if first["median"] else math.nan
    if math.isinf(found.error) or math.isnan(value):
        return {"median": value, "ci_low": 0.0, "ci_high": math.inf}
    spread = math.exp(_quantile(0.975, found.freedom) * found.error)
    row = {"median": value, "ci_low": value / spread, "ci_high": value * spread}
    return row | ({"freedom": found.freedom} if math.isfinite(found.freedom) else {})


def pooled(rows: Sequence[Row]) -> dict[str, float]:
    """Return the mean, with its interval, of `rows`: independent estimates of one quantity."""
    if len(rows) == 1:
        return {name: float(rows[0][name]) for name in ("median", "ci_low", "ci_high")}
    value = math.fsum(float(row["median"]) for row in rows) / len(rows)
    reach = Z_95 * math.hypot(*map(_error, rows)) / len(rows)
    if math.isinf(reach):
        return {"median": value, "ci_low": -math.inf, "ci_high": math.inf}
    return {"median": value, "ci_low": value - reach, "ci_high": value + reach}


def logarithms(row: Row) -> dict[str, float]:
    """Return a `row` with the logarithms of its estimate and interval."""
    numbers = {name: row[name] for name in ("median", "ci_low", "ci_high")}
    return {**row, **{k: math.log(v) if v > 0 else -math.inf for k, v in numbers.items()}}


def _error(row: Row) -> float:
    low, high = float(row["ci_low"]), float(row["ci_high"])
    reach = _quantile(0.975, row.get("freedom", math.inf))
    return 0.0 if low == high else (high - low) / (2 * reach)


def _quantile(probability: float, freedom: float) -> float:
    """Return a quantile of Student's distribution; of the normal one for infinite `freedom`."""
    return float(scipy.special.stdtrit(freedom, probability))


def exact_row(value: float) -> Row:
    """Return a row with an exact `value`."""
    return {"median": value, "ci_low": value, "ci_high": value}


def counted(decisions: Iterable[bool], figure: str) -> Outcome:
    """Return the outcome of exact `decisions`, with a `figure`; raise `LookupError` if none."""
    found = tuple(Comparison(1.0 if each else -1.0) for each in decisions)
    return Outcome(require_any(found, "anything to decide from"), figure)


def require_any(found: Found, what: str = "any cells to compare") -> Found:
    """Return the values `found`; if there are none, raise `LookupError` with their name, `what`."""
    if not len(found):
        raise LookupError(what)
    return found


def listed(values: Mapping[str, float]) -> str:
    """Return names and `values` as text."""
    return ", ".join(f"{name}: {value:.3g}" for name, value in values.items())


def range_of(values: Iterable[float], style: str = ".3g") -> str:
    """Return the range of `values` in a format, `style`; raise a `LookupError` if there are none.

    >>> range_of([3, 1, 2.5])
    '1 to 3'
    """
    found = require_any(list(values), "any numbers")
    return f"{min(found):{style}} to {max(found):{style}}"


def ratios_of(pairs: Iterable[Pair]) -> str:
    """Return the range of the finite ratios of first to second in `pairs`."""
    return range_of(a["median"] / b["median"] for a, b in pairs if b["median"])
