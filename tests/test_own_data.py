"""Execute all blocks of docs/own-data.md and then of docs/estimating.md, as they are."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.release.test_contents import USE

from deniable.schema import read_schema

from reproduction.pipeline.config import validate

DOCS = Path(__file__).resolve().parents[1] / "docs"


def blocks_of(page: Path) -> list[tuple[str, str]]:
    """Return language and text of each block of a page."""
    return re.findall(r"^```(\w+)\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_both_pages_can_be_carried_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    owner, analyst = (blocks_of(DOCS / name) for name in ("own-data.md", "estimating.md"))
    commands = {"deniable", "sed"}
    (tmp_path / "deniable").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m deniable "$@"\n')
    (tmp_path / "deniable").chmod(0o755)
    variables = os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    scope: dict[str, object] = {}
    # The first block is the commands in short, for a file that the next block makes.
    for language, text in owner[1:] + analyst:
        if language == "python":
            here = Path.cwd()
            os.chdir(tmp_path)
            try:
                exec(text, scope)
            finally:
                os.chdir(here)
        if language == "sh":
            assert {line.split()[0] for line in text.splitlines()} <= commands
            subprocess.run(["sh", "-e", "-c", text], cwd=tmp_path, env=variables, check=True)
        if language == "text":  # a message that a block has shown
            assert text in capsys.readouterr().out
    made = {path.name for path in (tmp_path / "release" / "public").iterdir()}
    assert made == {"README.txt", "SHA256SUMS", "matrices.csv", "plan.json", "protected.csv"}
    readme = " ".join((tmp_path / "release" / "public" / "README.txt").read_text("utf-8").split())
    assert "respondent: 2, proved and rounded up" in readme
    for said in USE:
        assert said in readme


def test_the_entry_of_the_config_is_one(
    config_values: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = {
        "format": "deniable-schema",
        "version": 1,
        "population": "survey",
        "file": {"kind": "csv", "delimiter": ",", "encoding": "utf-8"},
        "columns": [{"name": "sex", "kind": "categorical", "categories": ["F", "M"]}],
    }
    (tmp_path / "survey.yaml").write_text(yaml.safe_dump(schema), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (text,) = (
        t for language, t in blocks_of(DOCS / "production-releases.md") if language == "yaml"
    )
    config = validate(config_values | yaml.safe_load(text))
    (release,) = config.releases
    assert release.mode == "production"
    plan = release.make_plan(read_schema(release.file.schema_file))
    assert plan.epsilon <= 2
