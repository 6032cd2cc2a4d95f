"""Whether files share records, told by keyed digests that tell nobody else anything.

**Canonical form.** A record is the sequence of its attributes, sorted by name. An attribute is
three strings of bytes, each with its length before it: the name; "text", "number" or "missing"; the
value. Text is NFC in UTF-8, a number the 8 bytes of its float (17 and 17.0 are one, as are 0 and
-0), a missing value nothing. Order of columns, line ends, format and unused categories leave no
trace in it. Attributes do: digest all that a file has, also where a release takes some.

**Digests.** D is the HMAC-SHA256 of the canonical form. Equal records are told apart by counting:
the first has the first 8 bytes of D as its digest of 64 bits, further ones successive 8 bytes of
SHAKE-256 of the other 24. Without the key, digests are random numbers: who has a guess at a record
cannot try it, nor see how many records are equal.
"""

import hashlib
import struct
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from deniable.arrays import Codes, Counts, Positions
from deniable.errors import DataError
from deniable.records import Microdata, NumericMicrodata

SKETCH_SIZE = 1024
KEY_BYTES = 32
DIGEST_BYTES = 32
BLOCK_BYTES = 64  # of SHA-256
CHUNK_RECORDS = 1 << 16
LARGEST_JOINT_CODE = 2**62

Columns = Mapping[str, npt.ArrayLike]
"""Text or numbers by attribute; None, NaN and what pandas calls missing are missing."""


@dataclass(frozen=True)
class RecordDigests:
    """What is kept of some records.

    Attributes
    ----------
    whole : str
        Keyed digest of all records in their order, in hexadecimal. Order counts, because a draw
        depends on the number of a record: the same records in another order get a second draw.
    records : int
        How many there are.
    sketch : tuple of int
        The smallest digests of records, at most 1,024, in rising order: a random sample of the
        records, drawn in every file alike.
    """

    whole: str
    records: int
    sketch: tuple[int, ...]

    @property
    def limit(self) -> int:
        """Up to which value the sketch has the digests of all records."""
        return self.sketch[-1] if len(self.sketch) < self.records else 2**64


class InPortions(Protocol):
    """Records of a file that is read in portions, and never held whole."""

    @property
    def marks(self) -> Mapping[str, str]:
        """What travels with the file."""

    def __len__(self) -> int: ...

    def parts(self) -> Iterator[bytes]:
        """Yield what the records say, however the file is divided."""

    def digests(self, key: bytes) -> RecordDigests:
        """Return what a ledger keeps of them, under its `key`."""


@dataclass(frozen=True)
class Overlap:
    """How many records of a file were in an earlier release.

    Attributes
    ----------
    release : str
        The earlier one.
    compared : int
        Records of the file that both sketches would show: about 1,024 for files of one size, fewer
        the more of them the earlier release had.
    shared : int
        Those among them that it had.
    """

    release: str
    shared: int
    compared: int

    @property
    def share(self) -> float:
        """Estimate of the share of the file's records that the release had."""
        return self.shared / self.compared if self.compared else 0.0

    def __str__(self) -> str:
        """Say it in a sentence."""
        return f"about {100 * self.share:.3g} % of the records were in release {self.release!r}"


def overlap(records: RecordDigests, release: str, earlier: RecordDigests) -> Overlap:
    """Compare a file's `records` with those of an `earlier` `release`, digested by the same key."""
    limit = min(records.limit, earlier.limit)
    compared = {value for value in records.sketch if value <= limit}
    return Overlap(release, len(compared.intersection(earlier.sketch)), len(compared))


def record_digests(records: Microdata | NumericMicrodata | Columns, key: bytes) -> RecordDigests:
    """Return what a ledger keeps of some `records`, under its `key` of 32 bytes.

    Raises
    ------
    DataError
        If columns differ in length, or hold values that are neither text nor numbers.

    Examples
    --------
    >>> key = bytes(32)
    >>> earlier = record_digests({"sex": ["f", "m"], "age": [17, 44]}, key)
    >>> corrected = record_digests({"age": [18.0, 44.0], "sex": ["f", "m"]}, key)
    >>> str(overlap(corrected, "wave-1", earlier))
    "about 50 % of the records were in release 'wave-1'"
    """
    columns = _columns(records)
    lengths = {len(column.codes) for column in columns}
    if len(lengths) > 1:
        raise DataError(f"columns differ in length: {sorted(lengths)}; give each record a value")
    size = max(lengths, default=0)
    first, kind, counts = _kinds_of_records(columns, size)

    digest_of = _Hmac(key)
    digests, values = bytearray(), bytearray()
    for start in range(0, len(first), CHUNK_RECORDS):
        chunk = slice(start, start + CHUNK_RECORDS)
        fields = zip(*(column.fields(first[chunk]) for column in columns), strict=True)
        for record, count in zip(fields, counts[chunk].tolist(), strict=True):
            digest = digest_of(b"record:" + b"".join(record))
            digests += digest
            values += digest[:8]
            if count > 1:
                values += hashlib.shake_256(digest[8:]).digest(8 * (count - 1))
    whole = hashlib.sha256()
    by_kind = np.frombuffer(digests, dtype=f"V{DIGEST_BYTES}")
    for start in range(0, size, CHUNK_RECORDS):
        whole.update(by_kind[kind[start : start + CHUNK_RECORDS]].tobytes())
    names = b"".join(_sized(column.name) for column in columns)
    smallest = np.sort(np.frombuffer(values, dtype=">u8"))[:SKETCH_SIZE]
    return RecordDigests(
        whole=digest_of(b"file:" + whole.digest() + names).hex(),
        records=size,
        sketch=tuple(smallest.tolist()),
    )


class _Hmac:
    """HMAC-SHA256, several times as fast over many short messages as `hmac.digest`."""

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise DataError(f"a key of {len(key)} bytes; keys of digests have {KEY_BYTES}")
        padded = key.ljust(BLOCK_BYTES, b"\0")
        self._inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in padded))
        self._outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in padded))

    def __call__(self, message: bytes) -> bytes:
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(message)
        outer.update(inner.digest())
        return outer.digest()


class _Values:
    """A column of values of any kind, each in its canonical form."""

    def __init__(self, name: str, values: Iterable[Any], codes: Codes) -> None:
        self.name = _bytes_of(name)
        # Two values may have one form, as texts that compose their accents differently.
        places: dict[bytes, int] = {}
        place = [places.setdefault(_field(name, value), len(places)) for value in values]
        self._forms = list(places)
        self.codes = np.array(place, dtype=np.int64)[codes]
        self.size = len(places)

    def fields(self, records: Positions) -> Iterable[bytes]:
        """Return the canonical form in some records."""
        return map(self._forms.__getitem__, self.codes[records].tolist())


class _Numbers:
    """A column of numbers, most of which may be distinct."""

    def __init__(self, name: str, column: npt.NDArray[Any]) -> None:
        self.name = _bytes_of(name)
        values = column.astype(np.float64) + 0.0  # no -0.0
        self._values, self.codes = np.unique(values, return_inverse=True)
        self.size = len(self._values)

    def fields(self, records: Positions) -> Iterable[bytes]:
        """Return the canonical form in some records."""
        values = self._values[self.codes[records]]
        told = values.astype(">f8").tobytes()
        number = _sized(self.name) + NUMBER
        missing = _sized(self.name) + MISSING
        places = range(0, len(told), 8)
        if not np.isnan(values).any():
            return (number + told[place : place + 8] for place in places)
        return (
            missing if lacks else number + told[place : place + 8]
            for place, lacks in zip(places, np.isnan(values).tolist(), strict=True)
        )


def _columns(
    records: Microdata | NumericMicrodata | Columns,
) -> list[_Values | _Numbers]:
    return sorted(_unsorted(records), key=lambda column: column.name)


def _unsorted(
    records: Microdata | NumericMicrodata | Columns,
) -> Iterator[_Values | _Numbers]:
    if isinstance(records, Microdata):
        for attribute, codes in zip(records.domain, records.columns, strict=True):
            yield _Values(attribute.name, attribute.categories, codes)
    elif isinstance(records, NumericMicrodata):
        for name, values in zip(records.names, records.values.T, strict=True):
            yield _Numbers(name, values)
        if records.class_name:
            yield _Values(records.class_name, records.classes, records.labels)
    else:
        for name, column in records.items():
            given = np.asarray(column)
            if given.ndim != 1:
                raise DataError(
                    f"column {name!r} has the shape {given.shape}; give one value a record"
                )
            yield _Numbers(name, given) if given.dtype.kind in "biuf" else _factorized(name, given)


def _factorized(name: str, column: npt.NDArray[Any]) -> _Values:
    import pandas as pd  # noqa: PLC0415 - seldom needed, slow to import

    codes, values = pd.factorize(column)
    missing = len(values)
    return _Values(name, [*values.tolist(), None], np.where(codes < 0, missing, codes))


def _kinds_of_records(
    columns: Sequence[_Values | _Numbers], size: int
) -> tuple[Positions, Positions, Counts]:
    """Return the first record of each kind, the kind of each record, the counts of kinds."""
    joint, kinds = np.zeros(size, dtype=np.int64), 1
    for column in columns:
        if kinds * column.size > LARGEST_JOINT_CODE:
            found, joint = np.unique(joint, return_inverse=True)
            kinds = len(found)
        joint = joint * column.size + column.codes
        kinds *= column.size
    _, first, kind, counts = np.unique(
        joint, return_index=True, return_inverse=True, return_counts=True
    )
    return first, kind, counts


def _field(name: str, value: Any) -> bytes:
    told = _sized(_bytes_of(name))
    if value is None:
        return told + MISSING
    if isinstance(value, str):
        return told + _sized(b"text") + _sized(_bytes_of(value))
    try:
        return told + NUMBER + struct.pack(">d", value + 0.0)
    except (TypeError, OverflowError, struct.error):
        raise DataError(
            f"column {name!r} has a value of type {type(value).__name__} that is neither text nor "
            "a number that a float can hold; give one or the other"
        ) from None


def _bytes_of(text: str) -> bytes:
    return unicodedata.normalize("NFC", text).encode("utf-8", "surrogatepass")


def _sized(told: bytes) -> bytes:
    return b"%d:%s" % (len(told), told)


MISSING = _sized(b"missing") + _sized(b"")
NUMBER = _sized(b"number") + b"8:"
