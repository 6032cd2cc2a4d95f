"""Messages of a secure sum between processes, each with its own counts ([multirr], 4.2).

docs/secure-sum.md has the format, the detected errors, and the knowledge of colluding parties.
"""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import combinations
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, ValidationError, model_validator

from deniable.arrays import Counts
from deniable.errors import DataError, shown
from deniable.files import json_line
from deniable.randomized_response.secure_sums import (
    MIN_PARTIES,
    BivariateDistribution,
    Pair,
    SecureSumError,
    Traffic,
    disagreeing_margins,
    split,
)
from deniable.records import Domain
from deniable.sampling import RandomSource
from deniable.validation import Name, Strict, Values, fault_lines

MODULUS = 2**53  # smaller whole numbers are exact in every reader of JSON
MAX_RECORDS = 10**9  # of a party; wrong shares give a larger count, with a probability near 1
MAX_PROCESSES = 1000
MAX_SHARES = 4_000_000  # of a party, in memory at once
AGAIN = "repeat the sum in a new session"


class SumSession(Strict):
    """The terms of a sum, which all messages repeat; docs/secure-sum.md describes the fields."""

    format: Literal["deniable-secure-sum"] = "deniable-secure-sum"
    version: Literal[1] = 1
    session: Name
    parties: Annotated[int, Field(ge=MIN_PARTIES, le=MAX_PROCESSES)]
    modulus: Annotated[int, Field(gt=MIN_PARTIES, le=MODULUS)]
    tables: Values[Pair]
    agreed: str

    @classmethod
    def of(
        cls,
        domain: Domain,
        name: str,
        parties: int,
        pairs: Sequence[Sequence[str]] = (),
        modulus: int = MODULUS,
    ) -> "SumSession":
        """Return the session `name` of `parties` that count `pairs` of a `domain`, or all pairs.

        The `modulus` is above the number of parties. Raises `SecureSumError` if an argument is
        invalid, or each party would have over `MAX_SHARES` shares.
        """
        tables = [tuple(sorted(pair, key=domain.position)) for pair in pairs]
        tables = tables or list(combinations(domain.names, 2))
        single = len(set(tables)) == len(tables) > 0
        if not single or any(len(set(pair)) != 2 or len(pair) != 2 for pair in tables):
            raise SecureSumError("a secure sum counts tables of two columns, each table once")
        cells = sum(domain.project(pair).size for pair in tables)
        if cells * parties > MAX_SHARES:
            raise SecureSumError(
                f"{cells:,} cells times {parties:,} parties are over {MAX_SHARES:,} shares in "
                "memory; name fewer tables"
            )
        named = sorted({(each, domain[each].categories) for pair in tables for each in pair})
        fields = {"session": name, "parties": parties, "modulus": modulus, "tables": tables}
        fields["agreed"] = sha256(json_line([tables, named]).encode()).hexdigest()
        try:
            return SumSession.model_validate(fields)
        except ValidationError as error:
            raise SecureSumError("; ".join(fault_lines(error, SumSession))) from None

    @property
    def max_records(self) -> int:
        """The largest number of records of a party; all counts are then below the modulus."""
        return min((self.modulus - 1) // self.parties, MAX_RECORDS)


class SumMessage(SumSession):
    """A share, a partial sum or a total: one of the `values` per cell, table by table, row by row.

    The `sender` and the `receiver` are parties from 1. The receiver 0 of a partial sum is
    everybody, and a total has the sender 0 too. A party keeps the share to itself.
    """

    sender: Annotated[int, Field(ge=0)]
    receiver: Annotated[int, Field(ge=0)]
    values: Values[Annotated[int, Field(ge=0)]]

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if max(self.sender, self.receiver) > self.parties or max(self.values) >= self.modulus:
            raise ValueError("a party or a value is too large for the session")
        return self

    @property
    def label(self) -> str:
        """The message in words."""
        kind = f"share to party {self.receiver}" if self.receiver else "sum"
        return f"session {self.session}: the {kind} from party {self.sender}"

    @classmethod
    def from_line(cls, line: str | bytes, where: str) -> "SumMessage":
        """Read a `line` of JSON; raise `DataError`, with the place `where`, if it is invalid."""
        try:
            return cls.model_validate_json(line)
        except ValidationError as error:
            faults = fault_lines(error, cls, "the line")
            raise DataError(f"{where}: not a message of a sum ({faults[0]})") from None


def share_counts(
    session: SumSession, party: int, counts: Sequence[Counts], source: RandomSource
) -> Iterator[SumMessage]:
    """Yield the share to each party of the `session`, from one `party`.

    The `counts` of its tables are split into shares, drawn from the `source`. Raises
    `SecureSumError` if there is no such party, or it has too many records.
    """
    records = int(counts[0].sum())
    if not 1 <= party <= session.parties or records > session.max_records:
        raise SecureSumError(
            f"party {party} with {records:,} records; allowed: party 1 to {session.parties}, with "
            f"at most {session.max_records:,} records"
        )
    values = np.concatenate([each.ravel() for each in counts])
    for row, own in enumerate(split(values, session.parties, session.modulus, source)):
        about = {"sender": party, "receiver": row + 1, "values": own.tolist()}
        yield SumMessage.model_validate(session.model_dump() | about)


def add_messages(messages: Iterable[SumMessage]) -> SumMessage:
    """Return the sum of `messages` from all parties, as a message to everybody.

    Shares to one party give its partial sum, and partial sums give the total. Raises
    `SecureSumError` if a message is missing, doubled or foreign.
    """
    first, values, senders = None, np.zeros(0, dtype=np.int64), set[int]()
    for each in messages:
        first = first or each
        for field in (*SumSession.model_fields, "receiver"):
            theirs, own = getattr(each, field), getattr(first, field)
            if theirs != own:
                raise SecureSumError(
                    f"{each.label} has {field} {shown(theirs)}, not {shown(own)} as the first "
                    "message; leave it out, or ask its sender for the right one"
                )
        added = np.array(each.values, dtype=np.int64)
        if each.sender in {0, *senders} or (senders and added.size != values.size):
            raise SecureSumError(f"{each.label} is doubled or malformed; give it once, as sent")
        senders.add(each.sender)
        values = (values if values.size else 0) + added
        values %= each.modulus
    missing = set(range(1, first.parties + 1)) - senders if first else {1}
    if first is None or missing:
        raise SecureSumError(
            f"no message came from party {', '.join(map(str, sorted(missing)))}; wait for it, or "
            f"{AGAIN}, without a party that has left",
            sorted(missing),
        )
    about = {"sender": first.receiver, "receiver": 0, "values": values.tolist()}
    return SumMessage.model_validate(first.model_dump() | about)


def summed_tables(summed: SumMessage, domain: Domain) -> dict[Pair, Counts]:
    """Return the tables of pairs of a `domain` in a total, `summed`, by names of their columns.

    Raises `SecureSumError` if the message is not a total, the parties agreed on other categories,
    or the tables are impossible or contradict each other.
    """
    terms = SumSession.of(domain, summed.session, summed.parties, summed.tables, summed.modulus)
    parts = [domain.project(pair) for pair in terms.tables]
    ends = np.cumsum([part.size for part in parts])
    if summed.sender or (summed.agreed, len(summed.values)) != (terms.agreed, ends[-1]):
        raise SecureSumError(f"{summed.label} is not a total for the columns of this schema")
    arrays = np.split(np.array(summed.values, dtype=np.int64), ends[:-1])
    records = int(arrays[0].sum())
    counted = [
        BivariateDistribution(part, own.reshape(part.shape), records, Traffic())
        for part, own in zip(parts, arrays, strict=True)
    ]
    wrong = [line for each in counted for line in each.inconsistencies]
    if (largest := max(summed.values)) > terms.parties * terms.max_records:
        wrong = [f"a count is {largest:,}; a party sent wrong shares or sums; {AGAIN}"]
    for line in (*wrong, *disagreeing_margins(counted)):
        raise SecureSumError(f"session {terms.session}: {line}")
    return {pair: each.table for pair, each in zip(terms.tables, counted, strict=True)}
