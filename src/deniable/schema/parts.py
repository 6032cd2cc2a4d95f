"""Public parts of the respondents, of which one answers."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
import pyarrow as pa

from deniable.arrays import Codes, Positions
from deniable.errors import DeniableError
from deniable.sampling import KeyedDraws, Numbers, RandomnessSource
from deniable.schema.column import Column
from deniable.schema.model import Schema
from deniable.schema.records_file import RecordBatch


@dataclass(frozen=True)
class Part:
    """A public part of the respondents.

    A public seed puts the respondents into an order. The order is cut into `of` parts, at least 2,
    of sizes that differ by at most one. Part number `take`, 1 to `of`, answers. Raises
    `DeniableError` if a number is out of range or the `seed`, a text, is empty.
    """

    of: int
    take: int
    seed: str

    def __post_init__(self) -> None:
        if self.of < 2 or not 1 <= self.take <= self.of:
            given = f"part {self.take} of {self.of}"
            raise DeniableError(f"{given}; give at least 2 parts, and one of them")
        if not self.seed:
            raise DeniableError("the part of the respondents has no seed; give a public text")

    def positions(self, records: int) -> Positions:
        """Return the positions, ascending from 0, of the respondents that answer.

        Respondents are ordered by the SHA-256 of the seed, a colon and their record number,
        counted from 1. The file has so many `records`.
        """
        keys = [sha256(f"{self.seed}:{n}".encode()).digest() for n in range(1, records + 1)]
        order = sorted(range(records), key=keys.__getitem__)
        begin, end = (records * each // self.of for each in (self.take - 1, self.take))
        return np.sort(np.array(order[begin:end], dtype=np.intp))


def answering_batches(
    batches: Iterable[RecordBatch],
    part: Part | None,
    schema: Schema | None = None,
    source: RandomnessSource | None = None,
) -> Iterator[tuple[RecordBatch, Numbers]]:
    """Yield the `batches` of the respondents that answer, with their record numbers.

    With a `part`, all batches are in memory, because the number of all records decides who answers.
    So they are if the `schema` limits the records of a unit: the `source` then draws which ones
    answer, by numbers that do not depend on values.
    """
    unit = schema.unit if schema is not None and source is not None else None
    limited = unit is not None and unit.excess == "limit"
    if part is None and not limited:
        yield from ((each, range(each.first, each.first + len(each))) for each in batches)
        return
    held = list(batches)
    answering = np.zeros(sum(map(len, held)), dtype=bool)
    if part is not None:
        answering[part.positions(answering.size)] = True
    elif unit is not None and source is not None:
        names = [each.passed[unit.name].cast(pa.large_string()) for each in held]
        units = np.asarray(pa.concat_arrays(names).dictionary_encode().indices)
        answering[_chosen_of_units(units, unit, KeyedDraws.of(source))] = True
    for batch in held:
        own = answering[batch.first : batch.first + len(batch)]
        if own.any():
            yield batch.kept(own), batch.first + np.flatnonzero(own)


def _chosen_of_units(units: Codes, unit: Column, draws: KeyedDraws) -> Positions:
    """Return the positions of at most `records_per_unit` random records of each of the `units`."""
    words = draws.column(("unit", unit.name), units.size).words(64)
    order = np.lexsort((words, units))
    first = np.concatenate([[0], np.cumsum(np.bincount(units))])
    place = np.arange(units.size) - first[units[order]]
    return np.asarray(order[place < (unit.records_per_unit or 1)])
