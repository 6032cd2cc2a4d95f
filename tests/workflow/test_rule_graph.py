"""The graph in the README is the graph of the rules."""

import itertools
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.workflow
def test_the_readme_shows_the_rules_as_they_are(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "snakemake", "--rulegraph", "mermaid-js", "--forceall"]
    command += ["--config", "data={source: surrogate}"]
    for name in ("Snakefile", "workflow", "config", "resources", "docs", "src", "profiles"):
        (tmp_path / name).symlink_to(ROOT / name)
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    names = dict(re.findall(r"^\s*(id\d+)\[(\w+)\]", done.stdout, re.MULTILINE))
    arrows = {
        (names[one], names[other])
        for one, other in re.findall(r"^\s*(id\d+) --> (id\d+)", done.stdout, re.MULTILINE)
        # What everything leads to is said in words; its arrows would hide the others.
        if names[other] not in ("all", "report")
    }
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = set()
    for line in readme.split("```mermaid")[1].split("```")[0].splitlines():
        chain = [part.strip() for part in line.split("-->")]
        shown |= set(itertools.pairwise(chain))
    assert shown == arrows
