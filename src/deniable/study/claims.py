"""Claims made in words, each beside the test that decides it (`deniable.study.comparisons`)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import pandas as pd

from deniable.study.comparisons import Outcome, Row

Decide = Callable[[], Outcome]
"""Decides a claim; a `LookupError` says that the tables lack what it takes."""
Test = Callable[[Any], Outcome | Iterable[tuple[str, Decide]]]
"""Decides a claim from what it is about: once, or for each of the readings that it yields."""
Named = TypeVar("Named")
Function = TypeVar("Function", bound=Callable[..., Any])


def _no_test(_: Any) -> Outcome:
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
    decide: Test = _no_test


class Claims(list[Claim]):
    """The claims of a text, in the order in which their tests stand.

    Examples
    --------
    >>> from deniable.study.comparisons import counted
    >>> claims = Claims()
    >>> @claims.claim("Large.", "above {n}", section="1", name="above_{n}", cases=[{"n": 2}])
    ... def _above(numbers, n):
    ...     return counted((each > n for each in numbers), "")
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
