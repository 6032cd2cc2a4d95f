"""What exact two-way tables give away: records that hang on a count of 1 ([multirr], 4.3).

If one party alone has a category, the row of that category in each table with its attribute has a
single 1, and the columns of these are the party's values of all other attributes. Only that is
done here: a count of 1 in one attribute. A combination that one party alone has, or two parties
that can be told apart once a third is known, give away more; what is found is a lower bound.
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
    """The `record` of the one party with a `category` of an `attribute`, as far as tables reach.

    In the domain's order, without attributes that have no table together with that one.
    """

    attribute: str
    category: str
    record: Mapping[str, str]


def rebuilt_records(
    tables: Mapping[Pair, npt.ArrayLike], domain: Domain
) -> tuple[RebuiltRecord, ...]:
    """Rebuild the record of each party that is the only one with some category.

    From `tables`, exact counts of pairs of attributes, one record for each category with a count of
    1, in the order of the `domain`. A party that is alone in two attributes is rebuilt twice, with
    the same record if all pairs were counted.

    Raises
    ------
    DeniableError
        If a table has another shape, counts that are no whole numbers from 0 up, or a margin that
        another table contradicts.

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
    """Rebuild what the exact tables of all pairs in `data` give away; compare with its records.

    Returns
    -------
    DataFrame
        A row a category that one party alone has, in the domain's order: ``attribute``,
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
    """Return, for each attribute, its tables with the others: its own categories in the rows."""
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
