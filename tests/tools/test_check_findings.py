"""What the findings quote can be held against the tables, and is in the text."""

from pathlib import Path

import pytest

import check_findings


@pytest.mark.parametrize("quotation", check_findings.quotations(), ids=lambda q: q.quoted)
def test_every_quotation_stands_in_the_findings(quotation: check_findings.Quotation) -> None:
    assert not check_findings.not_in_text(quotation)


@pytest.mark.parametrize(
    ("quoted", "value", "right"),
    [
        (".341", 0.34099, True),
        (".341", 0.3404, False),
        ("-.12", -0.1195, True),
        ("19 of 36", 19, True),
        ("84 of 100", 0.84, True),
        ("84 of 100", 0.85, False),
        ("128,000,000", 128_000_000, True),
        ("1.20", 1.204, True),
        ("1.20", 1.21, False),
    ],
)
def test_a_value_must_round_to_what_is_quoted(quoted: str, value: float, right: bool) -> None:
    assert check_findings.holds(quoted, value) is right


def test_a_wrong_number_is_named(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    table = tmp_path / "tables" / "multirr_fig2.csv"
    one = next(q for q in check_findings.quotations() if q.table == "tables/multirr_fig2")
    names = [*one.where, one.column]
    values = [*one.where.values(), "0.5"]
    table.write_text(f"{','.join(names)}\n{','.join(values)}\n", encoding="utf-8")
    assert f"is 0.5, quoted as {one.quoted}" in str(check_findings.fault(one, tmp_path))
    table.write_text(f"{','.join(names)}\n", encoding="utf-8")
    assert "0 values" in str(check_findings.fault(one, tmp_path))
