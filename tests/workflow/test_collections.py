"""Collections by RRBA in the workflow: marked, audited, shown."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from deniable.release.made import PRODUCTION_MARK, REHEARSAL_MARK

pytestmark = pytest.mark.workflow
FILES = (
    "private/clients",  # who was asked what
    *("public/collection", "public/tables", "public/consistent", "public/margins"),
    *("public/two_step", "public/independence"),
)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_collections_are_marked(finished: Any) -> None:
    folder = finished[0].folder / "results" / "releases"
    for name, mark in (("asked", REHEARSAL_MARK), ("answered", PRODUCTION_MARK)):
        rehearsal = name == "asked"
        said = json.loads((folder / name / "public" / "release.json").read_text("utf-8"))
        assert said["notice"] == mark
        assert said["rehearsal"] == rehearsal
        assert said["data_source"] == ("network" if rehearsal else "surrogate")
        for table in FILES:
            written = rows(folder / name / f"{table}.csv")
            assert {row["rehearsal"] for row in written} == {str(rehearsal)}
            assert {row["data_source"] for row in written} == {said["data_source"]}
        # No file of records is left, and the truth stands beside rehearsals only.
        assert not list((folder / name).rglob("protected.*"))
        assert (folder / name / "private" / "check.csv").exists() == rehearsal
        assert not (folder / name / "public" / "clients.csv").exists()


def test_the_audit_covers_collections(finished: Any) -> None:
    audited = rows(finished[0].folder / "results" / "audit" / "privacy.csv")
    for name in ("asked", "answered"):
        own = [row for row in audited if row["source"] == f"release {name}"]
        assert {row["unit"] for row in own} == {"answer", "record"}
        assert {row["holds"] for row in own} == {"True"}


def test_the_report_shows_collections(finished: Any) -> None:
    page = b"".join(finished[0].results("report/*.html", "report/tables/*").values()).decode()
    assert "Collections by RRBA" in page
    for name in ("asked", "answered"):
        assert f"results/releases/{name}/" in page
