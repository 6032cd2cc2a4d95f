"""The manifest of codecheck.yml has the main outputs of the catalogs, and no other files."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from reproduction.papers.catalog import AUDITED, AUDITS, COMPUTED_TABLES, FIGURES, PAPERS, TABLES

ROOT = Path(__file__).resolve().parents[3]
REFERENCES = (ROOT / "docs" / "references.md").read_text(encoding="utf-8")
NUMBERED = re.compile(r"_(table|fig|example)s?\d*$")
DECIDED = re.compile(r"_(claims|results)$")
ON_REQUEST = {name for name, table in TABLES.items() if table.on_request}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "codecheck.yml").read_text(encoding="utf-8"))
    return found


def of_catalogs() -> set[str]:
    """Return the tables, figures and audits that the catalogs declare, for a full run."""
    tables = {*TABLES, *COMPUTED_TABLES} - ON_REQUEST
    figures = {name for name, figure in FIGURES.items() if ON_REQUEST.isdisjoint(figure.tables)}
    return (
        {f"results/tables/{name}.csv" for name in tables}
        | {f"results/figures/{name}.svg" for name in figures}
        | {f"results/audit/{name}.csv" for name in AUDITS}
    )


def is_main(file: str) -> bool:
    """Return whether a file is a numbered, decided or audited table, a figure, or an audit."""
    name = Path(file).stem
    audited = {table for tables in AUDITED.values() for table in tables}
    is_table = NUMBERED.search(name) or DECIDED.search(name) or name in audited
    return "/tables/" not in file or bool(is_table)


def test_the_manifest_has_the_main_outputs_once(document: dict[str, Any]) -> None:
    files = [each["file"] for each in document["manifest"]]
    assert len(set(files)) == len(files)
    assert set(files) == {file for file in of_catalogs() if is_main(file)}


def test_each_file_has_a_comment_of_its_own_in_its_paper(document: dict[str, Any]) -> None:
    said = [(each["file"].split("_")[0], each["comment"]) for each in document["manifest"]]
    assert all(comment.strip() for _, comment in said)
    assert len(set(said)) == len(said)


def test_the_papers_are_those_of_the_references(document: dict[str, Any]) -> None:
    listed = re.split(r"^## ", REFERENCES, flags=re.MULTILINE)
    entries = {part.partition("\n")[0]: " ".join(part.split()) for part in listed}
    assert len(document["paper"]) == len(PAPERS)
    for paper, found in zip(PAPERS, document["paper"], strict=True):
        assert found["title"] in entries[paper.key]
        for author in found.get("authors", ()):
            assert author["name"] in entries[paper.key]
        reference = found.get("reference", "")
        assert reference.partition(", May")[0] in entries[paper.key]


def test_no_check_is_claimed(document: dict[str, Any]) -> None:
    assert set(document) == {"version", "paper", "manifest"}
    assert document["version"] == "https://codecheck.org.uk/spec/config/1.0/"
