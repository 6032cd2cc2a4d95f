"""Which records files share is seen through keyed digests, and nothing else is."""

import hashlib
import hmac
import random
import struct
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from deniable.errors import DataError
from deniable.records import (
    Attribute,
    Domain,
    Microdata,
    NumericMicrodata,
    read_csv,
    read_parquet,
)
from deniable.release.overlap import (
    SKETCH_SIZE,
    RecordDigests,
    _Hmac,
    overlap,
    record_digests,
)

KEY, OTHER_KEY = bytes(range(32)), bytes(range(1, 33))

values = st.one_of(st.none(), st.text(max_size=3), st.integers(-3, 3), st.floats(allow_nan=False))
tables = st.integers(0, 6).flatmap(
    lambda size: st.dictionaries(
        st.text(max_size=3).map(lambda name: unicodedata.normalize("NFC", name)),
        st.lists(values, min_size=size, max_size=size),
        min_size=1,
        max_size=3,
    )
)


def objects(column: list[Any]) -> np.ndarray:
    array = np.empty(len(column), dtype=object)
    array[:] = column
    return array


def digests(columns: dict[str, list[Any]], key: bytes = KEY) -> RecordDigests:
    return record_digests({name: objects(column) for name, column in columns.items()}, key)


def shared(new: RecordDigests, earlier: RecordDigests) -> float:
    return overlap(new, "earlier", earlier).share


def canonical(record: dict[str, Any]) -> bytes:
    """Return the form that the module's text describes, a field after the other."""

    def sized(told: bytes) -> bytes:
        return str(len(told)).encode() + b":" + told

    def nfc(text: str) -> bytes:
        return unicodedata.normalize("NFC", text).encode("utf-8", "surrogatepass")

    told = b""
    for name, value in sorted((nfc(name), value) for name, value in record.items()):
        if value is None:
            kind, form = b"missing", b""
        elif isinstance(value, str):
            kind, form = b"text", nfc(value)
        else:
            kind, form = b"number", struct.pack(">d", float(value) + 0.0)
        told += sized(name) + sized(kind) + sized(form)
    return told


@given(st.binary(min_size=32, max_size=32), st.binary(max_size=200))
def test_digests_are_hmac_sha256(key: bytes, message: bytes) -> None:
    assert _Hmac(key)(message) == hmac.digest(key, message, "sha256")


def test_the_digest_of_a_record_is_the_one_described() -> None:
    record = {"b": 17, "a": "e\u0301", "c": None, "d": -0.0}
    digest = hmac.digest(KEY, b"record:" + canonical(record), "sha256")
    made = digests({name: [value] for name, value in record.items()})
    assert made.sketch == (int.from_bytes(digest[:8], "big"),)
    # Known answers: a ledger is read for years.
    assert made.sketch == (0xE48FED93FC511AD6,)
    assert made.whole == "21ca4aca44a34e67d56552869bc0b32048ab77b4a7500aeaf27ac0fd500c4b61"


def test_digests_of_equal_records_are_those_described() -> None:
    digest = hmac.digest(KEY, b"record:" + canonical({"a": "x"}), "sha256")
    told = digest[:8] + hashlib.shake_256(digest[8:]).digest(16)
    expected = sorted(int.from_bytes(told[place : place + 8], "big") for place in (0, 8, 16))
    assert list(digests({"a": ["x", "x", "x"]}).sketch) == expected


def test_records_of_more_kinds_than_a_code_can_count_are_told_apart() -> None:
    # 2**80 kinds: those that differ in the first attribute alone would have one code of 64 bits.
    size = 2**16
    column = np.append(np.arange(size), 0)
    first = np.append(np.arange(size), 1)
    columns = {"b": column, "c": column, "d": column, "e": column}
    made = record_digests({"a": first, **columns}, KEY)
    assert made.whole != record_digests({"a": column, **columns}, KEY).whole


@given(tables, st.randoms(use_true_random=False))
def test_equal_records_have_equal_digests(
    table: dict[str, list[Any]], chance: random.Random
) -> None:
    made = digests(table)
    size = len(next(iter(table.values())))
    assert made.records == size == len(made.sketch)
    assert list(made.sketch) == sorted(set(made.sketch))
    names = list(table)
    chance.shuffle(names)
    assert digests({name: table[name] for name in names}) == made
    order = list(range(size))
    chance.shuffle(order)
    moved = {name: [column[place] for place in order] for name, column in table.items()}
    assert digests(moved).sketch == made.sketch  # whole counts the order, if records differ
    assert (digests(moved).whole == made.whole) == (
        [canonical({n: c[i] for n, c in table.items()}) for i in range(size)]
        == [canonical({n: c[i] for n, c in moved.items()}) for i in range(size)]
    )


@given(tables, tables)
def test_records_that_differ_have_other_digests(
    one: dict[str, list[Any]], other: dict[str, list[Any]]
) -> None:
    def forms(table: dict[str, list[Any]]) -> list[bytes]:
        size = len(next(iter(table.values())))
        return [canonical({n: c[i] for n, c in table.items()}) for i in range(size)]

    of_one, of_other = digests(one), digests(other)
    found = overlap(of_one, "other", of_other)
    left = forms(other)
    common = sum(left.remove(form) is None for form in forms(one) if form in left)
    assert (found.shared, found.compared) == (common, of_one.records)
    same_names = sorted(one) == sorted(other)
    assert (of_one.whole == of_other.whole) == (forms(one) == forms(other) and same_names)
    assert not set(digests(one, OTHER_KEY).sketch) & set(of_one.sketch)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": ["1"]}, {"a": [1]}),
        ({"a": [None]}, {"a": ["missing"]}),
        ({"a": [None]}, {"a": [""]}),
        ({"a": ["nan"]}, {"a": [float("nan")]}),
        ({"a": ["x"], "b": ["yz"]}, {"a": ["xy"], "b": ["z"]}),
        ({"a": ["x"], "b": ["y"]}, {"a": ["y"], "b": ["x"]}),
        ({"a": ["1:b4:text1:c"]}, {"a": ["1"], "b": ["c"]}),
        ({"a": [0.1]}, {"a": [0.1 + 2**-56]}),
    ],
)
def test_forms_are_never_mistaken(one: dict[str, list[Any]], other: dict[str, list[Any]]) -> None:
    assert shared(digests(one), digests(other)) == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([17], [17.0]),
        ([0.0], [-0.0]),
        (["\u00e9"], ["e\u0301"]),
        ([None], [float("nan")]),
        ([True], [1]),
    ],
)
def test_forms_that_are_one(one: list[Any], other: list[Any]) -> None:
    assert digests({"a": one}) == digests({"a": other})
    assert record_digests({"a": one}, KEY) == record_digests({"a": other}, KEY)


def test_texts_that_become_one_are_counted_as_one() -> None:
    assert digests({"a": ["\u00e9", "e\u0301"]}) == digests({"a": ["\u00e9", "\u00e9"]})


def test_columns_of_pandas(small_data: Microdata) -> None:
    frame = pd.DataFrame({"n": [1.5, np.nan, 2.0], "t": ["x", None, "y"]})
    made = record_digests(dict(frame.items()), KEY)
    assert made == digests({"t": ["x", None, "y"], "n": [1.5, None, 2]})
    frame = frame.astype({"t": "category", "n": "Float64"})
    assert record_digests(dict(frame.items()), KEY) == made
    text = small_data.to_arrow().to_pandas()
    assert record_digests(dict(text.items()), KEY) == record_digests(small_data, KEY)


def test_formats_of_files_leave_no_trace(tmp_path: Path, small_data: Microdata) -> None:
    made = record_digests(small_data, KEY)
    small_data.write_parquet(tmp_path / "f.parquet")
    assert record_digests(read_parquet(tmp_path / "f.parquet"), KEY) == made
    turned = small_data.project(tuple(reversed(small_data.domain.names)))
    turned.write_csv(tmp_path / "f.csv")
    lines = (tmp_path / "f.csv").read_bytes()
    (tmp_path / "f.csv").write_bytes(lines.replace(b"\n", b"\r\n").rstrip())
    wider = Domain(
        tuple(Attribute(a.name, ("?", *reversed(a.categories))) for a in small_data.domain)
    )
    assert record_digests(read_csv(tmp_path / "f.csv", wider), KEY) == made


def test_numbers_and_their_classes() -> None:
    rng = np.random.default_rng(1)
    numbers = NumericMicrodata(
        ("y", "x"), rng.normal(size=(50, 2)), "c", ("no", "yes"), rng.integers(0, 2, 50)
    )
    plain = {
        "c": [numbers.classes[label] for label in numbers.labels],
        "x": numbers.column("x").tolist(),
        "y": numbers.column("y"),
    }
    assert record_digests(numbers, KEY) == record_digests(plain, KEY)


@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 0.98, 1.0])
@pytest.mark.parametrize("distinct", [12, 10**9])
def test_the_share_is_estimated(share: float, distinct: int) -> None:
    # 20,000 records, of which the sketches show some 1,000: a standard error of 1.6 % at most.
    # Of few kinds of records, those beyond the earlier release are of kinds of their own.
    rng = np.random.default_rng(2)
    size, kept = 20_000, round(20_000 * share)
    earlier = rng.integers(0, distinct, size)
    new = np.concatenate([earlier[:kept], rng.integers(distinct, 2 * distinct, size - kept)])
    found = overlap(
        record_digests({"x": rng.permutation(new)}, KEY),
        "earlier",
        record_digests({"x": earlier}, KEY),
    )
    assert found.compared > SKETCH_SIZE / 2.5
    if share in (0, 1):
        assert found.share == share
    else:
        assert found.share == pytest.approx(share, abs=0.08)
    assert str(found) == f"about {100 * found.share:.3g} % of the records were in release 'earlier'"


def test_a_part_of_a_file_is_seen_in_the_file() -> None:
    rng = np.random.default_rng(3)
    people = rng.normal(size=30_000)
    whole, part = record_digests({"x": people}, KEY), record_digests({"x": people[:3000]}, KEY)
    assert shared(part, whole) == 1
    assert shared(whole, part) == pytest.approx(0.1, abs=0.04)


def test_how_many_records_are_equal_does_not_show() -> None:
    made = digests({"a": ["x"] * SKETCH_SIZE})
    assert len(set(made.sketch)) == SKETCH_SIZE
    # As uniform as digests of distinct records: 64 bins of 16, chi-squared at 1e-6.
    bins = np.bincount([value >> 58 for value in made.sketch], minlength=64)
    assert ((bins - 16) ** 2 / 16).sum() < 137


def test_the_whole_is_bound_to_every_record_and_its_place() -> None:
    made = digests({"a": ["x", "y", "y"]})
    for other in (["x", "x", "y"], ["y", "x", "y"], ["x", "y"], ["x", "y", "y", "y"]):
        assert digests({"a": other}).whole != made.whole
    assert digests({"b": []}).whole != digests({"a": []}).whole
    assert digests({"a": ["x", "y", "y"]}, OTHER_KEY).whole != made.whole


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": [1], "b": [1, 2]}, "differ in length"),
        ({"a": [(1, 2)]}, "column 'a' has a value of type tuple"),
        ({"a": [b"x"]}, "column 'a' has a value of type bytes"),
        ({"a": [10**400]}, "column 'a' has a value of type int"),
    ],
)
def test_what_is_no_record_is_refused(columns: dict[str, list[Any]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        digests(columns)


def test_wrong_shapes_and_keys_are_refused() -> None:
    with pytest.raises(DataError, match=r"column 'a' has the shape \(1, 2\)"):
        record_digests({"a": np.ones((1, 2))}, KEY)
    with pytest.raises(DataError, match="a key of 31 bytes"):
        record_digests({"a": [1]}, KEY[:31])
