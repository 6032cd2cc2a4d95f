"""Verdicts on [rrba] for the first page of the report."""

from collections.abc import Iterator

import pandas as pd

from deniable.display import Tables, at_least, at_most, joined

from reproduction import study
from reproduction.papers.rrba.names import FILES, METHODS, PRINTED_TABLES
from reproduction.papers.rrba.sections import over_uniform
from reproduction.papers.rrba.table_results import first_designs, power_with_rule, shown_settings

EPSILONS = ("claimed", "exact")
TABLES = {"uniform": "uniform table", "lowest": "one cell at the floor", "true": "original table"}
AT = {"cells": "{} cells", "floor": "floor {:g} / m", "p": "p = {:g}"}

OTHERS_IN_TABLE_3 = {"laplace_true_limit": "Laplace noise", "mcindep": "MCIndep"}
"""The other methods of 7.3; Laplace noise has the test of the text."""


def in_short(tables: Tables) -> study.Verdicts:
    """Return the verdict on Theorem 4.1, and counts of published numbers, from `tables`."""
    epsilon, equal = tables.get("rrba_epsilon"), tables.get("rrba_equal")
    theorem = [] if epsilon is None else [_theorem(epsilon, equal)]
    return study.Verdicts(theorem, [*_numbers(tables)])


def _theorem(table: pd.DataFrame, equal: pd.DataFrame | None) -> study.PrivacyVerdict:
    known = table.assign(
        of=table["table"].map(TABLES) + table["dataset"].map(FILES).radd(", ").fillna("")
    )
    single = study.worst_first(study.where(known, unit="answer"), *EPSILONS)
    answers = AT | {"answers": "{} answers"}
    views, holds = study.where(known, unit="view"), int(single["holds"].sum())
    uniform = single.loc[single["table"] == "uniform", "times"]
    ends, true = f"p = {table['p'].min():g} to {table['p'].max():g}", holds == len(single)
    return study.PrivacyVerdict(
        "holds" if true else "fails",
        "Theorem 4.1 of RRBA: ε = ln 1 / (1 − p)",
        f"It claims ε = ln 1 / (1 − p). At {ends} this holds for one answer in {holds} of "
        f"{len(single)} settings"
        + (f": {study.extremes(single, *EPSILONS, 'of', AT)}" if not true else "")
        + f". With uniform tables the exact ε is {at_least(uniform.min())} to "
        f"{at_most(uniform.max())} times the claimed one. All answers of a client: "
        f"{study.extremes(views, *EPSILONS, 'of', answers) or 'not above the claim'}.",
        "rrba_overview",
        study.worst_of(pd.concat([single, views]), *EPSILONS, "of", answers),
        "" if true else "State the exact ε of all answers of a client, under a floor for cells.",
        "" if true else _useful(equal),
    )


def _useful(equal: pd.DataFrame | None) -> str:
    found = pd.Series() if equal is None else over_uniform(equal, "rrba")
    if not len(found) or (found < 1).any():
        return ""
    return (
        "Use a uniform table, which is generalized randomized response: at equal exact ε distances "
        f"from the original table are {at_least(found.min())} to {at_most(found.max())} times as "
        f"large with RRBA, in all {len(found)} settings."
    )


def _numbers(tables: Tables) -> Iterator[study.AgreementCount]:
    for name, title in PRINTED_TABLES.items():
        for method, called in METHODS.items():
            part = study.where(tables.get(name), main=True, method=method)
            if len(part) and part["published"].notna().any():
                yield study.agreement_of(f"{title}, {called}", part, "rrba_tables")
    if "rrba_table3" in tables:
        table = tables["rrba_table3"]
        # n and effect, which the text does not state, are fitted to the rates of RRBA.
        said, power = "fitted, no verdict", power_with_rule(table)
        if power:
            said += f"; with the published rule of five its power is {power}"
        yield study.AgreementCount("Table 3, RRBA", None, 0, "rrba_tests", said)
        for method, called in OTHERS_IN_TABLE_3.items():
            part = study.where(first_designs(shown_settings(table)), method=method)
            if len(part):
                yield study.agreement_of(f"Table 3, {called}", part, "rrba_tests")
    if "rrba_examples" in tables:
        cases = tables["rrba_examples"]
        differing = study.where(cases, verdict="differs")["place"]
        places = differing.str.extract(r"(\w+ [\d.]+)[a-c]?$")[0]
        errors = f" (errors: {joined(places.unique())})" if len(places) else ""
        yield study.agreement_of(f"worked cases{errors}", cases, "rrba_consistency")
