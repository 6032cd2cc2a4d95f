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

**Sum.** A keyed digest of protected records that does not depend on the bytes of their file. Each
value has a block of 16 bytes: the bits of a number, or two SipHash-2-4 of a text. It is
encrypted by AES-256 under a subkey of its column. The sums of the blocks of a record and of its
position, modulo 2^64, are encrypted under another subkey. The digest is the sum over all records,
modulo 2^128. So batches can be added in any order, by any engine, and other bytes of the same
records, as by another version of pyarrow, have the same digest. Without the key it reveals nothing.
"""

import hashlib
import hmac
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from deniable.records import Attribute
from deniable.release.entries import SKETCH_SIZE, RecordDigests, canonical
from deniable.sampling import framed
from deniable.schema import FileFormat, RecordBatch, Schema, ValidationErrors, open_source

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


VERSION_OF_SUMS = b"deniable protected records 1"
Blocks = npt.NDArray[np.uint64]  # shape (values, 2)


class RecordSum:
    """The sum of keyed digests of records, by a `key` of 32 bytes."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._total = 0

    def add(self, batch: pa.RecordBatch, first: int) -> None:
        """Add the records of a `batch`; the position of its first one, from 0, is `first`."""
        positions = np.zeros((len(batch), 2), dtype=np.uint64)
        positions[:, 0] = np.arange(first, first + len(batch), dtype=np.uint64)
        sums = self._encrypted(positions, b"position")
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            sums += self._of_column(column, name.encode())
        digests = self._encrypted(sums, b"record")
        halves = np.ascontiguousarray(digests, dtype="<u8").view("<u4").astype(np.uint64)
        parts = halves.sum(axis=0).tolist()  # exact for up to 2^32 records
        self._total += sum(part << (32 * place) for place, part in enumerate(parts))

    def hexdigest(self) -> str:
        """Return the sum, modulo 2^128, in hexadecimal."""
        return f"{self._total % (1 << 128):032x}"

    def _of_column(self, column: pa.Array, name: bytes) -> Blocks:
        if pa.types.is_dictionary(column.type):
            own = self._of_column(column.dictionary, name)
            nothing = self._of_column(pa.nulls(1, column.type.value_type), name)
            codes = column.indices.cast(pa.int64()).fill_null(len(own)).to_numpy()
            chosen: Blocks = np.concatenate((own, nothing)).take(codes, axis=0)
            return chosen
        missing = column.is_null().to_numpy(zero_copy_only=False)
        blocks = np.zeros((len(column), 2), dtype=np.uint64)
        if pa.types.is_integer(column.type):
            blocks[:, 0] = column.cast(pa.int64(), safe=False).fill_null(0).to_numpy().view("u8")
        elif pa.types.is_floating(column.type):
            numbers = column.cast(pa.float64()).fill_null(0.0).to_numpy() + 0.0  # zero has no sign
            numbers[np.isnan(numbers)] = np.nan
            blocks[:, 0] = numbers.view("u8")
        else:
            blocks = self._of_texts(column.cast(pa.large_string()).fill_null(""))
        blocks[missing] = (0, 1)
        return self._encrypted(blocks, b"column", name)

    def _of_texts(self, texts: pa.Array) -> Blocks:
        from pandas.util import hash_array  # noqa: PLC0415 - slow to import

        values = texts.to_numpy(zero_copy_only=False)
        keys = (self._subkey(b"texts", half).hex()[:16] for half in (b"1", b"2"))
        found = [hash_array(values, hash_key=key, categorize=False) for key in keys]
        return np.stack(found, axis=1)

    def _encrypted(self, blocks: Blocks, *purpose: bytes) -> Blocks:
        cipher = Cipher(algorithms.AES(self._subkey(*purpose)), modes.ECB())  # single blocks
        encrypted = cipher.encryptor().update(blocks.astype("<u8", copy=False).tobytes())
        return np.frombuffer(encrypted, dtype="<u8").reshape(-1, 2).astype(np.uint64)

    def _subkey(self, *purpose: bytes) -> bytes:
        return hmac.digest(self._key, b"".join(framed((VERSION_OF_SUMS, *purpose))), hashlib.sha256)


def digest_of_file(file: Path, form: FileFormat, key: bytes) -> str:
    """Return the digest of the records in a protected `file` of a `form`, under a `key`.

    Raises `DataError` if the file is damaged.
    """
    source = open_source(file, form.delimiter or ",", form.encoding or "utf-8")
    found, faults = RecordSum(key), ValidationErrors()
    for piece in source.pieces(list(source.types), [], faults):
        found.add(piece.batch, piece.first)
    faults.raise_if_any()
    return found.hexdigest()
