"""Digests of records that are read in portions: one pass for the key's and the ledger's.

What a record says are the categories of its randomized columns, numbers as the points of their
grid. **For the ledger** (version 1), each category of a column has two numbers of 64 bits, from
HMAC-SHA256 under the ledger's key of name and category, each with its length in front; those of a
record's categories are added up modulo 2^64, and AES-256 under another subkey makes the digest of
the two sums. So two records that differ have one digest about as seldom as two random blocks of 128
bits are equal, and nobody without the key can try a guess. The sketch has the smallest digests, as
numbers of 64 bits, equal records once.
"""

import hashlib
import hmac
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from deniable.arrays import Codes
from deniable.records import Attribute
from deniable.release.entries import canonical
from deniable.release.overlap import SKETCH_SIZE, RecordDigests
from deniable.sampling import framed

MOST_TOGETHER = 1 << 12  # cells of columns that are looked up together
VERSION = b"deniable records in portions 1"
Words = npt.NDArray[np.uint64]


class LedgerDigests:
    """What a ledger keeps of records, one portion after the other.

    Parameters
    ----------
    attributes : sequence of Attribute
        Of the randomized columns.
    key : bytes
        The ledger's.
    """

    def __init__(self, attributes: Sequence[Attribute], key: bytes) -> None:
        self._key = key
        self._groups = [
            (tuple(each.name for each in group), [each.size for each in group], self._sums(group))
            for group in _grouped(attributes)
        ]
        cipher = Cipher(algorithms.AES(self._subkey(b"record")), modes.ECB())  # single blocks
        self._records = cipher.encryptor()
        self._whole = hmac.new(self._subkey(b"file"), digestmod=hashlib.sha256)
        for part in framed(sorted(each.name.encode() for each in attributes)):
            self._whole.update(part)
        self._sketch: Words = np.empty(0, dtype=np.uint64)
        self._number = 0

    def add(self, codes: Mapping[str, Codes], records: int) -> None:
        """Take the `codes` by column of the next portion, of so many `records`."""
        sums = np.zeros((records, 2), dtype=np.uint64)
        for names, sizes, words in self._groups:
            joint = codes[names[0]]
            for name, size in zip(names[1:], sizes[1:], strict=True):
                joint = joint * np.uint16(size) + codes[name]
            sums += words.take(joint, axis=0)
        made = self._records.update(sums.astype("<u8", copy=False).tobytes())
        self._whole.update(made)
        digests = np.frombuffer(made, dtype="<u8")[::2]
        if len(self._sketch) == SKETCH_SIZE:
            digests = digests[digests < self._sketch[-1]]
        self._sketch = np.unique(np.concatenate((self._sketch, digests)))[:SKETCH_SIZE]
        self._number += records

    def found(self) -> RecordDigests:
        """Return what is kept."""
        sketch = tuple(self._sketch.tolist())
        return RecordDigests(self._whole.hexdigest(), self._number, sketch)

    def _subkey(self, *parts: bytes) -> bytes:
        return hmac.digest(self._key, b"".join(framed((VERSION, *parts))), hashlib.sha256)

    def _sums(self, group: Sequence[Attribute]) -> Words:
        """Return the sums of a group of columns, by their joint code."""
        sums = self._of_categories(group[0])
        for each in group[1:]:
            sums = (sums[:, None] + self._of_categories(each)[None]).reshape(-1, 2)
        return sums

    def _of_categories(self, attribute: Attribute) -> Words:
        name = attribute.name.encode()
        made = [self._subkey(name, each.encode())[:16] for each in attribute.categories]
        return np.frombuffer(b"".join(made), dtype="<u8").reshape(-1, 2).astype(np.uint64)


def _grouped(attributes: Sequence[Attribute]) -> list[list[Attribute]]:
    """Return columns in groups whose joint codes are small: a look-up for each, and not for one."""
    groups: list[list[Attribute]] = []
    for each in sorted(attributes, key=lambda attribute: attribute.size):
        together = math.prod(other.size for other in groups[-1]) * each.size if groups else 0
        if groups and together <= MOST_TOGETHER:
            groups[-1].append(each)
        else:
            groups.append([each])
    return groups


class Content:
    """What records say, however the file is divided: what a release is held to.

    Parameters
    ----------
    attributes : sequence of Attribute
        Of the randomized columns.
    passed : sequence of str
        Names of the columns that go out as they are.
    """

    def __init__(self, attributes: Sequence[Attribute], passed: Sequence[str]) -> None:
        self._attributes = tuple(sorted(attributes, key=lambda each: each.name))
        self._passed = tuple(sorted(passed))
        self._columns = [hashlib.sha256() for _ in self._attributes]
        self._texts = [(hashlib.sha256(), hashlib.sha256()) for _ in self._passed]

    def add(self, codes: Mapping[str, Codes], passed: Mapping[str, pa.Array]) -> None:
        """Take the next portion by column: `codes`, and what is `passed` on as it is."""
        for attribute, found in zip(self._attributes, self._columns, strict=True):
            column = np.ascontiguousarray(codes[attribute.name], dtype=attribute.code_type)
            found.update(column.astype(column.dtype.newbyteorder("<"), copy=False).tobytes())
        for name, (lengths, texts) in zip(self._passed, self._texts, strict=True):
            values = passed[name].cast(pa.large_string())
            sizes = pc.binary_length(values).fill_null(-1).to_numpy()
            lengths.update(sizes.astype("<i8", copy=False))
            texts.update(_joined(values.drop_null()))

    def parts(self) -> Iterator[bytes]:
        """Yield it in parts."""
        yield VERSION
        for attribute, found in zip(self._attributes, self._columns, strict=True):
            yield attribute.name.encode()
            yield canonical(list(attribute.categories))
            yield found.digest()
        for name, pair in zip(self._passed, self._texts, strict=True):
            yield name.encode()
            yield from (each.digest() for each in pair)


def _joined(texts: pa.Array) -> pa.Buffer | bytes:
    """Return large strings, none missing, one after the other."""
    _, offsets, content = texts.buffers()
    if not len(texts) or content is None:
        return b""
    ends = np.frombuffer(offsets, dtype=np.int64)[texts.offset :][: len(texts) + 1]
    return content.slice(int(ends[0]), int(ends[-1] - ends[0]))
