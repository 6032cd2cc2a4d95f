"""Releases of numbers in the workflow: marked, silent about what is for the owner."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from deniable.records.numeric import read_numeric_parquet
from deniable.release.made import REHEARSAL_MARK
from deniable.release.numeric.design import SAMPLER_MARK

pytestmark = pytest.mark.workflow


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_releases_of_numbers_are_marked(finished: Any) -> None:
    folder = finished[0].folder / "results" / "releases"
    for name, mark in (("masked", REHEARSAL_MARK), ("counted", SAMPLER_MARK)):
        rehearsal = name == "masked"
        said = json.loads((folder / name / "public" / "release.json").read_text("utf-8"))
        assert said["notice"] == mark
        assert said["rehearsal"] == rehearsal
        assert said["data_source"] == "surrogate"
        # The audit's figures tell of the records: they are their owner's.
        figures = said["privacy"]["figures_for_these_records"]
        assert isinstance(figures, str)
        assert figures.startswith("for the owner alone")
        assert len(said["privacy"]["verdicts"]) == (4 if rehearsal else 1)
        marks = read_numeric_parquet(folder / name / "public" / "protected.parquet").marks
        assert marks["notice"] == mark
        assert marks["data_source"] == "surrogate"
        protected = rows(folder / name / "public" / "protected.csv")
        assert {row.get("rehearsal") for row in protected} == {"yes" if rehearsal else None}
        assert {row.get("synthetic") for row in protected} == {None if rehearsal else "yes"}
        assert {row["ERNVAL"] for row in protected} == {"<=30K", ">30K"}
        for table in ("public/estimates.csv", "private/audit.csv"):
            written = rows(folder / name / table)
            assert {row["rehearsal"] for row in written} == {str(rehearsal)}
            assert {row["data_source"] for row in written} == {"surrogate"}
        assert not (folder / name / "public" / "audit.csv").exists()
        files = {file.name for file in (folder / name).glob("*/*")}
        assert len(files & {"check.csv", "utility.csv"}) == (2 if rehearsal else 0)


def test_the_report_shows_releases_of_numbers(finished: Any) -> None:
    page = b"".join(finished[0].results("report/*.html", "report/tables/*").values()).decode()
    assert "Releases of numbers" in page
    for name in ("masked", "counted"):
        assert f"results/releases/{name}/" in page


def test_other_bounds_make_rehearsals_anew(project: Any) -> None:
    project.edit("resources/datasets.yaml", "- 100000", "- 120000")
    assert {"rehearse", "prepare"} <= set(project.would_run())
