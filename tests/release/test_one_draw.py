"""One draw whatever is killed or lost, and no byte in public but the mechanism's."""

import os
import random
import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.ipc
import pytest
from tests.release.small_releases import (
    but_for_the_entry,
    content,
    killed_at_random,
    known_key,
)

from deniable.errors import DeniableError
from deniable.plans import ColumnsPlan, make_plan
from deniable.release import Ledger, protect
from deniable.release.keys import KEY_FILE, ReleaseKey
from deniable.sampling import KeyedDraws
from deniable.schema import Part, schema_from_dict

KILLS = int(os.environ.get("DENIABLE_KILLS", "12"))
SECONDS = 0.5  # of a release, at the most usual
NUMBER, CHANGED = 3000, 17
CHANGES = {
    "one of many": ("region", "e", "n"),
    "alone in its category": ("region", "c", "n"),
    "the largest number": ("age", 40, 12),
    "no longer missing": ("smokes", "", "yes"),
    "a number off its grid": ("age", 13, 14),
}
TEXT_ALONE = "NA"
CSV = {"delimiter": ",", "encoding": "utf-8"}
FORMATS = ("csv", "parquet", "arrow")


def records(value: Any = None, column: str = "region") -> pd.DataFrame:
    """Return records, the changed one with a value in a column that no other record has."""
    generator = np.random.default_rng(5)
    table = pd.DataFrame(
        {
            "sex": generator.choice(["F", "M"], NUMBER),
            "region": generator.choice(["e", "n", "s"], NUMBER),
            "age": generator.integers(0, 30, NUMBER),
            "smokes": generator.choice(["yes", "no", TEXT_ALONE], NUMBER),
        }
    )
    if value is not None:
        table.loc[CHANGED, column] = value
    return table


def written(table: pd.DataFrame, kind: str, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"people.{kind}"
    if kind == "csv":
        table.to_csv(file, index=False)
    elif kind == "parquet":
        table.to_parquet(file, row_group_size=700)
    else:
        whole = pa.Table.from_pandas(table, preserve_index=False)
        with pa.ipc.new_file(file, whole.schema) as stream:
            stream.write_table(whole)
    return file


def plan_of(kind: str) -> ColumnsPlan:
    missing = {"values": ["", TEXT_ALONE], "policy": "category"}
    age: dict[str, Any] = {"name": "age", "kind": "numeric", "bounds": [0, 40], "step": 2}
    schema = schema_from_dict(
        {
            "format": "deniable-schema",
            "version": 1,
            "population": "people",
            "file": {"kind": kind} | (CSV if kind == "csv" else {}),
            "columns": [
                {"name": "sex", "kind": "categorical", "categories": ["F", "M"]},
                {"name": "region", "kind": "categorical", "categories": ["e", "n", "s", "c"]},
                age if kind == "csv" else age | {"type": "int64"},
                {
                    "name": "smokes",
                    "kind": "categorical",
                    "categories": ["yes", "no"],
                    "missing": missing,
                },
            ],
        }
    )
    return make_plan(schema, 4.0, clusters=[("sex", "region")])


def published(table: pd.DataFrame, kind: str, at: Path) -> Path:
    keys, file = known_key(at, "made"), written(table, kind, at / "in")
    protect(file, plan_of(kind), at / "made", ledger=at / "ledger", key_folder=keys)
    return at / "made" / "public"


def same_words(key: ReleaseKey, document: Any, fingerprint: Any) -> KeyedDraws:
    """Return draws that do not depend on the records."""
    return key.draws({"plan": document})


def test_other_records_have_other_random_words(tmp_path: Path) -> None:
    """So that two files under one key by mistake have nothing in common but their values."""
    both = [records(value) for value in ("e", "n")]
    made = [published(each, "csv", tmp_path / str(i)) for i, each in enumerate(both)]
    rows = [_rows(each / "protected.csv", "csv") for each in made]
    assert sum(u != v for u, v in zip(*rows, strict=True)) > NUMBER / 2


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("change", CHANGES)
def test_only_the_changed_records_value_differs(
    kind: str, change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deniable.release.drawing.draws_for", same_words)
    column, first, second = CHANGES[change]
    both = [
        published(records(value, column), kind, tmp_path / str(i))
        for i, value in enumerate((first, second))
    ]
    one, other = (but_for_the_entry(each) for each in both)
    assert list(one) == list(other)
    protected = f"protected.{kind}"
    assert {name for name in one if one[name] != other[name]} <= {protected}
    reports = [_rows(each / protected, kind) for each in both]
    moved = [(u, v) for u, v in zip(*reports, strict=True) if u != v]
    assert len(moved) <= 1
    together = ("sex", "region") if column == "region" else (column,)
    names = list(records().columns)
    for u, v in moved:
        assert {name for name, a, b in zip(names, u, v, strict=True) if a != b} <= {*together}
    if kind == "csv":  # and nothing of how it is written
        lines = [each[protected].splitlines() for each in (one, other)]
        assert sum(a != b for a, b in zip(*lines, strict=True)) == len(moved)


def _rows(file: Path, kind: str) -> list[tuple[Any, ...]]:
    if kind == "csv":
        table = pd.read_csv(file, dtype=str, keep_default_na=False)
    elif kind == "parquet":
        table = pd.read_parquet(file)
    else:
        with pa.memory_map(str(file)) as stream:
            table = pa.ipc.open_file(stream).read_all().to_pandas()
    return [tuple(map(str, row)) for row in table.itertuples(index=False)]


def process(at: Path, ready: Any) -> None:
    plan = plan_of("csv")
    ready.wait()
    file = at / "in" / "people.csv"
    protect(file, plan, at / "made", ledger=at / "ledger", key_folder=at / "keys")


@pytest.mark.slow
def test_kills_at_random_leave_one_draw(tmp_path: Path) -> None:
    whole = published(records(), "csv", tmp_path / "whole")
    at = tmp_path / "killed"
    written(records(), "csv", at / "in")
    keys = known_key(at, "made")
    killed = killed_at_random(process, (at,), KILLS // 2, SECONDS, random.Random(1))
    ledger, file = at / "ledger", at / "in" / "people.csv"
    protect(file, plan_of("csv"), at / "made", ledger=ledger, key_folder=keys)
    other = written(records("c"), "csv", tmp_path / "other")
    with pytest.raises(DeniableError, match="published from other records"):
        protect(other, plan_of("csv"), at / "made", ledger=ledger)
    assert killed > 0
    assert but_for_the_entry(at / "made" / "public") == but_for_the_entry(whole)
    assert len(Ledger(at / "ledger").entries("people")) == 1
    assert not list(keys.iterdir())
    modes = {path: path.stat().st_mode & 0o777 for path in (at / "made" / "private").rglob("*")}
    assert set(modes.values()) == {0o600}


@pytest.mark.parametrize("stopped", ["store_entry", "sync_tree", "receipt_of", None])
def test_whatever_is_lost_no_other_draw_is_made(
    stopped: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, plan = written(records(), "csv", tmp_path / "in"), plan_of("csv")
    drawn = content(published(records(), "csv", tmp_path / "whole"))["protected.csv"]
    keys = known_key(tmp_path, "made")

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        if stopped:
            patch.setattr(f"deniable.release.making.{stopped}", stop)
        try:
            protect(file, plan, tmp_path / "made", ledger=tmp_path / "ledger", key_folder=keys)
        except KeyboardInterrupt:
            assert stopped
    places = ("made", "keys", "ledger")
    left = [path for name in places for path in (tmp_path / name).rglob("*") if path.is_file()]
    assert len(left) > 3
    for lost in left:
        at = tmp_path / "again"
        if any(path.name == KEY_FILE and "keys" in path.parts for path in left):
            known_key(tmp_path, "made")  # a finished copy removes it
        for name in places:
            shutil.copytree(tmp_path / name, at / name)
        (at / lost.relative_to(tmp_path)).unlink()
        with suppress(DeniableError):
            protect(file, plan, at / "made", ledger=at / "ledger", key_folder=at / "keys")
        found = at / "made" / "public" / "protected.csv"
        assert not found.exists() or found.read_bytes() == drawn, lost
        shutil.rmtree(at)


def test_nothing_says_where_a_record_stood(tmp_path: Path) -> None:
    """The order of the released file tells nothing to somebody who has the original one."""
    table = pd.concat([records()] * 7, ignore_index=True)
    released = pd.read_parquet(published(table, "parquet", tmp_path) / "protected.parquet")
    for name in ("sex", "region"):
        original = table[name]
        shares = original.value_counts(normalize=True), released[name].value_counts(normalize=True)
        expected = float(shares[0].mul(shares[1], fill_value=0).sum())
        error = np.sqrt(expected * (1 - expected) / len(table))
        equal = (original.to_numpy() == released[name].to_numpy().astype(str)).mean()
        assert abs(equal - expected) < 6 * error
    texts = b"".join(content(tmp_path / "made" / "public").values())
    assert b"record_number" not in texts


def test_two_halves_of_a_partition_spend_the_larger_epsilon(tmp_path: Path) -> None:
    table = records()
    plans = {
        name: replace(plan_of("parquet"), part=Part(2, take, "public"))
        for take, name in ((1, "first"), (2, "second"))
    }
    ledger = Ledger.init(tmp_path / "ledger")
    protect(table, plans["first"], tmp_path / "first", ledger=tmp_path / "ledger")
    with pytest.raises(DeniableError, match=r"would be release 2") as refused:
        protect(table, plans["second"], tmp_path / "second", ledger=tmp_path / "ledger")
    words = str(refused.value).rpartition("give the consent ")[2].strip("'")
    assert "of the records were in" not in str(refused.value)
    given = {"ledger": tmp_path / "ledger", "consent": words}
    protect(table, plans["second"], tmp_path / "second", **given)
    first, second = ledger.entries("people")
    assert ledger.total("people") == max(first.epsilon, second.epsilon) == first.epsilon
    rows = [len(_rows(tmp_path / n / "public" / "protected.parquet", "parquet")) for n in plans]
    assert rows == [NUMBER // 2, NUMBER - NUMBER // 2]
