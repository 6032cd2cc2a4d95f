"""docs/own-data.md, carried out as it stands."""

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

PAGE = Path(__file__).resolve().parents[1] / "docs" / "own-data.md"


@pytest.mark.slow
def test_the_page_can_be_carried_out(tmp_path: Path) -> None:
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    commands = {"deniable", "sed"}
    (tmp_path / "deniable").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m deniable "$@"\n')
    (tmp_path / "deniable").chmod(0o755)
    variables = os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    scope: dict[str, object] = {}
    # The first block is the five commands in short, of a file that the next one makes.
    for language, text in blocks[1:]:
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
        if (tmp_path / "survey.csv").exists() and not (tmp_path / "survey.yaml").exists():
            draft = "deniable schema survey.csv > survey.yaml"
            subprocess.run(["sh", "-e", "-c", draft], cwd=tmp_path, env=variables, check=True)
    made = {path.name for path in (tmp_path / "release" / "public").iterdir()}
    assert made == {"README.txt", "SHA256SUMS", "plan.json", "protected.csv"}
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
    text = re.search(r"^```yaml\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert text
    config = validate(config_values | yaml.safe_load(text[1]))
    (release,) = config.releases
    assert release.mode == "production"
    plan = release.make_plan(read_schema(release.file.schema_file))
    assert plan.epsilon <= 2
