"""The rules of estimates, run on public folders."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.analysis.public_folders import survey_plan, survey_truth, write_public

import deniable
from deniable.files import read_table, sha256, write_text

ROOT = Path(__file__).resolve().parents[2]
SNAKEFILE = """
import sys
from types import SimpleNamespace

sys.path.append({workflow!r})
from reproduction.pipeline import needs
from reproduction.study import MINUTES, SECONDS

FOLDER = "results/releases/{{release}}"
names = lambda rehearsal, own: "survey" if not own else "(?!)"
plan = SimpleNamespace(code=lambda script: "", names=names, config=SimpleNamespace(seed=1))


def released_by(wildcards):
    return f"results/releases/{{wildcards.release}}/public"


def tables_of(wildcards):
    return None


def records_of(wildcards):
    return "results/data/survey.parquet"


include: {rules!r}
"""
TABLES = ("margins", "pairs", "numbers", "weights")


def run(folder: Path, *targets: str) -> None:
    text = SNAKEFILE.format(
        workflow=str(ROOT / "workflow"), rules=str(ROOT / "workflow" / "rules" / "estimates.smk")
    )
    (folder / "Snakefile").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "snakemake", "--cores", "1", *targets]
    paths = [str(ROOT / "src"), str(ROOT / "workflow"), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "SOURCE": str(ROOT)}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def mark(public: Path) -> None:
    """Add the block of a test release to the plan of a public folder."""
    plan = json.loads((public / "plan.json").read_text(encoding="utf-8"))
    plan["release"] = {"name": "survey", "mode": "test", "data_source": "surrogate"}
    write_text(public / "plan.json", json.dumps(plan))
    names = sorted(file.name for file in public.iterdir() if file.name != "SHA256SUMS")
    write_text(public / "SHA256SUMS", "".join(f"{sha256(public / n)}  {n}\n" for n in names))


@pytest.mark.workflow
def test_each_stage_is_made_from_the_public_folder(tmp_path: Path) -> None:
    truth, weights = survey_truth(1000, 1)
    public = tmp_path / "results" / "releases" / "survey" / "public"
    write_public(public, survey_plan("parquet"), truth, weights)
    mark(public)
    folder = "results/estimates/survey"
    files = [f"{folder}/{name}.csv" for name in TABLES]
    run(tmp_path, *files, f"{folder}/synthetic.parquet")
    found = {name: read_table(tmp_path / file) for name, file in zip(TABLES, files, strict=True)}
    for table in found.values():
        assert set(table["mode"]) == {"test"}
        assert set(table["data_source"]) == {"surrogate"}
    assert set(found["margins"]["target"]) == {"file", "population"}
    released = deniable.Released(public)
    np.testing.assert_allclose(
        found["margins"]["estimate"], released.margins(target="both")["estimate"], atol=1e-8
    )
    assert len(found["weights"]) == 1000
    assert len(pd.read_parquet(tmp_path / folder / "synthetic.parquet")) == 1000
