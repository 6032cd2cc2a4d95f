"""What is drawn from the operating system's generator is drawn once, whatever Snakemake is told."""

import os
from typing import Any

import pytest

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
LAST = ("estimates.csv", "estimates.csv", "tables.csv")
TARGETS = [f"results/releases/{name}/{file}" for name, file in
           zip(("real", "counted", "answered"), LAST, strict=True)]  # fmt: skip


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
