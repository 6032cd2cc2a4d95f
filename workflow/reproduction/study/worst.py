"""Order privacy claims by what exceeds them, and describe the extremes of a table.

An intruder's odds rise by a factor of at most e^ε, so an exact ε beyond a claimed one multiplies
the promised bound by e^(exact − claimed). "Worst" is the largest such factor: infinite exact ε
first. A ratio of both ε says less: .001 to .01 is ten times as much and harmless.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from deniable.display import at_most, joined, rows_of, short

DECIMALS = 8  # of differences and ratios: tables have 9 digits


def worst_first(table: pd.DataFrame, claimed: str, exact: str) -> pd.DataFrame:
    """Return the `table` ordered by `exact` ε less `claimed` ε, largest first, then by exact ε.

    ``beyond`` is the difference, 0 if both are infinite. ``times`` is the ratio: infinite if 0 is
    claimed and exceeded, not a number if both are 0 or infinite.
    """
    promised, found = (table[name].astype(float) for name in (claimed, exact))
    with np.errstate(divide="ignore", invalid="ignore"):
        times = pd.Series(found.to_numpy() / promised.to_numpy(), table.index)
    beyond = (found - promised).where(found != promised, 0.0)
    own = table.assign(beyond=beyond, times=times, order=beyond.round(DECIMALS))
    own = own.sort_values(["order", exact], ascending=False, kind="stable")
    return own.drop(columns="order")


def extremes(
    table: pd.DataFrame, claimed: str, exact: str, of: str, settings: Mapping[str, str]
) -> str:
    """Describe the worst case of a `table`, the largest ratio, and the largest ε where 0 is claimed.

    `claimed` and `exact` are columns of ε, `of` the column of names of cases, `settings` the
    formats of other columns. No case beyond its claim gives an empty text. All numbers that are
    bounds are rounded up.
    """
    ordered = worst_first(table, claimed, exact)
    ordered = ordered[ordered["beyond"].round(DECIMALS) > 0]
    nothing = ordered[ordered[claimed] == 0].nlargest(1, exact)
    some = ordered[np.isfinite(ordered["times"])].nlargest(1, "times")

    def place(row: dict[str, object]) -> str:
        same = ordered[exact].eq(row[exact]) & ordered[claimed].eq(row[claimed])
        for name in settings:
            same &= ordered[name].eq(row[name]) | (ordered[name].isna() & pd.isna(row[name]))
        shown = [
            form.format(row[name]) for name, form in settings.items() if not pd.isna(row[name])
        ]
        return ", ".join([" or ".join(ordered.loc[same, of].unique()), *shown])

    said = []
    for row in rows_of(ordered.head(1)):
        odds = (
            "no finite ε" if np.isinf(row["beyond"]) else f"odds × {at_most(np.exp(row['beyond']))}"
        )
        said.append(f"{short(row[claimed])} → {short(row[exact])} at worst ({place(row)}: {odds})")
    for row in rows_of(some):
        both = f"{short(row[claimed])} → {short(row[exact])}"
        said.append(f"at most {at_most(row['times'])} times what is claimed ({both}: {place(row)})")
    for row in rows_of(nothing):
        said.append(f"up to {at_most(row[exact])} where 0 is claimed ({place(row)})")
    return joined(said)
