"""The answers of records agree with the counts of the same values, for all kinds of plans."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from deniable import Released, randomize
from deniable.errors import DeniableError
from deniable.plans import Plan, StrataPlan, make_plan, make_questionnaire
from deniable.schema import Schema, schema_from_dict

N = 400


def schema() -> Schema:
    columns = [
        {"name": name, "kind": "categorical", "categories": list("xyz"[:size])}
        for name, size in {"a": 2, "b": 3, "c": 2}.items()
    ]
    about = {"format": "deniable-schema", "population": "all", "file": {"kind": "arrow"}}
    return schema_from_dict(about | {"columns": columns})


def records() -> pd.DataFrame:
    chance = np.random.default_rng(5)
    return pd.DataFrame({name: chance.choice(list("xy"), N) for name in "abc"})


def drawn(plan: Plan) -> pd.DataFrame:
    return randomize(records(), plan, np.random.default_rng(1))


PLANS: dict[str, Callable[[], Plan]] = {
    "columns": lambda: make_plan(schema(), 3.0),
    "cluster": lambda: make_plan(schema(), 3.0, clusters=[["a", "c"]]),
}


@pytest.mark.parametrize("kind", PLANS)
def test_answers_agree_with_counts(kind: str) -> None:
    plan = PLANS[kind]()
    released = Released(drawn(plan), plan)
    parts, weights = released.responses.answers()
    assert weights is None
    tables = released.responses.clusters()
    assert [part.cells.names for part in parts] == [table.cells.names for table in tables]
    counted = released.responses.count([table.reports for table in tables])
    for part, own in zip(parts, counted, strict=True):
        assert part.codes.size == N
        np.testing.assert_array_equal(
            np.bincount(part.codes, minlength=part.channel.reports), own.tally
        )


def test_each_stratum_has_a_part_of_its_own() -> None:
    plan = StrataPlan.from_schema(schema(), ["a"], {("x",): 1.0, ("y",): 2.0})
    file = drawn(plan)
    parts, _ = Released(file, plan).responses.answers()
    names = [part.cells.names for part in parts]
    assert names[0] == ("a",)
    assert names.count(("a",)) == 1
    first = parts[0]
    assert np.isinf(first.channel.epsilon)
    within = (
        file.to_pandas()["a"].to_numpy() if hasattr(file, "to_pandas") else file["a"].to_numpy()
    )
    np.testing.assert_array_equal(first.codes == 0, within == "x")
    for name in (("b",), ("c",)):
        asked = np.array([part.codes >= 0 for part in parts if part.cells.names == name])
        np.testing.assert_array_equal(asked.sum(axis=0), 1)
        np.testing.assert_array_equal(asked[0], within == "x")


def test_a_form_has_the_parts_that_it_asks_about() -> None:
    plan = make_questionnaire(schema(), 2.0)
    parts, _ = Released(drawn(plan), plan).responses.answers()
    asked = np.array([part.codes >= 0 for part in parts])
    np.testing.assert_array_equal(asked.sum(axis=0), 1)
    released = Released(drawn(plan), plan)
    for part in parts:
        (counted,) = released.responses.count([released.responses.table(part.cells.names).reports])
        own = part.codes[part.codes >= 0]
        np.testing.assert_array_equal(
            np.bincount(own, minlength=part.channel.reports), counted.tally
        )


def test_a_questionnaire_has_no_weights() -> None:
    plan = make_questionnaire(schema(), 2.0)
    released = Released(drawn(plan), plan)
    with pytest.raises(DeniableError, match="no column of weights"):
        released.responses.answers("w")
