"""Keyed draws: the randomness of a release as a function of its key, its plan and its records.

If a release is drawn again, it is the same release: after a retry, in other batches, with another
engine, or by a late job. The randomized value of a cell depends only on the key, the digest of the
plan, the purpose, the attributes' names and the record's number in the whole file.

**Layout, version 1.** Each purpose and attribute (or group of attributes that share a channel) has
a subkey: the HMAC-SHA256, under the release's key, of

    "deniable keyed draws 1", the plan's digest, the purpose, the names of the attributes,

each as its length in bytes, a big-endian number of 64 bits, and its bytes (text in UTF-8). From a
subkey, AES-256 derives

- *words*: words of 16 bits are the key stream of counter mode. Its counter starts at 0 and is a
  big-endian number of 128 bits. Record r has bytes 2 r and 2 r + 1, a little-endian number (purpose
  "outcome"). Words of 64 bits are bytes 8 r to 8 r + 7 ("wide outcome").
- *continuations*: if a word does not decide, attempt a = 0, 1, ... of record r has 128 more bits.
  They are the encrypted block of two big-endian numbers of 64 bits, r and a ("continuation"). They
  follow the earlier bits, the highest first, as further digits of one binary fraction.
- *order* of all records: record r has bytes 16 r to 16 r + 15 of the key stream under the subkey of
  the purpose "order" without names, two little-endian numbers of 64 bits. Records are sorted by the
  first number, then by the second, then by their position in the file.

The fraction is a uniform number in [0, 1). `deniable.sampling.outcomes` turns it into an outcome.
The tests contain known answers. Probabilities are exact for ideal random bits. They hold against
everybody who cannot distinguish AES-256 and HMAC-SHA256 from ideal random bits; any operating
system's generator has the same limit.
"""

import hashlib
import hmac
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from deniable.arrays import Positions
from deniable.errors import DeniableError
from deniable.sampling.sources import RandomSource, refuse_no_source

VERSION = b"deniable keyed draws 1"
KEY_BYTES = 32
BLOCK_BYTES = 16
NARROW, WIDE = 16, 64  # bits of a word
PURPOSES = {NARROW: "outcome", WIDE: "wide outcome"}

Words = npt.NDArray[np.unsignedinteger]
Numbers = range | Positions
"""Numbers of records in the whole file, from 0; a range has steps of 1."""


def new_key() -> bytes:
    """Return a key of 32 bytes from the operating system's cryptographic generator."""
    return os.urandom(KEY_BYTES)


def framed(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield each of `parts` after its length, so that different parts never give equal bytes."""
    return (len(part).to_bytes(8, "big") + part for part in parts)


@dataclass(frozen=True)
class KeyedDraws:
    """The source of all randomness of a release.

    The `key` is secret and not in the text of this object. `plan` is the digest of the plan and of
    everything else that determines the draws. Raises `DeniableError` unless the key has 32 bytes.
    """

    key: bytes = field(repr=False)
    plan: bytes

    def __post_init__(self) -> None:
        if len(self.key) != KEY_BYTES:
            raise DeniableError(f"a key has {KEY_BYTES} bytes, not {len(self.key)}")

    @classmethod
    def of(cls, source: "RandomnessSource") -> "KeyedDraws":
        """Return draws with a key from `source`; keyed draws are returned unchanged."""
        if isinstance(source, KeyedDraws):
            return source
        refuse_no_source(source)
        return cls(source.integers(0, 256, KEY_BYTES).astype(np.uint8).tobytes(), b"in memory")

    def subkey(self, purpose: str, names: Iterable[str]) -> bytes:
        """Return the subkey, 32 bytes, of a `purpose` and of attributes with `names`, in order."""
        parts = (VERSION, self.plan, purpose.encode(), *(name.encode() for name in names))
        return hmac.digest(self.key, b"".join(framed(parts)), hashlib.sha256)

    def order_words(self, records: range) -> Words:
        """Return two words for each of the `records`, shape (records, 2), to sort all records by.

        The resulting order is uniform, except among records that tie in all 128 bits.
        """
        counter = modes.CTR(records.start.to_bytes(BLOCK_BYTES, "big"))
        stream = Cipher(algorithms.AES(self.subkey("order", ())), counter).encryptor()
        made = stream.update(bytes(BLOCK_BYTES * len(records)))
        return np.frombuffer(made, dtype="<u8").reshape(-1, 2)

    def column(self, names: Sequence[str], records: int | Numbers) -> "KeyedColumn":
        """Return the joint randomness of the attributes `names` for some records.

        `records` are numbers in the whole file, from 0. An integer n means the first n records.
        """
        numbers = range(records) if isinstance(records, int) else records
        return KeyedColumn(self, tuple(names), numbers)


RandomnessSource = RandomSource | KeyedDraws
"""Randomness for records: numbers of a source in sequence, or of a key for each record."""


@dataclass(frozen=True, eq=False)
class KeyedColumn:
    """The randomness of some records for an attribute, or for a group of attributes.

    `draws` has the key, `names` are the attributes, and `records` are numbers in the file, from 0.
    """

    draws: KeyedDraws
    names: tuple[str, ...]
    records: Numbers

    def __len__(self) -> int:
        return len(self.records)

    def factor(self, position: int) -> "KeyedColumn":
        """Return the randomness of the attribute at `position`, if each has its own channel."""
        return KeyedColumn(self.draws, (*self.names, str(position)), self.records)

    def chosen(self, part: slice | Positions) -> "KeyedColumn":
        """Return the randomness of a `part` of the records, by position in this column."""
        records: Numbers
        if isinstance(self.records, range):
            own = self.records
            records = own[part] if isinstance(part, slice) else part + own.start
        else:
            records = self.records[part]
        return KeyedColumn(self.draws, self.names, records)

    def words(self, bits: int = NARROW) -> Words:
        """Return one word of 16 or 64 `bits` for each record, shape (records,)."""
        size = bits // 8
        if not len(self):
            return np.empty(0, dtype=f"<u{size}")
        if isinstance(self.records, range):
            first, last = self.records[0], self.records[-1]
        else:
            first, last = int(self.records.min()), int(self.records.max())
        start, end = first * size // BLOCK_BYTES, -(-(last + 1) * size // BLOCK_BYTES)
        key = algorithms.AES(self.draws.subkey(PURPOSES[bits], self.names))
        if not isinstance(self.records, range) and len(self) < end - start:
            return _words_one_by_one(key, self.records, size)
        stream = Cipher(key, modes.CTR(start.to_bytes(BLOCK_BYTES, "big"))).encryptor()
        made = stream.update(bytes((end - start) * BLOCK_BYTES))
        words: Words = np.frombuffer(made, dtype=f"<u{size}")
        words = words[first - start * BLOCK_BYTES // size :]
        rows = slice(len(self)) if isinstance(self.records, range) else self.records - first
        return words[rows]

    def continued(self, which: Positions, attempt: int) -> npt.NDArray[np.uint64]:
        """Return 128 further bits for each record at the positions `which`, shape (records, 2).

        The bits of an `attempt`, 0, 1, ..., are two numbers of 64 bits, the higher bits first.
        """
        blocks = np.empty((len(which), 2), dtype=">u8")
        blocks[:, 0], blocks[:, 1] = self.chosen(which).records, attempt
        made = self._continuations.update(blocks.tobytes())
        return np.frombuffer(made, dtype=">u8").reshape(-1, 2).astype(np.uint64)

    @cached_property
    def _continuations(self) -> Any:
        key = self.draws.subkey("continuation", self.names)
        # Single blocks that all differ: the weakness of this mode, repeated blocks, cannot occur.
        return Cipher(algorithms.AES(key), modes.ECB()).encryptor()


def further_bits(column: KeyedColumn, record: int, attempts: Iterable[int]) -> Iterator[int]:
    """Yield 128 further bits of the `record` of a `column` in each of `attempts`, as a number."""
    for attempt in attempts:
        high, low = column.continued(np.array([record]), attempt)[0].tolist()
        yield (high << 64) | low


def by_words(words: Words) -> Positions:
    """Return the positions of records, sorted by their two `words`, then by position."""
    first = words[:, 0].copy()
    order = np.argsort(first)  # three times as fast as sorting by both
    tied = not np.all(np.diff(first[order]))
    return np.lexsort((words[:, 1], words[:, 0])) if tied else order


def _words_one_by_one(key: algorithms.AES, records: Positions, size: int) -> Words:
    """Return words of `size` bytes, from one block each, for few records of a long file."""
    counters = np.zeros((len(records), 2), dtype=">u8")
    block, place = np.divmod(records, BLOCK_BYTES // size)
    counters[:, 1] = block
    # The key stream's blocks are the encrypted counters.
    made = Cipher(key, modes.ECB()).encryptor().update(counters.tobytes())
    words: Words = np.frombuffer(made, dtype=f"<u{size}").reshape(len(records), -1)
    return words[np.arange(len(records)), place]
