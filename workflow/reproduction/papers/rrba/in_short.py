"""Verdicts on [rrba] for the report's first page."""

from collections.abc import Iterator

import pandas as pd

from deniable.display import Tables, rows_of, short

from reproduction.papers.rrba.names import FILES, METHODS, PRINTED_TABLES
from reproduction.papers.rrba.sections import over_uniform
from reproduction.papers.rrba.table_results import first_designs, power_with_rule, shown_settings
from reproduction.study import AgreementCount, PrivacyVerdict, Verdicts, agreement_of, where

OTHERS_IN_TABLE_3 = {"laplace_true_limit": "Laplace noise", "mcindep": "MCIndep"}
"""The methods of 7.3 beside RRBA, Laplace noise with the text's own test."""


def in_short(tables: Tables) -> Verdicts:
    """Return the verdict on Theorem 4.1 from `tables`, and how many published numbers agree."""
    epsilon, equal = tables.get("rrba_epsilon"), tables.get("rrba_equal")
    return Verdicts([] if epsilon is None else [_theorem(epsilon, equal)], [*_numbers(tables)])


def _theorem(table: pd.DataFrame, equal: pd.DataFrame | None) -> PrivacyVerdict:
    single = where(table, unit="answer")
    ratios, holds = single["exact"] / single["claimed"], int(single["holds"].sum())
    uniform, true = ratios[single["table"] == "uniform"], holds == len(single)
    at_p = where(table, p=table["p"].max())
    views = rows_of(where(at_p, unit="view", table="uniform"))
    view = max(views, key=lambda each: each["answers"])
    return PrivacyVerdict(
        "holds" if true else "fails",
        f"Theorem 4.1 of RRBA is {'true' if true else 'false'}",
        f"It claims ε = ln 1 / (1 − p), {short(view['claimed'])} at p = {view['p']:g}. "
        f"One answer keeps to that in {holds} of {len(single)} settings; it spends "
        f"{short(uniform.min())} to {short(uniform.max())} (tables uniform) or up to "
        f"{short(ratios.max())} (small cells) times as much. "
        f"All {view['answers']} answers of a client about {FILES[view['dataset']]} "
        f"spend {short(float(view['exact']))} at that p, tables uniform.",
        "rrba_overview",
        "" if true else _instead(equal),
        float(ratios.max()),
    )


def _instead(equal: pd.DataFrame | None) -> str:
    """Recommend a statement, and the uniform table if it is never farther from the truth."""
    stated = "State the exact ε of all answers of a client"
    found = pd.Series() if equal is None else over_uniform(equal, "rrba")
    if not len(found) or (found < 1).any():
        return f"{stated}, under a floor for cells."
    return (
        "Keep the table uniform, which is generalized randomized response: at equal exact ε RRBA's "
        f"tables are {short(found.min())} to {short(found.max())} times as far "
        f"from the truth in all {len(found)} settings. {stated}."
    )


def _numbers(tables: Tables) -> Iterator[AgreementCount]:
    for name, title in PRINTED_TABLES.items():
        for method, called in METHODS.items():
            part = where(tables.get(name), main=True, method=method)
            if len(part) and part["published"].notna().any():
                yield agreement_of(f"{title}, {called}", part, "rrba_tables")
    if "rrba_table3" in tables:
        table = tables["rrba_table3"]
        # n and effect, which the text leaves open, are fitted to the rates of RRBA.
        said, power = "fitted, no verdict", power_with_rule(table)
        if power:
            said += f"; with the rule of five as printed its power is {power}"
        yield AgreementCount("Table 3, RRBA", None, 0, "rrba_tests", said)
        for method, called in OTHERS_IN_TABLE_3.items():
            part = where(first_designs(shown_settings(table)), method=method)
            if len(part):
                yield agreement_of(f"Table 3, {called}", part, "rrba_tests")
    if "rrba_examples" in tables:
        yield agreement_of("worked cases", tables["rrba_examples"], "rrba_consistency")
