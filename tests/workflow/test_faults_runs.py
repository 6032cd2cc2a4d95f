"""Two runs at once, and a clock that jumps: the results are the same bytes."""

import os
import time
from pathlib import Path
from typing import Any

import gate
import pytest
from tests.workflow.kill_trial import job_at_gate

pytestmark = pytest.mark.workflow

TABLE = "results/tables/multirr_clusters.csv"
DAY = 86400


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds processes in /proc")
def test_a_second_run_at_once_is_refused_and_the_first_unharmed(
    project: Any, finished: Any, tmp_path: Path
) -> None:
    gate.build(project.folder)
    target = "results/studies/multirr_sensitivity/chunk-0-of-1.csv"
    with project.popen("--cores", "1", target, TABLE, output=tmp_path / "first.log") as first:
        try:
            job_at_gate(project, first, target)
            sources = project.results("data/raw/*.json")
            # The second would have other data for both.
            said = project.refused(
                *("--cores", "1", target, TABLE, "--config", "data={source: auto}"),
                DENIABLE_DATA_MIRROR=str(project.mirror),
            )
        finally:
            gate.let_through(project.folder)
        assert "Directory cannot be locked" in said
        assert "--unlock" in said
        assert project.results("data/raw/*.json") == sources
    assert first.returncode == 0, (tmp_path / "first.log").read_text("utf-8")
    assert project.results("studies/**/*") == finished[0].results("studies/**/*")
    assert project.results("tables/*.csv") == finished[0].results("tables/*.csv")
    # Not so afterwards.
    jobs = project.would_run(
        *(TABLE, "--config", "data={source: auto}"), DENIABLE_DATA_MIRROR=str(project.mirror)
    )
    assert set(jobs) == {"download", "prepare", "multirr_dependences"}


def set_times(project: Any, seconds: float) -> None:
    # The same for all: of folders Snakemake compares the times alone.
    then = time.time() + seconds
    for file in (project.folder / "results").rglob("*"):
        os.utime(file, (then, then))


def test_results_of_a_clock_that_was_slow_are_kept(project: Any) -> None:
    set_times(project, -20 * 365 * DAY)
    # Inputs are newer now, but what is small is compared by its content.
    assert project.would_run() == {}


@pytest.mark.slow
def test_a_clock_that_was_fast_is_named_and_its_files_are_set_right(
    project: Any, finished: Any
) -> None:
    set_times(project, DAY)
    assert project.would_run() == {}
    (project.folder / TABLE).unlink()
    said = project.refused("--cores", "1", TABLE)
    assert "than input results/data/adult.parquet" in said
    assert "could indicate a clock skew problem" in said
    assert not (project.folder / TABLE).exists()
    # As the documentation says: find results -newermt now -exec touch {} +
    set_times(project, 0)
    project.made("--cores", "1", TABLE)
    assert project.comparable() == finished[0].comparable()
