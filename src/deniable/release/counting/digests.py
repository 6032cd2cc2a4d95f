"""Compare records by digests that reveal nothing without a key.

**Fingerprint.** It has, for each column, the SHA-256 of its values in the order of the file.
Categories count by their texts, numbers by their 64 bits, identifiers and weights by their texts.
The fingerprint does not depend on batches and on the order of columns. It stays in memory; files
contain its HMAC-SHA256 under the key of the release or of the ledger.

**Sketch.** It shows whether two files have people in common. It covers all columns of the file,
also columns that a schema leaves out or recodes. Each value has a word: the first 64 bits of a
block that is encrypted by AES-256 under a subkey of the ledger's key. The block has the bits of a
number, or the SipHash-2-4 of a text. Values have the same form in all formats. Numbers are doubles
(with decimals, single precision), texts have no capitals and no blanks at the ends, and the usual
placeholders for missing values are one value. The sketch has

- of each identifier, and of whole records, the 1,024 smallest distinct words. So it is a random
  sample, and every file is sampled in the same way. The word of a record is the encrypted sum of
  the words of its values, each times an odd number of its column, modulo 2^64;
- of each column, the sum of the words of its values, modulo 2^64, unless all are equal.

A sketch contains nothing else of a record or a value. Guesses at a value cannot be checked without
the key.

**Sum.** It is a keyed digest of protected records that does not depend on the bytes of their file.
Each value has a block of 16 bytes: the bits of a number, or two SipHash-2-4 of a text. It is
encrypted by AES-256 under a subkey of its column. The sums of the blocks of a record and of its
position, modulo 2^64, are encrypted under another subkey. The digest is the sum over all records,
modulo 2^128. So batches can be added in any order, by any engine. Other bytes of the same records,
for example by another version of pyarrow, have the same digest. Without the key it reveals nothing.
"""

import hashlib
import hmac
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from deniable.records import Attribute
from deniable.release.counting.entries import SKETCH_SIZE, RecordDigests, canonical
from deniable.sampling import framed
from deniable.schema import (
    STAND_INS,
    FileFormat,
    RecordBatch,
    Schema,
    ValidationErrors,
    encoded,
    is_number,
    is_supported,
    is_text,
    open_source,
    weights_of,
)

VERSION = b"deniable records in portions 1"
Words = npt.NDArray[np.uint64]
Blocks = Words  # shape (values, 2)
_NO_WORDS: Words = np.empty(0, dtype=np.uint64)
_MISSING = pa.array([None, *sorted(STAND_INS)], pa.string())


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


class _Keyed:
    """Encryption of blocks of values under subkeys of a `key` of 32 bytes, by a `version`."""

    version: bytes

    def __init__(self, key: bytes) -> None:
        self._key = key

    def _subkey(self, *purpose: bytes) -> bytes:
        return hmac.digest(self._key, b"".join(framed((self.version, *purpose))), hashlib.sha256)

    def _encrypted(self, blocks: Blocks, *purpose: bytes) -> Blocks:
        cipher = Cipher(algorithms.AES(self._subkey(*purpose)), modes.ECB())  # single blocks
        encrypted = cipher.encryptor().update(blocks.astype("<u8", copy=False).tobytes())
        return np.frombuffer(encrypted, dtype="<u8").reshape(-1, 2).astype(np.uint64)

    def _hashes(self, texts: pa.Array, *purpose: bytes) -> Words:
        """Return the SipHash-2-4 of each text, an empty one for a missing text."""
        from pandas.util import hash_array  # noqa: PLC0415 - slow to import

        values = texts.fill_null("").to_numpy(zero_copy_only=False)
        return hash_array(values, hash_key=self._subkey(*purpose).hex()[:16], categorize=False)


def _by_dictionary(
    column: pa.Array, of: Callable[[pa.Array], Blocks], mode: Literal["raise", "clip"] = "raise"
) -> Blocks:
    """Return the blocks of a column, which the function `of` computes from its dictionary.

    For the `mode` of an index outside the dictionary see `numpy.take`.
    """
    values = column.dictionary
    own = of(pa.concat_arrays([values, pa.nulls(1, values.type)]))
    places = column.indices.cast(pa.int64()).fill_null(len(values)).to_numpy()
    taken: Blocks = own.take(places, axis=0, mode=mode)
    return taken


class Sketch(_Keyed):
    """The sketch of records, in batches with all columns of the file.

    The ledger's `key` has 32 bytes, which `Ledger` checks. `identifiers` are the names of columns
    that identify a person or an object.
    """

    version = b"deniable sketches 1"

    def __init__(self, key: bytes, identifiers: Sequence[str] = ()) -> None:
        super().__init__(key)
        self.records = 0
        self._least = dict.fromkeys(identifiers, _NO_WORDS)
        self._rows = _NO_WORDS
        self._firsts: dict[str, int] = {}
        self._sums: dict[str, int] = {}

    def add(self, batch: pa.RecordBatch) -> None:
        """Add the next `batch`. Only columns of text, numbers, dates and booleans are compared."""
        if not len(batch):
            return
        sums = np.zeros((len(batch), 2), dtype=np.uint64)
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if not is_supported(column.type):
                continue
            words = self._words(column)
            factor = int.from_bytes(self._subkey(b"column", name.encode())[:8], "little") | 1
            sums[:, 0] += words * np.uint64(factor)
            self._firsts.setdefault(name, int(words[0]))
            self._sums[name] = (self._sums.get(name, 0) + int(words.sum())) % 2**64
            if name in self._least:
                self._least[name] = _least(self._least[name], words)
        self._rows = _least(self._rows, self._encrypted(sums, b"record")[:, 0])
        self.records += len(batch)

    def with_fingerprint(self, fingerprint: Fingerprint) -> RecordDigests:
        """Return the digests that a ledger stores, with a digest of the `fingerprint`."""
        content = b"".join(framed(fingerprint.parts()))
        differ = (n for n, s in self._sums.items() if s != self.records * self._firsts[n] % 2**64)
        return RecordDigests(
            hmac.digest(self._subkey(b"file"), content, hashlib.sha256).hex(),
            self.records,
            tuple(self._rows.tolist()),
            tuple(sorted(self._sums[name] for name in differ)),
            tuple(tuple(each.tolist()) for each in self._least.values()),
        )

    def _words(self, column: pa.Array) -> Words:
        if pa.types.is_dictionary(column.type):
            return _by_dictionary(column, self._words, "clip")
        if not (is_number(column.type) or is_text(column.type)):  # dates and booleans
            return _by_dictionary(encoded(column), lambda each: self._words(each.cast(pa.string())))
        texts = _alike(column.cast(pa.string())) if is_text(column.type) else None
        numbers = weights_of(column if texts is None else texts, ".")
        with np.errstate(over="ignore"):
            single = numbers.astype(np.float32).astype(np.float64)
        blocks = np.zeros((len(numbers), 2), dtype="<u8")
        blocks[:, 0] = _bits(np.where(numbers == np.rint(numbers), numbers, single))
        if texts is not None and (other := np.isnan(numbers)).any():
            blocks[other] = self._blocks_of_texts(texts.filter(pa.array(other)))
        return self._encrypted(blocks, b"value")[:, 0]

    def _blocks_of_texts(self, texts: pa.Array) -> Words:
        blocks = np.ones((len(texts), 2), dtype=np.uint64)
        blocks[:, 0] = self._hashes(texts, b"text")
        blocks[np.asarray(pc.is_in(texts, value_set=_MISSING))] = _bits(np.array([np.nan]))[0], 0
        return blocks


def _least(words: Words, more: Words) -> Words:
    """Return the smallest distinct numbers of `words` and `more`, in ascending order."""
    if len(words) == SKETCH_SIZE:
        more = more[more < words[-1]]
    return np.unique(np.concatenate((words, more)))[:SKETCH_SIZE]


def _alike(texts: pa.Array) -> pa.Array:
    """Return `texts` without capitals and commas, blanks at the ends, and the zeros of a time."""
    plain = pc.replace_substring(pc.utf8_lower(pc.utf8_trim_whitespace(texts)), ",", ".")
    zeros = pc.ends_with(plain, "0")
    shorter = pc.replace_substring_regex(plain.filter(zeros), r"[ t]00:00:00(\.0+)?$|\.0+$", "")
    return pc.replace_with_mask(plain, zeros, shorter)


def _bits(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.uint64]:
    """Return the bits of `numbers`; zeros have no sign and all NaN are the same."""
    values = np.asarray(numbers, dtype="<f8") + 0.0
    values[np.isnan(values)] = np.nan
    return values.view("<u8")


def _joined(texts: pa.Array) -> pa.Buffer | bytes:
    _, offsets, content = texts.buffers()
    if not len(texts) or content is None:
        return b""
    ends = np.frombuffer(offsets, dtype=np.int64)[texts.offset :][: len(texts) + 1]
    return content.slice(int(ends[0]), int(ends[-1] - ends[0]))


class RecordSum(_Keyed):
    """The sum of keyed digests of records, by a `key` of 32 bytes."""

    version = b"deniable protected records 1"

    def __init__(self, key: bytes) -> None:
        super().__init__(key)
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
            return _by_dictionary(column, lambda values: self._of_column(values, name))
        blocks = np.zeros((len(column), 2), dtype=np.uint64)
        if pa.types.is_integer(column.type):
            blocks[:, 0] = column.cast(pa.int64(), safe=False).fill_null(0).to_numpy().view("u8")
        elif pa.types.is_floating(column.type):
            blocks[:, 0] = _bits(column.cast(pa.float64()).fill_null(0.0).to_numpy())
        else:
            texts = column.cast(pa.large_string())
            for place, half in enumerate((b"1", b"2")):
                blocks[:, place] = self._hashes(texts, b"texts", half)
        blocks[column.is_null().to_numpy(zero_copy_only=False)] = (0, 1)
        return self._encrypted(blocks, b"column", name)


def digest_of_file(file: Path, form: FileFormat, key: bytes) -> str:
    """Return the digest of a protected `file` of a `form` under a `key`, or raise `DataError`."""
    source = open_source(file, form.delimiter or ",", form.encoding or "utf-8")
    found, faults = RecordSum(key), ValidationErrors()
    for piece in source.pieces(list(source.types), [], faults):
        found.add(piece.batch, piece.first)
    faults.raise_if_any()
    return found.hexdigest()
