"""The best mechanism by the criterion of a comparison, and plans that leave columns out."""

import json
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from deniable.cli import main
from deniable.errors import DeniableError
from deniable.plans import PlanInputs, compare, make_plan, read_plan
from deniable.plans.settings import ColumnsSettings
from deniable.schema import Schema, schema_from_dict

SIZES = {"a": 2, "b": 5, "c": 4, "d": 6}


def schema(typed: bool = False) -> Schema:
    """Return four columns of categories, of text or of whole numbers, and a number."""
    columns = [
        {"name": name, "kind": "categorical", "categories": [str(n) for n in range(size)]}
        | ({"type": "int64"} if typed else {})
        for name, size in SIZES.items()
    ]
    number = {"name": "n", "kind": "numeric", "bounds": [0.0, 30.0], "step": 1.0}
    columns.append(number | ({"type": "int64"} if typed else {}))
    about = {"format": "deniable-schema", "version": 1, "population": "survey"}
    kind = {"kind": "arrow"} if typed else {"kind": "csv"}
    return schema_from_dict(about | {"file": kind, "columns": columns})


def records(typed: bool = False) -> pa.Table:
    """Return 500 records; the larger code of a column is the rarer one."""
    generator = np.random.default_rng(3)
    table = {
        name: np.minimum(generator.geometric(0.5, 500) - 1, size - 1)
        for name, size in SIZES.items()
    }
    table["n"] = generator.integers(0, 31, 500)
    return pa.table(table if typed else {name: own.astype(str) for name, own in table.items()})


@pytest.mark.parametrize("typed", [False, True])
@pytest.mark.parametrize(
    "tables", [[], [("a", "b")], [("n", "c"), ("n",)], [("b", "d"), ("d", "c")]]
)
def test_no_mechanism_is_better_than_the_best(typed: bool, tables: list[tuple[str, ...]]) -> None:
    for prior, epsilon in (({}, 0.5), (None, 2.0)):
        found = compare(records(typed), schema(typed), [epsilon], tables, prior=prior).table
        names = [" x ".join(table) for table in tables] or ["margins"]
        found["error"] = np.sqrt((found[names] ** 2).mean(axis=1, skipna=False))
        for _, rows in found.groupby("epsilon"):
            best = rows[rows["mechanism"] == "best"]
            assert best["error"].min() <= rows["error"].min() * (1 + 1e-9)
            for _, own in rows.groupby("clusters"):
                ways = own[own["mechanism"] == "best"].set_index("split")["error"]
                ways = ways[["even", "size", "optimal"]]
                assert ways["even"] <= own[own["split"] == "even"]["error"].min() * (1 + 1e-9)
                assert ways["optimal"] <= ways.min() * (1 + 1e-6)
            (chosen,) = rows[rows["recommended"]].to_dict("records")
            assert chosen["mechanism"] == "best"
            assert chosen["error"] <= rows["error"].min() * (1 + 1e-6)


def test_columns_in_no_table_are_left_out_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(json.dumps(schema().to_json()), encoding="utf-8")
    records().to_pandas().to_csv("s.csv", index=False)
    assert main(shlex.split("compare s.csv s.yaml --epsilon 2 --table a,b --public")) == 0
    said = capsys.readouterr().out
    assert "It leaves out c, d, n, which are in no table" in said
    (command,) = [each for each in said.splitlines() if each.startswith("  deniable plan")]
    assert main(shlex.split(command)[1:]) == 0
    assert "left out: c, d, n\n" in capsys.readouterr().out
    plan = read_plan("plan.json")
    assert [each.name for each in plan.schema.randomized] == ["a", "b"]
    assert {each.kind for each in plan.schema.columns[2:]} == {"left_out"}
    assert main(["plan", "--verify", "plan.json"]) == 0
    assert main(shlex.split("protect s.csv plan.json --out out --test 1")) == 0
    (file,) = Path("out/test").glob("protected*")
    assert list(pd.read_csv(file)) == ["a", "b"]


def test_floors_and_shares_from_everywhere_make_the_same_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(json.dumps(schema().to_json()), encoding="utf-8")
    options = {"split": "optimal", "tables": [("a", "b")], "floor": 0.1, "shares": {"n": 0.25}}
    plan = make_plan(schema(), 2.0, **options)
    by_column = plan.epsilon_by_changed_attribute()
    assert by_column["n"] == pytest.approx(0.5)
    assert by_column["c"] == by_column["d"] == pytest.approx(0.1 * 1.5 / 4)
    given = "--split optimal --table a,b --floor 0.1 --share n=0.25"
    assert main(shlex.split(f"plan s.yaml --epsilon 2 --out p.json {given}")) == 0
    values = {"kind": "columns", "epsilon": 2.0} | options | {"tables": [["a", "b"]]}
    by_config = ColumnsSettings.model_validate(values).plan(PlanInputs(schema()))
    for other in (read_plan("p.json"), by_config):
        assert other.epsilon_by_changed_attribute() == by_column
    with pytest.raises(DeniableError, match="shares sum to"):
        make_plan(schema(), 2.0, shares={"a": 0.6, "b": 0.6})
    for wrong in ("n", "n=much", "m=0.5", "n=1.5"):
        assert main(shlex.split(f"plan s.yaml --epsilon 2 --out q.json --share {wrong}")) == 2
    assert not Path("q.json").exists()
