"""The rules of estimates, run on public folders."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.plans.masked_plans import plan_by, schema_of_sizes, table_of_sizes

import deniable
from deniable.files import read_json, read_table, sha256, write_json, write_text
from deniable.joint import JointDistribution
from deniable.plans import Plan, StrataPlan, plan_to_json

ROOT = Path(__file__).resolve().parents[2]
SNAKEFILE = """
import sys
from types import SimpleNamespace

sys.path.append({workflow!r})
from reproduction.pipeline import MINUTES, SECONDS, needs

FOLDER = "results/releases/{{release}}"


def pattern(test, own):
    return "own" if own else "columns|strata|masked|asked"


releases = SimpleNamespace(pattern=pattern)
plan = SimpleNamespace(
    code=lambda script: {{}},
    releases=releases,
    config=SimpleNamespace(seed=1),
    pattern_of_sweeps=lambda own: "(?!)",
)


def released_by(wildcards):
    return f"results/releases/{{wildcards.release}}/public"


def tables_of(wildcards):
    return None


def item_sets_of(wildcards):
    return dict(minimum_support=0.2, rules=[{{"if": ["sex"], "then": ["owner"]}}])


def records_of(wildcards):
    return f"results/data/{{wildcards.release}}.parquet"


rule all:
    input:
        expand("results/checks/{{release}}.csv", release=["columns", "strata", "masked", "asked"]),
        "results/checks/private/own.csv",
        expand("results/estimates/{{release}}/numbers.csv", release=["columns", "masked"]),
        expand("results/estimates/{{release}}/item_sets.csv", release=["columns", "masked"]),


include: {rules!r}
"""
RECORDS = 600
FILES = (
    *("margins.csv", "pairs.csv", "numbers.csv", "consistent.csv", "disagreement.csv"),
    *("two_step.csv", "independence.csv", "weights.csv", "synthetic.parquet"),
)


def survey() -> pd.DataFrame:
    generator = np.random.default_rng(1)
    sex = generator.choice(["F", "M"], RECORDS)
    job = np.where(generator.random(RECORDS) < 0.7, np.where(sex == "F", "x", "y"), "z")
    owner = generator.choice(["no", "yes"], RECORDS, p=[0.8, 0.2])
    return pd.DataFrame({"sex": sex, "job": job, "owner": owner})


def schema() -> deniable.Schema:
    categories = {"sex": ["F", "M"], "job": ["x", "y", "z"], "owner": ["no", "yes"]}
    columns = [
        {"name": name, "kind": "categorical", "categories": own} for name, own in categories.items()
    ]
    about = {"format": "deniable-schema", "version": 1, "population": "survey"}
    return deniable.schema_from_dict(about | {"file": {"kind": "parquet"}, "columns": columns})


def publish(folder: Path, name: str, plan: Plan, records: pd.DataFrame) -> None:
    """Write the records and the public folder of a test release."""
    public = folder / "results" / "releases" / name / "public"
    public.mkdir(parents=True)
    reports = deniable.randomize(records, plan, np.random.default_rng(2))
    reports.to_parquet(public / f"{plan.protected_name}.parquet")
    for file, table in plan.public_tables(pa.Table.from_pandas(reports)).items():
        table.to_csv(public / f"{file}.csv", index=False)
    release = {"name": name, "mode": "test", "data_source": "surrogate"}
    write_json(public / "plan.json", plan_to_json(plan) | {"release": release})
    names = sorted(file.name for file in public.iterdir())
    write_text(public / "SHA256SUMS", "".join(f"{sha256(public / n)}  {n}\n" for n in names))
    data = folder / "results" / "data"
    data.mkdir(exist_ok=True)
    records.to_parquet(data / f"{name}.parquet")


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which all rules were run."""
    folder = tmp_path_factory.mktemp("chain")
    publish(folder, "columns", deniable.make_plan(schema(), 3.0), survey())
    publish(folder, "own", deniable.make_plan(schema(), 3.0), survey())
    publish(folder, "asked", deniable.make_questionnaire(schema(), 3.0, "pairs"), survey())
    publish(folder, "strata", StrataPlan.from_schema(schema(), ["sex"], retention=0.6), survey())
    masked = plan_by("histograms", schema=schema_of_sizes("parquet"))
    publish(folder, "masked", masked, table_of_sizes().to_pandas())
    rules = ROOT / "workflow" / "rules" / "estimates.smk"
    text = SNAKEFILE.format(workflow=str(ROOT / "workflow"), rules=str(rules))
    (folder / "Snakefile").write_text(text, encoding="utf-8")
    paths = [str(ROOT / "src"), str(ROOT / "workflow"), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--cores", "2"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def read(chain: Path, release: str, file: str) -> pd.DataFrame:
    path = chain / "results" / "estimates" / release / file
    return pd.read_parquet(path) if path.suffix == ".parquet" else read_table(path)


@pytest.mark.workflow
@pytest.mark.parametrize("release", ["columns", "strata", "masked", "own", "asked"])
def test_every_table_says_that_it_is_a_test_of_a_surrogate(chain: Path, release: str) -> None:
    for file in FILES:
        table = read(chain, release, file)
        assert set(table["mode"]) == {"test"}
        assert set(table["data_source"]) == {"surrogate"}
    about = read_json(chain / "results" / "estimates" / release / "joint.json")["release"]
    assert (about["mode"], about["data_source"]) == ("test", "surrogate")


@pytest.mark.workflow
@pytest.mark.parametrize("release", ["columns", "strata", "asked"])
def test_tables_are_those_of_the_public_folder(chain: Path, release: str) -> None:
    released = deniable.Released(chain / "results" / "releases" / release / "public")
    margins = read(chain, release, "margins.csv")
    assert set(margins["target"]) == {"file", "population"}
    expected = released.margins(target="both", by_stratum=True)
    np.testing.assert_allclose(margins["estimate"], expected["estimate"], atol=1e-8)
    pairs = read(chain, release, "pairs.csv")
    assert set(pairs["columns"]) == {"sex x job", "sex x owner", "job x owner"}
    consistent, exact = read(chain, release, "consistent.csv"), released.consistent().tables
    assert set(consistent["columns"]) == set(pairs["columns"])
    # With nine digits the tables would not agree any more.
    np.testing.assert_allclose(consistent["consistent"], exact["consistent"], rtol=1e-14)
    assert len(read(chain, release, "independence.csv")) == 3
    synthetic = read(chain, release, "synthetic.parquet")
    assert len(synthetic) == RECORDS
    weights = read(chain, release, "weights.csv")
    if release == "asked":
        assert "leaves no randomized records of all columns" in weights["note"].item()
    else:
        assert len(weights) == RECORDS


@pytest.mark.workflow
@pytest.mark.parametrize("release", ["columns", "strata", "asked"])
def test_synthetic_records_come_from_the_joint_distribution_in_its_file(
    chain: Path, release: str
) -> None:
    released = deniable.Released(chain / "results" / "releases" / release / "public")
    found = read_json(chain / "results" / "estimates" / release / "joint.json")
    joint, own = JointDistribution.from_json(found), released.joint()
    names = ["sex", "job", "owner"]
    np.testing.assert_allclose(joint.table(names), own.distribution.table(names), atol=1e-7)
    assert found["choice"] == json.loads(json.dumps(own.to_json()["choice"]))
    assert found["notes"] == list(own.notes)
    synthetic = read(chain, release, "synthetic.parquet")
    pd.testing.assert_frame_equal(synthetic[names], released.synthetic(joint=joint)[names])
    table = synthetic.groupby(["sex", "job"]).size().to_numpy() / RECORDS
    assert np.abs(table - joint.table(["sex", "job"])).sum() / 2 < 0.05


@pytest.mark.workflow
def test_masked_numbers_have_a_note_in_place_of_a_joint_distribution(chain: Path) -> None:
    found = read_json(chain / "results" / "estimates" / "masked" / "joint.json")
    assert {*found} == {"note", "release"}
    assert "masked numbers have no categories" in found["note"]


@pytest.mark.workflow
def test_item_sets_and_rules_of_the_settings(chain: Path) -> None:
    released = deniable.Released(chain / "results" / "releases" / "columns" / "public")
    sets, rules = (read(chain, "columns", f"item_{each}.csv") for each in ("sets", "rules"))
    expected = released.item_sets(0.2)
    assert list(sets["items"].dropna()) == list(expected["items"])
    assert len(sets) == len(expected) + 1  # job is not an item
    assert rules["rule"].tolist() == released.rules([(["sex"], ["owner"])])["rule"].tolist()
    masked = read(chain, "masked", "item_sets.csv")
    assert len(masked) == 1
    assert masked["note"].notna().all()


@pytest.mark.workflow
def test_what_masked_numbers_cannot_answer_has_its_reason(chain: Path) -> None:
    for file in FILES:
        table = read(chain, "masked", file)
        if file != "numbers.csv":
            assert len(table) == 1
            assert table["note"].notna().all()
    assert read(chain, "masked", "numbers.csv")["estimate"].notna().any()


@pytest.mark.workflow
def test_test_releases_are_compared_with_the_original_records(chain: Path) -> None:
    checks = chain / "results" / "checks"
    found = {name: read_table(checks / f"{name}.csv") for name in ("columns", "strata", "masked")}
    coverage = found["columns"].query("check == 'coverage'")
    assert coverage["coverage"].between(0.9, 0.99).all()
    assert coverage["covered"].notna().all()
    distances = found["strata"].query("check == 'distance'").set_index("columns")
    assert distances.loc["sex x job", ["consistent", "weights", "synthetic"]].notna().all()
    assert len(found["masked"])
    asked = read_table(checks / "asked.csv").query("check == 'coverage'")
    assert asked["original"].notna().all()
    assert asked["covered"].mean() > 0.5
    assert asked["coverage"].isna().all()
    private = checks / "private"
    assert (private.stat().st_mode & 0o077) == 0
    assert len(read_table(private / "own.csv"))


@pytest.mark.workflow
def test_a_job_takes_little_time(chain: Path) -> None:
    spent = {
        file.parent.name: json.loads(file.read_text(encoding="utf-8"))["cpu_seconds"]
        for file in chain.glob("results/benchmarks/*/columns.cpu.json")
    }
    assert set(spent) == {
        "estimate",
        "consistency",
        "two_step",
        "independence",
        "item_sets",
        "joint",
        "synthesize",
        "check",
    }
    assert max(spent.values()) < 20  # a machine may be busy, and numba may compile
