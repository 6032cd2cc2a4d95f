"""A DataFrame in and out: plan, randomize, estimate, in one shape for all mechanisms."""

import numpy as np
import pandas as pd
import pytest

import deniable
from deniable.errors import DataError
from deniable.plans import MECHANISMS, ColumnsPlan
from deniable.pram import pram_matrix
from deniable.randomized_response import Protocol, rr_channel
from deniable.schema import RecordsFile

RECORDS = 4000
NEEDS = 5.0  # standard errors; fixed seeds


def survey() -> pd.DataFrame:
    """Texts, whole numbers with missing ones, truth values, a grid."""
    generator = np.random.default_rng(1)
    age = generator.choice([20, 30, 40], RECORDS, p=[0.5, 0.3, 0.2])
    return pd.DataFrame(
        {
            "sex": generator.choice(["F", "M"], RECORDS, p=[0.7, 0.3]),
            "rooms": np.where(generator.random(RECORDS) < 0.1, np.nan, age // 10 - 1),
            "owner": generator.random(RECORDS) < age / 100,
            "age": age,
        }
    )


def schema_of(frame: pd.DataFrame) -> deniable.Schema:
    """With age as a number; codes of rooms and ages are drafted as what they seem."""
    columns = [
        {"name": "sex", "kind": "categorical", "categories": ["F", "M"]},
        {
            "name": "rooms",
            "kind": "categorical",
            "categories": ["1", "2", "3"],
            "type": "int64",
            "missing": {"policy": "category"},
        },
        {"name": "owner", "kind": "categorical", "categories": ["false", "true"], "type": "bool"},
        {"name": "age", "kind": "numeric", "bounds": [20, 40], "step": 10, "type": "int64"},
    ]
    about = {"format": "deniable-schema", "version": 1, "population": "survey"}
    frame = frame.astype({"rooms": "Int64"})
    return deniable.schema_from_dict(about | {"file": {"kind": "arrow"}, "columns": columns})


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_frame_goes_in_and_comes_out_by_each_mechanism(mechanism: str) -> None:
    frame = survey().astype({"rooms": "Int64"})
    schema = schema_of(frame)
    by_data = {"data": RecordsFile.open(frame, schema), "accept": ("chosen_by_data",)}
    of_records = by_data if mechanism == "invariant" else {}
    plan = deniable.make_plan(schema, 6.0, mechanism=mechanism, **of_records)
    reports = deniable.randomize(frame, plan, np.random.default_rng(2))
    assert isinstance(reports, pd.DataFrame)
    assert len(reports) == RECORDS
    released = deniable.Released(reports, plan)
    assert released.records == RECORDS
    found = released.margins(target="file")
    truth = [*(0.0,) * len(found)]
    told = frame.astype("string").fillna("(missing)")
    told["owner"] = told["owner"].str.lower()
    for row, (name, value) in enumerate(zip(found["column"], found["value"], strict=True)):
        text = f"{value:g}" if isinstance(value, float) else str(value)
        truth[row] = (told[name] == text).mean()
    assert sum(truth) == pytest.approx(4)
    assert (abs(found["estimate"] - truth) <= NEEDS * found["standard_error"]).all()


def test_rows_stay_in_place_and_the_same_source_gives_the_same_reports() -> None:
    frame = survey().astype({"rooms": "Int64"})
    plan = deniable.make_plan(schema_of(frame), 60.0, mechanism="generalized-rr")
    first, second = (deniable.randomize(frame, plan, np.random.default_rng(3)) for _ in range(2))
    pd.testing.assert_frame_equal(first, second)
    assert list(first) == list(frame)
    assert (first["sex"].astype(str) == frame["sex"]).mean() > 0.99
    drawn = deniable.randomize(frame, plan)
    assert len(drawn) == RECORDS


def test_any_protocol_is_a_plan() -> None:
    frame = survey()[["sex", "age"]].astype({"age": "string"})
    domain = deniable.Domain(
        (
            deniable.Attribute("sex", ("F", "M")),
            deniable.Attribute("age", ("20", "30", "40"), "ordinal"),
        )
    )
    independent = deniable.rr_independent(domain, 0.6, "keep")
    joint = deniable.rr_joint(domain, RECORDS, 0.6, "keep")
    shares = frame["age"].value_counts(normalize=True).sort_index().to_numpy()
    pram = Protocol(
        domain,
        (("sex",), ("age",)),
        (rr_channel(2, 0.6, "keep"), pram_matrix(shares, "two_step", epsilon=1.5)),
    )
    truth = pd.crosstab(frame["sex"], frame["age"], normalize="all").to_numpy().ravel()
    for protocol, by_data in ((independent, False), (joint, False), (pram, True)):
        plan = (
            deniable.plan_from_protocol(
                protocol, chosen_from="the data, by a curator", accept=["chosen_by_data"]
            )
            if by_data
            else deniable.plan_from_protocol(protocol)
        )
        assert isinstance(plan, ColumnsPlan)
        assert plan.epsilon == protocol.epsilon
        reports = deniable.randomize(frame, plan, np.random.default_rng(4))
        found = deniable.Released(reports, plan).table(["sex", "age"], target="file")
        assert (abs(found["estimate"] - truth) <= NEEDS * found["standard_error"]).all()


def test_a_draft_is_a_schema_at_once() -> None:
    frame = survey()[["sex", "age"]]
    schema = deniable.schema_from_dict(deniable.draft_schema(frame, "survey"))
    assert [column.name for column in schema.randomized] == ["sex", "age"]
    with pytest.raises(DataError, match="the schema: not a schema"):
        deniable.schema_from_dict("a: 1")


def test_reports_of_another_plan_are_refused() -> None:
    frame = survey().astype({"rooms": "Int64"})
    plan = deniable.make_plan(schema_of(frame), 4.0, responses="categories")
    reports = deniable.randomize(frame, plan, np.random.default_rng(5))
    with pytest.raises(DataError, match="never returns"):
        deniable.Released(reports.assign(sex="X"), plan).margins()
    with pytest.raises(DataError, match="no column 'sex', only"):
        deniable.Released(reports.drop(columns="sex"), plan)


def test_decimals_with_a_comma_are_those_with_a_point() -> None:
    generator = np.random.default_rng(2)
    points = pd.DataFrame(
        {
            "income": generator.choice(["0", "0.5", "1", "1.5"], RECORDS),
            "weight": generator.choice(["0.25", "1", "2.5"], RECORDS),
        }
    )
    about = {"format": "deniable-schema", "version": 1, "population": "survey"}

    def answers(frame: pd.DataFrame, decimal: str) -> tuple[pd.DataFrame, pd.DataFrame]:
        columns = [
            {"name": "income", "kind": "numeric", "bounds": [0, 1.5], "step": 0.5},
            {"name": "weight", "kind": "weight"},
        ]
        columns = [column | {"decimal": decimal} for column in columns]
        schema = deniable.schema_from_dict(about | {"file": {"kind": "csv"}, "columns": columns})
        plan = deniable.make_plan(schema, 2.0, accept=["weights_released"])
        reports = deniable.randomize(frame, plan, np.random.default_rng(3))
        return reports, deniable.Released(reports, plan).margins(weight="weight")

    reports, estimates = answers(points, ".")
    with_commas, same = answers(points.replace({"\\.": ","}, regex=True), ",")
    assert set(with_commas["income"]) >= {"0,5", "1,5"}
    as_text = reports.astype(str).replace({"\\.": ","}, regex=True)
    pd.testing.assert_frame_equal(with_commas.astype(str), as_text)
    pd.testing.assert_frame_equal(same, estimates)


def test_pairs_with_many_cells_are_left_out_by_default_and_named() -> None:
    categories = [str(number) for number in range(25)]
    columns = [
        {"name": name, "kind": "categorical", "categories": categories[:size]}
        for name, size in (("a", 25), ("b", 20), ("c", 3))
    ]
    about = {"format": "deniable-schema", "version": 1, "population": "survey"}
    schema = deniable.schema_from_dict(about | {"file": {"kind": "arrow"}, "columns": columns})
    generator = np.random.default_rng(3)
    frame = pd.DataFrame(
        {each["name"]: generator.choice(each["categories"], RECORDS) for each in columns}
    )
    plan = deniable.make_plan(schema, 9.0)
    released = deniable.Released(deniable.randomize(frame, plan, generator), plan)
    found = released.pairs()
    assert set(found["columns"]) == {"a x c", "b x c"}
    assert list(found.attrs["left_out"]) == ["a x b"]
    assert "500 cells" in found.attrs["left_out"]["a x b"]
    assert len(released.pairs(["a", "b"])) == 500
    assert len(released.pairs([("a", "c"), ("b", "c")])) == 135
