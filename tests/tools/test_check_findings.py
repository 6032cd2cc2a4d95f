"""All numbers and verdicts of the findings are quotations that can be compared with tables."""

from pathlib import Path

import pytest

import check_findings
from check_findings import Quotation


def test_every_quotation_stands_in_the_findings_once() -> None:
    paragraphs = check_findings.paragraphs()
    for quotation in check_findings.quotations():
        found = [check_findings.places(quotation.quoted, each) for each in paragraphs]
        assert sum(map(len, found)) == 1, quotation.quoted


def test_no_row_is_there_twice() -> None:
    quoted = [each.quoted for each in check_findings.quotations()]
    assert len(set(quoted)) == len(quoted)


def test_every_number_of_the_findings_is_a_quotation() -> None:
    assert not check_findings.unlisted()


def test_a_number_without_a_row_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = tmp_path / "findings.md"
    text.write_text(
        "**Published.** The text has 17.\n\n**Measured.** At p = .7 and .9, T_v = 50 (Table 1,\n"
        "section 6.3.2), `1 - p` of them, .4711 here and 2 of 9 there.\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(check_findings, "FINDINGS", text)
    found = check_findings.unlisted()
    assert len(found) == 3
    assert ".4711" in found[0]
    assert "2 of 9" in found[1]


def test_every_verdict_of_the_opening_table_is_a_quotation() -> None:
    rows = [line for line in check_findings.paragraphs() if line.startswith("|")][1:]
    assert 15 <= len(rows) <= 20
    assert not check_findings.unsupported()


def test_a_verdict_without_a_row_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = ["| claim |", "| [a], 1 | `fails` | 1 |", "| [a], 2 | `holds` | 2 |"]
    rows += ["| ours | `our finding` | 3 |", "| [a], 3 | `our finding` | 4 |"]
    quoted = Quotation("`fails` | 1", "tables/of", "", "verdict")
    number = Quotation("`holds` | 2", "tables/of", "", "value")
    monkeypatch.setattr(check_findings, "paragraphs", lambda: rows)
    monkeypatch.setattr(check_findings, "quotations", lambda: [quoted, number])
    assert check_findings.unsupported() == [rows[2], rows[4]]


@pytest.mark.parametrize(
    ("quoted", "value", "right"),
    [
        (".341", 0.34099, True),
        (".341", 0.3404, False),
        ("-.12", -0.1195, True),
        ("19 of 36", 19, True),
        ("84 of 100", 0.84, True),
        ("84 of 100. The", 0.85, False),
        ("128,000,000", 128_000_000, True),
        ("1.20", 1.204, True),
        ("1.20", 1.21, False),
        ("1.4e10", 1.37e10, True),
        ("1.4e10", 1.34e10, False),
        ("790 answers", 793.7, True),
        ("790 answers", 796, False),
        ("2,000", 1960, True),
        ("2,000", 1940, False),
        ("50", 51, False),
    ],
)
def test_a_value_must_round_to_what_is_quoted(quoted: str, value: float, right: bool) -> None:
    assert check_findings.holds(quoted, value) is right


@pytest.mark.parametrize(
    ("quoted", "digits"),
    [(".0070", 2), (".341", 3), ("1.0 for", 2), ("790", 2), ("481 records", 3), ("84 of 100", 2)],
)
def test_digits_are_counted_from_the_first_that_tells(quoted: str, digits: int) -> None:
    assert check_findings.digits_of(quoted) == digits


def written(folder: Path, rows: str) -> Path:
    """Write a table `of` and return the folder of results."""
    (folder / "of.csv").write_text(rows, encoding="utf-8")
    check_findings.read.cache_clear()
    return folder


def test_a_wrong_number_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_findings, "paragraphs", lambda: ["It is .12, of 3 rows 7 at most."])
    rows = "kind,value\na,.12\nb,7\nb,6\n"
    results = written(tmp_path, rows)
    assert check_findings.fault(Quotation(".12", "of", "kind=a", "value"), results) is None
    assert check_findings.fault(Quotation("7 at", "of", "kind!=a", "max value"), results) is None
    assert check_findings.fault(Quotation("3 rows", "of", "", "count"), results) is None
    wrong = check_findings.fault(Quotation(".12", "of", "kind!=a", "min value"), results)
    assert "min value is 6, quoted as .12" in str(wrong)
    several = check_findings.fault(Quotation("7 at", "of", "kind=b", "value"), results)
    assert "2 values of value" in str(several)
    assert "0 values" in str(
        check_findings.fault(Quotation(".12", "of", "kind=c", "value"), results)
    )
    assert "does not say" in str(check_findings.fault(Quotation(".13", "of", "", "count"), results))


@pytest.mark.parametrize(
    ("rows", "where", "quoted", "right"),
    [
        ("kind,verdict\na,holds\nb,fails\n", "kind=a", "`holds`", True),
        ("kind,verdict\na,holds\nb,fails\n", "", "`holds`", False),
        ("kind,verdict\na,undecided\n", "", "`holds`", False),
        ("kind,verdict\na,holds\n", "kind=b", "`holds`", False),
        ("kind,holds\na,True\nb,False\n", "kind=a", "`holds`", True),
        ("kind,holds\na,True\nb,False\n", "", "`holds`", False),
        ("kind,holds\na,True\nb,False\n", "", "`fails`", True),
    ],
)
def test_a_verdict_is_the_only_one_of_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: str, where: str, quoted: str, right: bool
) -> None:
    said(monkeypatch, "| [a], 1 | `holds` |", "| [a], 2 | `fails` |")
    found = check_findings.fault(Quotation(quoted, "of", where, "verdict"), written(tmp_path, rows))
    assert (found is None) is right


def test_verdicts_of_the_checklist_are_right(tmp_path: Path) -> None:
    checked = [each for each in check_findings.quotations() if each.table == "checklist"]
    assert checked
    for quotation in checked:
        assert check_findings.fault(quotation, tmp_path) is None


def test_three_digits_need_an_interval_or_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = "kind,mean,ci_low,ci_high,epsilon_exact\na,.123,.1,.2,1.23\nb,.456,.456,.456,4.56\n"
    results = written(tmp_path, rows)
    said = ["Here .123, 1.23 and .456 are simulated."]
    monkeypatch.setattr(check_findings, "paragraphs", lambda: said)
    simulated = Quotation(".123", "of", "kind=a", "mean")
    exact = Quotation("1.23", "of", "kind=a", "epsilon_exact")
    certain = Quotation(".456", "of", "kind=b", "mean")
    assert "without an interval" in str(check_findings.fault(simulated, results))
    for quotation in (exact, certain):
        assert "no word that it is exact" in str(check_findings.fault(quotation, results))
    said[0] = "Here .123 (.1 to .2), and exactly 1.23 and .456."
    ends = [
        simulated._replace(quoted=x, column=y) for x, y in ((".1", "ci_low"), (".2", "ci_high"))
    ]
    monkeypatch.setattr(check_findings, "quotations", lambda: [simulated, *ends])
    for quotation in (simulated, exact, certain):
        assert check_findings.fault(quotation, results) is None


def test_options_are_read_from_the_config(tmp_path: Path) -> None:
    for quotation in check_findings.quotations():
        if quotation.table == "config":
            assert check_findings.fault(quotation, tmp_path) is None


# -- the cell that a sentence is about -------------------------------------------------------------

CELLS = "update,p,k,value,replicates\nprinted,.221,3,.0073,80\npooled,.221,3,.0085,80\n"
OF_POOLED = Quotation(".0085", "of", "update=pooled;p=.221;k=3", "value")


def said(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    monkeypatch.setattr(check_findings, "paragraphs", lambda: [*lines])


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Under the published update it is off by .0085.", "update=pooled"),
        ("The pooled one, at p = .5, is off by .0085.", "p=.221"),
        ("At k = 10 it is off by .0085.", "k=3"),
        ("At k = 10 it is large. It is off by .0085.", "k=3"),  # the paragraph's, if no other
        ("Pooled over blocks, at p = .221 and k = 3, it is off by .0085.", ""),
        ("It is large at k = 10. At k = 3 it is off by .0085.", ""),
        ("It is off by .0085.", ""),
    ],
)
def test_a_number_in_a_sentence_on_another_cell_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, names: str
) -> None:
    said(monkeypatch, text)
    found = check_findings.fault(OF_POOLED, written(tmp_path, CELLS))
    assert names in str(found) if names else found is None


def test_words_that_are_quoted_decide_before_their_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said(monkeypatch, "It is off by .0085 at k = 10, and by more at k = 3.")
    results = written(tmp_path, CELLS)
    assert check_findings.fault(OF_POOLED, results) is None  # its sentence names both
    whole = OF_POOLED._replace(quoted=".0085 at k = 10")
    assert "k=3" in str(check_findings.fault(whole, results))


def test_no_setting_of_the_findings_can_be_swapped_for_another() -> None:
    """Of each row with a p or a k that its words name, one with another p or k is told."""
    swapped = 0
    for quotation in check_findings.quotations():
        for column in ("p", "k", "t_v"):
            where = f";{quotation.where}"
            own = check_findings.named_settings(quotation.quoted).get(column)
            if own and f";{column}=" in where and quotation.table.startswith("tables"):
                start, _, rest = where.partition(f";{column}=")
                other = f"{start};{column}=0.987;{rest.partition(';')[2]}".strip(";")
                assert check_findings.other_cell(quotation._replace(where=other))
                swapped += 1
    assert swapped >= 3


@pytest.mark.parametrize(
    ("text", "value", "right"),
    [
        ("It is at least 6.94.", 6.945, True),
        ("It is at least 6.95.", 6.945, False),
        ("It is at most 6.95.", 6.945, True),
        ("It is up to 6.94.", 6.945, False),
        ("It is 708, a bound that is rounded down.", 708.67, True),
        ("It is 709, a bound that is rounded down.", 708.67, False),
        ("It is 709.", 708.67, True),
    ],
)
def test_bounds_are_rounded_to_the_safe_side(
    monkeypatch: pytest.MonkeyPatch, text: str, value: float, right: bool
) -> None:
    said(monkeypatch, text)
    quoted = check_findings.re.findall(r"\d[.\d]*\d", text)[0]
    bound = check_findings.bound_of(quoted)
    assert check_findings.holds(quoted, value, bound) is right


def test_of_100_is_of_100_replicates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said(monkeypatch, "It is in 36 of 100 runs, or in 36 % of them.")
    for replicates, right in ((80, False), (100, True)):
        results = written(tmp_path, f"value,replicates\n.3625,{replicates}\n")
        counted = Quotation("36 of 100", "of", "", "value")
        assert (check_findings.fault(counted, results) is None) is right
        assert check_findings.fault(counted._replace(quoted="36 %"), results) is None


def test_a_ratio_is_of_two_columns_of_one_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said(monkeypatch, "Exactly 15.3 times.")
    results = written(tmp_path, "of,exact,claimed\na,2.351375,0.154151\nb,9,1\n")
    assert check_findings.fault(Quotation("15.3", "of", "of=a", "exact / claimed"), results) is None
    assert check_findings.fault(Quotation("15.3", "of", "of=b", "exact / claimed"), results)
