"""Claims as rows of a file: terms that name cells, comparisons, figures, errors of a file."""

from pathlib import Path

import pytest

from deniable.errors import DataError

from reproduction.study import Outcome, Row, exact_row
from reproduction.study.claim_files import COMPARED, SAID, Cells, Compared, read_claims

CELLS = Cells(
    ("k", "method"),
    {(k, method): exact_row(k * (1 + (method == "b"))) for k in (1, 2, 3) for method in "ab"},
)


def compared(
    left: str, right: str, each: str = "k", rule: str = "below", figure: str = ""
) -> Outcome:
    return Compared(each, left, right, rule, figure)(CELLS)


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("", [{}]),
        ("k", [{"k": 1}, {"k": 2}, {"k": 3}]),
        ("k >= 2", [{"k": 2}, {"k": 3}]),
        ("k <= 1", [{"k": 1}]),
        ("k = 1 | 9", [{"k": 1}, {"k": 9}]),
        ("k = largest", [{"k": 3}]),
        ("k = smallest or method = b", [{"k": 1}, {"method": "b"}]),
        ("method = a; k >= 3", [{"method": "a", "k": 3}]),
        ("method = c; k", []),
    ],
)
def test_terms_name_cells(text: str, places: list[dict[str, object]]) -> None:
    assert CELLS.places(text) == places


def test_each_cell_of_one_side_is_compared_with_each_of_the_other() -> None:
    found = compared("method = a", "method = b")
    assert [each.difference for each in found.comparisons] == [1, 2, 3]
    found = compared("k = 1 | 2", "k = 3", each="method")
    assert [each.difference for each in found.comparisons] == [2, 1, 4, 2]


def test_a_side_can_be_a_number() -> None:
    assert [each.difference for each in compared("2", "method = a").comparisons] == [-1, 0, 1]


@pytest.mark.parametrize(
    ("rule", "verdict"),
    [
        ("below", "holds"),
        ("ratio below", "holds"),
        ("alike", "fails"),
        ("within 3", "depends on the margin"),
    ],
)
def test_a_rule_decides(rule: str, verdict: str) -> None:
    assert compared("method = a", "method = b", rule=rule).verdict == verdict


@pytest.mark.parametrize(
    ("template", "figure"),
    [
        ("over: {ratios}", "over: 0.5 to 0.5"),
        ("{left:.1f}, {right}", "1.0 to 3.0, 2 to 6"),
        ("up to {apart:.2f}", "up to 3.00"),
        ("at [k = {k}]", "at k = 1: 2, k = 2: 4, k = 3: 6"),
        ("[{method}]", "b: 2, a: 1"),
        ("k = {left_k}: {left_method} over {right_method}", "k = 1: a over b"),
    ],
)
def test_a_figure_is_a_template(template: str, figure: str) -> None:
    assert compared("method = a", "method = b", figure=template).figure == figure


def test_absent_cells_are_named() -> None:
    with pytest.raises(LookupError, match=r"\(9, 'a'\)"):
        compared("method = a", "method = b", each="k = 9")
    with pytest.raises(LookupError, match="any cells"):
        compared("method = a", "method = b", each="k >= 9")
    one: dict[tuple[object, ...], Row] = {(1, "a"): exact_row(1)}
    with pytest.raises(LookupError, match="a second k"):
        Cells(("k", "method"), one).places("k = largest")


def test_what_is_no_term_and_no_rule_is_refused() -> None:
    with pytest.raises(DataError, match="'k is 3' is not a valid term"):
        CELLS.places("k is 3")
    with pytest.raises(DataError, match="'above' is not a rule"):
        compared("method = a", "method = b", rule="above")


def test_a_slip_in_a_row_is_refused_and_leaves_no_claim_undecided() -> None:
    with pytest.raises(DataError, match=r"'q = 3' is not a valid term.* k, method"):
        CELLS.places("q = 3")
    with pytest.raises(DataError, match="selects no cell: method"):
        compared("k = 1", "k = 2", each="")
    with pytest.raises(DataError, match="uses 'ratio'; available: "):
        compared("method = a", "method = b", figure="{ratio}")
    with pytest.raises(DataError, match="uses 'q'; available: k, method"):
        compared("method = a", "method = b", figure="[{q}]")


def _by_function(cells: Cells) -> Outcome:
    raise LookupError("more")


def test_a_file_has_a_test_for_each_claim(tmp_path: Path) -> None:
    file = tmp_path / "claims.csv"
    header = ",".join(SAID + COMPARED)
    row = "larger,3,It grows.,order,k by k,cells,k,method = a,method = b,below,\n"
    own = "by_function,4,It is more.,every,all,cells,,,,,\n"
    file.write_text(f"{header}\n{row}{own}")
    grows, more = read_claims(file, {"by_function": _by_function})
    assert (grows.id, grows.section, grows.printed) == ("larger", "3", "It grows.")
    assert (grows.kind, grows.test, grows.about) == ("order", "k by k", "cells")
    assert grows.decide(CELLS) == compared("method = a", "method = b")
    assert more.decide is _by_function
    assert {grows.amount, more.amount} == {""}
    file.write_text(f"{header},amount\n{row}{own.strip()},not stated\n")
    found = read_claims(file, {"by_function": _by_function})
    assert [claim.amount for claim in found] == ["", "not stated"]
    file.write_text(f"{header}\n{row}{own}")
    with pytest.raises(DataError, match=r"rule or a function.*: by_function"):
        read_claims(file, {})
    file.write_text(f"{header}\n{row}")
    with pytest.raises(DataError, match="each function a claim: by_function"):
        read_claims(file, {"by_function": _by_function})
    file.write_text("claim,section\n")
    with pytest.raises(DataError, match="name the columns claim, section"):
        read_claims(file, {})
