"""docs/adding-a-mechanism.md, carried out word for word in a copy of the project."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "adding-a-mechanism.md"
STEP = re.compile(
    r"\*\*Create\*\* `(?P<new>[^`]+)`:\s*```\w+\n(?P<whole>.*?)```"
    r"|In `(?P<file>[^`]+)`,\s+below\s+`(?P<line>[^`]+)`,\s+\*\*add\*\*:\s*"
    r"```\w+\n(?P<part>.*?)```",
    re.DOTALL,
)
TABLE = """
import sys
import pandas as pd
from reproduction.papers import PAGES
from reproduction.papers.multirr.claims.decided import CLAIMS
from reproduction.report.render import environment
from reproduction.study.pages import Origin

(section,) = [each for page in PAGES for each in page.sections if each.id == "pram_ordered"]
tables = {"pram_ordered": pd.read_csv("results/tables/pram_ordered.csv")}
made = environment()
origin = Origin("reproduction.papers.pram.ordered:cost_table", "order_categories")
made.globals.update(tables=tables, drawings={}, folders={}, printed=())
made.globals.update(made_by={"pram_ordered": origin})
page = made.get_template(f"{section.template}.html.j2").render(section.content(tables))
assert "workflow/reproduction/papers/pram/ordered.py:" in page, page
assert page.count("<tr>") == 6, page
(claim,) = [each for each in CLAIMS if each.id == "less_at_the_largest"]
name = ("rr_independent", "relative_error_ratio", 0.1, "sigma = 0.9")
cells = {name: {"ci_low": 3.0, "median": 4.0, "ci_high": 5.0}}
print(claim.decide(cells).verdict)
"""


def carried_out(folder: Path) -> list[str]:
    """Carry out the guide's steps in a folder; return the files that it touches."""
    touched = []
    for step in STEP.finditer(GUIDE.read_text(encoding="utf-8")):
        if step["new"]:
            assert not (folder / step["new"]).exists()
            (folder / step["new"]).write_text(step["whole"], encoding="utf-8")
        else:
            text = (folder / step["file"]).read_text(encoding="utf-8")
            line = f"\n{step['line']}\n"
            assert text.count(line) == 1, f"{step['file']} has no single line {step['line']!r}"
            text = text.replace(line, line + step["part"])
            (folder / step["file"]).write_text(text, encoding="utf-8")
        touched.append(step["new"] or step["file"])
    return touched


def test_the_guide_names_as_few_files_as_it_says() -> None:
    steps = [step["new"] or step["file"] for step in STEP.finditer(GUIDE.read_text("utf-8"))]
    mechanism = {file for file in steps if "papers" not in file}
    assert len(mechanism) == 3
    assert len({file for file in steps if "papers/pram" in file}) == 3
    assert len({file for file in steps if "papers/multirr" in file}) == 1


def test_there_is_room_for_what_the_guide_adds(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "tests").mkdir()
    shutil.copy(ROOT / "tests" / "test_architecture.py", tmp_path / "tests")
    carried_out(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-k", "folder or layers or module", "tests"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.workflow
@pytest.mark.slow
def test_the_guide_does_what_it_says(untouched: Any) -> None:
    assert len(carried_out(untouched.folder)) == 10
    config = GUIDE.read_text(encoding="utf-8").split("```yaml\n")[1].split("```")[0]
    (untouched.folder / "that.yaml").write_text(config, encoding="utf-8")
    untouched.made(
        *("--cores", "1", "--configfile", "tiny.yaml", "that.yaml", "--"),
        *("results/releases/in_order/private", "results/figures/pram_ordered.svg"),
    )
    check = untouched.folder / "results/releases/in_order/private/check.csv"
    assert len(check.read_text(encoding="utf-8").splitlines()) > 18
    done = subprocess.run(
        [sys.executable, "-c", TABLE],
        cwd=untouched.folder,
        env={"PYTHONPATH": str(untouched.folder / "src"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "holds", done.stderr
