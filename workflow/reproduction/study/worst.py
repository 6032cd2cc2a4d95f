"""Order privacy claims by what exceeds them, and describe the extremes of a table.

An exact ε beyond a claimed one multiplies the bound on an intruder's odds by e^(exact − claimed).
"Worst" is the largest such factor, infinite exact ε first. The ratio of both says less: .01 where
.001 is claimed is ten times as much, and harmless.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

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


@dataclass(frozen=True)
class Worst:
    """The case in which a claim is exceeded most."""

    claimed: float  # ε
    exact: float  # ε, or a lower bound
    at: str  # the case, in words

    @property
    def beyond(self) -> float:
        """The exact ε less the claimed one, 0 if the claim is kept."""
        return self.exact - self.claimed if self.exact > self.claimed else 0.0


def worst_of(
    table: pd.DataFrame, claimed: str, exact: str, of: str, settings: Mapping[str, str]
) -> Worst:
    """Return the worst case of a `table` that has rows; other arguments are as for `extremes`.

    The columns `claimed` and `exact` have ε, `of` the names of cases, `settings` the formats.
    """
    ordered = worst_first(table, claimed, exact)
    row = rows_of(ordered.head(1))[0]
    place = _place(row, ordered, (claimed, exact), of, settings)
    return Worst(float(row[claimed]), float(row[exact]), place)


def _place(
    row: Row, among: pd.DataFrame, epsilons: tuple[str, str], of: str, settings: Mapping[str, str]
) -> str:
    """Return the settings of a `row`, with the names of all rows that have the same."""
    at = {name: form.format(row[name]) for name, form in settings.items() if row[name] == row[name]}
    equal = among[[*epsilons, *at]] == pd.Series(row)[[*epsilons, *at]]
    return ", ".join([" or ".join(among.loc[equal.all(axis=1), of].unique()), *at.values()])


def extremes(
    table: pd.DataFrame, claimed: str, exact: str, of: str, settings: Mapping[str, str]
) -> str:
    """Describe a `table`'s worst case, its largest ratio, and the largest ε where 0 is claimed.

    `claimed` and `exact` are columns of ε, `of` has names of cases, `settings` are the formats of
    other columns. Bounds are rounded up. Claims that are all kept give an empty text.
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
        times = f"{most} times what is claimed"
        said.append(f"always {times}" if always else f"at most {times} ({both}: {place(row)})")
    for row in rows_of(ordered[ordered[claimed] == 0].nlargest(1, exact)):
        said.append(f"up to {at_most(row[exact])} where 0 is claimed ({place(row)})")
    return joined(said)
