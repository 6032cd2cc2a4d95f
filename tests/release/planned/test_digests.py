"""Digests of records that are read in portions, against their layout written out plainly."""

import hashlib
import hmac

import numpy as np
import pyarrow as pa
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from deniable.records import Attribute
from deniable.release.entries import canonical
from deniable.release.overlap import SKETCH_SIZE
from deniable.release.planned.digests import Content, LedgerDigests
from deniable.sampling import framed

KEY = bytes(range(32))
ATTRIBUTES = (
    Attribute("sex", ("F", "M")),
    Attribute("age", tuple(map(str, range(300)))),
    Attribute("land", tuple("abcdefghijklmnopqrstuvwxyz")),
)
RECORDS = 3000
VERSION = b"deniable records in portions 1"


def columns(records: int = RECORDS) -> dict[str, np.ndarray]:
    drawn = np.random.default_rng(3)
    return {
        each.name: drawn.integers(0, each.size, records).astype(each.code_type)
        for each in ATTRIBUTES
    }


def plainly(codes: dict[str, np.ndarray]) -> tuple[str, tuple[int, ...]]:
    def subkey(*parts: bytes) -> bytes:
        return hmac.digest(KEY, b"".join(framed((VERSION, *parts))), "sha256")

    cipher = Cipher(algorithms.AES(subkey(b"record")), modes.ECB()).encryptor()
    whole = hmac.new(subkey(b"file"), digestmod="sha256")
    for part in framed(sorted(each.name.encode() for each in ATTRIBUTES)):
        whole.update(part)
    first = []
    for record in range(len(codes["sex"])):
        sums = [0, 0]
        for each in ATTRIBUTES:
            text = each.categories[codes[each.name][record]]
            made = subkey(each.name.encode(), text.encode())
            for place in range(2):
                word = int.from_bytes(made[8 * place : 8 * place + 8], "little")
                sums[place] = (sums[place] + word) % 2**64
        block = cipher.update(b"".join(each.to_bytes(8, "little") for each in sums))
        whole.update(block)
        first.append(int.from_bytes(block[:8], "little"))
    return whole.hexdigest(), tuple(sorted(set(first))[:SKETCH_SIZE])


@pytest.mark.parametrize("portion", [RECORDS, 700, 1])
def test_a_ledger_keeps_what_the_layout_says(portion: int) -> None:
    codes, found = columns(), LedgerDigests(ATTRIBUTES, KEY)
    for start in range(0, RECORDS, portion):
        part = {name: each[start : start + portion] for name, each in codes.items()}
        found.add(part, len(part["sex"]))
    kept = found.found()
    whole, sketch = plainly(codes)
    assert len(sketch) == SKETCH_SIZE < RECORDS
    assert (kept.whole, kept.records, kept.sketch) == (whole, RECORDS, sketch)


def test_what_a_release_is_held_to_has_columns_categories_and_what_goes_out() -> None:
    codes = columns(5)
    content = Content(ATTRIBUTES, ("id",))
    some = pa.array(["0", "1", None, "é", "", "12", "3"])[1:-1]
    content.add({name: each[:3] for name, each in codes.items()}, {"id": some[:3]})
    content.add({name: each[3:] for name, each in codes.items()}, {"id": some[3:]})
    expected: list[bytes] = [VERSION]
    for each in sorted(ATTRIBUTES, key=lambda each: each.name):
        told = codes[each.name].astype(codes[each.name].dtype.newbyteorder("<")).tobytes()
        expected += [each.name.encode(), canonical(list(each.categories))]
        expected += [hashlib.sha256(told).digest()]
    lengths = b"".join(size.to_bytes(8, "little", signed=True) for size in (1, -1, 2, 0, 2))
    texts = "1é12".encode()
    expected += [b"id", hashlib.sha256(lengths).digest(), hashlib.sha256(texts).digest()]
    assert list(content.parts()) == expected
