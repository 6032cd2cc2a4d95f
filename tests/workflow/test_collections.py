"""Collections by RRBA in the workflow: marked, audited, shown."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from deniable.release import PRODUCTION_NOTICE, TEST_NOTICE

pytestmark = pytest.mark.workflow
ESTIMATES = ("margins", "pairs", "consistent", "disagreement", "two_step", "independence")


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_collections_are_marked(finished: Any) -> None:
    results = finished[0].folder / "results"
    for name, mode, notice in (
        ("asked", "test", TEST_NOTICE),
        ("answered", "production", PRODUCTION_NOTICE),
    ):
        folder = results / "releases" / name
        block = json.loads((folder / "public" / "plan.json").read_text("utf-8"))["release"]
        assert (block["mode"], block["notice"]) == (mode, notice)
        assert block["data_source"] == ("network" if mode == "test" else "surrogate")
        for table in ESTIMATES:
            written = rows(results / "estimates" / name / f"{table}.csv")
            assert {row["mode"] for row in written} == {mode}
            assert {row["data_source"] for row in written} == {block["data_source"]}
        # No file of records is left. Only test releases are compared with the original ones.
        assert not list(folder.rglob("protected.*"))
        assert (results / "checks" / f"{name}.csv").exists() == (mode == "test")


def test_the_audit_covers_collections(finished: Any) -> None:
    audited = rows(finished[0].folder / "results" / "audit" / "privacy.csv")
    for name in ("asked", "answered"):
        own = [row for row in audited if row["source"] == f"release {name}"]
        # A theorem of the paper claims a smaller epsilon for some tables.
        stated = [row for row in own if not row["claim"].startswith("Theorem")]
        assert stated
        assert {row["holds"] for row in stated} == {"True"}


def test_the_report_shows_collections(finished: Any) -> None:
    page = b"".join(finished[0].results("report/*.html", "report/tables/*").values()).decode()
    for name in ("asked", "answered"):
        assert f"results/releases/{name}/" in page
