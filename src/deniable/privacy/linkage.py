"""Records rebuilt from exact two-way tables ([multirr], 4.3).

If only one party has a category, each table with its attribute has a single 1 in the row of that
category. The columns of these entries are the party's values of all other attributes. Unique
combinations of values reveal more, and so do parties that become distinct once a third is known. So
the number of rebuilt records is a lower bound.
"""

import numpy as np
import pandas as pd

from deniable.records import Microdata


def linked_parties(data: Microdata) -> pd.DataFrame:
    """Rebuild records from the exact tables of all pairs in `data`, and compare with the originals.

    There is one row per category that only one party has, in the domain's order: ``attribute``,
    ``category``, ``party`` (number of its record), ``attributes_rebuilt`` (with the attribute
    itself), ``equals_true_record``.
    """
    rows = []
    for attribute in data.domain:
        if not (others := [name for name in data.domain.names if name != attribute.name]):
            continue
        tables = {name: data.counts((attribute.name, name)) for name in others}
        for code in np.flatnonzero(data.counts((attribute.name,)) == 1).tolist():
            rebuilt = {name: int(table[code].argmax()) for name, table in tables.items()}
            party = int(np.flatnonzero(data.column(attribute.name) == code)[0])
            equal = all(data.column(name)[party] == value for name, value in rebuilt.items())
            category = attribute.categories[code]
            rows.append((attribute.name, category, party, len(rebuilt) + 1, equal))
    columns = ["attribute", "category", "party", "attributes_rebuilt", "equals_true_record"]
    return pd.DataFrame(rows, columns=columns)
