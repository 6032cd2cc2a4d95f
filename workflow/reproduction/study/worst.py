"""Order privacy claims by what exceeds them, and describe the extremes of a table.

An exact ε beyond a claimed one multiplies the bound on an intruder's odds by e^(exact − claimed).
"Worst" is the largest such factor, infinite exact ε first. The ratio of both says less: .01 where
.001 is claimed is ten times as much, and harmless.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from deniable.display import Row, at_least, at_most, joined, rows_of, short

DECIMALS = 8  # of differences: tables have 9 digits


def worst_first(table: pd.DataFrame, claimed: str, exact: str) -> pd.DataFrame:
    """Return the `table` ordered by `exact` ε less `claimed` ε, largest first, then by exact ε.

    ``beyond`` is the difference, 0 if both are infinite. ``times`` is the ratio: infinite if 0 is
    claimed and exceeded, not a number if both are 0 or infinite.
    """
    promised, found = (table[name].to_numpy(dtype=float) for name in (claimed, exact))
    with np.errstate(divide="ignore", invalid="ignore"):
        beyond = np.where(found == promised, 0.0, found - promised).round(DECIMALS)
        own = table.assign(beyond=beyond, times=found / promised)
    return own.sort_values(["beyond", exact], ascending=False, kind="stable")


def extremes(
    table: pd.DataFrame, claimed: str, exact: str, of: str, settings: Mapping[str, str]
) -> str:
    """Describe a `table`'s worst case, its largest ratio, and the largest ε where 0 is claimed.

    `claimed` and `exact` are columns of ε, `of` has names of cases, `settings` are the formats of
    other columns. Bounds are rounded up. Claims that are all kept give an empty text.
    """
    every = worst_first(table, claimed, exact)
    ordered, finite = every[every["beyond"] > 0], every[np.isfinite(every["times"])]

    def place(row: Row) -> str:
        at = {
            name: form.format(row[name])
            for name, form in settings.items()
            if row[name] == row[name]
        }
        equal = ordered[[claimed, exact, *at]] == pd.Series(row)[[claimed, exact, *at]]
        return ", ".join([" or ".join(ordered.loc[equal.all(axis=1), of].unique()), *at.values()])

    said = []
    for row in rows_of(ordered.head(1)):
        endless = np.isinf(row["beyond"])
        odds = "no finite ε" if endless else f"odds × {at_most(np.exp(row['beyond']))}"
        said.append(f"{short(row[claimed])} → {short(row[exact])} at worst ({place(row)}: {odds})")
    for row in rows_of(finite[finite["beyond"] > 0].nlargest(1, "times")):
        most, both = at_most(row["times"]), f"{short(row[claimed])} → {short(row[exact])}"
        always = len(every) > 1 and at_least(every["times"].min()) == at_most(every["times"].max())
        times = f"{most} times what is claimed"
        said.append(f"always {times}" if always else f"at most {times} ({both}: {place(row)})")
    for row in rows_of(ordered[ordered[claimed] == 0].nlargest(1, exact)):
        said.append(f"up to {at_most(row[exact])} where 0 is claimed ({place(row)})")
    return joined(said)
