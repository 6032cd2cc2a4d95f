"""Releases of numbers in the workflow: marked, and with no figure of their records."""

import json
from typing import Any

import pandas as pd
import pytest

from deniable.release import PRODUCTION_NOTICE, TEST_NOTICE

pytestmark = pytest.mark.workflow


def test_releases_of_numbers_are_marked(finished: Any) -> None:
    results = finished[0].folder / "results"
    for name, mode, notice in (
        ("masked", "test", TEST_NOTICE),
        ("counted", "production", PRODUCTION_NOTICE),
    ):
        folder = results / "releases" / name
        document = json.loads((folder / "public" / "plan.json").read_text("utf-8"))
        block = document["release"]
        assert (block["mode"], block["notice"]) == (mode, notice)
        assert block["data_source"] == "surrogate"
        protected = pd.read_parquet(folder / "public" / "protected.parquet")
        assert list(protected) == ["AGI", "FICA", "ERNVAL"]
        assert set(protected["ERNVAL"]) == {"<=30K", ">30K"}
        numbers = pd.read_csv(results / "estimates" / name / "numbers.csv")
        assert set(numbers["mode"]) == {mode}
        assert set(numbers["data_source"]) == {"surrogate"}
        # Numbers that are unchanged are counted for the owner alone.
        assert (folder / "private" / "exact_cells.csv").exists()
        assert not (folder / "public" / "exact_cells.csv").exists()
        assert (folder / "public" / "histograms.csv").exists() == (name == "counted")
        assert (results / "checks" / f"{name}.csv").exists() == (mode == "test")


def test_the_report_shows_releases_of_numbers(finished: Any) -> None:
    page = b"".join(finished[0].results("report/*.html", "report/tables/*").values()).decode()
    for name in ("masked", "counted"):
        assert f"results/releases/{name}/" in page


def test_other_bounds_make_test_releases_anew(project: Any) -> None:
    project.edit("resources/datasets.yaml", "- 100000", "- 120000")
    assert {"plan", "protect", "prepare"} <= set(project.would_run())
