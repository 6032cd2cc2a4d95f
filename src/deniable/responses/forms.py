"""Responses of a split questionnaire: each record has randomized values of one form's columns.

SOURCE: [split_questionnaire]. Forms are drawn without looking at values, so the records of a form
are a simple random sample of the file.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from deniable.arrays import Codes, Counts, Flags, Positions
from deniable.channels import DenseChannel
from deniable.errors import DataError, DeniableError
from deniable.randomized_response import Protocol
from deniable.records import Attribute, Domain
from deniable.responses.base import Counted, ResponseBatch
from deniable.responses.columns import ProtectedFormat, ResponseColumn, response_columns
from deniable.responses.protected import ProtectedRecords
from deniable.responses.tables import AllAnswers, Answers, Side, Table, domain_of
from deniable.schema import Schema

NOT_ASKED = "(not asked)"
"""The value of a column that a record was not asked about."""
Way = tuple[Table, list[int]]
"""A table through the channels of some forms, and the numbers of these forms."""


@dataclass(frozen=True, eq=False)
class Forms:
    """The forms of a split questionnaire over a `domain`, which are equally likely.

    `blocks` are protocols of one cluster each, and `forms` are numbers of blocks without a common
    column. Raises `DeniableError` if two forms have the same columns, or a column has no form.
    """

    domain: Domain
    blocks: tuple[Protocol, ...]
    forms: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        for name, asked in zip(self.domain.names, self.asks.T, strict=True):
            if not asked.any():
                raise DeniableError(f"column {name!r} is in no form; add it, or leave it out")
        if len(np.unique(self.asks, axis=0)) < len(self.forms):
            raise DeniableError(
                "two forms have the same columns, but the columns of a record reveal its form; "
                "give each form other columns"
            )

    @cached_property
    def protocols(self) -> tuple[Protocol, ...]:
        """The protocol of each form."""
        found = []
        for form in self.forms:
            ways = [(b.clusters[0], b.channels[0]) for b in (self.blocks[at] for at in form)]
            asked = self.domain.project([name for cluster, _ in ways for name in cluster])
            found.append(Protocol(asked, *map(tuple, zip(*ways, strict=True))))
        return tuple(found)

    @cached_property
    def asks(self) -> Flags:
        """Whether a form asks about a column, shape (forms, columns)."""
        asked = [{*protocol.domain.names} for protocol in self.protocols]
        return np.array([[name in each for name in self.domain.names] for each in asked])

    @property
    def epsilon(self) -> float:
        """Exact epsilon of a record, rounded up: the largest one of a form."""
        return max(protocol.epsilon for protocol in self.protocols)

    def epsilon_by_changed_attribute(self) -> dict[str, float]:
        """Return the largest exact epsilon of a change in one attribute, by attribute."""
        own = [block.epsilon_by_changed_attribute() for block in self.blocks]
        return {name: max(e[name] for e in own if name in e) for name in self.domain.names}

    def table(self, names: Sequence[str], records: Counts | None = None) -> tuple[Table, list[Way]]:
        """Return the table of columns `names` through all forms that have them, and its ways.

        The form of a record is a part of its randomized value, so several forms have one channel
        together. It has the proportions of the `records` of each form, by default equal ones.
        Raises `DeniableError` if no name is given, a name is unknown or given twice, or no record
        has a form with all columns.
        """
        domain, found = domain_of(self.domain, names), dict[bytes, Way]()
        numbers = np.ones(len(self.forms), dtype=np.int64) if records is None else records
        asked = self.asks[:, [self.domain.position(name) for name in names]].all(axis=1)
        by_blocks: dict[tuple[int, ...], list[int]] = {}
        for number in np.flatnonzero(asked & (numbers > 0)).tolist():
            own = (at for at in self.forms[number] if {*names} & {*self.blocks[at].domain.names})
            by_blocks.setdefault(tuple(own), []).append(number)
        for forms in by_blocks.values():
            way, key = Table.of(self.protocols[forms[0]], names), b""
            if len(by_blocks) > 1:
                if not way.whole:
                    continue  # other forms have these columns in other clusters
                way = replace(way, whole_cluster=None)  # there are several
                key = way.channel.matrix()[way.order].round(12).tobytes()
            found.setdefault(key, (way, []))[1].extend(forms)
        if not found:
            raise DeniableError(
                f"no record has a form with {' and '.join(domain.names)} together; name fewer "
                "columns, ask more columns of each record, or make them a cluster"
            )
        (table, _), *others = ways = list(found.values())
        total = numbers[[form for _, forms in ways for form in forms]].sum()
        if others:
            parts = [w.channel.matrix()[w.order] * (numbers[f].sum() / total) for w, f in ways]
            labels = tuple(map(str, range(1, sum(each.shape[1] for each in parts) + 1)))
            reports = Domain((Attribute(f"forms with {table.label}", labels),))
            table = Table(domain, (Side(domain, reports, DenseChannel(np.hstack(parts))),))
        return replace(table, asked=float(total / numbers.sum())), ways

    def columns(self, schema: Schema) -> tuple[tuple[ResponseColumn, ...], list[dict[str, Codes]]]:
        """Return the columns of the protected file of a `schema`, all of text.

        They follow by the codes in these columns of each block's randomized values, by column.
        """
        values: dict[str, dict[str, str | None]] = {name: {} for name in self.domain.names}
        own = [response_columns(schema.only(b.domain.names), b) for b in self.blocks]
        for column in (each for columns in own for each in columns):
            texts = column.values.cast(pa.string()).to_pylist()
            values[column.name] |= zip(column.texts, texts, strict=True)
        found = tuple(
            ResponseColumn(name, (*v, NOT_ASKED), pa.array([*v.values(), NOT_ASKED], pa.string()))
            for name, v in values.items()
        )
        codes = {name: dict(zip(v, range(len(v)), strict=True)) for name, v in values.items()}
        return found, [
            {each.name: np.array([codes[each.name][text] for text in each.texts]) for each in block}
            for block in own
        ]


class FormResponses(ProtectedRecords):
    """The responses of the `forms` of a questionnaire.

    The `source` is a path or a table, with the columns of the `layout`. The `codes` are as in
    `Forms.columns`.
    """

    lacking = (
        "no record of a questionnaire has all columns, so nothing is estimated from single "
        "records; request a smaller table of columns that a form has together"
    )
    has_randomized_records = False

    def __init__(
        self,
        source: Any,
        layout: ProtectedFormat,
        forms: Forms,
        codes: Sequence[Mapping[str, Codes]],
    ) -> None:
        super().__init__(source, layout, self.table, ())
        self._forms, self._codes = forms, codes
        self._sizes = {each.name: len(each.texts) for each in layout.columns}
        self._ways: dict[tuple[str, ...], list[Way]] = {}

    @property
    def records(self) -> int:
        return int(self._numbers.sum())

    @cached_property
    def _numbers(self) -> Counts:
        """Number of records of each form."""
        found = np.zeros(len(self._forms.forms), dtype=np.int64)
        for form, _ in self._read():
            found += np.bincount(form, minlength=found.size)
        return found

    def table(self, names: Sequence[str]) -> Table:
        table, ways = self._forms.table(names, self._numbers)
        self._ways[table.reports.names] = ways
        if (whole := table.whole_cluster) is not None:
            self._ways[whole.reports.names] = [(whole, ways[0][1])]
        return table

    def _count(self, tables: Sequence[Domain], weight: str | None) -> list[Counted]:
        if weight is not None:
            raise self._no_weights(weight)
        if any(each.names not in self._ways for each in tables):
            raise DeniableError(self.lacking)
        requested = [self._ways[each.names] for each in tables]
        found = [[np.zeros(way.reports.size, np.int64) for way, _ in ways] for ways in requested]
        for form, codes in self._read():
            for counts, ways in zip(found, requested, strict=True):
                for at, (way, forms) in enumerate(ways):
                    rows = np.flatnonzero(np.isin(form, forms))
                    cells = self._cells(forms[0], way.reports, codes, rows)
                    counts[at] += np.bincount(cells, minlength=way.reports.size)
        return [Counted(np.concatenate(each), file=self.records) for each in found]

    def _own_codes(self, form: int, name: str) -> Codes:
        """Return the code of the form's channel for each code of a column in the file; else -1."""
        codes = next(
            c[name] for c in (self._codes[b] for b in self._forms.forms[form]) if name in c
        )
        own = np.full(self._sizes[name], -1)
        own[codes] = np.arange(len(codes))
        return own

    def _read(self) -> Iterator[tuple[Codes, dict[str, Codes]]]:
        """Yield the numbers of the forms of a batch of records, and the codes of their columns."""
        names = self._forms.domain.names
        number_of = {row.tobytes(): at for at, row in enumerate(np.packbits(self._forms.asks, 1))}
        for batch in super().batches(names):
            asked = [batch.codes[name] != self._sizes[name] - 1 for name in names]
            patterns = np.packbits(np.column_stack(asked), 1)
            unique, place = np.unique(patterns, axis=0, return_inverse=True)
            numbers = np.array([number_of.get(row.tobytes(), -1) for row in unique])
            if numbers.min() < 0:
                raise self._other_release()
            yield numbers[place.reshape(-1)], batch.codes

    def _other_release(self) -> DataError:
        return DataError(
            f"{self.where}: a record has columns or values that no form has; plan and file are of "
            "different releases"
        )

    def clusters(self) -> list[Table]:
        raise DeniableError(self.lacking)

    def batches(self, names: Iterable[str], weight: str | None = None) -> Iterator[ResponseBatch]:
        raise DeniableError(self.lacking)

    def answers(self, weight: str | None = None, names: Sequence[str] = ()) -> AllAnswers:
        if weight is not None:
            raise self._no_weights(weight)
        read, every = list(self._read()), self._forms.domain.names
        form = np.concatenate([number for number, _ in read])
        codes = {name: np.concatenate([own[name] for _, own in read]) for name in every}
        parts = []
        for block, protocol in enumerate(self._forms.blocks):
            if names and not {*protocol.clusters[0]} & {*names}:
                continue
            side = Side.of_cluster(protocol, protocol.clusters[0])
            found = np.full(form.size, -1)
            for number, blocks in enumerate(self._forms.forms):
                if block in blocks:
                    rows = np.flatnonzero(form == number)
                    found[rows] = self._cells(number, side.reports, codes, rows)
            parts.append(Answers(side.cells, side.channel, found))
        return parts, None

    def _cells(
        self, form: int, reports: Domain, codes: Mapping[str, Codes], rows: Positions
    ) -> Codes:
        """Return the codes of the joint cells of `reports` in `rows`, which have the `form`."""
        own = {n: self._own_codes(form, n)[codes[n][rows]] for n in reports.names}
        if min(each.min(initial=0) for each in own.values()) < 0:
            raise self._other_release()
        return ResponseBatch(own, None).joint(reports)

    def _no_weights(self, weight: str) -> DeniableError:
        return DeniableError(f"a questionnaire has no column of weights {weight!r}; leave it out")
