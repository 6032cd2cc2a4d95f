"""Digests of records against their layout written out plainly; overlaps of files."""

import datetime
import hashlib
import hmac
import struct
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from pandas.util import hash_array
from tests.release.small_releases import overlap

from deniable.release import RecordDigests
from deniable.release.counting.digests import Fingerprint, Sketch
from deniable.release.counting.entries import SKETCH_SIZE, Overlap, canonical
from deniable.sampling import framed
from deniable.schema import RecordBatch, RecordsFile, Schema, schema_from_dict

KEY, OTHER_KEY = bytes(range(32)), bytes(range(1, 33))
CATEGORIES = {
    "sex": ("F", "M"),
    "age": tuple(map(str, range(300))),
    "land": tuple("abcdefghijklmnopqrstuvwxyz"),
}
RECORDS = 3000
VERSION = b"deniable records in portions 1"
NOTHING = Overlap("earlier", 0.0, 0.0, 0)


def schema(**more: Any) -> Schema:
    columns = [
        {"name": name, "kind": "categorical", "categories": list(own)}
        for name, own in CATEGORIES.items()
    ]
    columns += [{"name": name, "kind": "numeric", "bounds": [-9, 9], "type": "double"} | more
                for name in ("height", "width")]  # fmt: skip
    columns += [{"name": "id", "kind": "identifier"}]
    about = {"format": "deniable-schema", "version": 1, "population": "people"}
    return schema_from_dict(about | {"file": {"kind": "arrow"}, "columns": columns})


def batch(records: int = RECORDS) -> RecordBatch:
    drawn = np.random.default_rng(3)
    of = schema()
    codes = {
        name: drawn.integers(0, len(own), records).astype(of[name].attribute().code_type)
        for name, own in CATEGORIES.items()
    }
    numbers = {name: drawn.normal(size=records) for name in ("height", "width")}
    return RecordBatch(0, codes, {"id": pa.array(map(str, range(records)))}, numbers)


def part(of: RecordBatch, rows: slice) -> RecordBatch:
    return RecordBatch(
        of.first + rows.start,
        {name: each[rows] for name, each in of.codes.items()},
        {name: each[rows] for name, each in of.passed.items()},
        {name: each[rows] for name, each in of.numbers.items()},
    )


def digested(of: RecordBatch, size: int = RECORDS, key: bytes = KEY) -> RecordDigests:
    fingerprint = Fingerprint(schema())
    for start in range(0, len(of), size):
        fingerprint.add(part(of, slice(start, start + size)))
    return Sketch(key).with_fingerprint(fingerprint)


def sketched(
    table: pa.Table | pd.DataFrame, size: int = 10**6, identifiers: tuple[str, ...] = ("id",)
) -> RecordDigests:
    """Return the digests of a table that is read in batches of a size."""
    given = pa.Table.from_pandas(table) if isinstance(table, pd.DataFrame) else table
    sketch = Sketch(KEY, [name for name in identifiers if name in given.column_names])
    for each in given.to_batches(max_chunksize=size):
        sketch.add(each)
    return sketch.with_fingerprint(Fingerprint(schema()))


def subkey(*parts: bytes) -> bytes:
    return hmac.digest(KEY, b"".join(framed((b"deniable sketches 1", *parts))), "sha256")


def encrypted(purpose: bytes, block: bytes) -> int:
    """Return the first 64 bits of an encrypted block."""
    cipher = Cipher(algorithms.AES(subkey(purpose)), modes.ECB()).encryptor()
    return int.from_bytes(cipher.update(block)[:8], "little")


def word(value: float | str | None) -> int:
    """Return the word of a value, as the module's text describes it."""
    if isinstance(value, str):
        siphash = hash_array(np.array([value], object), hash_key=subkey(b"text").hex()[:16])
        return encrypted(b"value", struct.pack("<QQ", siphash[0], 1))
    number = np.nan if value is None else value
    exact = number if np.rint(number) == number else float(np.float32(number))
    return encrypted(b"value", struct.pack("<dQ", exact, 0))


PEOPLE = pa.table({
    "id": [f"p{number % 2000}" for number in range(RECORDS)],
    "age": pa.array([None if number % 50 == 0 else number % 91 for number in range(RECORDS)]),
    "height": np.random.default_rng(3).normal(170, 10, RECORDS),
    "town": pa.array([["oslo", "a town of many letters"][number % 2] for number in range(RECORDS)])
    .dictionary_encode(),
    "one": ["same"] * RECORDS,
    "list": [[1, 2]] * RECORDS,
})  # fmt: skip


@pytest.mark.parametrize("size", [RECORDS, 700, 1])
def test_a_ledger_stores_the_described_sketch_however_records_are_divided(size: int) -> None:
    names = ["id", "age", "height", "town", "one"]
    odd = {n: int.from_bytes(subkey(b"column", n.encode())[:8], "little") | 1 for n in names}
    table = PEOPLE.slice(0, 40) if size == 1 else PEOPLE
    words = [{n: word(row[n]) for n in names} for row in table.to_pylist()]
    sums = (sum(odd[n] * each[n] for n in names) % 2**64 for each in words)
    rows = {encrypted(b"record", struct.pack("<QQ", each, 0)) for each in sums}
    made = sketched(table, size)
    assert (made.records, made.rows) == (len(table), tuple(sorted(rows)[:SKETCH_SIZE]))
    whole = (sum(each[n] for each in words) % 2**64 for n in names[:-1])  # one is all the same
    assert made.columns == tuple(sorted(whole))
    assert made.identifiers == (tuple(sorted({each["id"] for each in words})[:SKETCH_SIZE]),)


@pytest.mark.parametrize(("one", "other"), [
    ("007", 7), (7, 7.0), (-0.0, 0.0), ("1,5", 1.5), (Decimal("1.50"), 1.5), ("1e3", 1000),
    (np.float32(3.1), "3.1"), (" Yes ", "yes"), (True, "True"), ("NA", np.nan), (np.nan, ""),
    (datetime.date(2020, 1, 1), "2020-01-01"), (datetime.date(2020, 1, 1), "2020-01-01 00:00:00"),
    (datetime.datetime(2020, 1, 1, 5, 7), "2020-01-01 05:07:00"), ("é" * 9, "É" * 9),
])  # fmt: skip
def test_values_are_one_in_all_formats(one: Any, other: Any) -> None:
    made = [sketched(pa.table({"x": pa.array([each])})).rows for each in (one, other)]
    made += [sketched(pa.table({"x": pa.array([one]).dictionary_encode()})).rows]
    assert made[0] == made[1] == made[2]


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, 2), ("a", "b"), ("", "0"), (2**53 - 1, 2**53 - 2), (1.5, 1.25), ("p" * 15, "p" * 16)],
)
def test_other_values_are_told_apart(one: Any, other: Any) -> None:
    made = [sketched(pa.table({"x": pa.array([each])})).rows for each in (one, other)]
    assert made[0] != made[1]


def test_a_fingerprint_has_columns_categories_numbers_and_identifiers() -> None:
    of = batch(5)
    texts = pa.array(["0", "1", None, "é", "", "12", "3"])[1:-1]
    of = RecordBatch(0, of.codes, {"id": texts}, {"width": np.array([-0.0, 1.5, 2, 3, 4])})
    fingerprint = Fingerprint(schema())
    for rows in (slice(0, 3), slice(3, 5)):
        fingerprint.add(part(of, rows))
    expected: list[bytes] = [VERSION]
    for name in sorted(CATEGORIES):
        codes = of.codes[name].astype(of.codes[name].dtype.newbyteorder("<")).tobytes()
        expected += [name.encode(), canonical(list(CATEGORIES[name]))]
        expected += [hashlib.sha256(codes).digest()]
    numbers = struct.pack("<5d", 0.0, 1.5, 2, 3, 4)
    expected += [b"width", b"numbers", hashlib.sha256(numbers).digest()]
    lengths = b"".join(size.to_bytes(8, "little", signed=True) for size in (1, -1, 2, 0, 2))
    expected += [b"id", hashlib.sha256(lengths).digest(), hashlib.sha256("1é12".encode()).digest()]
    assert list(fingerprint.parts()) == expected


def test_the_whole_is_bound_to_every_value_and_its_place() -> None:
    of, made = batch(50), digested(batch(50))
    others = []
    for name in CATEGORIES:
        codes = of.codes | {name: np.roll(of.codes[name], 1)}
        others.append(RecordBatch(0, codes, of.passed, of.numbers))
    height = of.numbers["height"].copy()
    height[7] = np.nextafter(height[7], 9)
    others.append(RecordBatch(0, of.codes, of.passed, of.numbers | {"height": height}))
    others.append(
        RecordBatch(0, of.codes, {"id": of.passed["id"].take(pa.array(range(49, -1, -1)))})
    )
    others.append(part(of, slice(0, 49)))
    assert len({made.whole, *(digested(each).whole for each in others)}) == 1 + len(others)
    assert digested(of, key=OTHER_KEY).whole != made.whole


def test_nothing_of_a_sketch_is_the_same_under_another_key() -> None:
    made, sketch = sketched(PEOPLE), Sketch(OTHER_KEY, ["id"])
    for each in PEOPLE.to_batches():
        sketch.add(each)
    other = sketch.with_fingerprint(Fingerprint(schema()))
    assert overlap(other, "earlier", made) == NOTHING != overlap(made, "earlier", made)


def test_the_order_of_records_leaves_no_trace_in_a_sketch() -> None:
    of, order = batch(), np.random.default_rng(1).permutation(RECORDS)
    made = sketched(PEOPLE)
    assert sketched(PEOPLE.take(order)) == made
    assert sketched(PEOPLE.select(PEOPLE.column_names[::-1])) == made
    moved = RecordBatch(0, {name: each[order] for name, each in of.codes.items()}, {}, {})
    assert digested(moved).whole != digested(RecordBatch(0, of.codes, {}, {})).whole


@pytest.mark.parametrize(("one", "other", "same"), [
    (0.0, -0.0, True), (17, 17.0, True), (0.1, 0.1 + 2**-56, False), (np.nan, -np.nan, True),
])  # fmt: skip
def test_numbers_are_one_if_their_values_are(one: float, other: float, same: bool) -> None:
    made = []
    for value in (one, other):
        of = batch(1)
        made.append(digested(RecordBatch(0, of.codes, {}, {"width": np.array([value])})))
    assert (made[0] == made[1]) == same


def of_frame(frame: pd.DataFrame, kind: str, folder: Path) -> RecordDigests:
    own = [
        {"name": "sex", "kind": "categorical", "categories": ["F", "M"]},
        {"name": "age", "kind": "numeric", "bounds": [0, 40], "step": 2}
        | ({} if kind == "csv" else {"type": "int64"}),
    ]
    about = {"format": "deniable-schema", "version": 1, "population": "people"}
    of = schema_from_dict(about | {"file": {"kind": kind}, "columns": own})
    file = folder / f"f.{kind}"
    frame.to_csv(file, index=False) if kind == "csv" else frame.to_parquet(file)
    fingerprint, sketch = Fingerprint(of), Sketch(KEY)
    for each in RecordsFile.open(file, of).portions(seen=sketch.add):
        fingerprint.add(each)
    return sketch.with_fingerprint(fingerprint)


def test_formats_of_files_and_orders_of_columns_leave_no_trace(tmp_path: Path) -> None:
    drawn = np.random.default_rng(1)
    frame = pd.DataFrame({"sex": drawn.choice(["F", "M"], 90), "age": drawn.integers(0, 41, 90)})
    made = of_frame(frame, "parquet", tmp_path)
    assert of_frame(frame, "csv", tmp_path) == made
    assert of_frame(frame[["age", "sex"]], "csv", tmp_path) == made


def numbered(values: np.ndarray) -> RecordDigests:
    return sketched(pa.table({"width": values}))


@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 0.98, 1.0])
def test_the_proportion_is_estimated(share: float) -> None:
    # 20,000 records, of which the sketches show some 1,000: a standard error of 1.6 % at most.
    rng = np.random.default_rng(2)
    size, kept = 20_000, round(20_000 * share)
    earlier = rng.permutation(2 * size)[:size]
    new = np.concatenate([earlier[:kept], 2 * size + rng.permutation(size)[: size - kept]])
    found = overlap(numbered(rng.permutation(new)), "earlier", numbered(earlier))
    if share in (0, 1):
        assert found.rows == share
    else:
        assert found.rows == pytest.approx(share, abs=0.08)
    percent = f"{100 * found.rows:.3g}"
    if share:
        expected = f"about {percent} % of the distinct records were in release 'earlier'"
        assert str(found) == expected


def test_a_part_of_a_file_is_seen_in_the_file() -> None:
    people = np.random.default_rng(3).normal(size=30_000)
    whole, some = numbered(people), numbered(people[:3000])
    assert overlap(some, "earlier", whole).rows == 1
    assert overlap(whole, "earlier", some).rows == pytest.approx(0.1, abs=0.04)


def test_identifiers_show_people_whatever_else_is_known_of_them() -> None:
    other = pa.table(
        {"person": [f"P{number}" for number in range(500, 2500)], "income": [*range(2000)]}
    )
    made = sketched(other, identifiers=("person",))
    found = overlap(made, "earlier", sketched(PEOPLE))
    assert (found.rows, found.columns) == (0, 0)
    assert found.identifiers == pytest.approx(0.75, abs=0.05)
    assert str(found) == (
        f"about {100 * found.identifiers:.3g} % of the identifiers were in release 'earlier'"
    )


def test_the_same_rows_show_whatever_columns_a_file_lost() -> None:
    made = sketched(PEOPLE)
    for name in ("id", "age", "height", "town"):
        found = overlap(sketched(PEOPLE.select([name]).rename_columns(["x"])), "earlier", made)
        assert (found.rows, found.columns) == (0, 1)
        text = "1 column has the values of all records that were in release 'earlier'"
        assert str(found) == text
    found = overlap(sketched(PEOPLE.drop_columns(["age"])), "earlier", made)
    assert (found.rows, found.columns, found.identifiers) == (0, 3, 1)
    # Part of the rows with other columns is not noticed without identifiers.
    part_of_them = PEOPLE.slice(100).drop_columns(["age", "id"])
    assert overlap(sketched(part_of_them), "earlier", made) == NOTHING
    # A column of one value says nothing.
    assert not overlap(sketched(PEOPLE.select(["one"])), "earlier", made).columns


def test_the_number_of_equal_records_does_not_show() -> None:
    many = sketched(pa.table({"x": [1, 1, 1, 2] * 5000}))
    assert len(many.rows) == 2
    assert many.rows == sketched(pa.table({"x": [1, 2]})).rows
