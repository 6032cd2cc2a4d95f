"""What stands in a public folder: its list, its copies as text, and its words for readers."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.release.small_releases import settings, source

from deniable.errors import DataError
from deniable.files import read_json, read_table, sha256
from deniable.release import Ledger, make_release, rehearse
from deniable.release.contents import README, refuse_other_files
from deniable.release.entries import counted_epsilon, epsilon_text
from deniable.release.receipts import SUMS, sums_of

SAID_OF_USE = (
    "statistics of many records, with their intervals; nothing about one person",
    "for statistics only, and make no attempt to tell whose a record is",
    "may remain personal data",
    "GDPR, recital 26; Article 29 Working Party, Opinion 05/2014",
    "This is no legal advice.",
)


def published(kind: str, at: Path, **changes: Any) -> Path:
    """Make a release; return its public folder."""
    release = settings(kind, **changes)
    make_release(release, source(release), at / "small", Ledger(at / "ledger"))
    return at / "small" / "public"


def listed_anew(public: Path, name: str) -> None:
    """Put the digest of a file that was changed into the list."""
    text = (public / SUMS).read_text("utf-8")
    changed = text.replace(sums_of(public)[name], sha256(public / name))
    assert changed != text
    (public / SUMS).write_text(changed, "utf-8")


# -- copies as text --------------------------------------------------------------------------------


def swapped(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Put a record in front of one before it that has another value in a column."""
    at = int(np.flatnonzero(table[column] != table[column][0])[0])
    order = np.arange(len(table))
    order[[0, at]] = at, 0
    return table.iloc[order]


def cell(column: str, value: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Return what changes one cell of a table."""

    def change(table: pd.DataFrame) -> pd.DataFrame:
        assert table[column][5] != value
        return table.assign(**{column: [*table[column][:5], value, *table[column][6:]]})

    return change


ROWS: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "a row less": lambda table: table[:-1],
    "a row more": lambda table: pd.concat([table, table[-1:]]),
    "a column less": lambda table: table[list(table)[1:]],
}


@pytest.mark.parametrize("name", ["protected", "synthetic"])
def test_a_copy_of_categories_holds_the_records_that_it_copies(name: str, tmp_path: Path) -> None:
    public = published("independent", tmp_path)
    file = public / f"{name}.csv"
    table = read_table(file, dtype=str)
    other = "x" if table["b"][5] != "x" else "y"
    ways = ROWS | {"a cell": cell("b", other), "order": lambda table: swapped(table, "d")}
    _only_the_same_records_pass(file, table, ways)


def test_a_copy_of_numbers_holds_the_records_that_it_copies(tmp_path: Path) -> None:
    file = published("values", tmp_path) / "protected.csv"
    table = read_table(file, dtype=str)
    last = repr(np.nextafter(float(table["height"][5]), 0).item())
    ways = ROWS | {
        "the last digit": cell("height", last),
        "no number": cell("width", "wide"),
        "a class": cell("size", "small" if table["size"][5] == "large" else "large"),
        "order": lambda table: swapped(table, "width"),
    }
    _only_the_same_records_pass(file, table, ways)


def _only_the_same_records_pass(
    file: Path, table: pd.DataFrame, ways: dict[str, Callable[[pd.DataFrame], pd.DataFrame]]
) -> None:
    """Hold a copy that was changed together with its line in the list to its records."""
    for change in ways.values():
        change(table).to_csv(file, index=False)
        listed_anew(file.parent, file.name)
        with pytest.raises(DataError, match=rf"{file.name}: holds other records than {file.stem}"):
            refuse_other_files(file.parent)
    # The same records, though not the same bytes, are no other records.
    table.to_csv(file, index=False)
    listed_anew(file.parent, file.name)
    refuse_other_files(file.parent)


# -- the list --------------------------------------------------------------------------------------


def test_everything_that_is_not_as_listed_is_named(tmp_path: Path) -> None:
    public = published("independent", tmp_path)
    refuse_other_files(public)
    (public / "pairs.csv").unlink()
    (public / "estimates.csv").write_text("")
    (public / "folder").mkdir()
    refused = ["pairs.csv: missing", "estimates.csv: damaged or edited since it was made"]
    for name in ("more", "folder/more"):
        (public / name).write_text("")
        refused.append(f"{name}: not in its list")
    with pytest.raises(DataError) as caught:
        refuse_other_files(public)
    lines = str(caught.value).splitlines()
    assert sorted(lines[:-1]) == sorted(f"{public}/{fault}" for fault in refused)
    assert lines[-1] == "restore what was published from a copy"


def test_links_are_named_wherever_they_lead(tmp_path: Path) -> None:
    """To what is private, or to a file of the same bytes that is somewhere else."""
    public = published("independent", tmp_path)
    (public / "more").symlink_to("../private")
    (public / "nowhere").symlink_to("nothing")
    (public / "pairs.csv").rename(tmp_path / "pairs.csv")
    (public / "pairs.csv").symlink_to(tmp_path / "pairs.csv")
    with pytest.raises(DataError) as caught:
        refuse_other_files(public)
    assert str(caught.value).splitlines()[:-1] == [
        f"{public}/more: not in its list",
        f"{public}/nowhere: not in its list",
        f"{public}/pairs.csv: a link",
    ]


@pytest.mark.parametrize("text", [b"", b"a line\n", b"\xff\n", None])
def test_a_list_that_is_none_is_refused(tmp_path: Path, text: bytes | None) -> None:
    public = published("independent", tmp_path)
    if text is None:
        (public / SUMS).unlink()
    else:
        (public / SUMS).write_bytes(text)
    with pytest.raises(DataError, match=f"{README}: not in its list|{SUMS}: damaged or edited"):
        refuse_other_files(public)


# -- words -----------------------------------------------------------------------------------------


def words(public: Path) -> str:
    return " ".join((public / README).read_text("utf-8").split())


@pytest.mark.parametrize("kind", ["independent", "values", "views"])
def test_an_epsilon_is_told_rounded_up(kind: str, tmp_path: Path) -> None:
    public = published(kind, tmp_path)
    privacy = read_json(public / "release.json")["privacy"]
    stated = privacy.get("proved_epsilon", privacy.get("epsilon"))
    shown = epsilon_text(counted_epsilon(stated))
    text = words(public)
    assert Fraction(shown) >= Fraction(stated)
    assert f"has the epsilon {shown}, proved and rounded up: whatever is" in text
    assert f"at least exp(-{shown}) times the same. That is for {privacy['unit']}, as if" in text
    assert "No finite epsilon" not in text
    assert "WHAT FAILS" not in text
    # No other digits of it, which would not be rounded up.
    assert shown == repr(stated) or repr(stated) not in text


@pytest.mark.parametrize("kind", ["strata", "centroids"])
def test_where_no_epsilon_is_finite_none_is_told(kind: str, tmp_path: Path) -> None:
    text = words(published(kind, tmp_path))
    assert "No finite epsilon holds for the record of a person; release.json says why." in text
    assert "proved and rounded up" not in text


@pytest.mark.parametrize("rehearsal", [False, True])
def test_what_fails_is_told_by_name_with_its_reason(rehearsal: bool, tmp_path: Path) -> None:
    release = settings("centroids", rehearsal=rehearsal)
    if rehearsal:
        rehearse(release, source(release), tmp_path / "small")
    else:
        published("centroids", tmp_path)
    text = words(tmp_path / "small" / "public")
    assert len(release.findings) == 2
    for name, why in release.findings.items():
        assert f"WHAT FAILS, {name}: {why}." in text
    assert ("NOTICE: REHEARSAL" in text) == rehearsal
    assert ("Drawn once, by a key of its own." in text) != rehearsal


PERMUTED = "The records stand in a random order, and nothing gives their place in the true file."
AS_IN_FILE = "The records stand in the order of the true file."


@pytest.mark.parametrize(
    ("kind", "changes", "told"),
    [
        ("independent", {}, PERMUTED),
        ("independent", {"order": "as_in_file"}, AS_IN_FILE),
        ("values", {}, PERMUTED),
        ("views", {}, ""),  # of clients no records are released
    ],
)
def test_the_order_of_records_is_told(
    kind: str, changes: dict[str, str], told: str, tmp_path: Path
) -> None:
    text = words(published(kind, tmp_path, **changes))
    assert [each for each in (PERMUTED, AS_IN_FILE) if each in text] == [told] * bool(told)


def test_what_is_not_protected_is_pointed_to(tmp_path: Path) -> None:
    """Also every file, and no other, is told of."""
    for kind in ("independent", "strata", "centroids", "views"):
        public = published(kind, tmp_path / kind)
        text = (public / README).read_text("utf-8")
        unprotected = "not_protected" in read_json(public / "release.json")["privacy"]
        pointed = "what release.json names under not_protected" in words(public)
        assert pointed == unprotected
        told = [
            line.split()[0] for line in text.rpartition("\n\n")[2].splitlines() if line[0] != " "
        ]
        assert sorted(told) == sorted(path.name for path in public.iterdir())


@pytest.mark.parametrize("kind", ["independent", "strata", "centroids", "views"])
def test_readers_are_told_what_for_and_that_it_may_be_personal_data(
    kind: str, tmp_path: Path
) -> None:
    text = words(published(kind, tmp_path))
    for said in SAID_OF_USE:
        assert said in text


def test_a_rehearsal_is_not_called_secret(tmp_path: Path) -> None:
    rehearsal, release = settings("independent", rehearsal=True), settings("independent")
    rehearse(rehearsal, source(rehearsal), tmp_path / "tried")
    make_release(release, source(release), tmp_path / "small", Ledger(tmp_path / "ledger"))
    tried, small = (
        " ".join((tmp_path / name / "public" / "README.txt").read_text("utf-8").split())
        for name in ("tried", "small")
    )
    assert "those of a rehearsal follow from its seed" in tried
    assert "secret" not in tried
    assert "AES-256 under a secret key" in small
