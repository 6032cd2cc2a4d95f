"""Claims made in words, with the tests that decide them (`reproduction.study.comparisons`)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import nan
from typing import Any, TypeVar

import pandas as pd

from reproduction.study.comparisons import BETTER, UNKNOWN, Kind, Outcome, rejected

Decide = Callable[[], Outcome]
"""A function that decides a claim. It raises a `LookupError` if the tables lack its cells."""
Readings = Iterable[tuple[str, Decide]]
"""The interpretations of a claim ("readings"): the name of each, and the function for it."""
Test = Callable[[Any], Outcome | Readings]
"""A function that decides a claim from its evidence, or returns its interpretations."""
Found = TypeVar("Found")


@dataclass(frozen=True)
class Claim:
    """A claim of the text."""

    id: str  # its name in tables
    section: str  # of the paper
    printed: str  # the published text, paraphrased
    kind: Kind  # the settings in which it has to hold
    test: str  # the comparison, in words
    about: str  # the evidence that decides it, by its name in `decide_claims`
    decide: Test  # called with the evidence
    amount: str = ""  # "not stated" if the paper gives no number for an adjective ("much", "small")


@dataclass(frozen=True, eq=False)
class Evidence:
    """The results that a claim is decided from."""

    settings: tuple[str, ...]  # its interpretation of the claim, one value for each column
    source: str  # as in ``data_source``
    given: Any  # the argument of the tests
    part: str = ""  # its name, if several pieces of evidence of equal settings decide together


def source_of(table: pd.DataFrame) -> str:
    """Return the source of the data of a `table`; "none" if it has no rows."""
    return str(table["data_source"].iloc[0]) if len(table) else "none"


COUNTS = ("comparisons", "support", "contradict")
WORST = ("worst", "worst_low", "worst_high", "detectable")
"""The comparison with the least support for an undecided claim: estimate, 95 % interval, and the
smallest difference that the test detects with 80 % power."""


def claim_columns(*settings: str) -> tuple[str, ...]:
    """Return the columns of a table of claims that are decided for `settings`."""
    said = ("claim", "section", "printed", "kind", *settings, "test", "figure")
    return (*said, *COUNTS, *WORST, "p_value", "verdict", "data_source")


def decide_claims(
    claims: Iterable[Claim], evidence: Mapping[str, Sequence[Evidence]], *settings: str
) -> pd.DataFrame:
    """Decide `claims` in order; return one row for each claim and setting, `claim_columns`.

    The keys of `evidence` are the values of ``about`` of the claims. The `settings` are columns:
    one for each setting of the evidence, then one for interpretations if tests have several. A
    claim without cells is undecided.
    """
    rows = []
    for claim in claims:
        lacking = [("", Outcome((), "no table to look at"), "none")]
        found = _by_settings(claim, evidence.get(claim.about, ()))
        for key, parts in (found or {("none",) * len(settings): lacking}).items():
            outcome, source = _together(parts)
            every = (*key, *("any",) * (len(settings) - len(key)))
            said = (claim.id, claim.section, claim.printed, claim.kind, *every, claim.test)
            rows.append((*said, *_told(replace(outcome, kind=claim.kind), source), source))
    return pd.DataFrame(rows, columns=list(claim_columns(*settings)))


def _told(outcome: Outcome, source: str) -> tuple[Any, ...]:
    verdict = "surrogate" if source == "surrogate" else outcome.verdict
    open_, worst = verdict == "undecided", outcome.worst
    figure = outcome.figure
    if verdict == "depends on the margin":
        figure += f"; support at 3/4, all and 5/4 of the margin: {outcome.support_by_margin}"
    least = (worst.difference, *worst.interval, worst.detectable) if open_ and worst else (nan,) * 4
    counts = (len(outcome.comparisons), outcome.support, outcome.contradict)
    return (figure, *counts, *least, min(outcome.p_values), verdict)


Parts = list[tuple[str, Outcome, str]]  # outcomes from parts of the evidence: name, outcome, source


def _by_settings(claim: Claim, evidence: Iterable[Evidence]) -> dict[tuple[str, ...], Parts]:
    found: dict[tuple[str, ...], Parts] = {}
    for each in evidence:
        tested = found_by(partial(claim.decide, each.given))
        readings: dict[tuple[str, ...], Outcome] = (
            {(): tested}
            if isinstance(tested, Outcome)
            else {(name,): found_by(decide) for name, decide in tested}
        )
        for reading, outcome in readings.items():
            parts = found.setdefault((*each.settings, *reading), [])
            parts.append((each.part, outcome, each.source))
    return found


def found_by(decide: Callable[[], Found]) -> Found | Outcome:
    """Return the result of `decide`, or an empty outcome if the tables lack cells for it."""
    try:
        return decide()
    except LookupError as lacking:
        return Outcome((), f"the tables lack {lacking}")


def _together(parts: Parts) -> tuple[Outcome, str]:
    """Return the joint outcome and source of `parts`; one without comparison supports nothing."""
    names, outcomes, sources = zip(*parts, strict=True)
    source = "surrogate" if "surrogate" in sources else sources[0]
    if len(outcomes) == 1:
        return outcomes[0], source
    lacking = (UNKNOWN for outcome in outcomes if not outcome.comparisons)
    said = (f"{name}: {outcome.figure}" for name, outcome in zip(names, outcomes, strict=True))
    comparisons = [each for outcome in outcomes for each in outcome.comparisons]
    found = (*comparisons, *lacking) if comparisons else ()
    our_margin = any(outcome.our_margin for outcome in outcomes)
    return Outcome(found, "; ".join(said), our_margin=our_margin), source


SENTENCE_COLUMNS = (
    *("claim", "section", "printed", "kind", "test", "readings", "holds", "fails", "figure"),
    *(*COUNTS, *WORST, "p_value", "verdict", "data_source"),
)
NO_AMOUNT, READING, FAILS = "no amount stated", "depends on the interpretation", ("fails", BETTER)


def by_sentence(readings: pd.DataFrame, claims: Iterable[Claim] = ()) -> pd.DataFrame:
    """Return one row for each claim of a table of `decide_claims`.

    The `readings` are the claims under each interpretation. A claim holds, or fails, if it does so
    under every interpretation. Its verdict is "depends on the interpretation" if it holds under one
    and fails under another. It is "depends on the margin" if this is the verdict under some, and
    the claim is decided under all others. Otherwise it is undecided. If the paper states no amount
    for an adjective of one of the `claims`, comparisons decide only the sign. A claim of the wrong
    sign fails. Other claims are "no amount stated": the figure has the verdict on the sign, and the
    amount.

    The p-value is the largest under any interpretation. The verdict "depends on the interpretation"
    requires one interpretation that holds and one that fails. Its p-value is the larger of both
    least p-values, each times the number of interpretations (Bonferroni). Figure and worst
    comparison are from the interpretation with the largest p-value among those with a comparison.
    Counts of comparisons are sums over all interpretations.
    """
    rows = []
    unstated = {claim.id for claim in claims if claim.amount}
    for claim, part in readings.groupby("claim", sort=False):
        verdict = _of_readings(set(part["verdict"]))
        told = part[part["comparisons"] > 0] if part["comparisons"].any() else part
        row = told.sort_values("p_value", kind="stable").iloc[-1].to_dict()
        row |= {name: int(part[name].sum()) for name in COUNTS}
        row |= {"verdict": verdict, "p_value": part["p_value"].max()}
        if verdict == READING:
            holds = part["verdict"] == "holds"
            sides = (part.loc[side, "p_value"] for side in (holds, part["verdict"].isin(FAILS)))
            row["p_value"] = min(1.0, len(part) * max(side.min() for side in sides))
        if verdict != "undecided":
            row |= dict.fromkeys(WORST, nan)
        if claim in unstated and verdict not in (*FAILS, "surrogate"):
            figure = f"the sign: {verdict}; the amount: {row['figure']}"
            row |= {"verdict": NO_AMOUNT, "figure": figure}
        of = {"holds": ("holds",), "fails": FAILS}
        row |= {name: int(part["verdict"].isin(each).sum()) for name, each in of.items()}
        rows.append(row | {"readings": len(part)})
    return pd.DataFrame(rows, columns=list(SENTENCE_COLUMNS))


def _of_readings(verdicts: set[str]) -> str:
    """Return the verdict on a claim from the `verdicts` under its interpretations."""
    if len(verdicts) == 1 or "surrogate" in verdicts:
        return "surrogate" if "surrogate" in verdicts else verdicts.pop()
    if verdicts <= {*FAILS}:
        return "fails"
    if "holds" in verdicts and not verdicts.isdisjoint(FAILS):
        return READING
    by_margin = "depends on the margin" in verdicts and "undecided" not in verdicts
    return "depends on the margin" if by_margin else "undecided"


def corrected(p_values: Mapping[Any, float], verdicts: Mapping[Any, str]) -> dict[Any, str]:
    """Return the `verdicts`, "undecided" where Holm's procedure on `p_values` does not reject."""
    ordered = sorted(p_values, key=lambda each: p_values[each])
    standing = set(ordered[: rejected(p_values.values())])
    decided = ("holds", *FAILS, READING)
    taken_back = {k for k, v in verdicts.items() if v in decided and k not in standing}
    return {**verdicts, **dict.fromkeys(taken_back, "undecided")}
