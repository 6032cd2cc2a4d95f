"""Claims and their tests: what is entered, what is decided, the rows of a table of claims."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from reproduction.study.claims import (
    SENTENCE_COLUMNS,
    Claim,
    Decide,
    Evidence,
    by_sentence,
    claim_columns,
    corrected,
    decide_claims,
    source_of,
)
from reproduction.study.comparisons import Comparison, Outcome, counted, equivalent, exact_row

SUPPORTS, CONTRADICTS, OPEN = Comparison(9.0, 1.0), Comparison(-9.0, 1.0), Comparison(1.0, 1.0)


MARGINAL = Comparison(0.1, margin=1.0)
"""An equality that a margin smaller by a quarter would refuse."""


def outcome_of(*comparisons: Comparison) -> Outcome:
    return Outcome(comparisons, "a figure", our_margin=MARGINAL in comparisons)


def claim_of(decide: Any, **changes: Any) -> Claim:
    said = {"id": "an_id", "section": "6.5", "printed": "what is printed", "kind": "every"}
    return Claim(**(said | {"test": "what is compared", "about": "it", "decide": decide} | changes))


def test_a_row_has_the_columns_of_the_table() -> None:
    claim = claim_of(lambda _: outcome_of(SUPPORTS, OPEN))
    found = decide_claims(
        [claim], {"it": [Evidence(("joint", "clip"), "original", None)]}, "mechanism", "projection"
    )
    assert tuple(found.columns) == claim_columns("mechanism", "projection")
    (row,) = found.to_dict("records")
    assert {name: row.pop(name) for name in ("worst_low", "worst_high", "detectable", "p_value")}
    assert row == {
        "claim": "an_id",
        "section": "6.5",
        "printed": "what is printed",
        "kind": "every",
        "mechanism": "joint",
        "projection": "clip",
        "test": "what is compared",
        "figure": "a figure",
        "comparisons": 2,
        "support": 1,
        "contradict": 0,
        "worst": 1.0,
        "verdict": "undecided",
        "data_source": "original",
    }


def test_the_worst_comparison_stands_beside_what_is_undecided_alone() -> None:
    for comparison, shown in ((OPEN, True), (SUPPORTS, False), (CONTRADICTS, False)):
        claim = claim_of(lambda _, each=comparison: outcome_of(each))
        (row,) = decide_claims([claim], {"it": [Evidence((), "original", None)]}).to_dict("records")
        assert np.isfinite(row["worst"]) == np.isfinite(row["detectable"]) == shown


@pytest.mark.parametrize("comparisons", [(SUPPORTS,), (CONTRADICTS,), ()])
def test_surrogate_data_decide_nothing(comparisons: tuple[Comparison, ...]) -> None:
    claim = claim_of(lambda _: outcome_of(*comparisons))
    found = decide_claims([claim], {"it": [Evidence((), "surrogate", None)]})
    assert found[["verdict", "data_source"]].to_numpy().tolist() == [["surrogate", "surrogate"]]


def test_the_kind_is_that_of_the_claim() -> None:
    evidence = {"it": [Evidence((), "original", None)]}
    claims = [
        claim_of(lambda _: outcome_of(SUPPORTS, CONTRADICTS), kind=kind)
        for kind in ("every", "some")
    ]
    found = decide_claims(claims, evidence)
    assert list(zip(found["kind"], found["verdict"], strict=True)) == [
        ("every", "fails"),
        ("some", "holds"),
    ]


def test_what_depends_on_our_margin_says_how() -> None:
    claim = claim_of(
        lambda _: equivalent([(exact_row(1.0), exact_row(1.19))], "1.19"), kind="equality"
    )
    (row,) = decide_claims([claim], {"it": [Evidence((), "original", None)]}).to_dict("records")
    assert row["verdict"] == "depends on the margin"
    assert row["figure"] == "1.19; support at 3/4, all and 5/4 of the margin: 0 / 1 / 1 of 1"


# -- nothing vanishes ------------------------------------------------------------------------------


def test_without_evidence_a_claim_is_undecided_and_says_so() -> None:
    (row,) = decide_claims([claim_of(lambda _: outcome_of(SUPPORTS))], {}, "reading").to_dict(
        "records"
    )
    assert (row["verdict"], row["figure"]) == ("undecided", "no table to look at")
    assert (row["comparisons"], row["reading"]) == (0, "none")


def test_parts_of_the_evidence_are_taken_together() -> None:
    def verdict(*parts: tuple[Comparison, ...]) -> tuple[str, str]:
        evidence = [
            Evidence((), "original", each, part=f"part {number}")
            for number, each in enumerate(parts)
        ]
        claim = claim_of(lambda given: outcome_of(*given))
        (row,) = decide_claims([claim], {"it": evidence}).to_dict("records")
        return row["verdict"], row["figure"]

    said = "part 0: a figure; part 1: a figure"
    assert verdict((SUPPORTS,), (SUPPORTS,)) == ("holds", said)
    assert verdict((SUPPORTS,), (CONTRADICTS,)) == ("fails", said)
    assert verdict((SUPPORTS,), (OPEN,)) == ("undecided", said)
    # A part that lacks its cells leaves open what the others support, and not what they refute.
    assert verdict((SUPPORTS,), ()) == ("undecided", said)
    assert verdict((CONTRADICTS,), ()) == ("fails", said)
    assert verdict((), ()) == ("undecided", said)


def test_a_surrogate_among_the_parts_decides_nothing() -> None:
    evidence = [Evidence((), source, None, source) for source in ("original", "surrogate")]
    (row,) = decide_claims([claim_of(lambda _: outcome_of(SUPPORTS))], {"it": evidence}).to_dict(
        "records"
    )
    assert row["verdict"] == "surrogate"


# -- one row a sentence ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("readings", "verdict", "counts"),
    [
        ((SUPPORTS, SUPPORTS), "holds", (2, 2, 0)),
        ((CONTRADICTS, CONTRADICTS), "fails", (2, 0, 2)),
        ((SUPPORTS, CONTRADICTS), "depends on the interpretation", (2, 1, 1)),
        ((SUPPORTS, OPEN), "undecided", (2, 1, 0)),
        ((CONTRADICTS, OPEN), "undecided", (2, 0, 1)),
        ((OPEN,), "undecided", (1, 0, 0)),
        ((SUPPORTS, MARGINAL), "depends on the margin", (2, 1, 0)),
        ((OPEN, MARGINAL), "undecided", (2, 0, 0)),
    ],
)
def test_a_sentence_has_one_verdict(
    readings: tuple[Comparison, ...], verdict: str, counts: tuple[int, int, int]
) -> None:
    claim = claim_of(outcome_of)
    evidence = [Evidence((str(n),), "original", each) for n, each in enumerate(readings)]
    found = by_sentence(decide_claims([claim], {"it": evidence}, "reading"))
    assert tuple(found.columns) == SENTENCE_COLUMNS
    (row,) = found.to_dict("records")
    assert row["verdict"] == verdict
    assert (row["readings"], row["holds"], row["fails"]) == counts
    assert row["comparisons"] == len(readings)
    if OPEN in readings:
        assert row["worst"] == OPEN.difference


def test_a_reading_without_comparisons_leaves_what_another_shows() -> None:
    claim = claim_of(lambda given: outcome_of(*given))
    evidence = [Evidence(("some",), "original", (OPEN,)), Evidence(("none",), "original", ())]
    (row,) = by_sentence(decide_claims([claim], {"it": evidence}, "reading")).to_dict("records")
    assert (row["verdict"], row["p_value"]) == ("undecided", 1.0)
    assert row["worst"] == OPEN.difference


MARKED = Comparison(-9.0, 1.0, margin=1.0, equality=True, better=True)
"""An equality that fails because ours is the better value."""


@pytest.mark.parametrize(
    ("readings", "verdict", "fails"),
    [
        ((MARKED, MARKED), "better than published", 2),
        ((MARKED, CONTRADICTS), "fails", 2),
        ((MARKED, SUPPORTS), "depends on the interpretation", 1),
        ((MARKED, OPEN), "undecided", 1),
    ],
)
def test_better_than_published_is_a_way_to_fail(
    readings: tuple[Comparison, ...], verdict: str, fails: int
) -> None:
    claim = claim_of(outcome_of)
    evidence = [Evidence((str(n),), "original", each) for n, each in enumerate(readings)]
    (row,) = by_sentence(decide_claims([claim], {"it": evidence}, "reading")).to_dict("records")
    assert (row["verdict"], row["fails"]) == (verdict, fails)


@pytest.mark.parametrize(
    ("comparison", "verdict", "figure"),
    [
        (SUPPORTS, "no amount stated", "the sign: holds; the amount: a figure"),
        (OPEN, "no amount stated", "the sign: undecided; the amount: a figure"),
        (CONTRADICTS, "fails", "a figure"),
    ],
)
def test_an_adjective_without_an_amount_is_not_decided(
    comparison: Comparison, verdict: str, figure: str
) -> None:
    claim = claim_of(outcome_of, amount="not stated")
    readings = decide_claims([claim], {"it": [Evidence((), "original", comparison)]})
    (row,) = by_sentence(readings, [claim]).to_dict("records")
    assert (row["verdict"], row["figure"]) == (verdict, figure)
    surrogate = readings.assign(verdict="surrogate")
    assert by_sentence(surrogate, [claim])["verdict"].tolist() == ["surrogate"]
    # Another claim keeps the verdict of its comparisons.
    other = claim_of(outcome_of)
    (row,) = by_sentence(readings, [other]).to_dict("records")
    assert row["verdict"] == readings["verdict"].iloc[0]


def test_what_depends_on_the_reading_has_to_hold_and_to_fail_beyond_chance() -> None:
    claim = claim_of(outcome_of)

    def p_value(*comparisons: Comparison) -> float:
        evidence = [Evidence((str(n),), "original", each) for n, each in enumerate(comparisons)]
        (row,) = by_sentence(decide_claims([claim], {"it": evidence}, "reading")).to_dict("records")
        assert row["verdict"] == "depends on the interpretation"
        return float(row["p_value"])

    # P-values of .0062 and .0228, each the least of two or three readings.
    holds, fails = Comparison(2.5, 1.0), Comparison(-2.0, 1.0)
    assert p_value(holds, fails) == pytest.approx(2 * 0.02275, rel=1e-3)
    assert p_value(holds, fails, OPEN) == pytest.approx(3 * 0.02275, rel=1e-3)
    assert p_value(SUPPORTS, CONTRADICTS) < 1e-15
    verdicts = dict.fromkeys("ab", "depends on the interpretation")
    assert corrected({"a": 0.001, "b": 0.068}, verdicts) == verdicts | {"b": "undecided"}


def test_verdicts_are_corrected_over_all_claims() -> None:
    verdicts = {
        "a": "holds",
        "b": "fails",
        "c": "holds",
        "d": "undecided",
        "e": "depends on the margin",
    }
    p_values = {"a": 0.001, "b": 0.012, "c": 0.03, "d": 0.4}
    # Holm: .001 < .0125, .012 < .0167, .03 > .025.
    assert corrected(p_values, verdicts) == verdicts | {"c": "undecided"}


def test_the_source_of_a_table() -> None:
    table = pd.DataFrame({"data_source": ["surrogate", "surrogate"]})
    assert source_of(table) == "surrogate"
    assert source_of(table.iloc[:0]) == "none"


def _positive(numbers: Sequence[int]) -> Outcome:
    return counted((number > 0 for number in numbers), "")


def _above(least: int) -> Callable[[Sequence[int]], Outcome]:
    return lambda numbers: counted([any(number > least for number in numbers)], "")


def _short(names: Sequence[str]) -> Iterator[tuple[str, Decide]]:
    yield "first", lambda: counted([len(names[0]) < 4], "")
    yield "second", lambda: counted([len(names[1]) < 4], "")


CLAIMS = [
    claim_of(_positive, id="positive", about="numbers"),
    claim_of(_above(2), id="above_2", about="numbers"),
    claim_of(_above(9), id="above_9", about="numbers"),
    claim_of(_short, id="short", about="names"),
]


def test_claims_are_decided_for_all_settings_that_the_tables_have() -> None:
    evidence = {
        "numbers": [Evidence(("a",), "original", [1, 3]), Evidence(("b",), "surrogate", [-1, 10])]
    }
    found = decide_claims(CLAIMS, evidence, "setting")
    assert list(zip(found["claim"], found["setting"], found["verdict"], strict=True)) == [
        ("positive", "a", "holds"),
        ("positive", "b", "surrogate"),
        ("above_2", "a", "holds"),
        ("above_2", "b", "surrogate"),
        ("above_9", "a", "fails"),
        ("above_9", "b", "surrogate"),
        ("short", "none", "undecided"),
    ]
    none = decide_claims(CLAIMS, {"numbers": [Evidence(("a",), "original", [])]}, "setting")
    row = none.set_index("claim").loc["positive"]
    assert (row["verdict"], row["figure"]) == (
        "undecided",
        "the tables lack anything to decide from",
    )


def test_a_reading_that_the_tables_lack_is_undecided_beside_the_others() -> None:
    evidence = {"names": [Evidence((), "original", ["ab"])]}
    found = decide_claims([CLAIMS[-1]], evidence, "reading")
    rows = zip(found["claim"], found["reading"], found["verdict"], strict=True)
    assert list(rows) == [("short", "first", "holds"), ("short", "second", "undecided")]
