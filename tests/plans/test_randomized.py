"""Randomize Arrow batches by record numbers, as an engine does that divides and reorders a file."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from tests.release.small_releases import plan_for, records, schema, written

from deniable.errors import BoundsWarning, DataError, DeniableError
from deniable.plans import ColumnsPlan, Plan, make_plan, plan_to_json, randomized
from deniable.release import protect_test
from deniable.release.drawing import draws_for
from deniable.release.keys import key_from_seed
from deniable.release.records import OriginalRecords
from deniable.sampling import KeyedDraws
from deniable.schema import Part, RecordsFile, ValidationErrors, open_source, schema_from_dict

DRAWS = KeyedDraws(bytes(range(32)), b"plan")
RECORDS = 400
BY_RECORD = ("columns", "columns of text", "cluster", "other values", "strata")
TOGETHER = ("numbers", "centroids", "histograms", "views", "pooled tables")


def with_grid() -> Plan:
    """Return a plan of a number with 601 points, identifiers, weights, and missing values."""
    text: dict[str, Any] = {"kind": "categorical", "missing": {"policy": "category"}}
    columns = [
        {"name": "who", "kind": "identifier", "type": "int64"},
        {"name": "a", "categories": ["0", "1"]} | text,
        {"name": "width", "kind": "numeric", "bounds": [0, 60], "step": 0.1, "type": "double"},
        {"name": "weight", "kind": "weight", "type": "double"},
    ]
    about = {"format": "deniable-schema", "population": "people", "file": {"kind": "arrow"}}
    accept = ["identifiers_released", "weights_released"]
    return make_plan(schema_from_dict(about | {"columns": columns}), 3.0, accept=accept)


@cache
def plan_and_records(kind: str) -> tuple[Plan, pa.RecordBatch, pa.Table]:
    """Return a plan, original records, and what one pass over the whole file makes of them."""
    plan, frame = (with_grid() if kind == "grid" else plan_for(kind)), records(RECORDS)
    if kind == "grid":
        places = np.arange(RECORDS)
        frame = frame[["a", "width"]].assign(who=places, weight=places / 7)
        frame.loc[places % 9 == 0, "a"] = None
    (batch,) = pa.Table.from_pandas(frame, preserve_index=False).to_batches()
    file = RecordsFile.open(batch, plan.schema, passed=plan.passed)
    return plan, batch, pa.concat_tables(plan.randomize(file.portions(), DRAWS))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([*BY_RECORD, "grid"]), st.randoms(use_true_random=False), st.data())
def test_any_order_and_division_gives_the_values_of_one_pass(
    kind: str, random: Any, data: st.DataObject
) -> None:
    plan, batch, whole = plan_and_records(kind)
    order = list(range(RECORDS))
    random.shuffle(order)
    ends = sorted(data.draw(st.lists(st.integers(0, RECORDS), max_size=6)))
    for start, end in zip([0, *ends], [*ends, RECORDS], strict=True):
        own = order[start:end]
        found = randomized(batch.take(pa.array(own, pa.int64())), own, plan, DRAWS)
        assert pa.Table.from_batches([found]) == whole.take(pa.array(own, pa.int64()))
        assert found.schema == whole.schema


@pytest.mark.parametrize("kind", ["columns", "columns of text", "cluster", "strata"])
def test_values_are_those_of_a_release(kind: str, tmp_path: Path) -> None:
    plan, batch, _ = plan_and_records(kind)
    plan = replace(plan, order="as_in_file")
    file = written(batch.to_pandas(), plan, tmp_path / "records")
    protect_test(file, plan, tmp_path / "made", 1)
    originals = OriginalRecords(file, plan)
    originals.read()
    key = key_from_seed(1, "test", "made")
    draws = draws_for(key, plan_to_json(plan), originals.fingerprint)
    back = np.arange(RECORDS)[::-1]
    found = randomized(batch.take(pa.array(back)), back, plan, draws).to_pandas()[::-1]
    source = open_source(tmp_path / "made" / "public" / f"protected.{plan.schema.file.kind}")
    (piece,) = source.pieces(list(source.types), [], ValidationErrors())
    assert found.to_numpy().tolist() == piece.batch.to_pandas().to_numpy().tolist()


@pytest.mark.parametrize("kind", TOGETHER)
def test_plans_of_all_records_together_are_refused(kind: str) -> None:
    plan = plan_for(kind)
    frame = records(20).astype(str) if plan.schema.file.kind == "csv" else records(20)
    batch = pa.RecordBatch.from_pandas(frame, preserve_index=False)
    with pytest.raises(DeniableError, match=f"{plan.kind} randomizes all records of a file"):
        randomized(batch, range(20), plan, DRAWS)


@pytest.mark.parametrize(
    "numbers",
    [[0, 1], [0, 1, 1], [0, 1, -1], [0.0, 1.0, 2.0], [[0, 1, 2]], [0, 1, None], 3, [0, 1, 2**63]],
)
def test_record_numbers_are_different_whole_numbers(numbers: Any) -> None:
    plan, batch, _ = plan_and_records("columns")
    with pytest.raises(DeniableError, match="give 3 record numbers, one for each row"):
        randomized(batch.slice(0, 3), numbers, plan, DRAWS)


@pytest.mark.parametrize(
    "made", [list, np.array, pa.array, lambda own: np.array(own, np.uint64), pd.Series]
)
def test_numbers_of_a_long_file_are_arrays_of_any_kind(made: Callable[[list[int]], Any]) -> None:
    plan, batch, _ = plan_and_records("grid")
    numbers = [2**40 + 1, 5, 2**40]
    found = randomized(batch.slice(0, 3), made(numbers), plan, DRAWS)
    alone = [randomized(batch.slice(i, 1), [n], plan, DRAWS) for i, n in enumerate(numbers)]
    assert pa.Table.from_batches([found]) == pa.Table.from_batches(alone).combine_chunks()


def test_other_arguments_are_refused() -> None:
    plan, batch, _ = plan_and_records("columns")
    for given_batch, source in ((batch.to_pandas(), DRAWS), (batch, np.random.default_rng(1))):
        with pytest.raises(DeniableError, match=r"give a pyarrow.RecordBatch, and keyed draws"):
            randomized(given_batch, range(RECORDS), plan, source)  # type: ignore[arg-type]
    with pytest.raises(DeniableError, match=r"plan\.part\.positions"):
        randomized(batch, range(RECORDS), replace(plan, part=Part(2, 1, "public")), DRAWS)
    with pytest.raises(DataError, match="'q', which is not a category"):
        randomized(batch.set_column(0, "a", pa.array(["q"] * RECORDS)), range(RECORDS), plan, DRAWS)


def test_records_that_are_left_out_have_no_number() -> None:
    own = schema("arrow").to_json()
    for column in own["columns"][:4]:
        column["missing"] = {"policy": "drop"}
    plan = make_plan(schema_from_dict(own), 2.0, accept=["records_dropped"])
    frame = records(6)
    frame.loc[3, "b"] = None
    batch = pa.RecordBatch.from_pandas(frame, preserve_index=False)
    with pytest.raises(DeniableError, match="leaves 1 records out"):
        randomized(batch, range(6), plan, DRAWS)
    kept = batch.take(pa.array([0, 1, 2, 4, 5]))
    file = RecordsFile.open(batch, plan.schema)
    (whole,) = plan.randomize(file.portions(), DRAWS)
    assert pa.Table.from_batches([randomized(kept, range(5), plan, DRAWS)]) == whole


def test_values_outside_the_bounds_are_counted() -> None:
    plan, batch, _ = plan_and_records("grid")
    far = batch.slice(0, 3).set_column(1, "width", pa.array([1.0, 61.0, 70.0]))
    with pytest.warns(BoundsWarning, match="width"):
        randomized(far, range(3), plan, DRAWS)


def test_no_path_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass over a file randomizes its batches by the same method."""
    plan, batch, _ = plan_and_records("columns")
    seen: list[list[int]] = []

    def noted(self: ColumnsPlan, batch: Any, numbers: Any, *more: Any) -> pa.Table:
        seen.append(list(numbers))
        return pa.table({"a": ["0"] * len(batch)})

    monkeypatch.setattr(ColumnsPlan, "randomize_batch", noted)
    randomized(batch.slice(0, 2), [8, 5], plan, DRAWS)
    list(plan.randomize(RecordsFile.open(batch, plan.schema).portions(300), DRAWS))
    assert seen == [[8, 5], list(range(300)), list(range(300, RECORDS))]
