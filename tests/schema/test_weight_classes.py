"""Released weights: in public classes, and how many are of one record alone, before the draw."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import deniable
from deniable.cli import main
from deniable.errors import DataError, WeightsWarning
from deniable.plans import randomized
from deniable.release import Ledger
from deniable.sampling import KeyedDraws
from deniable.schema import Column, RecordsFile, Schema, UniqueWeights, in_classes, schema_from_dict

SEX = {"name": "sex", "kind": "categorical", "categories": ["F", "M"]}


def schema_of(weight: dict[str, Any], kind: str = "csv") -> Schema:
    about = {"format": "deniable-schema", "population": "survey", "file": {"kind": kind}}
    columns = [SEX, {"name": "w", "kind": "weight"} | weight]
    return schema_from_dict(about | {"columns": columns})


def plan_of(schema: Schema) -> deniable.Plan:
    return deniable.make_plan(schema, 2.0, accept=["weights_released"])


def records(number: int, digits: int = 3) -> pd.DataFrame:
    generator = np.random.default_rng(1)
    weights = generator.uniform(0.5, 2, number).round(digits)
    return pd.DataFrame({"sex": generator.choice(["F", "M"], number), "w": weights})


@pytest.mark.parametrize("decimal", [".", ","])
def test_each_weight_becomes_the_value_of_its_class(decimal: str) -> None:
    column = Column(name="w", kind="weight", classes=[0, 1, 1.5, 4], decimal=decimal)
    texts = ["0", "0.99", "1", "1.4999", "1.5", "4"]
    expected = [0.5, 0.5, 1.25, 1.25, 2.75, 2.75]
    marked = pa.array([each.replace(".", decimal) for each in texts])
    found = in_classes(column, marked).to_pylist()
    assert found == [str(each).replace(".", decimal) for each in expected]
    if decimal == ".":
        numbers = pa.array(list(map(float, texts)))
        assert in_classes(column, numbers).to_pylist() == expected
        assert in_classes(column, pa.array([0, 1, 4], pa.int8())).to_pylist() == [0.5, 1.25, 2.75]


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        ({"classes": [1]}, "a list with at least 2 entries"),
        ({"classes": [1, 1]}, "classes of 'w'; allowed: of a weight, increasing edges from 0"),
        ({"classes": [-1, 1]}, "increasing edges from 0"),
        ({"classes": [0, float("inf")]}, "increasing edges from 0"),
        ({"kind": "identifier", "classes": [0, 1]}, "allowed: of a weight"),
    ],
)
def test_classes_that_cannot_be_are_refused(weight: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError) as error:
        schema_of(weight)
    assert words in str(error.value)


def test_a_weight_in_no_class_is_an_error_with_its_remedy() -> None:
    schema = schema_of({"classes": [0, 1, 2]})
    with pytest.raises(DataError) as error:
        RecordsFile.open(pa.table({"sex": ["F", "M"], "w": ["1", "2.5"]}), schema).check()
    assert str(error.value) == (
        "the table: record 2, column 'w' has '2.5', which is in no class from 0 to 2; correct it, "
        "or the classes"
    )


def test_estimates_use_the_values_of_classes_and_no_other_is_released(tmp_path: Path) -> None:
    frame = records(3000)
    for kind, form in (("csv", str), ("arrow", float)):
        schema = schema_of({"classes": [0.5, 1, 1.25, 2]}, kind)
        plan, source = plan_of(schema), pa.table(frame.astype({"w": form}))
        found = deniable.randomize(source, plan, KeyedDraws(bytes(32), b"classes"))
        assert set(found["w"].astype(float)) == {0.75, 1.125, 1.625}
        expected = np.array([0.75, 1.125, 1.625])[np.searchsorted([1, 1.25], frame["w"], "right")]
        assert np.array_equal(found["w"].astype(float), expected)
        table = deniable.Released(found, plan).table(["sex"], weight="w")
        hand = deniable.Released(
            found.assign(w=expected.astype(form)), plan_of(schema_of({}, kind))
        )
        pd.testing.assert_frame_equal(table, hand.table(["sex"], weight="w"))
        assert "as the values of public classes, which all estimates use" in plan.not_covered[0]


def test_an_empty_batch_has_the_type_of_class_values() -> None:
    plan = plan_of(schema_of({"classes": [0, 1, 2]}, "arrow"))
    table = pa.table({"sex": ["F"], "w": pa.array([1], pa.int8())})
    (batch,), draws = table.to_batches(), KeyedDraws(bytes(32), b"empty")
    one, none = (randomized(batch.slice(0, n), range(n), plan, draws) for n in (1, 0))
    assert one.schema.field("w").type == none.schema.field("w").type == pa.float64()


def test_the_number_of_unique_weights_is_exact_and_of_very_many_a_sample() -> None:
    column, generator = Column(name="w", kind="weight"), np.random.default_rng(3)
    for number, within in ((20_000, 0), (400_000, 0.02)):
        weights, count = generator.uniform(0, 1, number).round(6), UniqueWeights(column)
        for start in range(0, number, 60_000):
            count.add(pa.array(weights[start : start + 60_000]))
        _, times = np.unique(weights, return_counts=True)
        exact = int((times == 1).sum())
        assert abs(count.unique - exact) <= within * exact
        assert str(count).startswith(
            f"column 'w': {'about ' if within else ''}{count.unique:,} of {number:,} records ("
        )


def test_unique_weights_are_shown_before_anything_is_drawn_or_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    frame = records(2000)
    frame.to_csv("a.csv", index=False)
    alone = int((frame["w"].value_counts() == 1).sum())
    line = f"column 'w': {alone:,} of 2,000 records ({100 * alone / 2000:.3g} %) have a released "
    deniable.write_plan("plan.json", plan_of(schema_of({})))
    Path("s.yaml").write_text(str(schema_of({}).to_json()), "utf-8")
    options = ["--epsilon", "2", "--data", "a.csv", "--out", "p.json"]
    accept = ["--accept", "weights_released", "chosen_by_data"]
    assert main(["plan", "s.yaml", *options, *accept]) == 0
    assert line in capsys.readouterr().out
    assert main(["plan", "s.yaml", *options, "--accept", "chosen_by_data"]) == 0
    assert "of their own" not in capsys.readouterr().out

    Ledger.init("ledger")
    seen: list[str] = []
    monkeypatch.setattr(
        "deniable.release.counting.ledger.Ledger.reserve",
        lambda *_: seen.append(capsys.readouterr().err) or pytest.fail("counted"),
    )
    with pytest.raises(pytest.fail.Exception):
        main(["protect", "a.csv", "plan.json", "--out", "r", "--ledger", "ledger"])
    assert line in seen[0]
    assert "declare (fewer) classes in the schema" in seen[0]


def test_classes_of_many_records_need_no_warning(recwarn: pytest.WarningsRecorder) -> None:
    file = RecordsFile.open(pa.table(records(500)), schema_of({"classes": [0, 1, 2]}, "arrow"))
    file.check()
    assert file.unique["w"].unique == 0
    file.unique["w"].warn()
    assert not recwarn.list
    few = RecordsFile.open(pa.table({"sex": ["F"], "w": [1.0]}), file.schema)
    few.check()
    with pytest.warns(WeightsWarning, match=r"1 of 1 records \(100 %\) have a class of weights"):
        few.unique["w"].warn()
