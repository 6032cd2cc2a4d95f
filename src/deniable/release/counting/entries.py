"""Entries of a ledger: their files, their exact epsilons, and records that they have in common.

The file of an entry ends with the HMAC-SHA256 of its line, which has the MAC of the entry before
it. A hard link gives a whole file the next number. It fails if another process took that number,
also on network file systems, where locks may not work. The head of a population (docs/ledger.md) is
replaced after each entry. A process that was killed in between leaves an earlier head. The next
process moves it on before it adds an entry.
"""

import hashlib
import hmac
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import ROUND_CEILING, Context, Decimal, Inexact
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import Field, PlainSerializer, PlainValidator, TypeAdapter

from deniable.channels import Number, as_written
from deniable.errors import DataError, DeniableError
from deniable.files import private_folder, read_json, remove_abandoned, replace_durably, write_once
from deniable.schema import Part

FORMAT, WITH_ORDER = 3, 4
"""Formats of entries: without and with facts on the order of the rows."""
SKETCH_SIZE = 1024  # digests of records or identifiers
DIGITS = 16  # hexadecimal digits of a digest in a sketch
MAX_SHOWN = 40  # characters of an epsilon in a message
MAX_BITS = 3400  # about 1,000 digits
_FINITE = re.compile(r"[0-9]+(\.[0-9]+|/[0-9]+)?")
_EXACT = Context(prec=2000, traps=[Inexact])
_COUNTED = Context(prec=9, rounding=ROUND_CEILING)
_SHOWN = Context(prec=20, rounding=ROUND_CEILING)


def utc_now() -> str:
    """Return the time in UTC, in ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _in_hexadecimal(digests: Sequence[int]) -> str:
    return "".join(f"{value:0{DIGITS}x}" for value in digests)


def _from_hexadecimal(text: str) -> tuple[int, ...]:
    return tuple(int(text[at : at + DIGITS], 16) for at in range(0, len(text), DIGITS))


def _text(epsilon: Number) -> str:
    if epsilon == math.inf:
        return "infinite"
    exact = Fraction(epsilon)
    try:
        decimal = _EXACT.divide(Decimal(exact.numerator), Decimal(exact.denominator))
        return f"{decimal:f}"
    except Inexact:
        return str(exact)


def _number(text: object) -> Number:
    if text == "infinite":
        return math.inf
    if not (isinstance(text, str) and _FINITE.fullmatch(text)):
        raise ValueError(f"epsilon {text!r}")
    return Fraction(text)


# As the file of an entry has them.
Digests = Annotated[
    tuple[int, ...], PlainValidator(_from_hexadecimal), PlainSerializer(_in_hexadecimal)
]
Exact = Annotated[Number, PlainValidator(_number), PlainSerializer(_text)]
LocalExact = Annotated[Fraction, PlainValidator(_number), PlainSerializer(_text)]


@dataclass(frozen=True)
class RecordDigests:
    """The keyed digests of a file that a ledger stores; `records` is the number of its records.

    `whole` is the digest of all records in their order, in hexadecimal. Order counts, because a
    draw depends on the number of a record: the same records in another order have a second draw.
    The other digests are the sketch of the file (`deniable.release.counting.digests`). `rows` are
    the smallest digests of distinct records, at most 1,024, in ascending order. `identifiers` has
    such digests for each identifier, and `columns` a sum for each column.
    """

    whole: str
    records: Annotated[int, Field(alias="number")]
    rows: Digests
    columns: Digests = ()
    identifiers: tuple[Digests, ...] = ()


class Overlap(NamedTuple):
    """The overlap of a file with the file of an earlier `release`.

    `rows` and `identifiers` are estimated proportions, from 0 to 1, of the distinct records and
    identifiers of the file that the earlier file has too. `columns` is the number of columns with
    the same values in all records, in any order.
    """

    release: str
    rows: float
    identifiers: float
    columns: int

    def __str__(self) -> str:
        proportion, what = max((self.identifiers, "identifiers"), (self.rows, "distinct records"))
        if proportion:
            found = f"about {100 * proportion:.3g} % of the {what} were"
        else:
            noun = "column has" if self.columns == 1 else "columns have"
            found = f"{self.columns} {noun} the values of all records that were"
        return f"{found} in release {self.release!r}"


@dataclass(frozen=True)
class RowOrder:
    """The random order of the rows of a release, for the total of shuffled files.

    The local `epsilon` of a record is None if the order adds no guarantee. `order` is a digest of
    the key of the order, in hexadecimal. The rows can be `matched` with those of earlier releases.
    A `unit` has at most so many records.
    """

    epsilon: LocalExact | None
    order: str
    matched: tuple[str, ...] = ()
    unit: int = 1


@dataclass(frozen=True, kw_only=True)
class Entry:
    """The `epsilon` that is reserved for a `release` of a `population` and never freed.

    A float epsilon counts as it is written, .1 as 1/10; None and math.inf are infinite. Capitals in
    a population have no meaning. `plan` is a digest of name, plan and key of the release, and
    `records` are digests under the key of the ledger. A `part` of the respondents answers; without
    it all of them do. The `row_order` is for `shuffled_total`; entries of format 3 have none. The
    ledger sets `number`, which counts the releases of the population from 1, and `before`, the MAC
    of the previous entry in hexadecimal. The `time` of the reservation is in UTC.
    """

    number: int = 1
    population: str
    release: str
    plan: str = ""
    time: str = field(default_factory=utc_now)
    before: str = ""
    epsilon: Exact
    part: Part | None = None
    records: RecordDigests
    row_order: RowOrder | None = None

    @property
    def answering(self) -> int:
        """The number of records of the respondents that answer."""
        of, take = (self.part.of, self.part.take) if self.part else (1, 1)
        return self.records.records * take // of - self.records.records * (take - 1) // of

    @property
    def partition(self) -> tuple[int, str, str] | None:
        """The partition of the records that the part belongs to; None without a part.

        Parts are chosen by record number, so they are disjoint only for equal records, in order.
        """
        return (self.part.of, self.part.seed, self.records.whole) if self.part else None


def counted(epsilon: Number | None) -> Number:
    """Return an `epsilon` as a Fraction or math.inf; None is infinite.

    Raises `DeniableError` if it is negative, not a number, or has over about 1,000 digits.
    """
    if epsilon is None or epsilon == math.inf:
        return math.inf
    exact = as_written(epsilon)
    if max(abs(exact.numerator), exact.denominator).bit_length() > MAX_BITS:
        raise DeniableError("epsilon is a fraction of over 1,000 digits; round it up")
    if exact < 0:
        raise DeniableError(f"epsilon is {epsilon}; it is at least 0")
    return exact


def epsilon_text(epsilon: Number) -> str:
    """Return an `epsilon` for readers: the exact text, or rounded up if that is long."""
    if epsilon == math.inf:
        return _text(epsilon)
    exact = Fraction(epsilon)
    top, bottom = exact.numerator, exact.denominator
    short = max(top, bottom).bit_length() < 4 * MAX_SHOWN and len(_text(exact)) <= MAX_SHOWN
    return _text(exact) if short else str(_SHOWN.divide(Decimal(top), Decimal(bottom)))


def counted_epsilon(epsilon: float) -> Number:
    """Return the `epsilon` that a ledger counts: rounded up to 9 digits, or infinite.

    Examples
    --------
    >>> str(counted_epsilon(1.2999999999999998)), str(counted_epsilon(0.0123456789012))
    ('13/10', '12345679/1000000000')
    """
    return epsilon if math.isinf(epsilon) else Fraction(_COUNTED.create_decimal(Decimal(epsilon)))


_ENTRY = TypeAdapter(Entry)


def canonical(plan: Any) -> bytes:
    """Return plain JSON values, for example a `plan`, as the bytes from which digests are made."""
    return json.dumps(plan, sort_keys=True, ensure_ascii=True, allow_nan=False).encode()


def content_of(entry: Entry, key: bytes) -> bytes:
    """Return the file of an `entry`: a line of JSON, and the MAC of that line under a `key`."""
    values = {"format": FORMAT if entry.row_order is None else WITH_ORDER}
    values |= _ENTRY.dump_python(entry, by_alias=True)
    if entry.row_order is None:
        del values["row_order"]
    line = json.dumps(values)  # ASCII
    return f"{line}\n{_mac(line, key)}\n".encode("ascii")


def mac_of(entry: Entry, key: bytes) -> str:
    """Return the MAC of an `entry` under the `key` of entries, in hexadecimal."""
    return content_of(entry, key).decode("ascii").splitlines()[1]


def _mac(line: str, key: bytes) -> str:
    return hmac.digest(key, line.encode(), hashlib.sha256).hex()


def entry_from(file: Path, content: bytes, key: bytes, population: str, number: int) -> Entry:
    """Return the entry with a `number` of a `population` from the `content` of its `file`.

    Raises `DataError` if it is damaged, of another entry, or not written under the `key`.
    """
    try:
        line, check = content.decode("ascii").splitlines()
        if not hmac.compare_digest(check, _mac(line, key)):
            raise ValueError("its MAC does not follow from its line and the ledger's key")
        values = json.loads(line)
        if values["format"] not in (FORMAT, WITH_ORDER):
            raise ValueError(f"format {values['format']!r}, which this version does not support")
        entry = _ENTRY.validate_python(values)
        if (entry.number, entry.population.lower()) != (number, population.lower()):
            raise ValueError(f"it is entry {entry.number} of {entry.population!r}")
    except (ValueError, KeyError, TypeError, ArithmeticError, RecursionError) as error:
        raise DataError(
            f"{file}: this entry is damaged ({error}); restore it from a copy: the total needs it"
        ) from None
    return entry


def overlaps(records: RecordDigests, entries: Iterable[Entry]) -> Iterator[Overlap]:
    """Yield the overlap of `records` with each of the `entries`, under one key, if there is any."""
    for entry in entries:
        earlier = entry.records
        pairs = product(records.identifiers, earlier.identifiers)
        rows = _shared(records.rows, earlier.rows)
        identifiers = max((_shared(own, other) for own, other in pairs), default=0.0)
        columns = (Counter(records.columns) & Counter(earlier.columns)).total()
        if rows or identifiers or columns:
            yield Overlap(entry.release, rows, identifiers, columns)


def _shared(own: Sequence[int], other: Sequence[int]) -> float:
    """Estimate the proportion of a set in an `other` one from the smallest digests of both."""
    # Up to this value, both samples are complete.
    limit = min(each[-1] if len(each) >= SKETCH_SIZE else 2**64 for each in (own, other))
    compared = {value for value in own if value <= limit}
    return len(compared.intersection(other)) / max(len(compared), 1)


HEADS = "heads"
ENTRY_NAME, _ENTRY_FILE = "{:06}.json", re.compile(r"[0-9]{6,}\.json")


def read_chain(folder: Path, population: str, key: bytes) -> tuple[Entry, ...]:
    """Return the entries of a `population` in its `folder`, in their order.

    Raises `DataError` if an entry is lost, damaged, edited, or has no MAC under the `key`, and
    `OSError` if a file cannot be read.
    """
    head = _head(folder)  # before the entries, because others may be added meanwhile
    files = folder.iterdir() if folder.is_dir() else ()
    listed = [int(file.stem) for file in files if _ENTRY_FILE.fullmatch(file.name)]
    entries, macs = list[Entry](), [""]
    while True:  # by name: a listing may lack entries that are added meanwhile
        file = folder / ENTRY_NAME.format(len(macs))
        try:
            content = file.read_bytes()
        except FileNotFoundError:
            break
        entry = entry_from(file, content, key, population, len(macs))
        if entry.before != macs[-1]:
            raise DataError(
                f"{file}: this entry does not follow the one before it; restore the ledger from a "
                "copy that has all entries"
            )
        entries.append(entry)
        macs.append(mac_of(entry, key))
    number, mac = head or (0, "")
    if len(entries) < max(number, *listed, 0):
        raise DataError(
            f"{file}: this entry is lost, although later ones were stored; restore it from a copy, "
            "as the total needs it"
        )
    at = head_file(folder)
    # A head is made before the first entry, so it exists if there are entries.
    if entries and head is None and _head(folder) is None:
        raise DataError(f"{at}: lost; restore the ledger from a copy")
    if head is not None and mac != _head_mac(folder, number, macs[number], key):
        raise DataError(f"{at}: not of these entries; restore the ledger from a copy")
    return tuple(entries)


def add_entry(folder: Path, entry: Entry, key: bytes) -> bool:
    """Add an `entry` to the chain in a `folder`; return whether its number was still free.

    The MACs are under the `key`. After True the entry is on the disk, and so is the head.
    """
    private_folder(folder)
    for each in (folder, head_file(folder).parent):
        remove_abandoned(each)
    move_head(folder, entry.population, key)
    if not write_once(folder / ENTRY_NAME.format(entry.number), content_of(entry, key)):
        return False
    move_head(folder, entry.population, key)
    return True


def move_head(folder: Path, population: str, key: bytes) -> None:
    """Move the head in a `folder` on to the last entry of its `population`, under the `key`.

    Another process may have moved it further meanwhile, so it is compared again.
    """
    while True:
        entries, head = read_chain(folder, population, key), _head(folder)
        if head is not None and head[0] >= len(entries):
            return
        mac = _head_mac(folder, len(entries), mac_of(entries[-1], key) if entries else "", key)
        replace_durably(head_file(folder), canonical({"number": len(entries), "mac": mac}))


def _head_mac(folder: Path, number: int, last: str, key: bytes) -> str:
    return _mac(f"head {number} of {folder.name} {last}", key)  # a line of an entry begins with "{"


def head_file(folder: Path) -> Path:
    """Return the head of the population with a `folder` in a ledger."""
    return folder.parent.parent / HEADS / f"{folder.name}.json"


def _head(folder: Path) -> tuple[int, str] | None:
    """Return number and MAC in the head of the population with a `folder`; None without a head."""
    file = head_file(folder)
    try:
        values = read_json(file)
        number, mac = values["number"], values["mac"]
    except FileNotFoundError:
        return None
    except (ValueError, LookupError, TypeError):
        number, mac = 0, None
    if not isinstance(number, int) or number < 0 or not isinstance(mac, str):
        raise DataError(f"{file}: damaged; restore the ledger from a copy")
    return number, mac
