"""Without records of Snakemake's: what is not current is made again, nothing else, no release."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.workflow.tiny_releases import REAL, RECEIPTS

from check_freshness import not_current

from reproduction.pipeline import STALE

pytestmark = pytest.mark.workflow

CHUNK = "results/studies/multirr_pairs/chunk-0-of-1.csv"
DATA = "results/data/adult.parquet"
DRAWN = tuple(f"releases/{name}/*/**/*" for name in REAL)


def forget(project: Any) -> None:
    """Leave of a project what a folder of results on a volume has: other times, no .snakemake."""
    shutil.rmtree(project.folder / ".snakemake")
    for number, file in enumerate(sorted(project.folder.rglob("*"), reverse=True)):
        if file.suffix != ".py":
            os.utime(file, (10**9 + number,) * 2)


def other_study(project: Any, name: str, **changed: Any) -> tuple[str, ...]:
    """Return the arguments of a run with other settings of a study."""
    content = yaml.safe_dump({"studies": {name: changed}})
    (project.folder / "other.yaml").write_text(content, encoding="utf-8")
    return ("--configfile", "tiny.yaml", "other.yaml")


def test_a_chunk_of_another_grid_is_made_again_and_its_data_are_not(
    untouched: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = untouched
    project.made("--cores", "1", CHUNK)
    first = project.results("studies/**/*.csv", "data/*")
    forget(project)
    assert project.would_run(CHUNK) == {}
    grid = {"matrix": ["printed"], "projection": ["clip"], "p": [0.3]}
    other = other_study(project, "multirr_pairs", grids=[grid])
    assert project.would_run(CHUNK, *other) == {"simulate": 1}
    # What a dry run finds it leaves in place.
    assert project.results("studies/**/*.csv", "data/*") == first
    said = project.made("--cores", "1", CHUNK, *other)
    assert f"  {CHUNK}: study.grids[0].p[0]: made with 0.7, now 0.3\n" in said
    assert project.would_run(CHUNK, *other) == {}
    second = project.results("studies/**/*.csv", "data/*")
    assert {path for path in first if first[path] != second[path]} == {CHUNK}
    aside = project.folder / STALE / Path(CHUNK).relative_to("results")
    assert aside.read_bytes() == first[CHUNK]
    # And back.
    forget(project)
    project.made("--cores", "1", CHUNK)
    assert project.results("studies/**/*.csv", "data/*") == first


def test_nothing_is_made_again_of_what_is_current(project: Any) -> None:
    forget(project)
    assert project.would_run() == {}


def test_exactly_what_depends_on_a_setting_is_made_again(project: Any, finished: Any) -> None:
    forget(project)
    other = other_study(project, "multirr_sensitivity", replicates=11)
    after = ("simulate", "collect", "multirr_agreement", "multirr_claims", "report")
    assert project.would_run(*other) == dict.fromkeys(after, 1)
    project.made("--cores", "2", *other)
    forget(project)
    assert project.would_run(*other) == {}
    assert project.results(*DRAWN) == finished[0].results(*DRAWN)
    # The first settings again, with the first results.
    project.made("--cores", "2")
    assert project.comparable() == finished[0].comparable()


def test_another_seed_and_other_data_draw_no_release_again(project: Any, finished: Any) -> None:
    forget(project)
    jobs = project.would_run("--config", "seed=5")
    assert {"prepare_data", "simulate", "rehearse", "audit_samplers"} <= set(jobs)
    assert "release" not in jobs
    assert "release" not in project.would_run(*RECEIPTS, "--config", "seed=5")
    # Beside rehearsals of other records.
    target = "results/audit/samplers.csv"
    project.made("--cores", "1", target, "--config", "seed=5")
    data = "data/adult.parquet"
    assert project.results(data) != finished[0].results(data)
    assert project.results(*DRAWN) == finished[0].results(*DRAWN)


def test_an_edited_input_is_noticed_and_an_edited_result_is_refused(project: Any) -> None:
    forget(project)
    table = "results/tables/multirr_table1.csv"
    project.edit("resources/published/multirr_table1.csv", "0.335", "0.336")
    os.utime(project.folder / "resources/published/multirr_table1.csv", (0, 0))
    assert project.would_run(table) == {"collect": 1}
    chunk = next((project.folder / "results/studies/multirr_fig2").glob("chunk*.csv"))
    chunk.write_text(chunk.read_text("utf-8") + "\n", encoding="utf-8")
    target = "results/tables/multirr_fig2.csv"
    assert project.would_run(target) == {"collect": 1}
    assert "damaged or edited since it was made" in project.refused("--cores", "1", target)
    # What could not be made again does not pass for it.
    assert not (project.folder / target).exists()
    assert (project.folder / STALE / "tables/multirr_fig2.csv").exists()


def test_make_check_names_file_setting_and_both_values(
    project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget(project)
    monkeypatch.chdir(project.folder)
    for name, value in project.environment(project.folder / "src").items():
        monkeypatch.setenv(name, value)
    before = project.results("**/*")
    assert not_current(Path("tiny.yaml")) == {}
    project.edit("tiny.yaml", "p: 0.6", "p: 0.65")
    found = not_current(Path("tiny.yaml"))
    folders = [f"results/releases/tried/{folder}" for folder in ("public", "private")]
    for folder in folders:
        assert found[folder] == ["release.dependences.p: made with 0.6, now 0.65"]
    assert found["results/audit/samplers.csv"] == [f"rests on {folder}" for folder in folders]
    assert "results/tables/multirr_table1.csv" not in found
    assert project.results("**/*") == before
