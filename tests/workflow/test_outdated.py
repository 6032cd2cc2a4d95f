"""What changed is made again by Snakemake's own records; without them ``make check`` names it."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.workflow.tiny_releases import REAL

import check_provenance
from check_results import outdated
from workflow_config import read_plan

pytestmark = pytest.mark.workflow

CHUNK = "results/studies/multirr_pairs/chunk-0-of-1.csv"
DATA = "results/data/adult.parquet"
DRAWN = tuple(f"releases/{name}/*/**/*" for name in REAL)


def forget(project: Any) -> None:
    """Leave of a project a folder of results on a volume without .snakemake."""
    shutil.rmtree(project.folder / ".snakemake")


def other_study(project: Any, name: str, **changed: Any) -> tuple[str, ...]:
    """Return the arguments of a run with other settings of a study."""
    content = yaml.safe_dump({"studies": {name: changed}})
    (project.folder / "other.yaml").write_text(content, encoding="utf-8")
    return ("--configfile", "tiny.yaml", "other.yaml")


def named_by_check(project: Any, monkeypatch: pytest.MonkeyPatch, config: str) -> dict[str, str]:
    """Return what ``make check`` calls outdated in a project, by result."""
    monkeypatch.chdir(project.folder)
    monkeypatch.delenv("DENIABLE_DATA_MIRROR", raising=False)
    found = check_provenance.faults_of_files(Path("results"))[1]
    return outdated(read_plan(config), found)


def test_a_chunk_of_another_grid_is_made_again_and_its_data_are_not(
    untouched: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = untouched
    project.made("--cores", "1", CHUNK)
    first = project.results("studies/**/*.csv", "data/*")
    assert project.would_run(CHUNK) == {}
    assert named_by_check(project, monkeypatch, "tiny.yaml") == {}
    grid = {"matrix": ["printed"], "projection": ["clip"], "p": [0.3]}
    other = other_study(project, "multirr_pairs", grids=[grid])
    assert project.would_run(CHUNK, *other) == {"simulate": 1}
    # What a dry run finds it leaves in place.
    assert project.results("studies/**/*.csv", "data/*") == first
    project.made("--cores", "1", CHUNK, *other)
    assert project.would_run(CHUNK, *other) == {}
    second = project.results("studies/**/*.csv", "data/*")
    assert {path for path in first if first[path] != second[path]} == {CHUNK}
    # Without its records Snakemake makes nothing again, but the check names what to make.
    forget(project)
    assert project.would_run(CHUNK) == {}
    named = named_by_check(project, monkeypatch, "tiny.yaml")
    assert set(named) == {CHUNK}
    assert "study.grids[0].p[0]: made with 0.3, now 0.7" in named[CHUNK]
    project.made("--cores", "1", CHUNK, "--forcerun", "simulate")
    assert project.results("studies/**/*.csv", "data/*") == first
    assert named_by_check(project, monkeypatch, "tiny.yaml") == {}


def test_a_docstring_starts_no_job_and_an_operator_does(
    untouched: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, target = untouched, "results/data/networks/survey_8000.parquet"
    project.made("--cores", "1", target)
    module = "src/deniable/records/domain.py"
    project.edit(module, "Number of categories.", "How many categories there are.")
    assert project.would_run(target) == {}
    project.edit(module, "return len(self.categories)", "return +len(self.categories)")
    assert project.would_run(target) == {"draw_network": 1}
    forget(project)
    assert project.would_run(target) == {}


def test_nothing_is_made_again_of_what_is_up_to_date(
    project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert project.would_run() == {}
    assert named_by_check(project, monkeypatch, "tiny.yaml") == {}
    forget(project)
    assert project.would_run() == {}


def test_exactly_what_depends_on_a_setting_is_made_again(project: Any, finished: Any) -> None:
    other = other_study(project, "multirr_sensitivity", replicates=11)
    after = ("simulate", "collect", "multirr_agreement", "multirr_claims", "report")
    assert project.would_run(*other) == dict.fromkeys(after, 1)
    project.made("--cores", "2", *other)
    assert project.would_run(*other) == {}
    assert project.results(*DRAWN) == finished[0].results(*DRAWN)
    # The first settings again, with the first results.
    project.made("--cores", "2")
    assert project.comparable() == finished[0].comparable()


def test_another_seed_and_other_data_draw_no_release_again(project: Any, finished: Any) -> None:
    jobs = project.would_run("--config", "seed=5")
    assert {"prepare", "simulate", "protect", "audit_samplers"} <= set(jobs)
    assert "publish" not in jobs
    assert "publish" not in project.would_run("--config", "seed=5")
    # Beside test releases of other records.
    target = "results/audit/samplers.csv"
    project.made("--cores", "1", target, "--config", "seed=5")
    data = "data/adult.parquet"
    assert project.results(data) != finished[0].results(data)
    assert project.results(*DRAWN) == finished[0].results(*DRAWN)


def test_an_edited_input_is_noticed_and_an_edited_result_is_refused(
    project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, printed = "results/tables/multirr_table1.csv", "resources/published/multirr_table1.csv"
    project.edit(printed, "0.335", "0.336")
    assert project.would_run(table) == {"collect": 1}
    named = named_by_check(project, monkeypatch, "tiny.yaml")
    assert f"made from another state of {printed}" in named[table]
    chunk = next((project.folder / "results/studies/multirr_fig2").glob("chunk*.csv"))
    chunk.write_text(chunk.read_text("utf-8") + "\n", encoding="utf-8")
    target = "results/tables/multirr_fig2.csv"
    assert project.would_run(target) == {"collect": 1}
    assert "damaged or edited since it was made" in project.refused("--cores", "1", target)
    # What could not be made again does not pass for it.
    assert not (project.folder / target).exists()


def test_make_check_names_file_setting_and_both_values(
    project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget(project)
    before = project.results("**/*")
    project.edit("tiny.yaml", "p: 0.6", "p: 0.65")
    found = named_by_check(project, monkeypatch, "tiny.yaml")
    for folder in ("public", "private"):
        reason = "release.plan.p: made with 0.6, now 0.65"
        assert reason in found[f"results/releases/explored/{folder}"]
    assert "results/tables/multirr_table1.csv" not in found
    assert project.results("**/*") == before
