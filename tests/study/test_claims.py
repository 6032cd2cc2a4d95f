"""Claims and their tests: what is entered, what is decided, the rows of a table of claims."""

from collections.abc import Iterator, Sequence

import pandas as pd
import pytest

from deniable.study.claims import (
    CLAIM_COLUMNS,
    Claim,
    Claims,
    Decide,
    Evidence,
    decide_claims,
    source_of,
)
from deniable.study.comparisons import Outcome, counted


def test_a_row_has_the_columns_of_the_table() -> None:
    outcome = Outcome(3, 2, 0, "a figure")
    claim = Claim("an_id", "6.5", "what is printed", "what is compared", "it", lambda _: outcome)
    found = decide_claims(
        [claim], {"it": [Evidence(("joint", "clip"), "original", None)]}, "mechanism", "projection"
    )
    assert tuple(found.columns) == CLAIM_COLUMNS
    assert found.to_dict("records") == [
        {
            "claim": "an_id",
            "section": "6.5",
            "printed": "what is printed",
            "mechanism": "joint",
            "projection": "clip",
            "test": "what is compared",
            "figure": "a figure",
            "comparisons": 3,
            "support": 2,
            "contradict": 0,
            "verdict": "holds",
            "data_source": "original",
        }
    ]


@pytest.mark.parametrize(
    "outcome", [Outcome(1, 1, 0, ""), Outcome(1, 0, 1, ""), Outcome(0, 0, 0, "")]
)
def test_surrogate_data_decide_nothing(outcome: Outcome) -> None:
    claim = Claim("a", "b", "c", "d", "it", lambda _: outcome)
    found = decide_claims([claim], {"it": [Evidence((), "surrogate", None)]})
    assert found[["verdict", "data_source"]].to_numpy().tolist() == [["surrogate", "surrogate"]]


def test_the_source_of_a_table() -> None:
    table = pd.DataFrame({"data_source": ["surrogate", "surrogate"]})
    assert source_of(table) == "surrogate"
    assert source_of(table.iloc[:0]) == "none"


CLAIMS = Claims()


@CLAIMS.claim("All are positive.", "x > 0", section="1", about="numbers")
def _positive(numbers: Sequence[int]) -> Outcome:
    return counted((number > 0 for number in numbers), "")


@CLAIMS.claim(
    "Some exceed {least}.",
    "x > {least}",
    section="2",
    about="numbers",
    name="above_{least}",
    cases=[{"least": 2}, {"least": 9}],
)
def _above(numbers: Sequence[int], least: int) -> Outcome:
    return counted([any(number > least for number in numbers)], "")


@CLAIMS.claim("Their names are short.", "letters", section="3", about="names")
def _short(names: Sequence[str]) -> Iterator[tuple[str, Decide]]:
    yield "first", lambda: counted([len(names[0]) < 4], "")
    yield "second", lambda: counted([len(names[1]) < 4], "")


def test_a_claim_stands_beside_its_test_in_the_order_of_the_text() -> None:
    assert [each.id for each in CLAIMS] == ["positive", "above_2", "above_9", "short"]
    assert [each.printed for each in CLAIMS][1:3] == ["Some exceed 2.", "Some exceed 9."]
    assert _positive([1]).verdict == "holds"  # the decorator leaves the test as it is


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
    ]
    none = decide_claims(CLAIMS, {"numbers": [Evidence(("a",), "original", [])]}, "setting")
    assert "positive" not in set(none["claim"])


def test_a_reading_that_the_tables_lack_leaves_the_others() -> None:
    evidence = {"names": [Evidence((), "original", ["ab"])]}
    found = decide_claims(CLAIMS, evidence, "reading")
    assert list(zip(found["claim"], found["reading"], strict=True)) == [("short", "first")]
