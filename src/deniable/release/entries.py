"""An entry of a ledger, its file, epsilons as exact numbers, and records that entries share.

The entries of a population are a chain. Each file ends with a MAC, the HMAC-SHA256 of its line
under a subkey of the ledger's key, and each line contains the MAC of the entry before it.
"""

import hashlib
import hmac
import json
import math
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from decimal import ROUND_CEILING, Context, Decimal, Inexact
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from deniable.channels import Number, as_written
from deniable.errors import DataError, DeniableError
from deniable.plans import Part

FORMAT = 3
SKETCH_SIZE = 1024
DIGITS = 16  # hexadecimal digits of a digest in a sketch
MAX_SHOWN = 40  # characters of an epsilon in a message
MAX_BITS = 3400  # about 1,000 digits
_FINITE = re.compile(r"[0-9]+(\.[0-9]+|/[0-9]+)?")
_EXACT = Context(prec=2000, traps=[Inexact])
_COUNTED = Context(prec=9, rounding=ROUND_CEILING)
_SHOWN = Context(prec=20, rounding=ROUND_CEILING)
_PLAIN = ("number", "population", "release", "plan", "time", "before")


@dataclass(frozen=True)
class RecordDigests:
    """The keyed digests of `records` records that a ledger stores.

    `whole` is the digest of all records in their order, in hexadecimal. Order counts, because a
    draw depends on the number of a record: the same records in another order have a second draw.
    The `sketch` has the smallest digests of distinct records, at most 1,024, in rising order. They
    are a random sample of the records, and the same records are in the sample of every file.
    """

    whole: str
    records: int
    sketch: tuple[int, ...]

    @property
    def limit(self) -> int:
        """The value up to which the sketch has the digests of all records."""
        return self.sketch[-1] if len(self.sketch) >= SKETCH_SIZE else 2**64


class Overlap(NamedTuple):
    """The number of `shared` records of a file that an earlier `release` contained.

    `compared` counts the distinct records that both sketches show, about 1,024 for files of one
    size.
    """

    release: str
    shared: int
    compared: int

    @property
    def proportion(self) -> float:
        """Estimated proportion of the file's records that the release contained."""
        return self.shared / self.compared if self.compared else 0.0

    def __str__(self) -> str:
        """Return a sentence."""
        percent = 100 * self.proportion
        return f"about {percent:.3g} % of the records were in release {self.release!r}"


@dataclass(frozen=True)
class Entry:
    """The `epsilon`, a Fraction or math.inf, that is reserved for a `release`, for good.

    The `number` is that of the release within its `population`, from 1. `plan` is a digest of name,
    plan and key of the release, and `records` are digests under the key of the ledger. The `time`
    of the reservation is in UTC. A `part` of the respondents answers; without it all of them do.
    The MAC of the entry `before` this one is in hexadecimal, and empty for the first one.
    """

    number: int
    population: str
    release: str
    plan: str
    epsilon: Number
    records: RecordDigests
    time: str
    part: Part | None = None
    before: str = ""

    @property
    def partition(self) -> tuple[int, str, str] | None:
        """The partition of the records that the part belongs to; None without a part.

        Parts are taken by record number. So they are disjoint only if all records are the same, in
        the same order.
        """
        return (self.part.of, self.part.seed, self.records.whole) if self.part else None


def counted(epsilon: Number | None) -> Number:
    """Return an `epsilon` as a Fraction or math.inf; None is infinite.

    Raises `DeniableError` if it is negative, not a number, or a fraction of more than about 1,000
    digits.
    """
    if epsilon is None or epsilon == math.inf:
        return math.inf
    exact = as_written(epsilon)
    if max(abs(exact.numerator), exact.denominator).bit_length() > MAX_BITS:
        raise DeniableError("epsilon is a fraction of over 1,000 digits; round it up")
    if exact < 0:
        raise DeniableError(f"epsilon is {epsilon}; it is at least 0")
    return exact


def total_of(epsilons: Iterable[Number]) -> Number:
    """Return the exact sum of `epsilons`; math.inf if one of them is infinite."""
    finite = Fraction()
    for epsilon in epsilons:
        if epsilon == math.inf:
            return math.inf
        finite += Fraction(epsilon)
    return finite


def composed_epsilon(entries: Iterable[Entry]) -> Number:
    """Return the exact epsilon of all `entries` of a population; math.inf if one is infinite.

    Epsilons add up (sequential composition). A respondent belongs to one part of a partition only.
    So the parts of one partition count by their maximum (parallel composition).
    """
    alone: list[Number] = []
    partitions: dict[tuple[int, str, str], dict[int, list[Number]]] = {}
    for entry in entries:
        if entry.part is None or entry.partition is None:
            alone.append(entry.epsilon)
        else:
            parts = partitions.setdefault(entry.partition, {})
            parts.setdefault(entry.part.take, []).append(entry.epsilon)
    largest = (max(map(total_of, parts.values())) for parts in partitions.values())
    return total_of([*alone, *largest])


def _text(epsilon: Number) -> str:
    """Return the exact text of an epsilon."""
    if epsilon == math.inf:
        return "infinite"
    exact = Fraction(epsilon)
    try:
        decimal = _EXACT.divide(Decimal(exact.numerator), Decimal(exact.denominator))
        return f"{decimal:f}"
    except Inexact:
        return str(exact)


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
    if math.isinf(epsilon):
        return epsilon
    return Fraction(_COUNTED.create_decimal(Decimal(epsilon)))


def canonical(plan: Any) -> bytes:
    """Return plain JSON values, for example a `plan`, in the form that digests are made from."""
    return json.dumps(plan, sort_keys=True, ensure_ascii=True, allow_nan=False).encode()


def content_of(entry: Entry, key: bytes) -> bytes:
    """Return the file of an `entry`: a line of JSON, and the MAC of that line under a `key`."""
    records = entry.records
    sketch = "".join(f"{value:0{DIGITS}x}" for value in records.sketch)
    values = {
        "format": FORMAT,
        **{name: getattr(entry, name) for name in _PLAIN},
        "epsilon": _text(entry.epsilon),
        "part": None if entry.part is None else asdict(entry.part),
        "records": {"whole": records.whole, "number": records.records, "sketch": sketch},
    }
    line = json.dumps(values)  # ASCII
    return f"{line}\n{_mac(line, key)}\n".encode("ascii")


def mac_of(entry: Entry, key: bytes) -> str:
    """Return the MAC of an `entry` under the `key` of entries, in hexadecimal."""
    return content_of(entry, key).decode("ascii").splitlines()[1]


def _mac(line: str, key: bytes) -> str:
    return hmac.digest(key, line.encode(), hashlib.sha256).hex()


def entry_from(file: Path, content: bytes, key: bytes, population: str, number: int) -> Entry:
    """Return the entry with a `number` of a `population` from the `content` of its `file`.

    Raises `DataError` if the file is damaged, was edited, has another entry, or was not written
    under the `key` of entries.
    """
    try:
        line, check = content.decode("ascii").splitlines()
        if not hmac.compare_digest(check, _mac(line, key)):
            raise ValueError("its MAC does not follow from its line and the ledger's key")
        values = json.loads(line)
        if values["format"] != FORMAT:
            raise ValueError(f"format {values['format']!r}, which this version does not know")
        sketch = values["records"]["sketch"]
        digests = (sketch[start : start + DIGITS] for start in range(0, len(sketch), DIGITS))
        part, epsilon = values["part"], values["epsilon"]
        if epsilon != "infinite" and not _FINITE.fullmatch(epsilon):
            raise ValueError(f"epsilon {epsilon!r}")
        entry = Entry(
            **{name: values[name] for name in _PLAIN},
            part=None if part is None else Part(**part),
            epsilon=math.inf if epsilon == "infinite" else Fraction(epsilon),
            records=RecordDigests(
                values["records"]["whole"],
                values["records"]["number"],
                tuple(int(value, 16) for value in digests),
            ),
        )
        if (entry.number, entry.population.lower()) != (number, population.lower()):
            raise ValueError(f"it is entry {entry.number} of {entry.population!r}")
    except (ValueError, KeyError, TypeError, ArithmeticError, RecursionError) as error:
        raise DataError(
            f"{file}: this entry is damaged ({error}); restore it from a copy: the total needs it"
        ) from None
    return entry


def overlap(records: RecordDigests, release: str, earlier: RecordDigests) -> Overlap:
    """Compare the `records` of a file with the `earlier` ones of a `release`, under one key."""
    limit = min(records.limit, earlier.limit)
    compared = {value for value in records.sketch if value <= limit}
    return Overlap(release, len(compared.intersection(earlier.sketch)), len(compared))
