"""Claims made in words, and the tests that decide them.

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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeVar

import numpy as np
import pandas as pd
from scipy import special

from deniable.estimation import Z_95

FALSE_ALARMS = 0.05
SIMILAR = 1.2
"""Medians within this factor of each other count as "no difference" where a claim says that."""

Decision = Literal["holds", "fails", "undecided", "surrogate"]
Row = Mapping[Any, Any]
"""What is compared: ``median`` (of some tables a mean), ``ci_low``, ``ci_high``."""
Pair = tuple[Row, Row]


def _no_test(_: Any) -> "Outcome":
    raise NotImplementedError("this claim has no test")


@dataclass(frozen=True)
class Claim:
    """A claim of the text.

    Attributes
    ----------
    id, section : str
    printed : str
        What the text says, in other words.
    test : str
        What is compared.
    about : str
        What is looked at to decide it, by the names of `decide_claims`.
    decide : callable
        Decides it from that: `Test`.
    """

    id: str
    section: str
    printed: str
    test: str
    about: str = ""
    decide: "Test" = _no_test


@dataclass(frozen=True)
class Outcome:
    """What a test found.

    Attributes
    ----------
    comparisons, support, contradict : int
    figure : str
        The numbers that a reader wants to see.
    as_a_rule : bool
        Whether the claim only says what is so as a rule: then the majority decides.
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


Decide = Callable[[], Outcome]
"""Decides a claim; a `LookupError` says that the tables lack what it takes."""
Test = Callable[[Any], Outcome | Iterable[tuple[str, Decide]]]
"""Decides a claim from what it is about: once, or for each of the readings that it yields."""
Named = TypeVar("Named")
Function = TypeVar("Function", bound=Callable[..., Any])


class Claims(list[Claim]):
    """The claims of a text, in the order in which their tests stand.

    Examples
    --------
    >>> claims = Claims()
    >>> @claims.claim("Large.", "above {n}", section="1", name="above_{n}", cases=[{"n": 2}])
    ... def _above(numbers, n):
    ...     return counted((each > n for each in numbers), range_of(numbers))
    >>> [(each.id, each.test, each.decide([3, 1]).verdict) for each in claims]
    [('above_2', 'above 2', 'fails')]
    """

    def claim(
        self,
        printed: str,
        test: str,
        *,
        section: str,
        about: str = "",
        name: str = "",
        cases: Iterable[Mapping[str, Any]] = ({},),
    ) -> Callable[[Function], Function]:
        """Return a decorator that enters a claim, or one for each case, with its test.

        Parameters
        ----------
        printed, test, section, about : str
            As in `Claim`. What stands in braces is taken from the case.
        name : str
            The id; that of the function, without the underscore before it, if empty.
        cases : iterable of mappings
            Further arguments of the test, by name.
        """

        def enter(function: Function) -> Function:
            known = name or function.__name__.removeprefix("_")
            for case in cases:
                decide = partial(function, **case)
                claim = Claim(known, section, printed, test, about, decide)
                self.append(_filled(claim, case) if case else claim)
            return function

        return enter


def _filled(claim: Claim, case: Mapping[str, Any]) -> Claim:
    texts = ("id", "section", "printed", "test", "about")
    return replace(claim, **{name: getattr(claim, name).format(**case) for name in texts})


@dataclass(frozen=True, eq=False)
class Evidence:
    """What claims are decided from.

    Attributes
    ----------
    settings : tuple of str
        Those it is about, in the order of their columns.
    source : str
        Where the data come from, as in ``data_source``.
    given : object
        What the tests take.
    """

    settings: tuple[str, ...]
    source: str
    given: Any


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

    Parameters
    ----------
    picked_from : int
        As in `near`.
    """
    logs = [(logarithms(first), logarithms(second)) for first, second in pairs]
    return near(logs, math.log(SIMILAR), figure, picked_from)


def near(pairs: Sequence[Pair], most: float, figure: str, picked_from: int = 1) -> Outcome:
    """Test that in each pair the medians are at most so far apart, in units of the median.

    Parameters
    ----------
    picked_from : int
        How many pairs there were for each that is given, if these are the ones farthest apart:
        chance had as many occasions.
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


# -- rows of tables --------------------------------------------------------------------------------


def source_of(table: pd.DataFrame) -> str:
    """Return where the data of a table come from; "none" if it has no rows."""
    return str(table["data_source"].iloc[0]) if len(table) else "none"


def by(table: pd.DataFrame, column: str) -> dict[float, Row]:
    """Return the rows of a table by the value of a column."""
    return {row[column]: row for row in table.to_dict("records")}


def decided(tests: Iterable[tuple[Named, Decide]]) -> Iterator[tuple[Named, Outcome]]:
    """Yield what is decided, as far as the config asked for the cells that it takes."""
    for claim, decide in tests:
        try:
            outcome = decide()
        except LookupError:
            continue
        yield claim, outcome


def decide_claims(
    claims: Iterable[Claim], evidence: Mapping[str, Sequence[Evidence]], *settings: str
) -> pd.DataFrame:
    """Decide claims from what they are about, in the order of the claims.

    Parameters
    ----------
    claims : iterable of Claim
        Each with the test that decides it.
    evidence : mapping
        What there is to look at, by the names that the claims are ``about``.
    *settings : str
        Columns of the settings of the evidence, and last of the readings if tests have several.

    Returns
    -------
    DataFrame
        A row a claim and settings: `claim_columns`. Those that the tables lack cells for are left
        out.
    """
    rows = [
        claim_row(claim, (*found.settings, *reading), outcome, found.source)
        for claim in claims
        for found in evidence.get(claim.about, ())
        for reading, outcome in _outcomes(claim.decide, found.given)
    ]
    return pd.DataFrame(rows, columns=list(claim_columns(*settings)))


def _outcomes(test: Test, given: Any) -> Iterator[tuple[tuple[str, ...], Outcome]]:
    """Yield what a test finds, by reading if it has several, as far as the tables have it."""
    with suppress(LookupError):
        found = test(given)
        if isinstance(found, Outcome):
            yield (), found
        else:
            yield from (((name,), outcome) for name, outcome in decided(found))


def claim_columns(*settings: str) -> tuple[str, ...]:
    """Return the columns of a table of claims, with those of the settings they are decided for."""
    return (
        "claim",
        "section",
        "printed",
        *settings,
        "test",
        "figure",
        "comparisons",
        "support",
        "contradict",
        "verdict",
        "data_source",
    )


CLAIM_COLUMNS = claim_columns("mechanism", "projection")


def claim_row(
    claim: Claim, settings: Sequence[str], outcome: Outcome, source: str
) -> tuple[Any, ...]:
    """Return the row of a claim, in the order of `claim_columns`."""
    verdict = "surrogate" if source == "surrogate" else outcome.verdict
    return (
        claim.id,
        claim.section,
        claim.printed,
        *settings,
        claim.test,
        outcome.figure,
        outcome.comparisons,
        outcome.support,
        outcome.contradict,
        verdict,
        source,
    )


def in_order_of_text(
    rows: Sequence[tuple[Any, ...]], columns: Sequence[str], ids: Iterable[str]
) -> pd.DataFrame:
    """Return rows of claims as a table, in the order of the claims' ids."""
    place = {name: number for number, name in enumerate(ids)}
    table = pd.DataFrame(rows, columns=list(columns))
    ordered = table.sort_values("claim", key=lambda names: names.map(place), kind="stable")
    return ordered.reset_index(drop=True)
