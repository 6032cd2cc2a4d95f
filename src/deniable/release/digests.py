"""Compare records by digests that reveal nothing without a key.

**Fingerprint.** For each column, the SHA-256 of its values in the order of the file. Categories
count by their texts, numbers by their 64 bits, identifiers and weights by their texts. Batches and
the order of columns leave no trace. The fingerprint stays in memory; files hold its HMAC-SHA256
under the key of the release or of the ledger.

**Sketch** (version 1). Each value has two numbers of 64 bits under the key of the ledger:
HMAC-SHA256 of name and category, or AES-256 of the bits of a number under a subkey of
the column. The sums of a record, modulo 2^64, are encrypted by AES-256 under another subkey; the
first 64 bits are the digest of the record. The sketch has the 1,024 smallest digests, equal records
once. So it is a random sample of the distinct records, and every file is sampled in the same way.
Nobody without the key can check a guess at a record.
"""

import hashlib
import hmac
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from deniable.records import Attribute
from deniable.release.entries import SKETCH_SIZE, RecordDigests, canonical
from deniable.sampling import framed
from deniable.schema import RecordBatch, Schema

MAX_JOINT_CELLS = 1 << 12  # of columns that share one look-up
VERSION = b"deniable records in portions 1"
Words = npt.NDArray[np.uint64]


class Fingerprint:
    """The fingerprint of records with columns of a `schema`, read in batches."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._codes: dict[str, tuple[Attribute, Any]] = {}
        self._numbers: dict[str, Any] = {}
        self._passed: dict[str, tuple[Any, Any]] = {}

    def add(self, batch: RecordBatch) -> None:
        """Add the next `batch`."""
        for name, codes in batch.codes.items():
            if name not in self._codes:
                self._codes[name] = self._schema[name].attribute(), hashlib.sha256()
            attribute, digest = self._codes[name]
            column = np.ascontiguousarray(codes, dtype=attribute.code_type)
            digest.update(column.astype(column.dtype.newbyteorder("<"), copy=False).tobytes())
        for name, numbers in batch.numbers.items():
            self._numbers.setdefault(name, hashlib.sha256()).update(_bits(numbers).tobytes())
        for name, values in batch.passed.items():
            lengths, texts = self._passed.setdefault(name, (hashlib.sha256(), hashlib.sha256()))
            column = values.cast(pa.large_string())
            sizes = pc.binary_length(column).fill_null(-1).to_numpy()
            lengths.update(sizes.astype("<i8", copy=False))
            texts.update(_joined(column.drop_null()))

    def parts(self) -> Iterator[bytes]:
        """Yield the fingerprint in parts."""
        yield VERSION
        for name, (attribute, digest) in sorted(self._codes.items()):
            yield from (name.encode(), canonical(list(attribute.categories)), digest.digest())
        for name, digest in sorted(self._numbers.items()):
            yield from (name.encode(), b"numbers", digest.digest())
        for name, (lengths, texts) in sorted(self._passed.items()):
            yield from (name.encode(), lengths.digest(), texts.digest())


class Sketch:
    """The sketch of records with columns of a `schema`, read in batches, by the ledger's `key`.

    The key has 32 bytes, which `Ledger.key` checks.
    """

    def __init__(self, schema: Schema, key: bytes) -> None:
        self._schema, self._key = schema, key
        self._groups: list[tuple[tuple[str, ...], list[int], Words]] | None = None
        self._ciphers: dict[str, Any] = {}
        cipher = Cipher(algorithms.AES(self._subkey(b"record")), modes.ECB())  # single blocks
        self._encryptor = cipher.encryptor()
        self._smallest: Words = np.empty(0, dtype=np.uint64)
        self.records = 0

    def add(self, batch: RecordBatch) -> None:
        """Add the next `batch`."""
        if self._groups is None:
            attributes = [self._schema[name].attribute() for name in batch.codes]
            self._groups = [
                (tuple(each.name for each in group), [a.size for a in group], self._words(group))
                for group in _grouped(attributes)
            ]
        sums = np.zeros((len(batch), 2), dtype=np.uint64)
        for names, sizes, words in self._groups:
            joint = batch.codes[names[0]]
            for name, size in zip(names[1:], sizes[1:], strict=True):
                joint = joint * np.uint16(size) + batch.codes[name]
            sums += words.take(joint, axis=0)
        for name, numbers in batch.numbers.items():
            if name not in self._ciphers:
                key = self._subkey(b"numbers", name.encode())
                self._ciphers[name] = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
            blocks = np.zeros((len(numbers), 2), dtype="<u8")
            blocks[:, 0] = _bits(numbers)
            words = np.frombuffer(self._ciphers[name].update(blocks.tobytes()), dtype="<u8")
            sums += words.reshape(-1, 2).astype(np.uint64)
        encrypted = self._encryptor.update(sums.astype("<u8", copy=False).tobytes())
        digests = np.frombuffer(encrypted, dtype="<u8")[::2]
        if len(self._smallest) == SKETCH_SIZE:
            digests = digests[digests < self._smallest[-1]]
        self._smallest = np.unique(np.concatenate((self._smallest, digests)))[:SKETCH_SIZE]
        self.records += len(batch)

    def with_fingerprint(self, fingerprint: Fingerprint) -> RecordDigests:
        """Return the digests that a ledger stores, with a digest of the `fingerprint`."""
        whole = hmac.new(self._subkey(b"file"), digestmod=hashlib.sha256)
        for part in framed(fingerprint.parts()):
            whole.update(part)
        return RecordDigests(whole.hexdigest(), self.records, tuple(self._smallest.tolist()))

    def _subkey(self, *parts: bytes) -> bytes:
        return hmac.digest(self._key, b"".join(framed((VERSION, *parts))), hashlib.sha256)

    def _words(self, group: Sequence[Attribute]) -> Words:
        """Return the sums of a group of columns, by joint code."""
        sums = self._words_of_categories(group[0])
        for each in group[1:]:
            sums = (sums[:, None] + self._words_of_categories(each)[None]).reshape(-1, 2)
        return sums

    def _words_of_categories(self, attribute: Attribute) -> Words:
        name = attribute.name.encode()
        digests = [self._subkey(name, each.encode())[:16] for each in attribute.categories]
        return np.frombuffer(b"".join(digests), dtype="<u8").reshape(-1, 2).astype(np.uint64)


def _grouped(attributes: Sequence[Attribute]) -> list[list[Attribute]]:
    """Return columns in groups of few joint cells, so that a group needs one look-up."""
    groups: list[list[Attribute]] = []
    for each in sorted(attributes, key=lambda attribute: attribute.size):
        cells = math.prod(other.size for other in groups[-1]) * each.size if groups else 0
        if groups and cells <= MAX_JOINT_CELLS:
            groups[-1].append(each)
        else:
            groups.append([each])
    return groups


def _bits(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.uint64]:
    """Return the bits of `numbers`; zeros have no sign and all NaN are the same."""
    values = np.asarray(numbers, dtype="<f8") + 0.0
    values[np.isnan(values)] = np.nan
    return values.view("<u8")


def _joined(texts: pa.Array) -> pa.Buffer | bytes:
    """Return large strings, none missing, one after the other."""
    _, offsets, content = texts.buffers()
    if not len(texts) or content is None:
        return b""
    ends = np.frombuffer(offsets, dtype=np.int64)[texts.offset :][: len(texts) + 1]
    return content.slice(int(ends[0]), int(ends[-1] - ends[0]))
