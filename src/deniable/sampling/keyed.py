"""Keyed draws: the randomness of a release as a function of its key, its plan and its records.

A release that is drawn again, by a retry, in other batches, by another engine, or by a late job, is
the same release. The randomized value of a cell depends on the key, the digest of the plan, the
purpose, the attributes' names and the record's number in the whole file, and only on these.

**Layout, version 1.** For each purpose and attribute (or group of attributes that share a channel)
there is a subkey, HMAC-SHA256 under the release's key of

    "deniable keyed draws 1", the plan's digest, the purpose, the names of the attributes,

each as its length in bytes, a big-endian number of 64 bits, and its bytes (text in UTF-8). From a
subkey AES-256 makes

- *words*: words of 16 bits are the key stream of counter mode. Its counter starts at 0 and is a
  big-endian number of 128 bits. Record r has bytes 2 r and 2 r + 1, a little-endian number (purpose
  "outcome"). Words of 64 bits are bytes 8 r to 8 r + 7 ("wide outcome").
- *continuations*: if a word does not decide, attempt a = 0, 1, ... of record r has the 128 bits of
  the encrypted block of two big-endian numbers of 64 bits, r and a ("continuation"). They follow
  the bits before, the highest first, as further digits of one binary fraction.
- *order* of all records: record r has bytes 16 r to 16 r + 15 of the key stream under the subkey of
  the purpose "order" without names, two little-endian numbers of 64 bits. Records are in the order
  of the first of them, then of the second, then of their numbers.

The fraction is a uniform number in [0, 1). `deniable.sampling.outcomes` turns it into an outcome.
Known answers are in the tests. The exactness for ideal random bits holds against everybody who
cannot distinguish AES-256 and HMAC-SHA256 from them, as with any operating system's generator.
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
"""Of records in the whole file; a range has steps of 1."""


def new_key() -> bytes:
    """Return a key from the operating system's cryptographic generator."""
    return os.urandom(KEY_BYTES)


def framed(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield `parts` with their lengths in front, so that other parts never give the same bytes."""
    return (len(part).to_bytes(8, "big") + part for part in parts)


@dataclass(frozen=True)
class KeyedDraws:
    """The origin of all randomness of a release.

    The `key` has 32 bytes and is not part of this object's text; otherwise `DeniableError` is
    raised. `plan` is the digest of the plan, and of everything else that decides the draws.
    """

    key: bytes = field(repr=False)
    plan: bytes

    def __post_init__(self) -> None:
        if len(self.key) != KEY_BYTES:
            raise DeniableError(f"a key has {KEY_BYTES} bytes, not {len(self.key)}")

    @classmethod
    def of(cls, source: "RandomnessSource") -> "KeyedDraws":
        """Return draws by a key that a `source` draws first; keyed draws are returned unchanged."""
        if isinstance(source, KeyedDraws):
            return source
        refuse_no_source(source)
        return cls(source.integers(0, 256, KEY_BYTES).astype(np.uint8).tobytes(), b"in memory")

    def subkey(self, purpose: str, names: Iterable[str]) -> bytes:
        """Return the key of a `purpose` for attributes, by their `names` in order, 32 bytes."""
        parts = (VERSION, self.plan, purpose.encode(), *(name.encode() for name in names))
        return hmac.digest(self.key, b"".join(framed(parts)), hashlib.sha256)

    def order_words(self, records: range) -> Words:
        """Return the two words of each of the `records` that order all, shape (records, 2).

        Their order is uniform except for records that tie in all 128 bits.
        """
        counter = modes.CTR(records.start.to_bytes(BLOCK_BYTES, "big"))
        stream = Cipher(algorithms.AES(self.subkey("order", ())), counter).encryptor()
        made = stream.update(bytes(BLOCK_BYTES * len(records)))
        return np.frombuffer(made, dtype="<u8").reshape(-1, 2)

    def column(self, names: Sequence[str], records: int | Numbers) -> "KeyedColumn":
        """Return the randomness of the attributes `names`, together, for some records.

        The `records` are the first so many of the whole file, or these numbers, from 0.
        """
        numbers = range(records) if isinstance(records, int) else records
        return KeyedColumn(self, tuple(names), numbers)


RandomnessSource = RandomSource | KeyedDraws
"""What records are randomized by: a source's numbers one after the other, or a key's of each."""


@dataclass(frozen=True, eq=False)
class KeyedColumn:
    """The randomness of some records for an attribute, or for a group of attributes.

    The attributes are `names`, `records` numbers in the whole file, from 0; `draws` hold the key.
    """

    draws: KeyedDraws
    names: tuple[str, ...]
    records: Numbers

    def __len__(self) -> int:
        return len(self.records)

    def factor(self, position: int) -> "KeyedColumn":
        """Return the randomness of the attribute at `position` if each has its own channel."""
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
        """Return a word for each record, of 16 or 64 `bits`, shape (records,)."""
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
        """Return 128 further bits of each of the records at the positions `which`.

        The bits of `attempt` 0, 1, ... are two numbers, (records, 2), the higher bits first.
        """
        blocks = np.empty((len(which), 2), dtype=">u8")
        blocks[:, 0], blocks[:, 1] = self.chosen(which).records, attempt
        made = self._continuations.update(blocks.tobytes())
        return np.frombuffer(made, dtype=">u8").reshape(-1, 2).astype(np.uint64)

    @cached_property
    def _continuations(self) -> Any:
        key = self.draws.subkey("continuation", self.names)
        # Single blocks, no two of them alike: what this mode is unfit for does not occur.
        return Cipher(algorithms.AES(key), modes.ECB()).encryptor()


def by_words(words: Words) -> Positions:
    """Return the positions of records in the order of their two `words`, then of position."""
    first = words[:, 0].copy()
    order = np.argsort(first)
    tied = not np.all(np.diff(first[order]))
    return np.lexsort((words[:, 1], words[:, 0])) if tied else order


def _words_one_by_one(key: algorithms.AES, records: Positions, size: int) -> Words:
    """Return words of so many bytes, one block each, for few records of a long file."""
    counters = np.zeros((len(records), 2), dtype=">u8")
    block, place = np.divmod(records, BLOCK_BYTES // size)
    counters[:, 1] = block
    # The key stream's blocks are the encrypted counters.
    made = Cipher(key, modes.ECB()).encryptor().update(counters.tobytes())
    words: Words = np.frombuffer(made, dtype=f"<u{size}").reshape(len(records), -1)
    return words[np.arange(len(records)), place]
