"""Claims made in words, each beside the test that decides it (`deniable.study.comparisons`)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import pandas as pd

from deniable.study.comparisons import Outcome

Decide = Callable[[], Outcome]
"""Decides a claim; a `LookupError` says that the tables lack what it takes."""
Test = Callable[[Any], Outcome | Iterable[tuple[str, Decide]]]
"""Decides a claim from what it is about: once, or for each of the readings that it yields."""
Function = TypeVar("Function", bound=Callable[..., Any])


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
    about: str
    decide: Test


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
                texts = (known, section, printed, test, about)
                filled = (text.format(**case) for text in texts) if case else texts
                self.append(Claim(*filled, partial(function, **case)))
            return function

        return enter


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
        (
            *(claim.id, claim.section, claim.printed, *found.settings, *reading, claim.test),
            *(outcome.figure, outcome.comparisons, outcome.support, outcome.contradict),
            "surrogate" if found.source == "surrogate" else outcome.verdict,
            found.source,
        )
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
            return
        for name, decide in found:
            with suppress(LookupError):
                yield (name,), decide()


def claim_columns(*settings: str) -> tuple[str, ...]:
    """Return the columns of a table of claims, with those of the settings they are decided for."""
    counts = ("figure", "comparisons", "support", "contradict")
    return ("claim", "section", "printed", *settings, "test", *counts, "verdict", "data_source")


CLAIM_COLUMNS = claim_columns("mechanism", "projection")
