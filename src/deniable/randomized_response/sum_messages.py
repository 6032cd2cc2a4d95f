"""Messages of a secure sum between processes that have counts of their own ([multirr], 4.2).

docs/secure-sum.md has the format, the detected errors, and the knowledge of colluding parties.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import combinations
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, ValidationError, model_validator

from deniable.arrays import Counts
from deniable.errors import DataError, shown
from deniable.files import json_line
from deniable.randomized_response import secure_sums as sums
from deniable.records import Domain
from deniable.sampling import RandomSource
from deniable.validation import Name, Strict, Values, fault_lines

MODULUS = 2**53  # every JSON reader has smaller integers exactly
MAX_RECORDS = 10**9  # per party; wrong shares give a larger count, with a probability near 1
MAX_SHARES = 3_000_000  # per party, in memory at once


class SumMessage(Strict):
    """A share, a partial sum or a total.

    `values` has one number per cell, table by table and row by row. `sender` and `receiver` are
    numbers of parties, from 1. A party does not send the share to itself. Partial sums have the
    receiver 0, and totals also the sender 0. All messages of a session have the same terms:
    `format`, `version`, `session`, `parties`, `modulus`, `tables`, `agreed`; see
    docs/secure-sum.md.
    """

    format: Literal["deniable-secure-sum"] = "deniable-secure-sum"
    version: Literal[1] = 1
    session: Name
    parties: Annotated[int, Field(ge=sums.MIN_PARTIES, le=1000)]
    modulus: Annotated[int, Field(gt=sums.MIN_PARTIES, le=MODULUS)]
    tables: Values[sums.Pair]
    agreed: str
    receiver: Annotated[int, Field(ge=0)] = 0
    sender: Annotated[int, Field(ge=0)] = 0
    values: Values[Annotated[int, Field(ge=0)]]

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if max(self.sender, self.receiver) > self.parties or max(self.values) >= self.modulus:
            raise ValueError("a party or a value is too large for the session")
        return self

    @classmethod
    def read(cls, given: bytes | str | dict[str, Any], where: str) -> "SumMessage":
        """Return the message in the JSON `given`; raise `DataError` with the place `where`."""
        try:
            if isinstance(given, dict):
                return cls.model_validate(given)
            return cls.model_validate_json(given)
        except ValidationError as error:
            faults = "; ".join(fault_lines(error, cls, "message"))
            raise DataError(f"{where}: not a message of a secure sum ({faults})") from None

    @property
    def label(self) -> str:
        """The description of the message in error messages."""
        kind = f"share to party {self.receiver}" if self.receiver else "sum"
        return f"session {self.session}: the {kind} from party {self.sender}"

    @property
    def max_records(self) -> int:
        """The largest number of records of a party for which all counts are below the modulus."""
        return min((self.modulus - 1) // self.parties, MAX_RECORDS)


def empty_sum(
    domain: Domain,
    session: str,
    parties: int,
    pairs: Sequence[Sequence[str]] = (),
    modulus: int = MODULUS,
) -> SumMessage:
    """Return the total of zero records, with the terms of a `session` of `parties`.

    It counts the `pairs` of a `domain`, by default all. The `modulus` is above the number of
    parties. Raises `DeniableError` for an invalid argument, or over `MAX_SHARES` shares per party.
    """
    tables = [tuple(sorted(pair, key=domain.position)) for pair in pairs]
    tables = tables or list(combinations(domain.names, 2))
    if {len(set(pair)) for pair in tables} != {2} or len(set(tables)) < len(tables):
        raise sums.SecureSumError("a secure sum counts tables of two columns, each table once")
    cells = sum(domain.project(pair).size for pair in tables)
    if cells * parties > MAX_SHARES:
        raise sums.SecureSumError(
            f"{cells:,} cells times {parties:,} parties exceed {MAX_SHARES:,} shares in memory; "
            "name fewer tables"
        )
    named = sorted({(each, domain[each].categories) for pair in tables for each in pair})
    digest = sha256(json_line([tables, named]).encode()).hexdigest()
    terms = {"session": session, "parties": parties, "modulus": modulus, "tables": tables}
    return SumMessage.read(terms | {"agreed": digest, "values": [0] * cells}, "this session")


def share_counts(
    terms: SumMessage, party: int, counts: Sequence[Counts], source: RandomSource
) -> Iterator[SumMessage]:
    """Yield the shares that one `party` sends to each party of the session with these `terms`.

    The `counts` of its tables are split into shares, drawn from the `source`. Raises
    `SecureSumError` if the session does not include this party, or the party has too many records.
    """
    records = int(counts[0].sum())
    if not 1 <= party <= terms.parties or records > terms.max_records:
        raise sums.SecureSumError(
            f"party {party} with {records:,} records; allowed: party 1 to {terms.parties}, with "
            f"at most {terms.max_records:,} records"
        )
    values = np.concatenate([each.ravel() for each in counts])
    for receiver, own in enumerate(sums.split(values, terms.parties, terms.modulus, source), 1):
        about = {"sender": party, "receiver": receiver, "values": own.tolist()}
        yield terms.model_copy(update=about)


def add_messages(messages: Iterable[SumMessage]) -> SumMessage:
    """Return the sum of `messages` from all parties: of shares to one party, or of partial sums.

    Raises `SecureSumError` if a message is missing, repeated, malformed or from another session.
    """
    first, values, missing = None, np.zeros(0, dtype=np.int64), {1}
    for each in messages:
        if first is None:
            first, values = each, np.zeros(len(each.values), dtype=np.int64)
            missing = set(range(1, each.parties + 1))
        for name in [*SumMessage.model_fields][:-2]:  # all but sender and values
            theirs, own = getattr(each, name), getattr(first, name)
            if theirs != own:
                raise sums.SecureSumError(
                    f"{each.label} has {name} {shown(theirs)}, and the first message {shown(own)}; "
                    "leave it out, or give all parties the same terms and categories"
                )
        if each.sender not in missing or len(each.values) != values.size:
            raise sums.SecureSumError(f"{each.label} is repeated or malformed; give it once")
        missing.remove(each.sender)
        values = (values + np.array(each.values, dtype=np.int64)) % each.modulus
    if first is None or missing:
        raise sums.SecureSumError(
            f"no message came from party {', '.join(map(str, sorted(missing)))}; wait for it, or "
            "repeat the sum in a new session without a party that has left",
            sorted(missing),
        )
    about = {"sender": first.receiver, "receiver": 0, "values": values.tolist()}
    return first.model_copy(update=about)


def summed_tables(summed: SumMessage, domain: Domain) -> dict[sums.Pair, Counts]:
    """Return the tables of pairs of a `domain` from a total, `summed`, by names of their columns.

    Raises `DeniableError` if `summed` is not a total, or the tables do not fit the domain or
    contradict each other.
    """
    terms = empty_sum(domain, summed.session, summed.parties, summed.tables, summed.modulus)
    about = (summed.sender, summed.receiver, summed.agreed, len(summed.values))
    if about != (0, 0, terms.agreed, len(terms.values)):
        raise sums.SecureSumError(
            f"{summed.label} is not a total for the columns of this schema; give their total"
        )
    counted, values = list[sums.BivariateDistribution](), np.array(summed.values, dtype=np.int64)
    for part in map(domain.project, terms.tables):
        own, values = np.split(values, [part.size])
        records = counted[0].parties if counted else int(own.sum())
        table = own.reshape(part.shape)
        counted.append(sums.BivariateDistribution(part, table, records, Counter()))
    wrong = [line for each in counted for line in each.inconsistencies]
    if max(summed.values) > terms.parties * terms.max_records:
        wrong = ["impossible counts; a party sent wrong shares or sums; repeat the sum"]
    for line in (*wrong, *sums.disagreeing_margins(counted)):
        raise sums.SecureSumError(f"session {terms.session}: {line}")
    return {pair: each.table for pair, each in zip(terms.tables, counted, strict=True)}
