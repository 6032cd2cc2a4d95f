"""docs/numbers-and-clusters.md and docs/pram.md, carried out as they stand."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from deniable.cli import main

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"(?:^`([a-z]+\.[a-z]+)`:\n\n)?^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def carry_out(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Carry out all blocks of a `page` in the current folder."""
    said = ""
    for name, language, text in BLOCK.findall((DOCS / page).read_text("utf-8")):
        if language in ("yaml", "csv"):
            Path(name).write_text(text, encoding="utf-8")
        if language == "python":
            exec(text, {})
        if language == "text":
            assert text in said
        for line in text.splitlines() if language == "sh" else ():
            command, *options = shlex.split(line)
            if command == "sed":
                subprocess.run([command, *options], check=True, capture_output=True)
            else:
                assert main(options) == 0, line
            said = capsys.readouterr().out


@pytest.mark.slow
def test_the_page_can_be_carried_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    carry_out("numbers-and-clusters.md", capsys)
    readme = " ".join(Path("cbls/test/README.txt").read_text("utf-8").split())
    assert readme.index("RISK, original_values") < readme.index("No finite epsilon")
    for name in ("second", "third", "fourth"):
        clusters = json.loads(Path(f"{name}.json").read_text("utf-8"))["columns"]["clusters"]
        assert [each["attributes"] for each in clusters] == [["sex", "union"], ["town"]]


@pytest.mark.slow
def test_the_page_of_pram_can_be_carried_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    carry_out("pram.md", capsys)
    found = pd.read_csv("weighted/private/comparison.csv").query("check == 'coverage'")
    # Of 1,000 redraws each; a false alarm once in 1,000 if intervals cover .945 to .955.
    assert found["reported_coverage"].between(0.92, 0.98).all()
    smokers = found.query("values == 'yes'")
    assert smokers["original"].tolist() == [0.243]
    assert smokers["covered"].notna().all()
