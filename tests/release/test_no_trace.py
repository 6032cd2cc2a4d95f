"""What a file of one's own leaves in public besides reports: nothing of how it was stored."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from tests.release.small_releases import known_key, ledger_in

from deniable.errors import DeniableError
from deniable.plans import ColumnsPlan, make_plan
from deniable.release import OriginalRecords, protect
from deniable.schema import schema_from_dict

NUMBER = 900


ORDERS = ("permuted", "as_in_file")


def plan_of(
    kind: str, order: Any = "permuted", policy: str = "refuse", **person: Any
) -> ColumnsPlan:
    sex = {"name": "sex", "kind": "categorical", "categories": ["F", "M"]}
    identifier = {"name": "person", "kind": "identifier"}
    schema = schema_from_dict(
        {"format": "deniable-schema", "version": 1, "population": "people"}
        | {"file": {"kind": kind}}
        | {"columns": [sex | {"missing": {"values": [], "policy": policy}}, identifier | person]}
    )
    accept = ("identifiers_released", *(("records_dropped",) if policy == "drop" else ()))
    return make_plan(schema, 1.0, accept=accept, order=order)


def sexes(missing: slice = slice(0)) -> pa.Array:
    drawn = np.random.default_rng(1).choice(["F", "M"], NUMBER).astype(object)
    drawn[missing] = None
    return pa.array(drawn, pa.string())


def written(table: pa.Table, kind: str, folder: Path, rows: int) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / f"people.{kind}"
    if kind == "parquet":
        pq.write_table(table, file, row_group_size=rows)
    else:
        with pa.ipc.new_file(file, table.schema) as stream:
            stream.write_table(table, max_chunksize=rows)
    return file


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_how_the_file_was_divided_is_not_told(kind: str, order: str, tmp_path: Path) -> None:
    """Else sizes of groups told which of the records had been left out."""
    plan = plan_of(kind, order, "drop")
    people = pa.array([f"id{number}" for number in range(NUMBER)])
    table = pa.table({"sex": sexes(slice(100, 150)), "person": people})
    made = []
    for rows in (70, NUMBER):
        at = tmp_path / str(rows)
        file, given = written(table, kind, at, rows), {"ledger": ledger_in(at / "ledger")}
        protect(file, plan, at / "made", key_folder=known_key(at, "made"), **given)
        made.append((at / "made" / "public" / f"protected.{kind}").read_bytes())
    assert made[0] == made[1]


@pytest.mark.parametrize("order", ORDERS)
def test_groups_have_one_size(order: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("records.GROUP", "drawing.BATCH"):
        monkeypatch.setattr(f"deniable.release.{name}", 64)
    people = pa.array([f"id{number}" for number in range(NUMBER)])
    table = pa.table({"sex": sexes(slice(100, 150)), "person": people})
    file = written(table, "parquet", tmp_path, 70)
    protect(
        file,
        plan_of("parquet", order, "drop"),
        tmp_path / "made",
        ledger=ledger_in(tmp_path / "ledger"),
    )
    told = pd.read_csv(tmp_path / "made" / "private" / "risk.csv").set_index("about")
    assert told.loc["all records", "before"] == 50
    metadata = pq.read_metadata(tmp_path / "made" / "public" / "protected.parquet")
    sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    assert sizes == [64] * 13 + [18]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("store", ["dictionary", "string_view"])
def test_identifiers_of_records_left_out_stay_out(store: str, order: str, tmp_path: Path) -> None:
    names = np.array([f"somebody number {number:04}" for number in range(NUMBER)])
    stored = pa.array(names).dictionary_encode()
    if store == "string_view":
        stored = pa.array(names).cast(pa.string_view())
    table = pa.table({"sex": sexes(slice(5, 7)), "person": stored})
    protect(
        table,
        plan_of("arrow", order, "drop"),
        tmp_path / "made",
        ledger=ledger_in(tmp_path / "ledger"),
    )
    file = tmp_path / "made" / "public" / "protected.arrow"
    content = file.read_bytes()
    assert [name.encode() in content for name in names[[4, 5, 6, 7]]] == [True, False, False, True]
    made = pa.ipc.open_file(str(file)).read_all()["person"]
    assert made.type == pa.string()  # a dictionary would have the order of the true file
    kept = [name for place, name in enumerate(names) if place not in (5, 6)]
    assert sorted(made.to_pylist()) == sorted(kept)
    assert (made.to_pylist() == kept) == (order == "as_in_file")


@pytest.mark.parametrize("order", ORDERS)
def test_what_lies_below_a_null_stays_out(order: str, tmp_path: Path) -> None:
    numbers, hidden = np.arange(NUMBER) + 7_000_000_000, np.arange(NUMBER) % 3 == 0
    table = pa.table({"sex": sexes(), "person": pa.array(numbers, mask=hidden)})
    protect(
        table,
        plan_of("arrow", order, type="int64"),
        tmp_path / "made",
        ledger=ledger_in(tmp_path / "ledger"),
    )
    content = (tmp_path / "made" / "public" / "protected.arrow").read_bytes()
    there = np.array([int(number).to_bytes(8, "little") in content for number in numbers])
    assert (there == ~hidden).all()


def test_a_file_that_changes_while_it_is_read_is_not_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pd.DataFrame({"sex": sexes(), "person": [f"id{number}" for number in range(NUMBER)]})
    file = tmp_path / "people.parquet"
    table.to_parquet(file)
    batches = OriginalRecords.batches

    def after_a_change(self: OriginalRecords) -> Any:
        table.assign(sex=table["sex"].iloc[::-1].to_numpy()).to_parquet(file)
        yield from batches(self)

    monkeypatch.setattr(OriginalRecords, "batches", after_a_change)
    with pytest.raises(DeniableError, match="changed while it was read"):
        protect(file, plan_of("parquet"), tmp_path / "made", ledger=ledger_in(tmp_path / "ledger"))
    assert not (tmp_path / "made" / "public").exists()
