"""Synthetic records from the estimates of a release: no record is anybody's answer."""

import numpy as np
import pandas as pd
import pyarrow as pa

from deniable.analysis.answers import consistent
from deniable.analysis.protected import Protected
from deniable.analysis.tables import Table
from deniable.plans import Plan
from deniable.randomized_response import synthesize
from deniable.schema import MISSING, type_named


def synthetic_records(plan: Plan, protected: Protected, records: int, seed: int) -> pd.DataFrame:
    """Return so many synthetic `records` with the randomized columns of the `plan`, in their types.

    From the `protected` ones, drawn by the `seed`. Each cluster's consistent distribution is met as
    closely as whole records allow, and clusters are matched at random: what depends on each other
    in different clusters does not here.

    Raises
    ------
    DeniableError
        If fewer than one record are asked for, or a channel tells nothing of some categories.
    """
    protocol = plan.protocol
    tables = [Table.of(protocol, cluster) for cluster in protocol.clusters]
    counted = protected.count([table.reports for table in tables])
    shares = [
        consistent(table.channel, each.counts)[0]
        for table, each in zip(tables, counted, strict=True)
    ]
    made = synthesize(
        protocol.domain, protocol.clusters, shares, records, np.random.default_rng(seed)
    )
    columns = {}
    for attribute in protocol.domain:
        column = plan.schema[attribute.name]
        kind = pa.float64() if column.kind == "numeric" else pa.string()
        texts = [None if each == MISSING else each for each in attribute.categories]
        values = pa.array(texts, pa.string()).cast(type_named(column.type) if column.type else kind)
        columns[attribute.name] = values.take(pa.array(made.column(attribute.name))).to_pandas()
    return pd.DataFrame(columns)
