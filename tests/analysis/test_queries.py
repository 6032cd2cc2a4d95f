"""Thresholds in queries: answered at boundaries alone, and refused with the nearest ones."""

import operator
import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from deniable.analysis import parsed_query
from deniable.errors import DeniableError
from deniable.schema import RecordsFile, Schema, schema_from_dict

TENS: dict[str, Any] = {"bounds": [0, 100], "step": 10}
FIVES: dict[str, Any] = {"bounds": [0, 100], "step": 5, "type": "int64"}
ONES: dict[str, Any] = {"bounds": [18, 90], "step": 1}
EDGES: dict[str, Any] = {"edges": [0, 18, 30, 65, 120]}
GRADES = {"kind": "categorical", "ordered": True, "categories": ["low", "mid", "high", "top"]}
SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def schema_of(column: dict[str, Any]) -> Schema:
    columns = [{"name": "age", "kind": "numeric"} | column]
    about = {"format": "deniable-schema", "version": 1, "population": "survey"}
    return schema_from_dict(about | {"file": {"kind": "arrow"}, "columns": columns})


def held_by(column: dict[str, Any], query: str) -> list[str]:
    """Return the points or intervals that satisfy a query."""
    schema = schema_of(column)
    flags = parsed_query(query, schema)["age"]
    return list(np.array(schema["age"].attribute().categories)[flags])


@pytest.mark.parametrize(
    ("column", "conditions"),
    [
        (TENS, "<45 5; >=45 6; >=44.999999 6; =50 1; <0 0; >=-7 11; <=-7 0; >100 0; <=100 11"),
        (TENS, "<100.1 11; <inf 11; <=-inf 0; >=-inf 11"),
        (TENS | {"bounds": [0, 1], "step": 0.1}, "<0.15 2; >=0.95 1"),
        (ONES, ">=30 61; >29 61; >29.5 61; <30 12; <=29 12; >90 0; >17 73"),
        (FIVES, "<43 9; <=42 9; <42.5 9; >=43 12"),
        (EDGES, '<18 1; >=18 3; >=0 4; <=120 4; ="[18, 30)" 1'),
        (EDGES | {"type": "int64"}, "<=17 1; >29 2"),
        (EDGES | {"open_above": True, "open_below": True}, ">=120 1; <0 1; <inf 6; <=-inf 0"),
        ({"edges": [0.5, 9, 20], "type": "int64"}, ">=1 2; >0 2; <1 0"),
        (GRADES, "<mid 1; <=mid 2; >mid 2; >=mid 3"),
    ],
)
def test_thresholds_at_boundaries_are_answered(column: dict[str, Any], conditions: str) -> None:
    for each in conditions.split("; "):
        condition, number = each.rsplit(" ", 1)
        assert len(held_by(column, f"age{condition}")) == int(number), each


@pytest.mark.parametrize("query", [5, None, ["age<45"], b"age<45"])
def test_other_values_are_not_queries(query: Any) -> None:
    with pytest.raises(DeniableError, match="is not a query; write conditions as sex=F"):
        parsed_query(query, schema_of(TENS))


GRID = "is not a boundary of its grid of step 10; values count at the nearest point; ask "
BETWEEN = "is not an edge between two of its intervals; a value counts in its interval; ask "
ABOVE = "cannot be answered, because a value of 45 counts above this boundary; ask "


@pytest.mark.parametrize(
    ("column", "condition", "words"),
    [
        (TENS, "< 45.5", f"{GRID}< 45 or < 55"),
        (TENS, "<= 47", f"{GRID}< 45 or < 55"),
        (TENS, "> 47", f"{GRID}>= 45 or >= 55"),
        (TENS, "< 100", f"{GRID}< 95"),
        (TENS, "<= 45", f"{ABOVE}< 45"),
        ({"bounds": [0.5, 9.5], "step": 1}, "> 2.5", "ask >= 2 or >= 3"),
        (FIVES, "<= 43", "ask <= 42 or <= 47"),
        (FIVES, "> 43", "ask > 42 or > 47"),
        (EDGES, "< 20", f"{BETWEEN}< 18 or < 30"),
        (EDGES, "< 120", f"{BETWEEN}< 65"),
        (EDGES | {"open_above": True}, ">= 500", f"{BETWEEN}>= 120"),
    ],
)
def test_other_thresholds_are_refused_with_the_nearest(
    column: dict[str, Any], condition: str, words: str
) -> None:
    with pytest.raises(DeniableError) as error:
        held_by(column, f"age {condition}")
    assert str(error.value).startswith(f"column 'age': {condition} ")
    assert str(error.value).endswith(words)


@pytest.mark.parametrize(
    ("value", "nearest"),
    [("47", 50), ("45", 50), ("44.9", 40), ("50.0001", 50), ("-3", 0), ("103", 100)],
)
@pytest.mark.parametrize("form", ["age={}", "age!={}", "age=30|{}"])
def test_a_number_between_two_points_is_refused_with_the_nearest(
    value: str, nearest: int, form: str
) -> None:
    words = rf"'age': {value} is not a point of its grid; the nearest is {nearest}, "
    with pytest.raises(DeniableError, match=re.escape(words)):
        held_by(TENS, form.format(value))
    assert held_by(TENS, "age=50.000001|30.0") == ["30", "50"]


def test_missing_values_never_satisfy_an_order() -> None:
    for column in (TENS, EDGES):
        more = column | {"missing": {"policy": "category"}}
        assert held_by(more, "age>=0") == held_by(column, "age>=0")
        assert held_by(more, "age>500") == []
        assert held_by(more, "age=(missing)") == ["(missing)"]


@pytest.mark.parametrize("value", ["old", "nan", "", "1|2"])
def test_a_threshold_is_one_number(value: str) -> None:
    with pytest.raises(DeniableError, match=r"is not a number|takes one value"):
        held_by(EDGES, f"age<{value}")


@st.composite
def columns(draw: st.DrawFn) -> dict[str, Any]:
    low, whole = draw(st.integers(-9, 9)), {"type": draw(st.sampled_from(["int64", "double"]))}
    if draw(st.booleans()):
        widths = draw(st.lists(st.integers(1, 9), min_size=2, max_size=5))
        ends = {name: draw(st.booleans()) for name in ("open_below", "open_above")}
        return {"edges": np.cumsum([low, *widths]).astype(float).tolist()} | ends | whole
    step = draw(st.sampled_from([1, 2, 3, 5, 0.5, 2.5]))
    if step in (0.5, 2.5):
        whole = {"type": "double"}
    return {"bounds": [low, low + step * draw(st.integers(1, 6))], "step": step} | whole


@given(columns(), st.sampled_from([*SIGNS]), st.integers(-50, 250))
def test_an_answer_is_of_the_values_that_satisfy_the_condition(
    column: dict[str, Any], sign: str, quarters: int
) -> None:
    """The answer has each value that satisfies a condition, and no other; remedies are answered."""
    schema, threshold = schema_of(column), quarters / 4
    try:
        flags = parsed_query(f"age{sign}{threshold}", schema)["age"]
    except DeniableError as error:
        remedies = re.split("; ask | or ", str(error))[1:]
        assert 1 <= len(remedies) <= 2
        for each in remedies:
            parsed_query(f"age {each}", schema)
        return
    ends = column.get("bounds") or [column["edges"][0], column["edges"][-1]]
    low = ends[0] - 5 * column.get("open_below", False)
    high = ends[1] + 5 * column.get("open_above", False)
    values = np.arange(low, high + 0.1, 1 if schema["age"].whole else 0.25)
    table = pa.table({"age": pa.array(values).cast(column["type"])})
    (batch,) = RecordsFile.open(table, schema).portions()
    assert flags[batch.codes["age"]].tolist() == SIGNS[sign](values, threshold).tolist()
