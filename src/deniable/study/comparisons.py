"""Comparisons of medians, and what they say of a claim.

A claim compares medians. Two medians differ beyond chance if their difference exceeds its error,
taken from both 95 % intervals, by the normal quantile that keeps the chance of any false alarm
among all comparisons of a claim at 5 % (Bonferroni).

- A claim **fails** if a comparison contradicts it beyond chance,
- **holds** if none does and at least one supports it beyond chance,
- (a claim of what is so "as a rule" goes by the larger number of these),
- and is **undecided** if the runs cannot tell.

How many of the comparisons support and contradict it stands beside the verdict.

Medians are taken as independent. Methods that answered the same queries from the same reports are
not: their medians rise and fall together, which makes these tests conservative.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import special

from deniable.estimation import Z_95

FALSE_ALARMS = 0.05
SIMILAR = 1.2
"""Medians within this factor of each other count as "no difference" where a claim says that."""

Decision = Literal["holds", "fails", "undecided", "surrogate"]
Row = Mapping[Any, Any]
"""What is compared: ``median`` (of some tables a mean), ``ci_low``, ``ci_high``."""
Pair = tuple[Row, Row]


@dataclass(frozen=True)
class Outcome:
    """What a test found: how many comparisons there were, and how many support and contradict.

    ``figure`` has the numbers that a reader wants to see. If the claim only says what is so
    ``as_a_rule``, the majority decides.
    """

    comparisons: int
    support: int
    contradict: int
    figure: str
    as_a_rule: bool = False

    @property
    def verdict(self) -> Decision:
        """Return whether the claim holds."""
        if self.contradict and not (self.as_a_rule and self.contradict < self.support):
            return "fails"
        return "holds" if self.support else "undecided"


# -- comparisons that chance has a part in ---------------------------------------------------------


def z_score(pair: Pair) -> float:
    """Return how many standard errors the first median lies above the second.

    0 where an interval is infinite, for nothing is known then; infinite where medians without any
    error differ.
    """
    error = _common_error(pair)
    difference = _difference(pair)
    if not difference or math.isinf(error):
        return 0.0
    return difference / error if error > 0 else math.copysign(math.inf, difference)


def below(pairs: Sequence[Pair], figure: str) -> Outcome:
    """Test that in each pair the first median is below the second."""
    scores = np.array([z_score(pair) for pair in pairs])
    limit = _limit(len(pairs))
    return Outcome(len(pairs), int(np.sum(scores < -limit)), int(np.sum(scores > limit)), figure)


def alike(pairs: Sequence[Pair], figure: str, picked_from: int = 1) -> Outcome:
    """Test that in each pair the medians are alike, within the factor `SIMILAR`.

    A pair contradicts if it is not alike beyond chance, supports if it is alike beyond chance. An
    interval that reaches 0 is infinite on the scale of factors, so its pair does neither.
    ``picked_from`` is as in `near`.
    """
    logs = [(logarithms(first), logarithms(second)) for first, second in pairs]
    return near(logs, math.log(SIMILAR), figure, picked_from)


def near(pairs: Sequence[Pair], most: float, figure: str, picked_from: int = 1) -> Outcome:
    """Test that in each pair the medians are at most so far apart, in units of the median.

    If these are the pairs farthest apart, each is ``picked_from`` so many: chance had as many
    occasions.
    """
    limit = _limit(len(pairs) * picked_from)
    support = contradict = 0
    for pair in pairs:
        apart, reach = abs(_difference(pair)), limit * _common_error(pair)
        support += bool(apart + reach < most)
        contradict += bool(apart - reach > most)
    return Outcome(len(pairs), support, contradict, figure)


def ratio(first: Row, second: Row) -> dict[str, float]:
    """Return the ratio of two independent medians with its interval, on the log scale.

    To 0 the ratio is infinite, of 0 to 0 not a number; where an interval reaches 0, that of the
    ratio is from 0 to infinity.
    """
    error = _common_error((logarithms(first), logarithms(second)))
    if second["median"]:
        value = float(first["median"]) / float(second["median"])
    else:
        value = math.inf if first["median"] else math.nan
    if math.isinf(error) or math.isnan(value):
        return {"median": value, "ci_low": 0.0, "ci_high": math.inf}
    spread = math.exp(Z_95 * error)
    return {"median": value, "ci_low": value / spread, "ci_high": value * spread}


def logarithms(row: Row) -> dict[str, float]:
    """Return a row on the log scale."""
    return {
        name: math.log(row[name]) if row[name] > 0 else -math.inf
        for name in ("median", "ci_low", "ci_high")
    }


def _limit(comparisons: int) -> float:
    """Return how many standard errors any of the comparisons exceeds at the rate FALSE_ALARMS."""
    return float(-special.ndtri(FALSE_ALARMS / 2 / max(comparisons, 1)))


def _difference(pair: Pair) -> float:
    first, second = (float(row["median"]) for row in pair)
    return 0.0 if first == second else first - second  # also if both are infinite


def _common_error(pair: Pair) -> float:
    """Return the standard error of the difference of two medians, from their intervals."""
    return math.hypot(*(_error(row["ci_low"], row["ci_high"]) for row in pair))


def _error(low: float, high: float) -> float:
    return 0.0 if low == high else (float(high) - float(low)) / (2 * Z_95)


# -- what is known without error, and nothing ------------------------------------------------------


def known(value: float) -> Row:
    """Return a number without error as a row."""
    return {"median": value, "ci_low": value, "ci_high": value}


def counted(decisions: Iterable[bool], figure: str) -> Outcome:
    """Return the outcome of decisions without error: each supports or contradicts.

    Raises
    ------
    LookupError
        If there are none.
    """
    found = [bool(decision) for decision in decisions]
    if not found:
        raise LookupError("nothing to decide")
    return Outcome(len(found), sum(found), len(found) - sum(found), figure)


def some(pairs: Sequence[Pair]) -> Sequence[Pair]:
    """Return pairs to compare; a `LookupError` says that there are none."""
    if not pairs:
        raise LookupError("the tables have nothing to compare")
    return pairs


# -- as a reader wants it --------------------------------------------------------------------------


def listed(values: Mapping[str, float]) -> str:
    """Return numbers by name."""
    return ", ".join(f"{name}: {value:.3g}" for name, value in values.items())


def range_of(values: Iterable[float], style: str = ".3g") -> str:
    """Return the range of numbers; a `LookupError` says that there are none.

    Examples
    --------
    >>> range_of([3, 1, 2.5])
    '1 to 3'
    """
    found = list(values)
    if not found:
        raise LookupError("no numbers")
    return f"{min(found):{style}} to {max(found):{style}}"


def ratios_of(pairs: Iterable[Pair]) -> str:
    """Return the range of the ratios of first to second, as far as they are finite."""
    return range_of(
        first["median"] / second["median"] for first, second in pairs if second["median"]
    )
