"""Rebuild records from exact two-way tables ([multirr], 4.3).

If one party alone has a category, each table with its attribute has a single 1 in the row of that
category. The columns of these entries are the party's values of all other attributes. Unique
combinations, and parties that differ once a third is known, reveal more; so the records found are a
lower bound.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd

from deniable.arrays import Counts
from deniable.errors import DeniableError
from deniable.records import Domain, Microdata

Pair = tuple[str, str]


@dataclass(frozen=True)
class RebuiltRecord:
    """The `record` of the one party with a `category` of an `attribute`, in the domain's order.

    It lacks attributes without a table together with this attribute.
    """

    attribute: str
    category: str
    record: Mapping[str, str]


def rebuilt_records(
    tables: Mapping[Pair, npt.ArrayLike], domain: Domain
) -> tuple[RebuiltRecord, ...]:
    """Rebuild the record of each party that alone has some category.

    `tables` are exact counts of pairs of attributes. There is one record for each category with a
    count of 1, in the order of the `domain`. A party that is unique in two attributes is rebuilt
    twice. A `DeniableError` is raised for a table of another shape, entries that are not counts, or
    marginal counts that contradict another table.

    Examples
    --------
    >>> from deniable.records import Attribute
    >>> job = Attribute("job", ("clerk", "soldier"))
    >>> ill = Attribute("ill", ("no", "yes"))
    >>> found = rebuilt_records({("job", "ill"): [[5, 2], [0, 1]]}, Domain((job, ill)))
    >>> [rebuilt.record for rebuilt in found]
    [{'job': 'soldier', 'ill': 'yes'}]
    """
    beside = _tables_by_attribute(tables, domain)
    found = []
    for attribute in domain:
        others = beside[attribute.name]
        if not others:
            continue
        margin = next(iter(others.values())).sum(axis=1)
        for code in np.flatnonzero(margin == 1):
            values = {name: int(table[code].argmax()) for name, table in others.items()}
            values[attribute.name] = int(code)
            record = {a.name: a.categories[values[a.name]] for a in domain if a.name in values}
            found.append(RebuiltRecord(attribute.name, attribute.categories[code], record))
    return tuple(found)


def linked_parties(data: Microdata) -> pd.DataFrame:
    """Rebuild records from the exact tables of all pairs in `data`, and compare with the originals.

    One row per category that one party alone has, in the domain's order: ``attribute``,
    ``category``, ``party`` (number of its record), ``attributes_rebuilt`` (with the attribute
    itself), ``equals_true_record``.
    """
    tables = {pair: data.counts(pair) for pair in combinations(data.domain.names, 2)}
    rows = []
    for rebuilt in rebuilt_records(tables, data.domain):
        own = data.domain[rebuilt.attribute].code_of(rebuilt.category)
        party = int(np.flatnonzero(data.column(rebuilt.attribute) == own)[0])
        true = {a.name: a.categories[data.column(a.name)[party]] for a in data.domain}
        equal = true == dict(rebuilt.record)
        rows.append((rebuilt.attribute, rebuilt.category, party, len(rebuilt.record), equal))
    columns = ["attribute", "category", "party", "attributes_rebuilt", "equals_true_record"]
    return pd.DataFrame(rows, columns=columns)


def _tables_by_attribute(
    tables: Mapping[Pair, npt.ArrayLike], domain: Domain
) -> dict[str, dict[str, Counts]]:
    """Return for each attribute its tables with the others, with its own categories in the rows."""
    beside: dict[str, dict[str, Counts]] = {name: {} for name in domain.names}
    for pair, counts in tables.items():
        table = _checked(pair, counts, domain)
        beside[pair[0]][pair[1]] = table
        beside[pair[1]][pair[0]] = table.T
    for name, others in beside.items():
        margins = {other: table.sum(axis=1) for other, table in others.items()}
        first = next(iter(margins), "")
        for other, margin in margins.items():
            if not np.array_equal(margin, margins[first]):
                raise DeniableError(
                    f"attribute {name!r}: its counts with {other!r} and with {first!r} differ; "
                    "exact tables of the same parties are needed"
                )
    return beside


def _checked(pair: Pair, counts: npt.ArrayLike, domain: Domain) -> Counts:
    table, shape = np.asarray(counts), domain.project(pair).shape
    if table.shape != shape:
        raise DeniableError(
            f"the table of {pair} has the shape {table.shape}, its attributes have {shape}; give "
            "rows for the first and columns for the second"
        )
    if table.dtype.kind not in "iu" or table.min() < 0:
        raise DeniableError(
            f"the table of {pair} has entries that are no counts; linking needs exact counts"
        )
    return table.astype(np.int64)
