"""The digest of protected records depends on them, their order and a key, and on nothing else."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

from deniable.release.counting.digests import RecordSum, digest_of_file
from deniable.schema import FileFormat

KEY = bytes(range(32))
TABLE = pa.table(
    {
        "a": pa.array(["x", "", None, "x", "é,1"] * 20),
        "n": pa.array([*range(99), None], pa.int64()),
        "w": pa.array([each / 7 for each in range(100)]),
        "t": pa.array(range(100), pa.timestamp("ms")),
        "b": pa.array([True, False] * 50),
    }
)


def digest(table: pa.Table, key: bytes = KEY, rows: int = 100) -> str:
    found, first = RecordSum(key), 0
    for batch in table.to_batches(max_chunksize=rows):
        found.add(batch, first)
        first += len(batch)
    return found.hexdigest()


@given(st.integers(1, 120), st.permutations(range(8)))
def test_batches_are_added_in_any_order(rows: int, order: list[int]) -> None:
    assert digest(TABLE, rows=rows) == digest(TABLE)
    pieces = [(13 * number, TABLE.slice(13 * number, 13)) for number in order]
    found = RecordSum(KEY)
    for first, piece in pieces:
        (batch,) = piece.combine_chunks().to_batches()
        found.add(batch, first)
    assert found.hexdigest() == digest(TABLE)


def test_the_way_of_storage_has_no_meaning() -> None:
    encoded = TABLE.set_column(0, "a", TABLE["a"].combine_chunks().dictionary_encode())
    smaller = TABLE.set_column(1, "n", TABLE["n"].cast(pa.int8()))
    longer = TABLE.set_column(0, "a", TABLE["a"].cast(pa.large_string()))
    turned = TABLE.select(["t", "w", "b", "n", "a"])
    assert {digest(each) for each in (encoded, smaller, longer, turned)} == {digest(TABLE)}


def test_zeros_have_no_sign_and_all_nan_are_the_same() -> None:
    bits = np.array([0x7FF8000000000001, 0xFFF8000000000000], dtype=np.uint64)
    one, other = np.array([0.0, 1.0, np.nan, np.nan]), np.array([-0.0, 1.0, *bits.view(float)])
    assert one.tobytes() != other.tobytes()
    found = [digest(pa.table({"w": pa.array(each)})) for each in (one, other, one.astype("f4"))]
    assert len(set(found)) == 1
    missing = pa.array([None, 1.0, math.nan, math.nan])
    assert digest(pa.table({"w": missing})) != found[0]


def test_each_value_its_place_and_the_key_have_meaning() -> None:
    rows = TABLE.to_pylist()
    found = {digest(TABLE), digest(TABLE, bytes(32)), digest(TABLE.slice(1)), digest(TABLE[:-1])}
    found.add(digest(TABLE.rename_columns(["A", "n", "w", "t", "b"])))
    others = {"a": ("y", None, " x"), "n": (1, None, -(2**63)), "w": (1e-300, None), "b": (None,)}
    for name, values in others.items():
        for value in values:
            changed = [dict(each) for each in rows]
            changed[0][name] = value
            found.add(digest(pa.Table.from_pylist(changed, TABLE.schema)))
    swapped = [rows[1], rows[0], *rows[2:]]
    found.add(digest(pa.Table.from_pylist(swapped, TABLE.schema)))
    # Values that change places within a record, and between two records.
    two = [{"a": "x", "c": "y"}, {"a": "u", "c": "v"}]
    mixed = [{"a": "y", "c": "x"}, two[1]], [{"a": "x", "c": "v"}, {"a": "u", "c": "y"}]
    found |= {digest(pa.Table.from_pylist(each)) for each in (two, *mixed)}
    assert len(found) == 18
    assert all(len(each) == 32 for each in found)


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_other_bytes_of_the_same_records_have_one_digest(kind: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": ["x", "", "é,1"] * 20, "n": range(60)})
    table = pa.Table.from_pandas(frame, preserve_index=False)
    files = tmp_path / f"one.{kind}", tmp_path / f"other.{kind}"
    if kind == "csv":
        frame.to_csv(files[0], index=False)
        frame.to_csv(files[1], index=False, quoting=1)
    elif kind == "parquet":
        pq.write_table(table, files[0], row_group_size=7)
        pq.write_table(table, files[1], compression="gzip", use_dictionary=False)
    else:
        for file, rows in zip(files, (7, 60), strict=True):
            with pa.ipc.new_file(file, table.schema) as stream:
                stream.write_table(table, max_chunksize=rows)
    form = FileFormat(kind=kind)
    one, other = (digest_of_file(each, form, KEY) for each in files)
    assert files[0].read_bytes() != files[1].read_bytes()
    assert one == other != digest_of_file(files[0], form, bytes(32))
