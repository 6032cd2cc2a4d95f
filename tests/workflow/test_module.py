"""The workflow as another one's module, and in a directory that is not its own."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from snakemake.utils import update_config
from tests.workflow.conftest import TINY, Project

import check_results
from deniable.files import read_json
from deniable.release import Ledger

ROOT = Path(__file__).resolve().parents[2]
OUTER = """\
configfile: "outer.yaml"


module deniable:
    snakefile:
        "{snakefile}"
    config:
        config["deniable"]


use rule * from deniable as deniable_*


rule listed:
    default_target: True
    input:
        "results/releases/tried/public",
        "results/tables/rrba_epsilon.csv",
        "results/tables/rrba_fig7.csv",
    output:
        "listed.txt",
    shell:
        "ls {{input}} > {{output}}"
"""


def test_the_page_shows_what_is_tried_here() -> None:
    page = (ROOT / "docs" / "elsewhere.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    tried = OUTER[OUTER.index("module") : OUTER.index("rule listed")]
    words = tried.format(snakefile="deniable/workflow/Snakefile").split()
    assert re.sub("  #.*", "", shown).split() == words


@pytest.fixture
def outer(
    tmp_path: Path, snakemake: Callable[..., Any], environment: Callable[..., Any]
) -> Project:
    """Give a workflow of somebody else's that has this repository's as its module."""
    config = yaml.safe_load((ROOT / "config" / "config.yaml").read_text(encoding="utf-8"))
    update_config(config, TINY | {"seed": 4})
    Ledger.init(tmp_path / "ledger")
    (tmp_path / "src").symlink_to(ROOT / "src")
    (tmp_path / "outer.yaml").write_text(yaml.safe_dump({"deniable": config}), encoding="utf-8")
    text = OUTER.format(snakefile=ROOT / "workflow" / "Snakefile")
    (tmp_path / "Snakefile").write_text(text, encoding="utf-8")
    return Project(tmp_path, snakemake, environment)


def jobs(said: str) -> dict[str, int]:
    table = said.partition("Job stats:")[2].partition("\n\n")[0]
    return {rule: int(n) for rule, n in re.findall(r"^(\w+) +(\d+)$", table, re.MULTILINE)}


def said_by(outer: Project, *arguments: str) -> str:
    done = outer.snakemake(outer.folder, *arguments, library=ROOT / "src")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_another_workflow_plans_its_jobs_by_its_own_config(outer: Project) -> None:
    asked = jobs(said_by(outer, "-n"))
    assert asked == {
        "deniable_draw_network": 7,
        "deniable_download": 1,
        "deniable_prepare": 1,
        "deniable_plan": 2,
        "deniable_protect": 2,
        "deniable_rrba_epsilon": 1,
        "deniable_rrba_fig7": 1,
        "listed": 1,
        "total": 16,
    }
    # All that there is: what lies beside the workflow's own Snakefile is found there.
    everything = jobs(said_by(outer, "-n", "deniable_all"))
    assert everything["deniable_protect"] == sum(
        each["mode"] == "test" for each in TINY["releases"]
    )
    assert everything["deniable_report"] == 1


ONE_RELEASE = """\
deniable:
  releases:
    - name: survey
      mode: test
      file: {path: survey.csv, schema: survey.yaml}
      plan: {kind: columns, epsilon: 2.0}
"""
SCHEMA = """\
format: deniable-schema
version: 1
population: people
file: {kind: csv, delimiter: ",", encoding: utf-8}
columns:
  - {name: sex, kind: categorical, categories: [f, m]}
  - {name: owner, kind: categorical, categories: [n, y]}
"""


def test_one_release_of_an_own_file_takes_a_config_of_a_few_lines(
    outer: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(ONE_RELEASE.splitlines()) <= 10
    text = OUTER[: OUTER.index("use rule")].format(snakefile=ROOT / "workflow" / "Snakefile")
    (outer.folder / "Snakefile").write_text(f"{text}use rule * from deniable\n", "utf-8")
    (outer.folder / "outer.yaml").write_text(ONE_RELEASE, "utf-8")
    (outer.folder / "survey.yaml").write_text(SCHEMA, "utf-8")
    records = "".join(("f,n\n", "m,y\n")[n % 2] for n in range(200))
    (outer.folder / "survey.csv").write_text(f"sex,owner\n{records}", "utf-8")
    chain = (
        "plan",
        "protect",
        "estimate",
        "consistency",
        "two_step",
        "independence",
        "joint",
        "synthesize",
    )
    expected = dict.fromkeys(("all", *chain), 1) | {"total": 1 + len(chain)}
    assert jobs(said_by(outer, "-n", "all")) == expected
    said_by(outer, "--cores", "1", "all")
    assert "Nothing to be done" in said_by(outer, "-n", "all")
    # The check needs neither tables nor a report, and no record of Snakemake's.
    monkeypatch.chdir(outer.folder)
    shutil.rmtree(outer.folder / ".snakemake")
    monkeypatch.setattr(
        "sys.argv", ["check", "--configfile", "outer.yaml", "--section", "deniable"]
    )
    assert check_results.main() == 0
    # The public folder, and ten files of estimates.
    assert "results: all 11 files and folders of outer.yaml exist" in capsys.readouterr().out
    outer.edit("outer.yaml", "epsilon: 2.0", "epsilon: 3.0")
    assert check_results.main() == 1
    lines = capsys.readouterr().err.splitlines()
    why = "release.plan.epsilon: made with 2.0, now 3.0; run make again"
    assert f"results/releases/survey/public: {why}" in lines
    assert f"results/plans/survey/plan.json: {why}" in lines


@pytest.mark.slow
def test_what_another_workflow_makes_is_current_and_names_its_files(outer: Project) -> None:
    said_by(outer, "--cores", "2")
    assert "Nothing to be done" in said_by(outer, "-n")
    listed = (outer.folder / "listed.txt").read_text(encoding="utf-8")
    assert {"protected.parquet", "results/tables/rrba_fig7.csv"} <= set(listed.split())
    records = outer.folder / "results"
    drawn = read_json(records / "data" / "adult_numeric.parquet.provenance.json")
    assert list(drawn["data"]) == ["resources/surrogates/adult_numeric.json"]
    assert {"resources/datasets.yaml"} <= set(drawn["inputs"])
    spread = read_json(records / "tables" / "rrba_fig7.csv.provenance.json")
    assert "resources/published/rrba_table4.csv" in spread["inputs"]
    # Of its own results nothing is recorded, and nothing made again for that.
    assert not (outer.folder / "listed.txt.provenance.json").exists()
    # A changed setting is seen.
    outer.edit("outer.yaml", "seed: 4", "seed: 5")
    assert jobs(said_by(outer, "-n"))["deniable_prepare"] == 1


def test_a_run_in_another_directory_finds_what_is_beside_the_workflow(
    tmp_path: Path, snakemake: Callable[..., Any]
) -> None:
    folder = tmp_path / "test"
    shutil.copytree(ROOT / ".test", folder)  # its config is a link, and copied as a file
    done = snakemake(
        ROOT,
        *("-n", "--directory", str(folder), "--snakefile", "workflow/Snakefile"),
        *("--config", "data={source: surrogate}", "--", "releases"),
        library=ROOT / "src",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert jobs(done.stdout + done.stderr)["protect"] > 10


def test_a_module_that_is_not_in_a_folder_is_refused(outer: Project) -> None:
    outer.edit(
        "Snakefile",
        f'"{ROOT / "workflow" / "Snakefile"}"',
        f'gitfile("{ROOT}", path="workflow/Snakefile", ref="HEAD")',
    )
    done = outer.snakemake(outer.folder, "-n", library=ROOT / "src")
    assert done.returncode != 0
    assert "clone the repository" in done.stdout + done.stderr
