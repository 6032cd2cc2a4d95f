"""Claims of [rrba] about distances (sections 1 and 7.4), held against the tables of this run."""

from collections.abc import Sequence
from functools import partial

import pandas as pd

from deniable.papers.rrba.claims.rows import Tests, paired, rows_of
from deniable.study import Outcome, below, counted, range_of, ratios_of

SCALES = (("printed scale", "laplace"), ("honest scale", "laplace_honest"))
HIGHER_K = (3, 4)
PRINTED_P = (0.4, 0.5)
VARIANTS = (
    ("floor .1 / m", "rrba"),
    ("floor .5 / m", "rrba_half_floor"),
    ("p that the true table allows", "rrba_at_truth"),
)


def about_distances(table: pd.DataFrame) -> Tests:
    """Yield the claims about Tables 4 and 5.

    Parameters
    ----------
    table : DataFrame
        Both, one below the other: `deniable.papers.rrba.table_results.TABLE_COLUMNS`.
    """
    first, second = PRINTED_P
    for scale, laplace in SCALES:
        for reading in ("noisy", "projected"):
            l2 = table[(table["metric"] == "l2") & (table["reading"] == reading)]
            what = f"{scale}, {reading} tables"
            named = l2["dataset"].isin(["survey", "child"])
            yield "lowest_l2_survey_child", what, partial(_below, l2[named], laplace)
            high = l2[(l2["p"] == first) & l2["k"].isin(HIGHER_K)]
            yield "wins_in_high_dimensions", what, partial(_below, high, laplace)
            half = l2[l2["p"] == second]
            yield "wins_everywhere_at_half", what, partial(_below, half, laplace)
        js = table[(table["metric"] == "jensen_shannon") & (table["reading"] == "projected")]
        yield "lower_jensen_shannon", scale, partial(_below, js, laplace)
    for method in ("rrba", "laplace"):
        printed = table[(table["method"] == method) & table["published"].notna()]
        for key, part in printed.groupby(["reading", "file"], sort=False):
            what = f"{method}, {key[0]} tables, {key[1]}"
            yield "printed_numbers", what, partial(_agrees, part)
            yield "printed_numbers", f"{what}, any set", partial(_any_agrees, part)


def _below(table: pd.DataFrame, laplace: str) -> Outcome:
    pairs = paired(table, ["file", "k", "p"], "method", "rrba", laplace)
    lost = [
        f"{row['file']} k = {row['k']} p = {row['p']:g}"
        for row, other in pairs
        if row["median"] >= other["median"]
    ]
    return below(pairs, f"RRBA over Laplace: {ratios_of(pairs)}; not below: {_some(lost)}")


def _some(names: Sequence[str], most: int = 6) -> str:
    if len(names) > most:
        return f"{len(names)} cells"
    return "; ".join(names) or "none"


def _agrees(table: pd.DataFrame) -> Outcome:
    rows = rows_of(table)
    found = [row["regenerated"] / row["published"] for row in rows]
    return counted(
        (row["verdict"] == "agrees" for row in rows),
        f"regenerated over printed: {range_of(found)}",
    )


def _any_agrees(table: pd.DataFrame) -> Outcome:
    rows = rows_of(table)
    places = {place: [r["printed_is"] for r in rows].count(place) for place in
              ("below", "within", "above")}  # fmt: skip
    figure = ", ".join(f"{number} {place}" for place, number in places.items())
    return counted(
        (row["subsets_agreeing"] > 0 for row in rows),
        f"printed against the range of sets: {figure}",
    )


def about_equal_epsilon(table: pd.DataFrame) -> Tests:
    """Yield the claims that are of privacy and utility at once.

    Parameters
    ----------
    table : DataFrame
        `deniable.papers.rrba.table_results.EQUAL_COLUMNS`.
    """
    shown = table[
        (table["reading"] == "projected") & table["metric"].isin(["l2", "jensen_shannon"])
    ]
    for what, method in VARIANTS:
        yield "better_than_coins", what, partial(_against, shown, method, "rrba_uniform")
    for what, method in (*VARIANTS, ("uniform table", "rrba_uniform")):
        yield "wins_over_laplace", what, partial(_against, shown, method, "laplace_honest")


def _against(table: pd.DataFrame, method: str, other: str) -> Outcome:
    pairs = paired(table, ["metric", "file", "k", "epsilon"], "method", method, other)
    return below(pairs, f"over {other}: {ratios_of(pairs)}")
