"""A sweep from plan to table; what jobs cost, held against what they took."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from tests.workflow.tiny_releases import REAL

from costs import BENCHMARKS, read_benchmarks, read_costs, units
from workflow_config import merged

from reproduction.pipeline.config import validate

pytestmark = pytest.mark.workflow

ROOT = Path(__file__).resolve().parents[2]

SWEEP = "results/tables/multirr_sweep.csv"
FACTOR = 4
"""Between expected and measured CPU time of all simulations: jobs here are little but their start,
on a machine that may be another, and busy."""


def test_a_sweep_has_a_row_for_each_setting_and_threshold(finished: Any) -> None:
    table = pd.read_csv(finished[0].folder / SWEEP)
    names = ["records", "p", "t_v", "t_d"]
    assert [tuple(row) for row in table[names].to_numpy()] == [
        (records, 0.7, t_v, 0.1) for records in (200, 1200) for t_v in (1, 50)
    ]
    assert (table["ci_low"] <= table["median_relative_error"]).all()
    assert (table["median_relative_error"] <= table["ci_high"]).all()
    assert set(table["replicates"]) == {7}
    assert (table.loc[table["t_v"] == 1, "clusters"] == 8).all()


def test_every_job_that_left_a_log_left_what_it_took(finished: Any) -> None:
    results = finished[0].folder / "results"
    logs = {f.relative_to(results / "logs").with_suffix("") for f in results.rglob("logs/**/*.log")}
    found = results / "benchmarks"
    # The only output of a production release is its receipt.
    published = {log for log in logs if log.parts[0] == "publish"}
    assert len(published) == len(REAL)
    assert logs - published == {f.relative_to(found).with_suffix("") for f in found.rglob("*.tsv")}


def test_what_simulations_take_is_what_the_costs_say(
    finished: Any, config_values: dict[str, Any]
) -> None:
    tiny = (finished[0].folder / "tiny.yaml").read_text(encoding="utf-8")
    config = validate(merged(config_values, yaml.safe_load(tiny)))
    jobs = [j for j in read_benchmarks(finished[0].folder / BENCHMARKS) if j.kind.study]
    costs = read_costs(ROOT / "resources" / "costs.csv")
    assert {job.kind for job in jobs} <= set(costs)
    expected = sum(costs[j.kind].seconds(units(config, j.kind, j.chunk, j.chunks)) for j in jobs)
    took = sum(job.cpu_seconds for job in jobs)
    assert took / FACTOR < expected < took * FACTOR


def planned(project: Any, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "plan_run.py"), *arguments],
        cwd=project.folder,
        env=project.environment(project.folder / "src"),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def test_a_plan_counts_what_is_not_made_yet(project: Any) -> None:
    for file in (SWEEP, "results/studies/multirr_sweep/chunk-1-of-2.csv"):
        (project.folder / file).unlink()
    said = planned(project, "--configfile", "tiny.yaml", SWEEP)
    # The other chunk, the data and their download are there.
    assert "2 jobs to run, 3 done before" in said
    assert "simulate multirr_sweep: 4 settings, 7 replicates each" in said
    assert "collect" in said
    for what in (
        "CPU hours: ",
        "wall time on 2 otherwise idle cores",
        "memory: ",
        "disk: ",
        "graph of 5 jobs",
    ):
        assert what in said
    assert "never measured" not in said


@pytest.mark.slow
def test_the_graph_of_a_thousand_cells_is_built_in_seconds(untouched: Any) -> None:
    sweep = yaml.safe_load((ROOT / "config" / "sweep.yaml").read_text(encoding="utf-8"))
    tiny = yaml.safe_load((untouched.folder / "tiny.yaml").read_text(encoding="utf-8"))
    # The few records of these tests have no 2,000 parties.
    config = sweep | {name: tiny[name] for name in ("data", "analyses")}
    (untouched.folder / "sweep.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    said = planned(untouched, "--configfile", "sweep.yaml", SWEEP)
    assert "simulate multirr_sweep: 1,000 settings, 100,000 replicates each" in said
    jobs, seconds = re.findall(r"graph of (\d+) jobs built in ([\d.]+) s", said)[0]
    assert int(jobs) == 28  # 25 chunks, their table, the data and their download
    assert float(seconds) < 15  # as a rule two or three


def test_a_sweep_without_cells_is_refused_with_the_way_to_have_some(project: Any) -> None:
    # Snakemake sets a trace of its own below what a function for inputs says.
    done = project.run("-n", SWEEP, "--config", "studies={multirr_sweep: {grids: []}}")
    said = done.stdout + done.stderr
    assert done.returncode != 0, said
    assert "studies.multirr_sweep has no settings" in said
    assert "config/sweep.yaml" in said
