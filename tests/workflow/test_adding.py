"""docs/adding-a-mechanism.md, carried out word for word in a copy of the project."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from deniable.datasets import load_manifest

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "adding-a-mechanism.md"
STEP = re.compile(
    r"\*\*Create\*\* `(?P<new>[^`]+)`:\s*```\w+\n(?P<whole>.*?)```"
    r"|In\s+`(?P<file>[^`]+)`,\s+below\s+`(?P<line>[^`]+)`,\s+\*\*add\*\*:\s*"
    r"```\w+\n(?P<part>.*?)```",
    re.DOTALL,
)
PROMISED = {
    "A channel: two files": 2,
    "A mechanism that is not a channel: three files": 3,
    "A table with a figure: three files": 3,
    "A claim: one file": 1,
}
"""The number of files of each example, by its heading."""
IN_MEMORY = """
import sys
import pandas as pd
import numpy as np
import yaml
import deniable
from deniable.plans import PlanInputs, settings_from, plan_to_json, plan_from_json
from deniable.schema import schema_from_dict

frame = pd.DataFrame({"month": list("abcd") * 500, "sex": ["F", "M"] * 1000})
schema = schema_from_dict(
    {
        "format": "deniable-schema",
        "version": 1,
        "population": "test",
        "file": {"kind": "arrow"},
        "columns": [
            {"name": name, "kind": "categorical", "categories": sorted(set(frame[name]))}
            for name in frame
        ],
    }
)
for release in yaml.safe_load(open(sys.argv[1]))["releases"]:
    settings = release["plan"] | {"columns": ["month", "sex"]}
    plan = settings_from(settings).plan(PlanInputs(schema, accept=tuple(release.get("accept", []))))
    again = plan_from_json(plan_to_json(plan))
    assert again.audit()["holds"].all()
    protected = deniable.randomize(frame, again, np.random.default_rng(1))
    assert protected.shape == frame.shape
    assert not protected.equals(frame)
    margins = deniable.Released(protected, again).margins(target="file")
    months = margins.loc[margins["column"] == "month", "estimate"]
    assert (months - 0.25).abs().max() < 0.1, months  # over 5 standard errors
"""
IN_REPORT = """
import pandas as pd
from reproduction.papers import PAGES
from reproduction.study.claim_files import Cells, read_claims
from reproduction.papers.multirr.claims import TESTS
from reproduction.report.render import environment
from reproduction.papers import MADE_BY

(section,) = [each for page in PAGES for each in page.sections if each.id == "pram_circular"]
tables = {"pram_circular": pd.read_csv("results/tables/pram_circular.csv")}
templates = environment()
templates.globals.update(tables=tables, drawings={}, folders={})
templates.globals.update(made_by=MADE_BY, pictures={})
page = templates.get_template(f"{section.template}.html.j2").render(section.content(tables))
assert "workflow/scripts/pram/circular.py" in page, page
assert page.count("<tr") == 9, page
said = read_claims("resources/claims/multirr.csv", TESTS)
(claim,) = [each for each in said if each.id == "less_at_the_largest"]
name = ("rr_independent", "relative_error_ratio", 0.1, "sigma = 0.9")
columns = ("estimator", "measure", "sigma", "against")
cells = Cells(columns, {name: {"ci_low": 3.0, "median": 4.0, "ci_high": 5.0}})
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
            line = f"{step['line']}\n"
            found = text.count(f"\n{line}") + text.startswith(line)
            assert found == 1, f"{step['file']} has no single line {step['line']!r}"
            text = f"\n{text}".replace(f"\n{line}", f"\n{line}{step['part']}")[1:]
            (folder / step["file"]).write_text(text, encoding="utf-8")
        touched.append(step["new"] or step["file"])
    return touched


def ran(folder: Path, *arguments: str) -> str:
    """Run Python on the code in a folder; return its output."""
    paths = os.pathsep.join(str(folder / name) for name in ("src", "workflow"))
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the project's code with everything that the guide adds."""
    folder = tmp_path_factory.mktemp("changed")
    for name in ("src", "workflow", "resources/claims"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    tools = ("tools/generated.py", "tools/option_rows.py", "tools/write_options.py")
    for name in ("pyproject.toml", "tests/test_architecture.py", *tools):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    carried_out(folder)
    return folder


def test_the_data_set_of_the_guide_can_be_read(tmp_path: Path) -> None:
    section = GUIDE.read_text("utf-8").partition("\n## A data set: one file\n")[2]
    (entry,) = re.findall(r"```yaml\n(.*?)```", section, re.DOTALL)
    manifest = (ROOT / "resources" / "datasets.yaml").read_text("utf-8")
    (tmp_path / "datasets.yaml").write_text(manifest + entry, encoding="utf-8")
    drinks = load_manifest(tmp_path / "datasets.yaml")["drinks"]
    assert [each.name for each in drinks.attributes] == ["sex", "cups"]


def test_the_guide_names_as_few_files_as_it_promises() -> None:
    sections = GUIDE.read_text("utf-8").split("\n## ")
    found = {
        section.partition("\n")[0]: len({s["new"] or s["file"] for s in STEP.finditer(section)})
        for section in sections
    }
    assert {heading: files for heading, files in found.items() if files} == PROMISED


def test_there_is_room_for_everything_that_the_guide_adds(changed: Path) -> None:
    arguments = ("-q", "-p", "no:cacheprovider", "-k", "folder or layers or module", "tests")
    ran(changed, "-m", "pytest", *arguments)


def test_code_of_the_guide_is_in_the_form_of_the_project(changed: Path) -> None:
    for arguments in (("check",), ("format", "--check")):
        ran(changed, "-m", "ruff", *arguments, "src", "workflow")


def test_the_mechanisms_of_the_guide_randomize_and_are_estimated(changed: Path) -> None:
    config = GUIDE.read_text(encoding="utf-8").split("```yaml\n")[1].split("```")[0]
    (changed / "that.yaml").write_text(config, encoding="utf-8")
    ran(changed, "-c", IN_MEMORY, "that.yaml")


def test_the_page_of_options_has_the_options_of_the_guide(changed: Path) -> None:
    (changed / "docs").mkdir()
    ran(changed, "tools/write_options.py")
    page = (changed / "docs" / "options.md").read_text(encoding="utf-8")
    section = page.partition("\n### `swapped`\n")[2].partition("\n### ")[0]
    options = dict(re.findall(r"^\| `(\w+)` \|.*\| ([^|]*) \|$", section, re.MULTILINE))
    assert options.keys() == {"kind", "columns", "part", "proportion", "order"}
    assert all(options.values())


@pytest.mark.workflow
@pytest.mark.slow
def test_the_guide_does_what_it_says(untouched: Any) -> None:
    carried_out(untouched.folder)
    config = GUIDE.read_text(encoding="utf-8").split("```yaml\n")[1].split("```")[0]
    (untouched.folder / "that.yaml").write_text(config, encoding="utf-8")
    names = [each["name"] for each in yaml.safe_load(config)["releases"]]
    checks = [f"results/checks/{name}.csv" for name in names]
    untouched.made(
        *("--cores", "1", "--configfile", "tiny.yaml", "that.yaml", "--"),
        *(*checks, "results/figures/pram_circular.svg"),
    )
    for check in checks:
        lines = (untouched.folder / check).read_text(encoding="utf-8").splitlines()
        assert len(lines) > 18, check
    pairs = untouched.folder / "results/estimates/swaps/pairs.csv"
    assert "in an unknown way" in pairs.read_text(encoding="utf-8")
    assert ran(untouched.folder, "-c", IN_REPORT).strip() == "holds"
