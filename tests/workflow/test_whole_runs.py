"""A bare ``snakemake`` makes everything, and the same bytes however it is run."""

import csv
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from tests.workflow.rules import rules_of_the_workflow
from tests.workflow.tiny_releases import TEST_RELEASES

from deniable.datasets import load_manifest
from deniable.release import PRODUCTION_NOTICE, TEST_NOTICE

from reproduction.papers.catalog import ANALYSES, COMPUTED_TABLES, FIGURES, STUDIES, TABLES
from reproduction.pipeline.config import validate
from reproduction.pipeline.plan import RunPlan
from reproduction.pipeline.provenance import SUFFIX

pytestmark = pytest.mark.workflow

ROOT = Path(__file__).resolve().parents[2]
# What a run makes again, of what it leaves; each folder of a rehearsal is one output.
REPEATED = re.compile(
    r"results/(?:data/(?!raw/).*|(?:studies|tables|audit|figures)/.*"
    rf"|releases/(?:{'|'.join(TEST_RELEASES)})/p[^/]*)"
)
# Rules that refit what is committed; `make surrogates` runs them. And releases alone.
APART = {"fit_surrogate", "fit_surrogates", "releases", "release_sweep", "check_own_file"}
CONTRACT = [
    *("dataset", "matrix", "mechanism", "projection", "p", "t_d", "t_v"),
    *("published", "regenerated", "ci_low", "ci_high", "replicates", "data_source", "verdict"),
    *("equivalent_replicates", "attribute_epsilon", "record_epsilon"),
]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_a_table_a_figure_and_a_release_are_made_once(untouched: Any) -> None:
    """Go from the data to what people get, as `make test` tests runs; the others need all of it."""
    targets = ("results/figures/multirr_table1.svg", "results/releases/tried/public")
    untouched.made("--cores", "2", *targets)
    table = rows(untouched.folder / "results" / "tables" / "multirr_table1.csv")
    assert list(table[0]) == CONTRACT
    assert {row["verdict"] for row in table} == {"surrogate"}
    made = untouched.results("**/*.csv", "**/*.svg", "**/*.parquet")
    assert {"results/data/adult.parquet", targets[0]} <= set(made)
    recorded = {path.removesuffix(SUFFIX) for path in untouched.results(f"**/*{SUFFIX}")}
    assert {path for path in made if not path.startswith("results/releases/")} <= recorded
    assert {path for path in recorded if path.startswith("results/releases/")} == {
        f"results/releases/{name}/{folder}"
        for name in ("explored", "tried")  # its clusters follow from the randomized values of one
        for folder in ("public", "private")
    }
    assert "results/releases/tried/public/protected.parquet" in made
    assert untouched.temporary_files() == []
    assert untouched.would_run(*targets) == {}
    table_1 = untouched.folder / "results" / "tables" / "multirr_table1.csv"
    table_1.write_text(table_1.read_text("utf-8").replace("0", "1", 1), "utf-8")
    assert "damaged or edited since it was made" in untouched.refused("--cores", "1", *targets)


def test_a_bare_call_runs_every_rule(finished: Any) -> None:
    _, said = finished
    table = said.split("Job stats:")[1].split("\n\n")[0]
    ran = set(re.findall(r"^(\w+) +\d+$", table, re.MULTILINE)) - {"total"}
    assert ran == rules_of_the_workflow() - APART


def test_a_bare_call_makes_every_target(finished: Any) -> None:
    project, said = finished
    target = said.split("localrule all:")[1].split("input: ")[1].split("\n")[0].split(", ")
    assert len(target) >= 20
    for file in target:
        made = project.folder / file
        assert any(made.iterdir()) if made.is_dir() else made.stat().st_size > 0, file
    assert project.temporary_files() == []


def test_no_result_names_the_machine(finished: Any) -> None:
    project, _ = finished
    for pattern in ("tables/*", "audit/*", "releases/**/*", "report/**/*", "data/raw/*.json"):
        for path, content in project.results(pattern).items():
            assert str(project.folder).encode() not in content, path


def test_a_second_run_does_nothing(finished: Any) -> None:
    project, _ = finished
    assert "Nothing to be done" in project.made("--cores", "1")


def test_a_project_that_was_moved_does_not_run_again(project: Any) -> None:
    assert project.would_run() == {}


@pytest.mark.slow
def test_cores_chunks_and_a_resumed_run_change_no_byte(project: Any, finished: Any) -> None:
    """Use other numbers of chunks, and make a quarter of the files again."""
    numbers = {"tables": 3, "sensitivity": 2, "fig3": 1}
    chunks = {"studies": {f"multirr_{name}": {"chunks": n} for name, n in numbers.items()}}
    (project.folder / "chunks.yaml").write_text(yaml.safe_dump(chunks), encoding="utf-8")
    # What other chunks change is gone, and some files of the rest.
    names = "|".join(name.removesuffix("s") for name in numbers)
    changed = re.compile(rf"results/\w+/multirr_({names})")
    found = (REPEATED.match(path) for path in project.results("**/*.*"))
    files = list(dict.fromkeys(each[0] for each in found if each))
    gone = [path for n, path in enumerate(files) if changed.match(path) or n % 4 == 1]
    for path in {*gone, "results/data/adult.parquet"}:
        path_of = project.folder / path
        shutil.rmtree(path_of) if path_of.is_dir() else path_of.unlink()
    # Chunks of other numbers have other names.
    wanted = [path for path in gone if not ("/studies/" in path and changed.match(path))]
    expected = finished[0].comparable()
    # Two cores made what is compared.
    project.made("--cores", "1", "--configfile", "tiny.yaml", "chunks.yaml", "--", *wanted)
    chunks_there = project.results("studies/*/chunk-*.csv")
    assert {name for name in chunks_there if "sensitivity" in name} == {
        f"results/studies/multirr_sensitivity/chunk-{chunk}-of-2.csv" for chunk in (0, 1)
    }
    others = [
        name for name in finished[0].results("studies/*/chunk-*.csv") if not changed.match(name)
    ]
    assert len(chunks_there) == len(others) + sum(numbers.values())
    # What was not asked for, such as the page, is as it was.
    assert project.comparable() == expected


def test_tables_have_the_columns_of_the_contract(finished: Any) -> None:
    for name in ("multirr_table1", "multirr_table2", "multirr_sensitivity"):
        table = rows(finished[0].folder / "results" / "tables" / f"{name}.csv")
        assert list(table[0]) == CONTRACT
        assert {row["replicates"] for row in table} == {"9"}


def test_every_result_says_that_the_data_are_surrogates(finished: Any) -> None:
    tables = finished[0].folder / "results" / "tables"
    of_data = ("clusters", "dependences", "order", "secure_sum", "linkage", "risk", "claims")
    fitted = {"adult", "census", "wine"}
    names = {name for name, table in TABLES.items() if fitted & {*STUDIES[table.study].datasets}}
    of_models = {name for name in TABLES if name.startswith("rrba_")}
    assert {"pram_item_sets"} | of_models == set(TABLES) - names
    pram = ("variance", "whole_file", "intruder", "worst_sets")
    names |= {f"multirr_{name}" for name in of_data} | {f"pram_{name}" for name in pram}
    names |= {"idp_audit", "idp_attacks", "idp_noises", "idp_claims"}
    for name in sorted(names):
        for row in rows(tables / f"{name}.csv"):
            assert row["data_source"] == "surrogate"
            assert row.get("verdict", "surrogate") == "surrogate"
    for page in (finished[0].folder / "results" / "report").glob("*.html"):
        assert "SURROGATE DATA" in page.read_text("utf-8"), page
    for figure in (finished[0].folder / "results" / "figures").glob("*.svg"):
        # Formulas, of no data, and files drawn from published networks.
        if figure.stem in ("multirr_fig1", "pram_breaches") or figure.stem.startswith("rrba_"):
            continue
        assert "SURROGATE" in figure.read_text("utf-8")


def test_the_default_config_asks_for_all_printed_cells(config_values: dict[str, Any]) -> None:
    datasets = load_manifest(ROOT / "resources" / "datasets.yaml")
    plan = RunPlan(validate(config_values), ROOT, datasets, {})
    cells = plan.config.study("multirr_tables").cells()
    for dataset in ("adult", "adult6"):
        assert sum(cell["dataset"] == dataset for cell in cells) == 72
    on_request = {name for name, table in TABLES.items() if table.on_request}
    assert plan.tables() == [name for name in TABLES if name not in on_request]
    assert plan.figures() == [n for n, of in FIGURES.items() if not {*of.tables} & on_request]
    assert plan.analyses == list(ANALYSES.values())
    assert plan.computed_tables() == list(COMPUTED_TABLES)


def test_releases_are_marked(finished: Any) -> None:
    results = finished[0].folder / "results"
    for name, mode, notice in (
        ("tried", "test", TEST_NOTICE),
        ("real", "production", PRODUCTION_NOTICE),
    ):
        public = results / "releases" / name / "public"
        block = json.loads((public / "plan.json").read_text("utf-8"))["release"]
        assert (block["mode"], block["notice"]) == (mode, notice)
        assert block["data_source"] == "surrogate"
        assert ("NOTICE: TEST RELEASE" in (public / "README.txt").read_text()) == (name == "tried")
        for table in ("margins.csv", "weights.csv"):
            found = {row["mode"] for row in rows(results / "estimates" / name / table)}
            assert found == {mode}
    assert (results / "checks" / "tried.csv").exists()
    assert not (results / "checks" / "real.csv").exists()


def test_strata_are_released_as_they_are_in_another_order(finished: Any) -> None:
    results = finished[0].folder / "results"
    original = pd.read_parquet(results / "data" / "adult.parquet")["sex"].astype(str)
    released = pd.read_parquet(results / "releases/blurred/public/protected.parquet")["sex"]
    assert sorted(original) == sorted(released.astype(str))
    assert (original.to_numpy() != released.astype(str).to_numpy()).any()
    strata = {row["stratum"] for row in rows(results / "estimates" / "blurred" / "margins.csv")}
    assert strata == {"", "Female", "Male"}
