"""Records randomized by a plan in memory: a table in, a DataFrame out, and no folder."""

from typing import Any

import pandas as pd
import pyarrow as pa

from deniable.errors import DeniableError, shown
from deniable.plans import Plan
from deniable.sampling import Chance, KeyedDraws, SystemSource, refuse_no_source
from deniable.schema import RecordsFile


def randomize(records: Any, plan: Plan, chance: Chance | None = None) -> pd.DataFrame:
    """Return what a plan makes of records.

    For simulations and methods of one's own. No ledger counts it, and rows stand in the order of
    the records, so that whose a row is, is known; `protect` makes what can be given away.

    Parameters
    ----------
    records : path or table
        The file that the plan's schema describes, or the same as a table.
    plan : Plan
        By `make_plan`, of any protocol by `plan_from_protocol`, or made by its class.
    chance : Generator, SystemSource or KeyedDraws, optional
        By default that of the operating system, which nobody can draw again.

    Returns
    -------
    DataFrame
        The columns of a protected file, in their order; of a collection the counts of its answers.
        `deniable.Released`, given the plan too, estimates from it.

    Raises
    ------
    DataError
        If the records are not as the schema says.
    DeniableError
        If `plan` is none, or `chance` is no source of it, such as a seed.
    """
    source = SystemSource() if chance is None else chance
    if not isinstance(source, KeyedDraws):
        refuse_no_source(source)
    if not isinstance(plan, Plan):
        raise DeniableError(f"{shown(plan)} is no plan; make one by deniable.make_plan")
    batches = RecordsFile.open(records, plan.schema, passed=plan.passed).portions()
    made: pd.DataFrame = pa.concat_tables(plan.randomize(batches, source)).to_pandas()
    return made
