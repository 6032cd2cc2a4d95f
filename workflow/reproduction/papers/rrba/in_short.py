"""Verdicts on [rrba] for the report's first page."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from deniable.display import Tables, rows_of, short

from reproduction.papers.rrba.names import FILES, METHODS, PRINTED_TABLES
from reproduction.papers.rrba.sections import over_uniform
from reproduction.study import (
    AgreementCount,
    PrivacyVerdict,
    Verdicts,
    agreement_of,
    nearest,
    where,
)

SHOWN_P = 0.5


def in_short(tables: Tables) -> Verdicts:
    """Return the verdict on Theorem 4.1 from `tables`, and how many published numbers agree."""
    return Verdicts([*_theorem(tables)], [*_numbers(tables)])


def _theorem(tables: Tables) -> Iterator[PrivacyVerdict]:
    table = tables.get("rrba_epsilon")
    if table is None:
        return
    single = table[(table["unit"] == "answer") & (table["cells"] > 1)]
    if not len(single):
        return
    single = single.assign(ratio=single["exact"] / single["claimed"])
    holds = int(single["holds"].sum())
    true = holds == len(single)
    p = nearest(single["p"], SHOWN_P)
    at_p = table[table["p"] == p]
    views = rows_of(where(at_p, unit="view", table="uniform"))
    view: dict[str, Any] | None = max(views, key=lambda each: each["answers"], default=None)
    of_view = (
        f" All {view['answers']} answers of a client about {FILES[view['dataset']]} "
        f"spend {short(float(view['exact']))} at that p, tables uniform."
        if view
        else ""
    )
    yield PrivacyVerdict(
        "holds" if true else "fails",
        f"Theorem 4.1 of RRBA is {'true' if true else 'false'}",
        f"It claims ε = ln 1 / (1 − p), {short(float(at_p['claimed'].iloc[0]))} at p = {p:g}. "
        f"One answer keeps to that in {holds} of {len(single)} settings; it "
        f"spends {_spent(single)} times as much.{of_view}",
        "rrba_overview",
        "" if true else _instead(tables.get("rrba_equal")),
        float(single["ratio"].max()),
    )


def _spent(single: pd.DataFrame) -> str:
    """Return the range of exact over claimed ε of an answer, of uniform tables and of all."""
    low, high = short(single["ratio"].min()), short(single["ratio"].max())
    uniform = single.loc[single["table"] == "uniform", "ratio"]
    if not len(uniform):
        return f"{low} to {high}"
    least, most = short(uniform.min()), short(uniform.max())
    return f"{least} to {most} (tables uniform) or up to {high} (small cells)"


def _instead(equal: pd.DataFrame | None) -> str:
    """Recommend a statement, and the uniform table if it is never farther from the truth."""
    stated = "State the exact ε of all answers of a client"
    found = None if equal is None else over_uniform(equal, "rrba")
    if found is None or found["lower"]:
        return f"{stated}, under a floor for cells."
    return (
        "Keep the table uniform, which is generalized randomized response: at equal exact ε RRBA's "
        f"tables are {short(found['ratios'].min())} to {short(found['ratios'].max())} times as far "
        f"from the truth in all {found['of']} settings. {stated}."
    )


def _numbers(tables: Tables) -> Iterator[AgreementCount]:
    for name, title in PRINTED_TABLES.items():
        if name in tables:
            own = tables[name][tables[name]["main"] & tables[name]["published"].notna()]
            for method in (each for each in METHODS if each in set(own["method"])):
                part = where(own, method=method)
                yield agreement_of(f"{title}, {METHODS[method]}", part, "rrba_tables")
    if "rrba_table3" in tables:
        # Its n and effect, which the text leaves open, are fitted to the printed rates.
        yield AgreementCount("Table 3", None, 0, "rrba_tests", "fitted, no verdict")
    if "rrba_examples" in tables:
        yield agreement_of("worked cases", tables["rrba_examples"], "rrba_consistency")
