"""Order privacy claims by the excess of exact over claimed ε, and describe extremes of a table.

An exact ε above a claimed one multiplies the bound on an intruder's odds by e^(exact − claimed).
"Worst" is the largest such factor; infinite exact ε come first. The ratio of both ε says less: an
exact .01 for a claimed .001 is ten times as much, and harmless.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from deniable.display import Row, at_least, at_most, joined, rows_of, short

DECIMALS = 8  # of differences: tables have 9 digits


def worst_first(table: pd.DataFrame, claimed: str, exact: str) -> pd.DataFrame:
    """Return the `table` ordered by `exact` minus `claimed` ε, largest first, then by exact ε.

    The column ``beyond`` is the difference, 0 if both are infinite. The column ``times`` is the
    ratio: infinite if 0 is claimed and exceeded, NaN if both are 0 or infinite.
    """
    promised, found = (table[name].to_numpy(dtype=float) for name in (claimed, exact))
    with np.errstate(divide="ignore", invalid="ignore"):
        beyond = np.where(found == promised, 0.0, found - promised).round(DECIMALS)
        own = table.assign(beyond=beyond, times=found / promised)
    return own.sort_values(["beyond", exact], ascending=False, kind="stable")


@dataclass(frozen=True)
class Worst:
    """The case that exceeds a claim most."""

    claimed: float  # ε
    exact: float  # ε, or a lower bound
    at: str  # the case, in words

    @property
    def beyond(self) -> float:
        """The exact ε minus the claimed one; 0 if the claim holds."""
        return self.exact - self.claimed if self.exact > self.claimed else 0.0


def worst_of(
    table: pd.DataFrame, claimed: str, exact: str, of: str, settings: Mapping[str, str]
) -> Worst:
    """Return the worst case of a `table` with at least one row.

    The columns `claimed`, `exact` and `of`, and the formats `settings`, are as in `extremes`.
    """
    ordered = worst_first(table, claimed, exact)
    row = rows_of(ordered.head(1))[0]
    place = _place(row, ordered, (claimed, exact), of, settings)
    return Worst(float(row[claimed]), float(row[exact]), place)


def _place(
    row: Row, among: pd.DataFrame, epsilons: tuple[str, str], of: str, settings: Mapping[str, str]
) -> str:
    """Return the settings of a `row`, with the names of all rows with these settings."""
    at = {name: form.format(row[name]) for name, form in settings.items() if row[name] == row[name]}
    equal = among[[*epsilons, *at]] == pd.Series(row)[[*epsilons, *at]]
    return ", ".join([" or ".join(among.loc[equal.all(axis=1), of].unique()), *at.values()])


def extremes(
    table: pd.DataFrame, claimed: str, exact: str, of: str, settings: Mapping[str, str]
) -> str:
    """Describe a `table`'s worst case, its largest ratio, and the largest ε where 0 is claimed.

    The columns `claimed` and `exact` have ε, the column `of` has the names of cases. The `settings`
    are formats of other columns. Bounds are rounded up. If all claims hold, the text is empty.
    """
    every = worst_first(table, claimed, exact)
    ordered, finite = every[every["beyond"] > 0], every[np.isfinite(every["times"])]
    place = partial(_place, among=ordered, epsilons=(claimed, exact), of=of, settings=settings)
    said = []
    if len(ordered):
        worst = worst_of(ordered, claimed, exact, of, settings)
        odds = f"odds × {at_most(np.exp(worst.beyond))}" if worst.beyond < np.inf else "no finite ε"
        said.append(f"{short(worst.claimed)} → {short(worst.exact)} at worst ({worst.at}: {odds})")
    for row in rows_of(finite[finite["beyond"] > 0].nlargest(1, "times")):
        most, both = at_most(row["times"]), f"{short(row[claimed])} → {short(row[exact])}"
        always = len(every) > 1 and at_least(every["times"].min()) == at_most(every["times"].max())
        times = f"{most} times the claimed ε"
        said.append(f"always {times}" if always else f"at most {times} ({both}: {place(row)})")
    for row in rows_of(ordered[ordered[claimed] == 0].nlargest(1, exact)):
        said.append(f"up to {at_most(row[exact])} where 0 is claimed ({place(row)})")
    return joined(said)
