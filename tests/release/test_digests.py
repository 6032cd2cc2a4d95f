"""Digests of records against their layout written out plainly; overlaps of files."""

import hashlib
import hmac
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from deniable.release import RecordDigests
from deniable.release.digests import Fingerprint, Sketch
from deniable.release.entries import SKETCH_SIZE, canonical, overlap
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
    fingerprint, sketch = Fingerprint(schema()), Sketch(schema(), key)
    for start in range(0, len(of), size):
        fingerprint.add(part(of, slice(start, start + size)))
        sketch.add(part(of, slice(start, start + size)))
    return sketch.with_fingerprint(fingerprint)


def plain_sketch(of: RecordBatch) -> tuple[int, ...]:
    """Return the sketch as the module's text describes it, record by record."""

    def subkey(*parts: bytes) -> bytes:
        return hmac.digest(KEY, b"".join(framed((VERSION, *parts))), "sha256")

    def encrypted(key: bytes, block: bytes) -> bytes:
        return Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(block)

    own = {name: subkey(b"numbers", name.encode()) for name in of.numbers}
    record_key, first = subkey(b"record"), []
    for record in range(len(of)):
        words = [
            subkey(name.encode(), CATEGORIES[name][codes[record]].encode())[:16]
            for name, codes in of.codes.items()
        ]
        words += [
            encrypted(own[name], struct.pack("<d", each[record]) + bytes(8))
            for name, each in of.numbers.items()
        ]
        sums = [
            sum(int.from_bytes(word[at : at + 8], "little") for word in words) % 2**64
            for at in (0, 8)
        ]
        block = encrypted(record_key, b"".join(each.to_bytes(8, "little") for each in sums))
        first.append(int.from_bytes(block[:8], "little"))
    return tuple(sorted(set(first))[:SKETCH_SIZE])


@pytest.mark.parametrize("size", [RECORDS, 700, 1])
def test_a_ledger_stores_the_described_digests_however_records_are_divided(size: int) -> None:
    of = batch()
    stored = digested(of, size)
    sketch = plain_sketch(of)
    assert len(sketch) == SKETCH_SIZE < RECORDS
    assert (stored.records, stored.sketch) == (RECORDS, sketch)
    assert stored.whole == digested(of).whole


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
    assert not set(digested(of, key=OTHER_KEY).sketch) & set(made.sketch)


def test_the_order_of_records_leaves_no_trace_in_a_sketch() -> None:
    of, order = batch(), np.random.default_rng(1).permutation(RECORDS)
    moved = RecordBatch(
        0,
        {name: each[order] for name, each in of.codes.items()},
        {"id": of.passed["id"].take(pa.array(order))},
        {name: each[order] for name, each in of.numbers.items()},
    )
    assert digested(moved).sketch == digested(of).sketch
    assert digested(moved).whole != digested(of).whole


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
    fingerprint, sketch = Fingerprint(of), Sketch(of, KEY)
    for each in RecordsFile.open(file, of).portions():
        fingerprint.add(each)
        sketch.add(each)
    return sketch.with_fingerprint(fingerprint)


def test_formats_of_files_and_orders_of_columns_leave_no_trace(tmp_path: Path) -> None:
    drawn = np.random.default_rng(1)
    frame = pd.DataFrame({"sex": drawn.choice(["F", "M"], 90), "age": drawn.integers(0, 41, 90)})
    made = of_frame(frame, "parquet", tmp_path)
    assert of_frame(frame, "csv", tmp_path) == made
    assert of_frame(frame[["age", "sex"]], "csv", tmp_path) == made


def numbered(values: np.ndarray) -> RecordDigests:
    return digested(RecordBatch(0, {}, {}, {"width": values}), len(values))


@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 0.98, 1.0])
def test_the_proportion_is_estimated(share: float) -> None:
    # 20,000 records, of which the sketches show some 1,000: a standard error of 1.6 % at most.
    rng = np.random.default_rng(2)
    size, kept = 20_000, round(20_000 * share)
    earlier = rng.integers(0, 10**9, size).astype(float)
    new = np.concatenate([earlier[:kept], rng.integers(10**9, 2 * 10**9, size - kept)])
    found = overlap(numbered(rng.permutation(new)), "earlier", numbered(earlier))
    assert found.compared > SKETCH_SIZE / 2.5
    if share in (0, 1):
        assert found.proportion == share
    else:
        assert found.proportion == pytest.approx(share, abs=0.08)
    percent = f"{100 * found.proportion:.3g}"
    assert str(found) == f"about {percent} % of the records were in release 'earlier'"


def test_a_part_of_a_file_is_seen_in_the_file() -> None:
    people = np.random.default_rng(3).normal(size=30_000)
    whole, some = numbered(people), numbered(people[:3000])
    assert overlap(some, "earlier", whole).proportion == 1
    assert overlap(whole, "earlier", some).proportion == pytest.approx(0.1, abs=0.04)


def test_the_number_of_equal_records_does_not_show() -> None:
    of = batch(1)
    many = RecordBatch(0, {n: np.repeat(each, 5000) for n, each in of.codes.items()}, {})
    assert len(digested(many).sketch) == 1
