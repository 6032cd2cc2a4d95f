"""Test the independence of many tables, with p-values adjusted for their number.

`deniable.contingency.channel_test` tests each table. If the rule of validity fails, Monte Carlo
tables give the p-value. Tables of more than 36 cells are then not tested, because this could take
hours. Holm's method bounds the probability of any false rejection under any dependence between
tests. The method of Benjamini and Hochberg bounds the expected proportion of false rejections among
all rejections if tests are independent or positively dependent.

Drawing stops once `ENOUGH` tables have a statistic as large as the observed one (Besag and
Clifford, 1991). No p-value above .05 leads to a rejection. Few Monte Carlo tables cannot give a
small p-value after the adjustment. If a p-value is the smallest possible one, the test is repeated
with enough tables for a single rejection by Holm. The size stays the same: above that smallest
value the first p-value decides, below it the second.
"""

import math
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from deniable.arrays import Counts, Floats, at_least
from deniable.channels import Channel
from deniable.contingency.independence import MONTE_CARLO_TABLES, channel_test
from deniable.contingency.two_step import Independence

LEVEL = 0.05
ENOUGH = 50  # of 999 tables: 5 %
CHI_SQUARED, NOTHING = "chi-squared", "nothing to test"
TOO_FEW = "no test: too few records for the limiting distribution"
MAX_MONTE_CARLO_CELLS = 36
"""Largest number of cells or randomized values for which Monte Carlo tables take some seconds."""


class TableToTest(NamedTuple):
    """Counts of the randomized values of a table.

    `shape` has the numbers of categories of the attributes. `channel` maps the joint cells to the
    randomized values. Their `counts` have the shape (reports,).
    """

    shape: tuple[int, ...]
    channel: Channel
    counts: Counts


def independence_of_tables(
    tables: Sequence[TableToTest], generator: np.random.Generator
) -> pd.DataFrame:
    """Test the independence of the attributes of each of `tables`.

    For each Monte Carlo test, `generator` draws up to 999 tables from the fitted null. It draws
    more if the p-value is the smallest possible one.

    Returns
    -------
    DataFrame
        One row per table: ``records``, ``statistic``, ``degrees_of_freedom``, ``p_value``,
        ``valid`` (whether the rule of validity holds), ``p_value_by`` (the method). The p-value is
        NaN for a large table with too few records.
    """
    # Tables of one shape with the same keep-or-replace channel are tested together.
    groups: dict[Hashable, list[int]] = {}
    for position, (shape, channel, _) in enumerate(tables):
        form = channel.weight_and_replacement
        key = position if form is None else (shape, form[0], form[1].round(12).tobytes())
        groups.setdefault(key, []).append(position)
    rows: dict[Hashable, Any] = {}
    for own in groups.values():
        rows |= _tested(tables, own, generator, MONTE_CARLO_TABLES).to_dict("index")
    more = math.ceil(len(rows) / LEVEL)
    for own in groups.values():
        again = [each for each in own if _is_smallest(rows[each])]
        if again and more > MONTE_CARLO_TABLES:
            rows |= _tested(tables, again, generator, more).to_dict("index")
    return pd.DataFrame([rows[position] for position in range(len(tables))])


def adjusted_for_number(tests: pd.DataFrame) -> pd.DataFrame:
    """Return `tests` with p-values adjusted for their number, and decisions at the level .05.

    The new columns are ``p_value_holm``, ``p_value_benjamini_hochberg``, ``rejected``,
    ``rejected_holm`` and ``rejected_benjamini_hochberg``. A NaN p-value does not count as a test.
    """
    p_values = tests["p_value"].to_numpy(dtype=float)
    adjusted = tests.assign(
        p_value_holm=holm(p_values), p_value_benjamini_hochberg=benjamini_hochberg(p_values)
    )
    for suffix in ("", "_holm", "_benjamini_hochberg"):
        adjusted[f"rejected{suffix}"] = at_least(LEVEL, adjusted[f"p_value{suffix}"].to_numpy())
    return adjusted


def _tested(
    tables: Sequence[TableToTest],
    positions: list[int],
    generator: np.random.Generator,
    monte_carlo_tables: int,
) -> pd.DataFrame:
    shape, channel, _ = tables[positions[0]]
    model = Independence(shape)
    counts = np.array([tables[position].counts for position in positions])
    freedom = model.degrees_of_freedom
    rows = pd.DataFrame({"records": counts.sum(axis=1)}, index=positions)
    if freedom < 1:
        rows = rows.assign(statistic=0.0, degrees_of_freedom=0, p_value=math.nan, valid=False)
        return rows.assign(p_value_by=NOTHING)
    small = max(counts.shape[1], model.cells) <= MAX_MONTE_CARLO_CELLS
    found = channel_test(
        counts,
        channel,
        model,
        generator=generator if small else None,
        tables=monte_carlo_tables,
        enough=ENOUGH,
    )
    drawn = found.monte_carlo_tables.tolist()
    by = [f"{number} Monte Carlo tables" if number else TOO_FEW for number in drawn]
    return rows.assign(
        statistic=found.statistic,
        degrees_of_freedom=freedom,
        p_value=found.p_value,
        valid=found.valid,
        p_value_by=np.where(found.valid, CHI_SQUARED, by),
    )


def _is_smallest(row: dict[str, Any]) -> bool:
    by_tables = str(row["p_value_by"]).endswith("Monte Carlo tables")
    return by_tables and bool(at_least(1 / (1 + MONTE_CARLO_TABLES), row["p_value"]))


def holm(p_values: npt.ArrayLike) -> Floats:
    """Return `p_values`, shape (tests,), adjusted by Holm's step-down method.

    A NaN does not count as a test and stays as it is.

    >>> holm([0.01, 0.04, 0.03]).round(4).tolist()
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p_values, dtype=float)
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(values[known], kind="stable")]
    adjusted = np.full(values.shape, np.nan)
    steps = np.arange(order.size, 0, -1) * values[order]
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def benjamini_hochberg(p_values: npt.ArrayLike) -> Floats:
    """Return `p_values` adjusted by Benjamini and Hochberg's step-up method; NaN as in `holm`.

    >>> benjamini_hochberg([0.01, 0.04, 0.03]).round(4).tolist()
    [0.03, 0.04, 0.04]
    """
    values = np.asarray(p_values, dtype=float)
    known = ~np.isnan(values)
    adjusted = np.full(values.shape, np.nan)
    adjusted[known] = scipy.stats.false_discovery_control(values[known])
    return adjusted
