"""Synthetic records from the estimates of a release: no record is anybody's answer."""

import numpy as np
import pandas as pd
import pyarrow as pa

from deniable.analysis.answers import consistent
from deniable.analysis.protected import Protected
from deniable.analysis.tables import Table
from deniable.plan import Plan
from deniable.randomized_response import synthesize
from deniable.records import Attribute
from deniable.schema import MISSING, Column


def synthetic_records(plan: Plan, protected: Protected, records: int, seed: int) -> pd.DataFrame:
    """Return synthetic records with the randomized columns of the release, in their types.

    Each cluster's consistent distribution is met as closely as whole records allow, and clusters
    are matched at random: what depends on each other in different clusters does not here.

    Raises
    ------
    DeniableError
        If fewer than one record are asked for, or a channel tells nothing of some categories.
    """
    protocol = plan.protocol
    tables = [Table.of(protocol, cluster) for cluster in protocol.clusters]
    counted = protected.count([table.reports for table in tables])
    shares = [
        consistent(table.channel, counts)[0] for table, counts in zip(tables, counted, strict=True)
    ]
    made = synthesize(
        protocol.domain, protocol.clusters, shares, records, np.random.default_rng(seed)
    )
    columns = {column.name: column for column in plan.schema.randomized}
    texts = {
        each.name: _values(columns[each.name], each).take(pa.array(made.column(each.name)))
        for each in protocol.domain
    }
    return pd.DataFrame({name: values.to_pandas() for name, values in texts.items()})


def _values(column: Column, attribute: Attribute) -> pa.Array:
    """Return what each code stands for: texts, points, values of the column's type; null."""
    texts = [None if each == MISSING else each for each in attribute.categories]
    kind = column.type or ("double" if column.kind == "numeric" else "string")
    if column.kind == "numeric":
        # As a double first: the text of a whole number may say so ("2.0").
        return pa.array(texts).cast(pa.float64()).cast(pa.type_for_alias(kind))
    return pa.array(texts, pa.string()).cast(pa.type_for_alias(kind))
