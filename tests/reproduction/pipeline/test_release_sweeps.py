"""An entry with a grid gives one test release for each combination, or one message."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from deniable.errors import ConfigError

from reproduction.pipeline import RunPlan
from reproduction.pipeline.config import Config, validate

ROOT = Path(__file__).resolve().parents[3]
ENTRY: dict[str, Any] = {
    "name": "swept",
    "data": "adult",
    "mode": "test",
    "quasi_identifiers": ["sex"],
    "plan": {"kind": "columns", "columns": ["sex", "income"]},
    "grid": {"epsilon": [0.5, 2], "mechanism": ["best", "generalized-rr"]},
}
PLAIN = {"name": "plain", "data": "adult", "mode": "test", "plan": {"kind": "columns", "p": 0.3}}


def config(*entries: dict[str, Any]) -> Config:
    return validate({"releases": list(entries)})


def test_a_grid_is_the_product_of_its_options() -> None:
    found = config(ENTRY, PLAIN)
    names = [release.name for release in found.releases]
    assert names == [
        "swept-epsilon-0_5-mechanism-best",
        "swept-epsilon-0_5-mechanism-generalized-rr",
        "swept-epsilon-2-mechanism-best",
        "swept-epsilon-2-mechanism-generalized-rr",
        "plain",
    ]
    last = found.releases[3]
    assert last.plan == ENTRY["plan"] | {"epsilon": 2, "mechanism": "generalized-rr"}
    assert (last.data, last.mode, last.quasi_identifiers) == ("adult", "test", ["sex"])
    assert list(found.sweeps) == ["swept"]
    assert list(found.sweeps["swept"].settings) == names[:4]


def test_values_that_are_lists_or_sections_are_named_by_their_number() -> None:
    grid = {
        "matrix": [{"kind": "epsilon", "epsilon": 1.0}, {"kind": "retention", "retention": 0.5}]
    }
    names = [release.name for release in config(ENTRY | {"grid": grid}).releases]
    assert names == ["swept-matrix-1", "swept-matrix-2"]


def test_the_config_is_stated_as_it_was_written() -> None:
    written = config(ENTRY, PLAIN).model_dump()["releases"]
    assert written[0]["grid"] == ENTRY["grid"]
    assert written[0]["plan"] == ENTRY["plan"]
    assert "grid" not in written[1]


def test_each_release_has_the_whole_chain_and_the_grid_a_table_and_a_figure() -> None:
    values = {"data": {"source": "surrogate"}, "releases": [ENTRY, PLAIN]}
    targets = RunPlan.recall(values, ROOT).targets()
    for release in ("plain", "swept-epsilon-2-mechanism-best"):
        assert f"results/releases/{release}/public" in targets
        assert f"results/estimates/{release}/two_step.csv" in targets
        assert f"results/checks/{release}.csv" in targets
    sweeps = [target for target in targets if target.startswith("results/sweeps/")]
    assert sweeps == [f"results/sweeps/swept.{kind}" for kind in ("csv", "svg", "png")]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"mode": "production", "population": "p"},
            r"mode: 'production'; allowed with a grid: test",
        ),
        ({"grid": {}}, r"releases\[0\]\.grid: \{\}; allowed: a list with at least one entry"),
        ({"grid": {"epsilon": []}}, r"grid\.epsilon: \[\]; allowed: a list with at least one"),
        ({"grid": {"epsilon": 2}}, r"grid\.epsilon: 2; allowed: a list"),
        (
            {"grid": {"epsilom": [2]}},
            r"swept-epsilom-2: plan: epsilom: unknown option; allowed here",
        ),
        (
            {"grid": {"epsilon": [2, -1]}},
            r"swept-epsilon--1: plan: epsilon: -1; allowed: above 0",
        ),
        ({"grid": {"columns": [["sex"]]}}, r"grid: columns is also an option of plan"),
        ({"grid": {"epsilon": [1, 1.0]}}, r"2 releases have 1 names, such as 'swept-epsilon-1'"),
        (
            {"grid": {"epsilon": [n / 10 for n in range(1, 52)], "split": ["even", "size"]}},
            r"grid: 102 releases; allowed: at most 100",
        ),
        ({"plan": "plan.json"}, r"plan: 'plan\.json'; allowed: a section with options"),
        ({"name": "s" * 80}, r"name: '.*; allowed: at most 100 characters"),
    ],
)
def test_a_grid_that_cannot_be_made_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as error:
        config(ENTRY | changes)
    assert "has an error" in str(error.value)


@pytest.mark.parametrize("name", ["swept-epsilon-2-mechanism-best", "SWEPT"])
def test_names_that_collide_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="allowed: names that differ in more than case"):
        config(ENTRY, PLAIN | {"name": name})


def test_a_wrong_column_is_named_once_at_its_entry() -> None:
    wrong = ENTRY | {"plan": {"kind": "columns", "columns": ["sex", "height"]}}
    with pytest.raises(ConfigError, match="has an error") as error:
        RunPlan.prepare({"releases": [PLAIN, wrong]}, ROOT)
    assert str(error.value).count("releases[1].plan.columns[1]: 'height'") == 1


def test_the_releases_of_the_quick_config_are_those_of_the_full_one() -> None:
    full, quick = (
        {each["name"]: each for each in yaml.safe_load(file.read_text("utf-8"))["releases"]}
        for file in (ROOT / "config" / "config.yaml", ROOT / "config" / "quick.yaml")
    )
    assert quick.items() == {name: full[name] for name in quick}.items()
