"""A small project of its own for whole-workflow tests, run once and then copied.

Nothing here needs a network or the published data: the manifest names a file of 600 records, and
numeric ones, that are made here; its surrogates are the committed ones.
"""

import compileall
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import rdata
import yaml
from tests.workflow.tiny_releases import TEST_RELEASES

from deniable.datasets import copula, numeric_surrogates
from deniable.release import Ledger

from reproduction.pipeline.provenance import MARK_OF_FOLDERS, SUFFIX, provenance_path

ROOT = Path(__file__).resolve().parents[2]
# The gate at which jobs wait, which the check on Slurm has too.
COPIED = ("Snakefile", "workflow", "config", "resources", "docs", "profiles", "src")
RECORDS = 600

GRID = {
    "dataset": ["adult", "adult6"],
    "matrix": ["printed"],
    "mechanism": ["joint", "kronecker"],
    "projection": ["clip"],
    "p": [0.7],
    "t_d": [0.1],
    "t_v": [50, 100],
}
OTHER_GRID = GRID | {"matrix": ["keep"], "mechanism": ["joint"], "t_v": [50]}
SIZE = {"replicates": 7, "block": 4, "chunks": 1}
PAIR_GRID = {"matrix": ["printed"], "projection": ["clip"], "p": [0.7]}
FIGURE_3_GRID = {
    "matrix": ["printed"],
    "mechanism": ["joint", "kronecker"],
    "t_v": [50],
    "t_d": [0.1],
    "p": [0.7],
    "best": ["both"],
}
# Few records: below, the reports of some sample leave no record that could meet the targets.
EPSILON_GRID = {"attributes": ["all", "few"], "matrix": ["keep"], "mechanism": ["joint"]} | {
    "t_v": [50],
    "t_d": [0.1],
    "epsilon": [21.19],
}
JOINT_GRID = {"dataset": ["survey"], "given": ["epsilon"], "value": [4.0]}
ASSESSMENT_GRID = {"matrix": ["keep"], "method": ["attributes", "secure_sum"], "p": [0.7]}
SWEEP_GRID = PAIR_GRID | {"records": [200, 1200], "mechanism": ["kronecker"]}
INVARIANT_GRID = {"attribute": ["sex"], "records": [200], "method": ["two_step"], "p": [0.5]}
RESPONSE = {"kind": "columns", "p": 0.7}
PART = {"of": 2, "seed": "tiny"}
TRIED = ["age", "relationship", "sex", "income"]
SSE_GRID = {"method": ["dp", "dp_um", "idp_ls", "idp_cbls", "dp_median"], "epsilon": [1.0]} | {
    "domain_factor": [1.5]
}
FORESTS = {
    "replicates": 2,
    "chunks": 1,
    "domain_factors": [1.5],
    "grids": [
        {"method": ["original", "majority"], "epsilon": [0.0], "k": [0]},
        {"method": ["idp_cbls"], "epsilon": [1.0], "k": [100]},
    ],
}
CONVERGENCE_GRID = {"dataset": ["survey"], "probability": [0.224], "block_size": [50]} | {
    "p": [0.5],
    "update": ["printed", "pooled"],
}
TESTS = {"sampled_tables": [39], "small_cells": ["ignore"]}
POWER_GRID = {"k": [2], "margins": ["uniform"], "pattern": ["all"], "n": [500]} | {
    "effect": [0.0, 0.2],
    "epsilon": [2.0],
    **TESTS,
}
RELEASED_GRID = {"file": ["survey_8000", "alarm_8000"], "k": [2], "epsilon_claimed": [0.5]}
TINY: dict[str, Any] = {
    "ledger": "ledger",
    "data": {"source": "surrogate"},
    "studies": {
        "multirr_tables": {"replicates": 9, "block": 4, "chunks": 2, "grids": [GRID]},
        "multirr_sensitivity": {"replicates": 9, "block": 4, "chunks": 1, "grids": [OTHER_GRID]},
        "multirr_exploration": SIZE | {"grids": [OTHER_GRID | {"variation": ["ordinal"]}]},
        "multirr_attributes": SIZE
        | {"grids": [GRID | {"dataset": ["adult"], "attributes": [2, 3]}]},
        "multirr_fig2": SIZE | {"grids": [PAIR_GRID]},
        "multirr_fig3": SIZE | {"chunks": 2, "grids": [FIGURE_3_GRID]},
        "multirr_pairs": SIZE | {"grids": [PAIR_GRID]},
        "multirr_epsilon": SIZE | {"grids": [EPSILON_GRID]},
        "multirr_joint": SIZE | {"designs": ["even", "ask_1"], "grids": [JOINT_GRID]},
        "multirr_assessment": SIZE | {"grids": [ASSESSMENT_GRID]},
        "multirr_sweep": SIZE | {"chunks": 2, "t_v": [1, 50], "t_d": [0.1], "grids": [SWEEP_GRID]},
        "pram_coverage": SIZE | {"grids": [{"channel": ["warner", "ordinal"], "records": [500]}]},
        "pram_weights": SIZE
        | {"grids": [{"design": ["pps"], "channel": ["warner"], "records": [500]}]},
        "pram_item_sets": SIZE | {"grids": [{"epsilon": [2.0], "size": [1, 2], "records": [500]}]},
        "pram_invariant": SIZE | {"grids": [INVARIANT_GRID]},
        "pram_joint_loss": SIZE
        | {"grids": [{"first": ["relationship"], "second": ["sex"], "epsilon": [2.0, 4.0]}]},
        "idp_fig3": SIZE | {"k": [10, 100], "grids": [SSE_GRID]},
        "idp_fig4": SIZE | {"k": [10, 100], "grids": [SSE_GRID]},
        "idp_fig5": FORESTS | {"attribute": "FICA"},
        "idp_fig6": FORESTS | {"attribute": "alcohol"},
        "rrba_fig5": SIZE | {"blocks": 20, "grids": [CONVERGENCE_GRID]},
        "rrba_fig6": SIZE | {"blocks": 20, "grids": [CONVERGENCE_GRID]},
        "rrba_table3": SIZE | {"grids": [{"k": [2], "n": [172], "effect": [0.5]} | TESTS]},
        "rrba_power": SIZE | {"most_replicates": 7, "grids": [POWER_GRID]},
        "rrba_tables": SIZE
        | {"subsets": 2, "grids": [RELEASED_GRID | {"p": [p]} for p in (0.4, 0.5)]},
        "rrba_equal": SIZE
        | {"subsets": 2, "grids": [{"file": ["survey_8000"], "k": [2], "epsilon": [1.0]}]},
    },
    "analyses": {
        "multirr_secure_sum": {"parties": 50, "parties_of_all_pairs": 5, "fault_trials": 2}
        | {"linkage_parties": 300, "linkage_samples": 3},
        "pram_variance": {"epsilons": [2.0]},
        "pram_design": {"epsilons": [2.0]},
        "idp_audit": {"census_k": [10, 100], "wine_k": [100], "epsilons": [1.0], "releases": 3}
        | {"domain_factors": [1.5]},
        "rrba_epsilon": {"probabilities": [0.5], "floors": [0.1], "rounds": [2]},
        "idp_noises": {"epsilons": [2.0], "replicates": 2, "intervals": 1, "resamples": 20},
        "idp_attacks": {"k": [10], "epsilons": [1.0], "domain_factor": 1.5, "runs": 20},
    },
    "releases": [
        {"name": "explored", "data": "adult_numeric", "mode": "test"}
        | {"plan": RESPONSE | {"p": 0.6, "columns": TRIED, "part": PART | {"take": 1}}}
        | {"item_sets": {"minimum_support": 0.2, "rules": [{"if": ["sex"], "then": ["income"]}]}},
        {"name": "tried", "data": "adult_numeric", "mode": "test"}
        | {
            "plan": RESPONSE
            | {"columns": TRIED, "cluster_mechanism": "kronecker", "part": PART | {"take": 2}}
            | {"clusters": {"from": "explored", "t_v": 24, "t_d": 0.1}}
        },
        {"name": "real", "data": "adult", "mode": "production", "population": "people"}
        | {"plan": RESPONSE | {"columns": ["race", "sex"]}},
        {"name": "blurred", "data": "adult", "mode": "test", "accept": ["chosen_by_data"]}
        | {
            "plan": {"kind": "strata", "strata": ["sex"]}
            | {"columns": ["race", "relationship", "sex", "income"]}
            | {"joint": [["relationship", "income"]]}
            | {"matrix": {"kind": "two_step", "epsilon": 4.0}}
        },
        {"name": "masked", "data": "census", "mode": "test"}
        | {"accept": ["no_epsilon_for_records", "original_values_released"]}
        | {
            "plan": {"kind": "masked", "method": "idp_cbls", "k": 50, "epsilon": 1.0}
            | {"columns": ["AGI", "FICA"], "class_column": "ERNVAL"}
        },
        {"name": "counted", "data": "census", "mode": "production", "population": "households"}
        | {
            "plan": {"kind": "masked", "method": "histograms", "bins": 5, "epsilon": 1.0}
            | {"columns": ["AGI", "FICA"], "class_column": "ERNVAL"}
        },
        {"name": "asked", "data": "networks/survey", "mode": "test"}
        | {"plan": {"kind": "collected", "p": 0.5, "update": "pooled", "floor": 0.2, "block": 200}},
        {"name": "answered", "data": "adult", "mode": "production", "population": "clients"}
        | {
            "plan": {"kind": "collected", "epsilon": 1.0, "answers": "table"}
            | {"columns": ["race", "sex", "income"]}
        },
        {"name": "sought", "data": "adult", "mode": "production", "population": "members"}
        | {
            "plan": {"kind": "columns", "epsilon": 2.0, "mechanism": "best"}
            | {"columns": ["race", "sex", "income"], "joint": [["race", "sex"]]}
        },
    ],
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to ``make test-all`` what needs a whole run, which takes as long as all other tests."""
    for item in items:
        if "finished" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


@dataclass(frozen=True)
class Project:
    """A copy of the workflow in a folder of its own, with its own library and data."""

    folder: Path
    snakemake: Callable[..., subprocess.CompletedProcess[str]]
    environment: Callable[..., dict[str, str]]

    @property
    def mirror(self) -> Path:
        """The folder with the file that the manifest names."""
        return self.folder / "mirror"

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run Snakemake with the tiny config."""
        if "--configfile" not in arguments:
            arguments = (*arguments, "--configfile", TINY_FILE)
        return self.snakemake(self.folder, *arguments, library=self.folder / "src", **variables)

    def made(self, *arguments: str, **variables: str) -> str:
        """Run Snakemake, which must succeed; return what it says."""
        done = self.run(*arguments, **variables)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def refused(self, *arguments: str, **variables: str) -> str:
        """Run Snakemake, which must fail without a trace; return what it says."""
        done = self.run(*arguments, **variables)
        said = done.stdout + done.stderr
        assert done.returncode != 0, said
        assert "Traceback" not in said
        assert self.temporary_files() == []
        return said

    def would_run(self, *arguments: str, **variables: str) -> dict[str, int]:
        """Return the rules that a dry run would run, with the number of their jobs."""
        said = self.made("-n", *arguments, **variables)
        if "Nothing to be done" in said:
            return {}
        table = said.split("Job stats:")[1].split("\n\n")[0]
        jobs = {rule: int(n) for rule, n in re.findall(r"^(\w+) +(\d+)$", table, re.MULTILINE)}
        return {rule: n for rule, n in jobs.items() if rule not in ("all", "total")}

    def popen(self, *arguments: str, output: Path | None = None) -> subprocess.Popen[str]:
        """Start Snakemake with the tiny config, in a process group of its own.

        What it says goes into a file, or into a pipe that the caller reads.
        """
        return subprocess.Popen(
            [sys.executable, "-m", "snakemake", *arguments, "--configfile", TINY_FILE],
            cwd=self.folder,
            env=self.environment(self.folder / "src"),
            stdout=output.open("w", encoding="utf-8") if output else subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def results(self, *patterns: str) -> dict[str, bytes]:
        """Return the bytes of the results that match, by path; without what is recorded of them."""
        return {
            path.relative_to(self.folder).as_posix(): path.read_bytes()
            for pattern in patterns
            for path in sorted((self.folder / "results").glob(pattern))
            if path.is_file() and path.name != MARK_OF_FOLDERS
            if path.name.endswith(SUFFIX) == pattern.endswith(SUFFIX)
        }

    def comparable(self) -> dict[str, bytes]:
        """Return the results that must be the same bytes in every run."""
        return self.results(
            "tables/*.csv",
            "audit/*.csv",
            "figures/*",
            "plans/*/*",
            *(f"estimates/{name}/*" for name in TEST_RELEASES),
            "checks/*",
            *(f"releases/{name}/*/**/*" for name in TEST_RELEASES),
        )

    def without(self, *results: str) -> None:
        """Remove results, files or whole folders, and what is recorded of them."""
        for result in results:
            path = self.folder / result
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
            provenance_path(path).unlink(missing_ok=True)

    def entries(self) -> dict[str, bytes]:
        """Return what the ledger of releases holds: entries and key, without refusals."""
        there = (file for file in (self.folder / "ledger").rglob("*") if file.is_file())
        files = (file for file in there if file.name != "log.jsonl")
        return {file.relative_to(self.folder).as_posix(): file.read_bytes() for file in files}

    def temporary_files(self) -> list[str]:
        """Return what looks half-written."""
        hidden = [path for path in (self.folder / "results").rglob(".*") if path.is_file()]
        # Snakemake's own mark in a folder that is an output.
        return [str(path) for path in hidden if path.name != MARK_OF_FOLDERS]

    def edit(self, path: str, old: str, new: str) -> None:
        """Replace a text that stands in a file."""
        file = self.folder / path
        text = file.read_text(encoding="utf-8")
        assert old in text
        file.write_text(text.replace(old, new), encoding="utf-8")


TINY_FILE = "tiny.yaml"


def set_up(folder: Path) -> None:
    """Copy the workflow into `folder`, with a manifest of its own and the file that it names."""
    folder.mkdir(parents=True)
    # With what Python and numba have compiled; not with what another process is just writing.
    ignore = shutil.ignore_patterns("*.pyc.*", "*.tmp.*")
    for part in COPIED:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, folder / part, ignore=ignore)
        else:
            shutil.copy2(ROOT / part, folder)
    manifest = folder / "resources" / "datasets.yaml"
    entries = yaml.safe_load(manifest.read_text(encoding="utf-8"))
    coded = {name: entry for name, entry in entries.items() if "attributes" in entry}
    text = published_file([a for entry in coded.values() for a in entry["attributes"]])
    (folder / "mirror").mkdir()
    (folder / "mirror" / "adult.data").write_text(text, encoding="utf-8")
    for name, entry in entries.items():
        if name in coded:
            assert entry["file"] == "adult.data"
            entry["records"] = RECORDS
        else:
            write_numbers(folder / "mirror" / entry["file"], entry)
        content = (folder / "mirror" / entry["file"]).read_bytes()
        # The discard port: nobody answers.
        entry["address"] = f"http://127.0.0.1:9/{entry['file']}"
        entry["sha256"], entry["bytes"] = hashlib.sha256(content).hexdigest(), len(content)
    manifest.write_text(yaml.safe_dump(entries, sort_keys=False), encoding="utf-8")
    (folder / TINY_FILE).write_text(yaml.safe_dump(TINY), encoding="utf-8")
    Ledger.init(folder / "ledger")


def published_file(attributes: list[dict[str, Any]]) -> str:
    """Return records in the published file's form, the attributes independent of each other.

    An attribute that two data sets read is drawn twice; its column is the later draw.
    """
    generator = np.random.default_rng(4)
    rows = np.full((RECORDS, 15), "0", dtype=object)
    for attribute in attributes:
        # Edges are numbers of their own intervals: the lower ends.
        values = attribute["categories"] if "edges" not in attribute else attribute["edges"]
        rows[:, attribute["position"]] = generator.choice(np.array(values, dtype=str), RECORDS)
    return "".join(", ".join(row) + "\n" for row in rows)


def write_numbers(path: Path, entry: dict[str, Any]) -> None:
    """Write records in the form of a published numeric file, drawn from its surrogate."""
    model = copula.read(ROOT / "resources" / entry["surrogate"])
    drawn = numeric_surrogates.sample(model, entry["records"], np.random.default_rng(5))
    table = pd.DataFrame(drawn.values, columns=list(drawn.names))
    # Some number of each class: the lowest one's upper end, or one more.
    table[drawn.class_name] = entry["class"]["at_most"][0] + drawn.labels.astype(int)
    if entry.get("format") == "rda":
        # Not gzip, which notes the time.
        rdata.write_rda(path, {path.stem: table}, compression="bzip2")
    else:
        table.to_csv(path, sep=entry["delimiter"], index=False)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock that the test processes of one run share."""
    with path.open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def shared_folder(factory: pytest.TempPathFactory) -> Path:
    """Return a folder that all test processes of one run share."""
    base = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project in which nothing was run, its library compiled: to be copied."""
    shared = shared_folder(tmp_path_factory)
    done = shared / "template.done"
    with locked(shared / "template.lock"):
        if not done.exists():
            set_up(shared / "template")
            # Once here, rather than by the first job of each copy.
            compileall.compile_dir(shared / "template" / "src", quiet=1)
            done.touch()
    return shared / "template"


@pytest.fixture(scope="session")
def finished(
    tmp_path_factory: pytest.TempPathFactory,
    template: Path,
    snakemake: Callable[..., Any],
    environment: Callable[..., Any],
) -> tuple[Project, str]:
    """Run everything once, whatever the number of test processes; never change what it made.

    Returns the project and what the run said.
    """
    shared = shared_folder(tmp_path_factory)
    project = Project(shared / "finished", snakemake, environment)
    log = shared / "finished.log"
    with locked(shared / "finished.lock"):
        if not log.exists():
            shutil.copytree(template, project.folder)
            said = project.made("--cores", "2")
            log.write_text(said, encoding="utf-8")
    return project, log.read_text(encoding="utf-8")


@pytest.fixture
def project(finished: tuple[Project, str], tmp_path: Path) -> Project:
    """Give a copy of the finished project, with Snakemake's records, to be spoilt."""
    shutil.copytree(finished[0].folder, tmp_path / "project")
    return replace(finished[0], folder=tmp_path / "project")


@pytest.fixture
def untouched(
    tmp_path: Path,
    template: Path,
    snakemake: Callable[..., Any],
    environment: Callable[..., Any],
) -> Project:
    """Give a project in which nothing was run yet."""
    shutil.copytree(template, tmp_path / "project")
    return Project(tmp_path / "project", snakemake, environment)
