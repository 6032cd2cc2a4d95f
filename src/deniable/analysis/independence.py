"""Tests of independence from a protected file, which know its channels."""

import numpy as np
import pandas as pd

from deniable.analysis.protected import Counted
from deniable.analysis.tables import Table
from deniable.contingency import LogLinearModel, channel_test
from deniable.errors import DeniableError

MOST_TESTED = 512
"""Cells, and reports, of a tested table: Monte Carlo tables of 1,024 take most of a minute."""
MONTE_CARLO, ENOUGH = 499, 50


def tested(table: Table, counted: Counted, seed: int) -> pd.DataFrame:
    """Return the test that some columns are independent of each other, all together, in one row.

    These are the columns of the `table`, whose reports are `counted`. Rao's score test of the
    reports; see `deniable.contingency.channel_test`. Where its rule of validity fails, the p-value
    is from tables drawn anew from the fitted null, by the `seed`.

    Raises
    ------
    DeniableError
        If the test cannot be made of these columns.
    """
    found = channel_test(
        counted.counts,
        table.channel,
        LogLinearModel.independence(table.cells.shape),
        generator=np.random.default_rng(seed),
        tables=MONTE_CARLO,
        enough=ENOUGH,
    )
    drawn = int(found.monte_carlo_tables)
    return pd.DataFrame(
        [
            {
                "columns": " x ".join(table.domain.names),
                "null": "independent of each other",
                "statistic": float(found.statistic),
                "degrees_of_freedom": found.degrees_of_freedom,
                "p_value": float(found.p_value),
                "p_value_by": f"{drawn} Monte Carlo tables" if drawn else "chi-squared",
                "target": "population",
                "records": counted.records,
            }
        ]
    )


def refuse_untestable(table: Table) -> None:
    """Raise `DeniableError` unless the `table` can be tested."""
    names = ", ".join(table.domain.names)
    if len(table.domain) < 2:
        raise DeniableError(f"independence of {names} alone; name at least two columns")
    if not table.whole:
        others = [name for name in table.cells.names if name not in table.domain.names]
        raise DeniableError(
            f"{names}: went out together with {', '.join(others)}, through a channel that tells of "
            "all of them at once; name these columns too"
        )
    if max(table.cells.size, table.reports.size) > MOST_TESTED:
        raise DeniableError(
            f"the table of {names} has {table.cells.size:,} cells and {table.reports.size:,} "
            f"reports; a test takes at most {MOST_TESTED:,}. Name fewer columns"
        )
