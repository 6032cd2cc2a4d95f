"""Records randomized by a plan in memory: a table in, a DataFrame out, and no folder."""

from typing import Any

import pandas as pd
import pyarrow as pa

from deniable.plan import Plan
from deniable.records import Microdata
from deniable.release.planned.writing import Reports
from deniable.sampling import Chance, SystemSource
from deniable.schema import RecordsFile


def randomize(records: Any, plan: Plan, chance: Chance | None = None) -> pd.DataFrame:
    """Return what a plan makes of records: the columns of a protected file, in their order.

    For simulations and methods of one's own. No ledger counts it, and rows stand in the order of
    the records, so that whose a row is, is known; `protect` makes what can be given away.

    Parameters
    ----------
    records : path or table
        What the plan's schema describes.
    plan : Plan
        By `make_plan`, or of any protocol by `plan_of`.
    chance : Generator, SystemSource or KeyedDraws, optional
        By default that of the operating system, which nobody can draw again.

    Returns
    -------
    DataFrame
        `deniable.Released`, given the plan too, estimates from it.

    Raises
    ------
    DataError
        If the records are not as the schema says.
    """
    source = SystemSource() if chance is None else chance
    domain, drawn = plan.protocol.domain, []
    reports = Reports(plan, as_text=plan.schema.file.kind == "csv")
    for portion in RecordsFile.open(records, plan.schema, passed=plan.passed).portions():
        true = Microdata(domain, tuple(portion.codes[name] for name in domain.names))
        numbers = range(portion.first, portion.first + len(portion))
        own = plan.protocol.randomize(true, source, numbers)
        drawn.append(pa.table(reports.arrays(own, portion.passed), names=reports.names))
    made: pd.DataFrame = pa.concat_tables(drawn).to_pandas()
    return made
