"""Numbers on a grid or between edges: the point or interval of each, and columns with edges."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import deniable
from deniable.errors import DataError, DeniableError
from deniable.plans import plan_from_json, plan_to_json
from deniable.schema import Column, RecordsFile, Schema, schema_from_dict

AGES: dict[str, Any] = {"name": "x", "kind": "numeric", "edges": [0, 18, 30, 65, 120]}
NAMES = ["[0, 18)", "[18, 30)", "[30, 65)", "[65, 120)"]


def schema_of(*columns: dict[str, Any], kind: str = "csv") -> Schema:
    about = {"format": "deniable-schema", "version": 1, "population": "survey"}
    return schema_from_dict(about | {"file": {"kind": kind}, "columns": list(columns)})


def counted_at(values: Any, **column: Any) -> list[str]:
    """Return the point or interval of each value."""
    schema = schema_of({"name": "x", "kind": "numeric"} | column, kind="arrow")
    (batch,) = RecordsFile.open(pa.table({"x": values}), schema).portions()
    return list(np.array(schema["x"].attribute().categories)[batch.codes["x"]])


@pytest.mark.parametrize("typed", [None, "double"])
@pytest.mark.parametrize(
    ("bounds", "step", "values", "points"),
    [
        ([0, 100], 10, "44.999 45 54.9 55 -7 104 999", "40 50 50 60 0 100 100"),
        ([0, 1], 0.1, "0.05 0.149 0.15 0.25 0.35 0.45 0.95", "0.1 0.1 0.2 0.3 0.4 0.5 1"),
        ([-1, 1], 0.5, "-1 -0.75 -0.25 -0.26 0.25", "-1 -0.5 0 -0.5 0.5"),
    ],
)
def test_a_value_in_the_middle_counts_at_the_higher_point(
    typed: str | None, bounds: list[float], step: float, values: str, points: str
) -> None:
    given = pa.array(values.split()).cast(pa.float64() if typed else pa.string())
    assert counted_at(given, bounds=bounds, step=step, type=typed) == points.split()


def test_a_stated_population_keeps_its_capitals() -> None:
    schema = schema_of(AGES)
    assert schema.of_population("SURVEY") is schema
    assert schema.of_population(None) is schema
    empty = schema.model_copy(update={"population": None})
    assert empty.of_population("Wave-2").population == "Wave-2"


def test_a_grid_has_at_most_100_000_points() -> None:
    most = Column(name="x", kind="numeric", bounds=[1, 100_000], step=1)
    assert len(most.points) == 100_000
    with pytest.raises(ValueError, match="a whole number of steps, below 100,000, leads from 0 to"):
        Column(name="x", kind="numeric", bounds=[0, 100_000], step=1)


@pytest.mark.parametrize(("low", "step"), [(0, 1), (0, 0.1), (-5, 0.001), (1e9, 0.1), (1e6, 0.01)])
def test_rounding_moves_no_value_across_a_boundary(low: float, step: float) -> None:
    own = Column(name="x", kind="numeric", bounds=[low, low + 1000 * step], step=step)
    numbers = np.concatenate([np.nextafter(own.boundaries, -np.inf), own.boundaries, own.points])
    found = counted_at(pa.array(numbers), bounds=own.bounds, step=step, type="double")
    places = np.concatenate([range(1000), range(1, 1001), range(1001)])
    assert found == np.array(own.attribute().categories)[places].tolist()


def test_a_value_belongs_to_the_interval_above_an_equal_edge() -> None:
    values = pa.array([-1, 0, 17, 18, 29, 30, 119, 120, 121])
    own = {"edges": AGES["edges"], "type": "int64"}
    first, second, third, last = NAMES
    inner = [first, first, second, second, third, last]
    assert counted_at(values, **own) == [first, *inner, last, last]
    assert counted_at(values, **own, open_below=True) == ["(-inf, 0)", *inner, last, last]
    assert counted_at(values, **own, open_above=True) == [first, *inner, *["[120, inf)"] * 2]
    split = {"edges": [18], "open_below": True, "open_above": True, "type": "int64"}
    assert counted_at(pa.array([17, 18]), **split) == ["(-inf, 18)", "[18, inf)"]
    assert Column(**AGES | {"open_below": True}).limits == (-np.inf, 120)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"edges": [1]}, "too few edges"),
        ({"edges": [1, 2]}, "edges of 'x'; allowed: of at least two intervals"),
        ({"edges": [1, 3, 2]}, "the edge 2 after 3; edges must increase"),
        ({"edges": [1, 2, float("inf")]}, "edges are finite numbers"),
        ({"edges": [1, "2", 3]}, "edges[1]: '2'; allowed: a number"),
        ({"step": 1}, "bounds, step or edges of 'x'"),
        ({"type": "bool"}, "type 'bool' of 'x'; allowed for numeric: a type of numbers"),
    ],
)
def test_edges_that_cannot_be(change: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError) as error:
        schema_of(AGES | change)
    assert words in str(error.value)


@pytest.mark.parametrize("kind", ["csv", "arrow"])
@pytest.mark.parametrize("mechanism", ["best", "generalized-rr", "square-wave"])
def test_intervals_are_randomized_and_estimated(kind: str, mechanism: str) -> None:
    more = {"missing": {"policy": "category"}} | ({"type": "double"} if kind == "arrow" else {})
    schema = schema_of(AGES | more, kind=kind)
    assert schema_from_dict(schema.to_json()) == schema
    ages = np.random.default_rng(1).integers(0, 121, 20_000).astype(float)
    ages[::10] = np.nan
    plan = deniable.make_plan(schema, 2.0, mechanism=mechanism, responses="categories")
    sets = deniable.make_plan(schema, 0.5, mechanism="subset-selection")
    assert not sets.protocol.channels[0].returns_categories
    assert plan_to_json(plan_from_json(plan_to_json(plan))) == plan_to_json(plan)
    texts = pd.Series(ages).map("{:g}".format).replace("nan", "")
    frame = pd.DataFrame({"x": texts if kind == "csv" else ages})
    reports = deniable.randomize(frame, plan, np.random.default_rng(2))
    assert set(reports["x"].fillna("")) == {*NAMES, ""}
    released = deniable.Released(reports, plan)
    found = released.query("x>=30,x<65").iloc[0]
    truth = np.mean((ages >= 30) & (ages < 65))
    assert abs(found["estimate"] - truth) < 5 * found["standard_error"]
    assert set(released.synthetic(100, seed=1)["x"].dropna()) <= set(NAMES)
    assert released.numbers().empty
    with pytest.raises(DeniableError, match="'x' is not released as numbers"):
        released.numbers("x")


def test_numbers_with_edges_are_not_masked() -> None:
    bounded = {"name": "y", "kind": "numeric", "bounds": [0, 1]}
    schema = schema_of(AGES | {"open_above": True}, bounded)
    assert deniable.MaskedPlan.from_schema(schema, 1.0).names == ("y",)
    with pytest.raises(DataError, match="column 'x' has edges; give bounds"):
        schema.for_masking(["x"])
