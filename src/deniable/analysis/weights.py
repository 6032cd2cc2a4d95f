"""Weights that make protected records add up."""

import numpy as np
import pandas as pd

from deniable.analysis.answers import consistent
from deniable.analysis.protected import Protected
from deniable.analysis.tables import Table
from deniable.errors import DeniableError
from deniable.plans import Plan
from deniable.randomized_response import adjust, reports_categories
from deniable.records import Microdata
from deniable.release import StratifiedPlan
from deniable.release.categorical import adjust_reports, estimate


def adjusted(plan: Plan, protected: Protected) -> pd.DataFrame:
    """Return a weight for each `protected` record: weighted, they have the estimated margins.

    RR-Adjustment ([multirr], Algorithm 2) on the clusters of the `plan` whose reports are
    categories; others cannot be weighted. A row a record: ``record``, its number in the file from
    1, ``weight``, of sum 1, in order of the file; ``.attrs["left_out"]`` names the columns that are
    not adjusted.

    Raises
    ------
    DeniableError
        If no column's reports are categories.
    """
    protocol = plan.protocol
    ways = {cluster: protocol.channel_of(cluster) for cluster in protocol.clusters}
    clusters = [cluster for cluster, channel in ways.items() if reports_categories(channel)]
    if not clusters:
        raise DeniableError(
            "no column's reports are categories of its own, so weights cannot make them add up; "
            "use the tables, or synthetic records"
        )
    tables = [Table.of(protocol, cluster) for cluster in clusters]
    read = [
        [portion.joint(table.reports) for table in tables]
        for portion in protected.portions({n for table in tables for n in table.reports.names})
    ]
    codes = [np.concatenate(column) for column in zip(*read, strict=True)]
    targets = []
    for table, column in zip(tables, codes, strict=True):
        counts = np.bincount(column, minlength=table.reports.size)
        targets.append(consistent(table.channel, counts)[0])
    found = adjust(codes, targets, domains=[table.cells for table in tables])
    records = np.arange(1, found.weights.size + 1)
    answer = pd.DataFrame({"record": records, "weight": found.weights})
    answer.attrs["left_out"] = [
        name for cluster in ways if cluster not in clusters for name in cluster
    ]
    return answer


def adjusted_within_strata(plan: StratifiedPlan, protected: Protected) -> pd.DataFrame:
    """Return what `adjusted` does of `protected` records, each stratum of the `plan` by itself.

    No column is left out: each stratum keeps its share of the records.
    """
    domain = plan.protocol.domain
    read = [portion.codes for portion in protected.portions(domain.names)]
    columns = tuple(np.concatenate([codes[name] for codes in read]) for name in domain.names)
    reports = Microdata(domain, columns)
    found = adjust_reports(plan.protocol, reports, estimate(plan.protocol, reports)).table()
    found.attrs["left_out"] = []
    return found
