"""The documents of a public folder: its list, and its text for readers."""

import math
import re
from fractions import Fraction
from pathlib import Path

import pytest
from tests.release.small_releases import KINDS, made, plan_for, records

from deniable.cli import main
from deniable.errors import DataError
from deniable.files import sha256
from deniable.release import protect_test
from deniable.release.contents import FORMULA, README, fold_text
from deniable.release.counting.entries import counted_epsilon, epsilon_text
from deniable.release.receipts import SUMS, refuse_other_files

USE = (
    "only for statistics of many records, with their confidence intervals",
    "Draw no conclusion about a single person, and do not try to re-identify anybody",
    "may remain personal data",
    "GDPR, recital 26; Article 29 Working Party, Opinion 05/2014",
    "This text is not legal advice.",
)


def published(kind: str, at: Path, **changes: str) -> Path:
    """Make a release; return its public folder."""
    made(kind, at, plan=plan_for(kind, **changes))
    return at / "small" / "public"


# -- the list --------------------------------------------------------------------------------------


def test_everything_that_is_not_as_listed_is_named(tmp_path: Path) -> None:
    public = published("columns", tmp_path)
    refuse_other_files(public)
    (public / "plan.json").unlink()
    (public / "README.txt").write_text("")
    (public / "folder").mkdir()
    refused = ["plan.json: missing", "README.txt: damaged or edited since it was made"]
    for name in ("more", "folder/more"):
        (public / name).write_text("")
        refused.append(f"{name}: not in its list")
    with pytest.raises(DataError) as caught:
        refuse_other_files(public)
    lines = str(caught.value).splitlines()
    assert sorted(lines[:-1]) == sorted(f"{public}/{fault}" for fault in refused)
    assert lines[-1] == "restore the published folder from a copy"


def test_links_are_named_wherever_they_lead(tmp_path: Path) -> None:
    """To private files, or to a file of the same bytes that is somewhere else."""
    public = published("columns", tmp_path)
    (public / "more").symlink_to("../private")
    (public / "nowhere").symlink_to("nothing")
    (public / "plan.json").rename(tmp_path / "plan.json")
    (public / "plan.json").symlink_to(tmp_path / "plan.json")
    with pytest.raises(DataError) as caught:
        refuse_other_files(public)
    assert str(caught.value).splitlines()[:-1] == [
        f"{public}/more: not in its list",
        f"{public}/nowhere: not in its list",
        f"{public}/plan.json: a link",
    ]


@pytest.mark.parametrize("text", [b"", b"a line\n", b"\xff\n", None])
def test_a_list_that_is_none_is_refused(tmp_path: Path, text: bytes | None) -> None:
    public = published("columns", tmp_path)
    if text is None:
        (public / SUMS).unlink()
    else:
        (public / SUMS).write_bytes(text)
    with pytest.raises(DataError, match=f"{README}: not in its list|{SUMS}: missing, damaged or"):
        refuse_other_files(public)


def test_the_list_is_in_the_format_of_sha256sum(tmp_path: Path) -> None:
    public = published("columns", tmp_path)
    lines = (public / SUMS).read_text("utf-8").splitlines()
    names = [line.split("  ")[1] for line in lines]
    assert names == ["README.txt", "matrices.csv", "plan.json", "protected.parquet"]
    assert lines == [f"{sha256(public / name)}  {name}" for name in names]


# -- the text --------------------------------------------------------------------------------------


def words(public: Path) -> str:
    return " ".join((public / README).read_text("utf-8").split())


@pytest.mark.parametrize("kind", KINDS)
def test_every_guarantee_is_stated_rounded_up_with_its_conditions(
    kind: str, tmp_path: Path
) -> None:
    text, plan = words(published(kind, tmp_path)), plan_for(kind)
    for guarantee in plan.guarantees:
        if math.isinf(guarantee.epsilon):
            assert f"No finite epsilon is proved for {guarantee.unit}." in text
            continue
        shown = epsilon_text(counted_epsilon(guarantee.epsilon))
        assert Fraction(shown) >= Fraction(guarantee.epsilon)
        assert f"Epsilon of {guarantee.unit}: {shown}, proved and rounded up." in text
        assert all(each in text for each in guarantee.conditions)
        # No other digits of it, which would not be rounded up.
        assert shown == repr(guarantee.epsilon) or repr(guarantee.epsilon) not in text


@pytest.mark.parametrize("kind", KINDS)
def test_risks_and_uncovered_disclosures_come_first(kind: str, tmp_path: Path) -> None:
    text, plan = words(published(kind, tmp_path)), plan_for(kind)
    first_promise = min(text.find(each) for each in ("Epsilon of", "No finite") if each in text)
    for name, why in plan.risks.items():
        assert 0 < text.find(f"RISK, {name}: {why}.") < first_promise
    for each in plan.not_covered:
        assert 0 < text.find(each) < first_promise
    assert ("RISK" in text) == bool(plan.risks)


@pytest.mark.parametrize("kind", KINDS)
def test_every_file_is_described_and_no_other(kind: str, tmp_path: Path) -> None:
    public = published(kind, tmp_path)
    listed = (public / README).read_text("utf-8").rpartition("\n\n")[2].splitlines()
    names = [line.split()[0] for line in listed if line[0] != " "]
    assert sorted(names) == sorted(path.name for path in public.iterdir())
    for said in USE:
        assert said in words(public)


def test_the_order_and_the_ledgers_count_are_stated(tmp_path: Path) -> None:
    text = words(published("columns", tmp_path / "1"))
    assert "The rows have a random order, which does not reveal their place" in text
    assert "This is release 1 of the population people. The total epsilon of its releases" in text
    assert "releases so far is 2." in text
    other = words(published("columns", tmp_path / "2", order="as_in_file"))
    assert "The rows have the order of the original file." in other


def test_a_test_release_is_not_called_secret(tmp_path: Path) -> None:
    protect_test(records(), plan_for("columns"), tmp_path / "tried", 1, data_source="surrogate")
    tried, small = words(tmp_path / "tried/public"), words(published("columns", tmp_path))
    assert tried.startswith(
        "Release tried: randomized values of 700 records. NOTICE: TEST RELEASE: drawn from a"
    )
    assert "secret" not in tried
    assert "The original records are a surrogate" in tried
    assert "AES-256 under the secret key of the release" in small
    assert "surrogate" not in small


@pytest.mark.parametrize("text", ["=1+1", "@x", "-a", "+a", "\tx"])
def test_texts_that_begin_like_formulas_are_found(text: str) -> None:
    assert FORMULA.match(text)


@pytest.mark.parametrize("text", ["<=50K", "-9", "+1.5", "high", "a=b", "-1,5"])
def test_signed_numbers_and_other_texts_are_no_formulas(text: str) -> None:
    assert not FORMULA.match(text)


# -- the statement and its example -----------------------------------------------------------------


def code_in(text: str) -> tuple[list[str], str]:
    """Return the commands and the Python example of a readme."""
    blocks = [
        [line[4:] for line in block.splitlines()]
        for block in text.split("\n\n")
        if block.startswith("    ")
    ]
    (install,), commands, *example = blocks
    assert install == "pip install ."
    return commands, "\n\n".join("\n".join(each) for each in example)


@pytest.mark.parametrize("kind", ["columns", "other values", "strata", "centroids", "views"])
def test_the_commands_and_the_example_run_in_the_folder(
    kind: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    public = published(kind, tmp_path)
    commands, example = code_in((public / README).read_text("utf-8"))
    monkeypatch.chdir(public)
    for command in commands:
        program, *options = command.split()
        assert program == "deniable"
        assert main(options) == 0
        assert capsys.readouterr().out
    exec(example, {})
    out = capsys.readouterr().out
    first = "width" if kind == "centroids" else "a"
    assert re.search(rf"\b{first}\b.*\d", out)
    assert "estimate" in out
    assert "ci_high" in out


@pytest.mark.parametrize(
    ("epsilon", "fold"),
    [
        (0.5, "1.65"), (1, "2.72"), (2, "7.39"), (4, "54.6"), (8, "2,990"), (12, "163,000"),
        (40, "10^18"), (0, "1.00"),
    ],
)  # fmt: skip
def test_the_factor_is_rounded_up(epsilon: float, fold: str) -> None:
    assert fold_text(epsilon) == fold
    number = float(fold.replace(",", "").replace("10^", "1e"))
    assert Fraction(number) >= Fraction(math.exp(epsilon)) * Fraction(999999, 1000000)


def test_the_statement_of_a_row_has_the_factor_of_the_epsilon(tmp_path: Path) -> None:
    text = words(published("columns", tmp_path / "1"))
    said = "even which row is yours, replacing your answers changes the probability of any content"
    assert f"{said} of that row at most 7.39-fold (epsilon = 2). Statement of the whole" in text
    stratum = words(published("strata", tmp_path / "2"))
    assert "randomized the columns a, b, d." in stratum
    assert "(epsilon = 2). It does not cover the disclosures named above" in stratum
    none = words(published("centroids", tmp_path / "3"))
    assert said not in none
    assert "No statement holds for the masked numbers of one record" in none
    tables = words(published("views", tmp_path / "4"))
    assert "probability of any content of this folder at most 7.39-fold" in tables


def test_the_size_of_the_error_of_a_tabulation_follows_from_the_plan(tmp_path: Path) -> None:
    """Generalized RR of k categories replaces (k - 1) / (k - 1 + exp(epsilon)) of them."""
    text = words(published("columns", tmp_path))
    for name, k in (("a", 2), ("b", 3), ("c", 2), ("d", 4)):
        replaced = (k - 1) / (k - 1 + math.exp(0.5))
        assert f"{100 * replaced:.0f} of 100 values of {name}" in text


def test_the_questions_of_the_guideline_are_answered(tmp_path: Path) -> None:
    text = words(published("columns", tmp_path / "1"))
    assert "Unit of privacy: the whole record of one respondent." in text
    assert "Composition: This is release 1 of the population people." in text
    for question in ("Model of trust: the data owner", "Parameters: the epsilon", "Side channels"):
        assert question in text
    assert "Epsilon is no legal finding of anonymity: the data protection officer decides." in text
    protect_test(records(), plan_for("columns"), tmp_path / "tried", 1)
    assert "Composition: No ledger counts this folder." in words(tmp_path / "tried/public")
