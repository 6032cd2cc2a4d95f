"""Verdicts on [pram] for the report's first page."""

from collections.abc import Iterator

import pandas as pd

from deniable.display import Tables, joined, short

from reproduction.papers.pram.sections import RIVALS
from reproduction.study import PrivacyVerdict, Verdicts, groups_of

INVARIANT = {"invariant_two_step": "two steps", "invariant_lazy": "keep or redraw"}
NEVER_WORSE = 1e-6  # relative
PRIVACY = "3"  # the section of the census report on privacy


def in_short(tables: Tables) -> Verdicts:
    """Return verdicts on invariant matrices and bounds of breaches from `tables`."""
    return Verdicts(privacy=[*_invariant(tables), *_breaches(tables)])


def _invariant(tables: Tables) -> Iterator[PrivacyVerdict]:
    if not {"pram_variance", "pram_whole_file"} <= set(tables):
        return
    table, whole = tables["pram_variance"], tables["pram_whole_file"]
    cost = table.loc[table["mechanism"] == "randomized_response", "inflation"]
    yield PrivacyVerdict(
        "depends on the reading",
        "An invariant matrix hides a report, not the file",
        "Its ε takes the matrix as given, which is made of the file. Published, it gives the true "
        f"shares away: no finite ε. Kept secret, the file's ε exceeds it {_of_files(whole)}.",
        "pram_variance",
        f"A matrix made without the file, at {short(cost.min())} to {short(cost.max())} times the "
        f"variance of sampling{_designed(tables)}.",
        float("inf"),
    )


def _of_files(table: pd.DataFrame) -> str:
    """Return how often the file's epsilon exceeds the one of its secret matrix, by mechanism."""
    said = []
    for of, part in groups_of(table[table["mechanism"].isin(INVARIANT)], "mechanism"):
        spent = part["whole_file_epsilon"]
        beyond = int((spent > part["epsilon"]).sum())
        said.append(
            f"in {beyond} of {len(part)} cases with {INVARIANT[of['mechanism']]} "
            f"({short(spent.min())} to {short(spent.max())})"
        )
    return joined(said)


def _designed(tables: Tables) -> str:
    """Return how optimized channels compare with closed forms."""
    if not {"pram_design", "pram_channels"} <= set(tables):
        return ""
    table = tables["pram_design"]
    gains = pd.concat([table[name] / table["designed"] for name in RIVALS]).dropna()
    kept = int((gains >= 1 - NEVER_WORSE).sum())
    return (
        "; designed by optimization it is no worse than in closed form in "
        f"{kept} of {len(gains)} comparisons"
    )


def _breaches(tables: Tables) -> Iterator[PrivacyVerdict]:
    if "pram_results" not in tables:
        return
    table: pd.DataFrame = tables["pram_results"]
    own = table[table["section"].astype(str) == PRIVACY]
    kept = int((own["verdict"] == "holds").sum())
    yield PrivacyVerdict(
        "holds" if kept == len(own) else "fails",
        "Bounds on breaches " + ("are true" if kept == len(own) else "are not all true"),
        f"{kept} of {len(own)} results on parity, breaches and β-factor privacy hold, for all sets "
        "of categories and grids of priors.",
        "pram_results",
    )
