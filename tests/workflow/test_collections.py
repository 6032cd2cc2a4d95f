"""Collections by RRBA in the workflow: marked, drawn once, audited, shown."""

import csv
import json
import os
from pathlib import Path
from typing import Any

import pytest

from deniable.release.lane import PRODUCTION_MARK, REHEARSAL_MARK

pytestmark = pytest.mark.workflow
FILES = ("collection", "clients", "tables", "consistent", "margins", "two_step", "independence")


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_collections_are_marked(finished: Any) -> None:
    folder = finished[0].folder / "results" / "releases"
    for name, mark in (("asked", REHEARSAL_MARK), ("answered", PRODUCTION_MARK)):
        rehearsal = name == "asked"
        said = json.loads((folder / name / "release.json").read_text("utf-8"))
        assert said["notice"] == mark
        assert said["rehearsal"] == rehearsal
        assert said["data_source"] == ("network" if rehearsal else "surrogate")
        for table in FILES:
            written = rows(folder / name / f"{table}.csv")
            assert {row["rehearsal"] for row in written} == {str(rehearsal)}
            assert {row["data_source"] for row in written} == {said["data_source"]}
        # No file of records is left, and the truth stands beside rehearsals only.
        assert not list((folder / name).glob("protected.*"))
        assert (folder / name / "check.csv").exists() == rehearsal


def test_the_audit_covers_collections(finished: Any) -> None:
    audited = rows(finished[0].folder / "results" / "audit" / "privacy.csv")
    for name in ("asked", "answered"):
        own = [row for row in audited if row["mechanism"] == f"release {name}"]
        assert {row["unit"] for row in own} == {"answer", "record"}
        assert {row["holds"] for row in own} == {"True"}


def test_the_report_shows_collections(finished: Any) -> None:
    page = (finished[0].folder / "results" / "report.html").read_text("utf-8")
    assert "Collections by RRBA" in page
    for name in ("asked", "answered"):
        assert f"results/releases/{name}/" in page


def test_a_collection_is_drawn_once(project: Any) -> None:
    kept = ("releases/answered/collection.csv", "releases/answered/clients.csv")
    drawn = project.results(*kept)
    assert len(drawn) == 2
    for module in ("release_rrba.py", "rrba.py", "views.py"):
        with (project.folder / "src" / "deniable" / module).open("a") as stream:
            stream.write("\n# changed\n")
    os.utime(project.folder / "results/data/adult.parquet")
    project.made("--cores", "2", "results/releases/answered/tables.csv", "--config", "seed=5")
    assert "draw_collection" not in project.would_run("--config", "seed=5")
    assert project.results(*kept) == drawn
    project.edit("tiny.yaml", "epsilon: 1.0\n  mechanism: rrba", "epsilon: 2.0\n  mechanism: rrba")
    assert "'answered' is in results/releases/answered already" in project.refused("-n")


def test_a_rehearsed_collection_is_repeated_and_a_drawn_one_is_not(
    project: Any, finished: Any
) -> None:
    paths = [f"results/releases/{name}/collection.csv" for name in ("asked", "answered")]
    before = finished[0].results("releases/*/collection.csv")
    for path in paths:
        (project.folder / path).unlink()
    project.made("--cores", "2", *paths)
    after = project.results("releases/*/collection.csv")
    assert after[paths[0]] == before[paths[0]]
    assert after[paths[1]] != before[paths[1]]
