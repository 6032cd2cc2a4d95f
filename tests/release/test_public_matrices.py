"""matrices.csv: everybody can estimate with it and a spreadsheet, without this program."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import deniable
from deniable.plans import Plan, make_questionnaire
from deniable.release import protect_test
from deniable.responses import NOT_ASKED
from deniable.schema import Schema, schema_from_dict

SEX = {"name": "sex", "kind": "categorical", "categories": ["F", "M"]}
REGION = {"name": "region", "kind": "categorical", "categories": ["e", "n", "s", "w"]}
SMOKES = {
    "name": "smokes",
    "kind": "categorical",
    "categories": ["no", "yes"],
    "missing": {"policy": "category"},
}
AGE = {"name": "age", "kind": "numeric", "bounds": [0, 60], "step": 5}
CODE = {"name": "code", "kind": "categorical", "categories": list(map(str, range(300)))}
FEW = CODE | {"name": "few", "categories": [*"0123456789"]}
COLUMNS = (SEX, REGION, SMOKES, AGE)


def schema_of(*columns: dict[str, Any]) -> Schema:
    about = {"format": "deniable-schema", "population": "people", "file": {"kind": "csv"}}
    return schema_from_dict(about | {"columns": list(columns)})


def released(plan: Plan, folder: Path, number: int = 2000) -> Path:
    generator = np.random.default_rng(1)
    chosen = {
        "sex": generator.choice(["F", "M"], number),
        "region": generator.choice(["e", "n", "s", "w"], number, p=[0.1, 0.2, 0.3, 0.4]),
        "smokes": generator.choice(["no", "yes", ""], number, p=[0.6, 0.3, 0.1]),
        "age": generator.integers(0, 61, number).astype(str),
        "few": generator.integers(0, 10, number).astype(str),
        "code": generator.integers(0, 300, number).astype(str),
    }
    names = [each.name for each in plan.schema.columns]
    protect_test(pd.DataFrame({name: chosen[name] for name in names}), plan, folder, 1)
    return folder / "public"


def matrices_in(public: Path) -> pd.DataFrame:
    return pd.read_csv(public / "matrices.csv", dtype=str, keep_default_na=False)


def by_hand(public: Path, block: str, stratum: str = "") -> dict[str, float]:
    """Estimate the proportions of a block from the two CSV files alone."""
    text, matrices = {"dtype": str, "keep_default_na": False}, matrices_in(public)
    own = matrices[(matrices["block"] == block) & (matrices["stratum"] == stratum)]
    protected = pd.read_csv(public / "protected.csv", **text).replace("", "(missing)")
    if stratum:
        protected = protected[protected["region"] == stratum]
    if block in protected:
        values = protected[block]
    else:
        values = protected[block.split(" x ")].agg(" x ".join, axis=1)
    shares = values.value_counts(normalize=True)
    weights = own["reported"].map(shares).fillna(0) * own["inverse"].astype(float)
    return weights.groupby(own["true"]).sum().to_dict()


def refuse_other_estimates(public: Path, plan: Plan, blocks: list[str], inverse: Any) -> None:
    found = deniable.Released(public)
    for block in blocks:
        names = block.split(" x ")
        table = found.table(names, inverse=inverse)
        own = table[names].map(lambda each: f"{each:g}" if isinstance(each, float) else str(each))
        labels, estimates = own.agg(" x ".join, axis=1), by_hand(public, block)
        assert set(labels) == set(estimates)
        by_names = np.array([estimates[label] for label in labels])
        assert np.allclose(by_names, table["estimate"], rtol=0, atol=1e-12)
    for block, own in matrices_in(public).groupby("block"):
        channel, shape = plan.channels()[block], (-1, own["reported"].nunique())
        entries = own["probability"].astype(float).to_numpy().reshape(shape)
        assert np.array_equal(entries, channel.matrix())
        inverses = own["inverse"].astype(float).to_numpy().reshape(shape)
        assert np.array_equal(inverses, channel.solve(np.eye(channel.size)))
        assert np.allclose(entries @ inverses.T, np.eye(channel.size), atol=1e-9)


@pytest.mark.parametrize("inverse", ["least", "own"])
def test_square_channels_have_the_estimators_inverse(inverse: str, tmp_path: Path) -> None:
    plan = deniable.make_plan(
        schema_of(*COLUMNS), 6.0, clusters=[["sex", "smokes"]], mechanism="generalized-rr"
    )
    public = released(plan, tmp_path / "r")
    refuse_other_estimates(public, plan, ["region", "sex x smokes", "age"], inverse)
    readme = (public / "README.txt").read_text("utf-8")
    assert "matrices.csv" in readme
    assert "transition matrices and their left inverses\n" in readme
    assert "matrices.csv" in (public / "SHA256SUMS").read_text("utf-8")


@pytest.mark.parametrize("mechanism", ["subset-selection", "best"])
def test_other_channels_have_their_own_inverse(mechanism: str, tmp_path: Path) -> None:
    columns = (REGION, FEW) if mechanism == "subset-selection" else (REGION, AGE)
    plan = deniable.make_plan(schema_of(*columns), 1.0, mechanism=mechanism)
    assert not all(channel.square for channel in plan.channels().values())
    public = released(plan, tmp_path / "r")
    refuse_other_estimates(public, plan, [each["name"] for each in columns], "own")


def test_each_stratum_has_its_matrices(tmp_path: Path) -> None:
    epsilons = {(each,): 1.0 + place for place, each in enumerate("ensw")}
    plan = deniable.StrataPlan.from_schema(schema_of(REGION, SEX), ["region"], epsilons)
    public = released(plan, tmp_path / "r")
    table = deniable.Released(public).table(["sex"], by_stratum=True)
    for stratum in "ensw":
        own = table[table["stratum"] == stratum]
        found = by_hand(public, "sex", stratum)
        assert np.allclose([found[each] for each in own["sex"]], own["estimate"], atol=1e-12)


def test_large_matrices_are_left_out_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = deniable.make_plan(schema_of(SEX, CODE), 4.0, mechanism="generalized-rr")
    public = released(plan, tmp_path / "r")
    matrices = pd.read_csv(public / "matrices.csv")
    assert set(matrices["block"]) == {"sex"}
    readme = " ".join((public / "README.txt").read_text("utf-8").split())
    assert "left inverses; too large: code" in readme
    only = deniable.make_plan(schema_of(CODE), 4.0, mechanism="generalized-rr")
    assert not (released(only, tmp_path / "one") / "matrices.csv").exists()
    monkeypatch.setattr("deniable.plans.categorical.MAX_PUBLISHED_ROWS", 20)
    many = deniable.make_plan(schema_of(*COLUMNS), 4.0, mechanism="generalized-rr")
    assert many.large_blocks == ("smokes", "age")  # 4 and 16 of 20 rows are sex and region


def test_matrices_that_are_kept_back_are_not_published(tmp_path: Path) -> None:
    options = {"kind": "columns", "matrix": {"kind": "two_step", "epsilon": 1.0}}
    from deniable.plans import PlanInputs, settings_from  # noqa: PLC0415
    from deniable.schema import RecordsFile  # noqa: PLC0415

    schema = schema_of(SEX, REGION)
    generator = np.random.default_rng(2)
    frame = pd.DataFrame(
        {"sex": generator.choice(["F", "M"], 500), "region": generator.choice([*"ensw"], 500)}
    )
    for keep in (True, False):
        matrix = options["matrix"] | {"keep_back": keep}
        settings = settings_from(options | {"matrix": matrix}, "test")
        data = RecordsFile.open(frame, schema)
        plan = settings.plan(PlanInputs(schema, data, {}, ("chosen_by_data",)))
        protect_test(frame, plan, tmp_path / str(keep), 1)
        assert (tmp_path / str(keep) / "public" / "matrices.csv").exists() != keep


def test_each_form_of_a_questionnaire_has_its_matrices(tmp_path: Path) -> None:
    plan = make_questionnaire(schema_of(SEX, REGION, FEW), 2.0, ask=1, responses="categories")
    public = released(plan, tmp_path / "r")
    matrices = matrices_in(public)
    assert list(matrices.groupby("stratum", sort=False)["block"].unique().map(list)) == [
        *(["sex"], ["region"], ["few"])
    ]
    found = deniable.Released(public)
    protected = pd.read_csv(public / "protected.csv", dtype=str, keep_default_na=False)
    for name, own in matrices.groupby("block"):
        asked = protected.loc[protected[name] != NOT_ASKED, name]
        weights = own["reported"].map(asked.value_counts(normalize=True)).fillna(0)
        by_names = (weights * own["inverse"].astype(float)).groupby(own["true"]).sum()
        table = found.table([name])
        assert np.allclose(by_names[table[name]], table["estimate"], atol=1e-12)
