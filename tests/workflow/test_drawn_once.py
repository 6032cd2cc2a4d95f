"""What is drawn from the operating system's generator is drawn once, whatever Snakemake is told."""

import os
from typing import Any

import pytest
import yaml

from deniable.errors import ConfigError
from deniable.pipeline.plan import Plan
from workflow_config import merged

pytestmark = pytest.mark.workflow

DRAWN = tuple(
    f"releases/{name}/{file}"
    for name, files in {
        "real": ("channels.json", "protected.parquet", "protected.csv"),
        "counted": ("release.json", "audit.csv", "protected.parquet", "protected.csv"),
        "answered": ("release.json", "views.json", "collection.csv", "clients.csv"),
    }.items()
    for file in files
)
DRAWS = {"draw_categorical", "draw_numeric", "draw_collection"}
LAST = ("real/estimates.csv", "counted/estimates.csv", "answered/tables.csv")
TARGETS = [f"results/releases/{file}" for file in LAST]
# The first of each pair is a rehearsal.
PAIRS = {
    "protected.csv": (("tried", "real"), ("masked", "counted")),
    "collection.csv": (("asked", "answered"),),
}
BEHIND_DRAWS = (
    *("release/categorical/design.py", "release/numeric/design.py"),
    *("release/collection/design.py", "idp/true_dp.py", "idp/audit/report.py"),
    *("rrba/tables.py", "rrba/views.py"),
)


@pytest.mark.slow
def test_newer_scripts_draw_nothing_again(project: Any) -> None:
    before = project.results(*DRAWN)
    assert len(before) == len(DRAWN)
    # As after a checkout: times of files are all that is new. By itself Snakemake takes a script
    # that is newer than its output for changed; profiles/default tells it not to.
    for file in (project.folder / "workflow").rglob("*"):
        os.utime(file)
    assert project.would_run(*TARGETS) == {}
    project.made("--workflow-profile", "none", "--cores", "1", *TARGETS)
    assert project.results(*DRAWN) == before


def test_no_option_draws_again_what_is_there(project: Any) -> None:
    jobs = project.would_run("--forceall", *TARGETS)
    assert "estimate_categorical" in jobs
    assert not DRAWS & set(jobs)
    assert not {"design_categorical", "design_numeric", "design_collection"} & set(jobs)
    said = project.run("-n", "--forcerun", "draw_categorical", "--", *TARGETS)
    assert "draw_categorical" not in said.stdout.split("Job stats:")[-1]


def test_what_is_not_all_there_is_drawn(project: Any) -> None:
    (project.folder / "results/releases/real/protected.csv").unlink()
    jobs = project.would_run("results/releases/real/protected.csv", *TARGETS)
    assert DRAWS & set(jobs) == {"draw_categorical"}


def test_other_code_records_and_seed_draw_nothing_again(project: Any) -> None:
    before = project.results(*DRAWN)
    assert len(before) == len(DRAWN)
    for module in BEHIND_DRAWS:
        with (project.folder / "src" / "deniable" / module).open("a") as stream:
            stream.write("\n# changed\n")
    for file in ("results/data/adult.parquet", "results/data/census.parquet"):
        os.utime(project.folder / file)
    os.utime(project.folder / "resources" / "datasets.yaml")
    project.made("--cores", "2", *TARGETS, "--config", "seed=5")
    jobs = set(project.would_run("--config", "seed=5"))
    assert jobs
    assert not DRAWS & jobs
    assert project.results(*DRAWN) == before


@pytest.mark.parametrize(
    ("release", "setting", "other"),
    [("real", "p", 0.6), ("counted", "bins", 6), ("answered", "epsilon", 2.0)],
)
def test_other_settings_under_the_name_of_a_draw_are_refused(
    finished: Any,
    config_values: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    release: str,
    setting: str,
    other: float,
) -> None:
    monkeypatch.chdir(finished[0].folder)
    text = (finished[0].folder / "tiny.yaml").read_text(encoding="utf-8")
    values = merged(config_values, yaml.safe_load(text))
    (told,) = (one for one in values["releases"] if one["name"] == release)
    assert setting in told
    told[setting] = other
    with pytest.raises(ConfigError, match=f"'{release}' is in results/releases/{release} already"):
        Plan.prepare(values, finished[0].folder)


def test_snakemake_says_that_another_draw_is_refused(project: Any) -> None:
    project.edit("tiny.yaml", "bins: 5", "bins: 6")
    assert "'counted' is in results/releases/counted already" in project.refused("-n")


@pytest.mark.slow
def test_what_is_lost_of_a_draw_is_the_same_draw_again(project: Any, finished: Any) -> None:
    patterns = [f"releases/*/{file}" for file in PAIRS]
    before = finished[0].results(*patterns)
    files = [(name, file) for file, of_lanes in PAIRS.items() for pair in of_lanes for name in pair]
    paths = [f"results/releases/{name}/{file}" for name, file in files]
    for path in paths:
        (project.folder / path).unlink()
    project.made("--cores", "2", *paths)
    assert project.results(*patterns) == before
    # Nobody can repeat a draw without its key: what would take its place is a second one.
    drawn = [pair[1] for of_lanes in PAIRS.values() for pair in of_lanes]
    lost = next(path for (name, _), path in zip(files, paths, strict=True) if name == drawn[0])
    (project.folder / lost).unlink()
    (project.folder / "results" / "data" / "releases" / drawn[0] / "key").unlink()
    assert "the key that it was" in project.refused("--cores", "1", lost)
    assert not (project.folder / lost).exists()
