"""What the report's first page says of [rrba]."""

from typing import Any

import pandas as pd
import pytest
from tests.reproduction.papers.rrba.tables import all_tables

from deniable.display import at_least, at_most, short

from reproduction.papers.rrba.exact import worked_cases
from reproduction.papers.rrba.in_short import in_short

TABLES = all_tables()


def test_theorem_4_1_fails_by_what_the_table_says() -> None:
    (theorem,) = in_short(TABLES).privacy
    assert (theorem.verdict, theorem.says) == ("fails", "Theorem 4.1 of RRBA: ε = ln 1 / (1 − p)")
    table = TABLES["rrba_epsilon"]
    beyond = []
    for unit in ("answer", "view"):
        part = table[table["unit"] == unit]
        worst = (part["exact"] - part["claimed"]).idxmax()
        row, largest = part.loc[worst], (part["exact"] / part["claimed"]).max()
        assert f"{short(row['claimed'])} → {short(row['exact'])} at worst (" in theorem.found
        assert f"at most {at_most(largest)} times the claimed ε" in theorem.found
        beyond.append(row["exact"] - row["claimed"])
    assert theorem.beyond == pytest.approx(max(beyond))
    uniform = table[(table["unit"] == "answer") & (table["table"] == "uniform")]
    ratios = uniform["exact"] / uniform["claimed"]
    of_uniform = f"{at_least(ratios.min())} to {at_most(ratios.max())} times the claimed one"
    assert f"With uniform tables the exact ε is {of_uniform}" in theorem.found
    assert theorem.instead


def test_a_theorem_that_is_kept_to_holds() -> None:
    table = TABLES["rrba_epsilon"]
    kept = table.assign(exact=table["claimed"], holds=True)
    (theorem,) = in_short(TABLES | {"rrba_epsilon": kept}).privacy
    assert (theorem.verdict, theorem.beyond, theorem.instead) == ("holds", 0.0, "")


def test_worked_cases_count_what_is_published_and_name_the_errors() -> None:
    (counted,) = in_short({"rrba_examples": worked_cases()}).numbers
    assert (counted.agrees, counted.of) == (7, 14)
    assert counted.what == "worked cases (errors: Theorem 4.1, Table 1 and Algorithm 1)"


def test_a_uniform_table_is_advised_only_where_it_is_better_throughout() -> None:
    table = TABLES["rrba_equal"]
    for factor, advised in ((1e6, True), (1e-6, False)):
        own = table["method"] == "rrba"
        other = table.assign(mean=table["mean"].where(~own, table["mean"] * factor))
        (theorem,) = in_short(TABLES | {"rrba_equal": other}).privacy
        assert ("Use a uniform table" in theorem.useful) == advised


def test_printed_numbers_are_counted_by_table_and_method() -> None:
    numbers = {each.what: each for each in in_short(TABLES).numbers}
    for name, title in (("rrba_table4", "Table 4"), ("rrba_table5", "Table 5")):
        table = TABLES[name]
        own = table[table["main"] & table["published"].notna() & (table["method"] == "rrba")]
        agrees = int((own["verdict"] == "agrees").sum())
        assert (numbers[f"{title}, RRBA"].agrees, numbers[f"{title}, RRBA"].of) == (
            agrees,
            len(own),
        )


def rates(method: str, rule: str, k: int, n: int, rate: float, verdict: str) -> list[Any]:
    at = {"method": method, "small_cells": rule, "k": k, "n": n, "effect": 0.5}
    at |= {"sampled_tables": 99, "published": 97.0 - k, "regenerated": rate, "verdict": verdict}
    return [at | {"hypothesis": name} for name in ("H0", "H1")]


def test_table_3_has_verdicts_on_what_was_not_fitted() -> None:
    rows = []
    for k, n in ((2, 172), (3, 344), (2, 2000)):
        rows += rates("rrba", "ignore", k, n, 95.0, "fitted")
        rows += rates("rrba", "table", k, n, 50.0 if n < 2000 else 99.0, "fitted")
        rows += rates("mcindep", "ignore", k, n, 95.0, "agrees")
        rows += rates("laplace_true_limit", "ignore", k, n, 95.0, "agrees" if k == 2 else "differs")
        rows += rates("laplace", "ignore", k, n, 95.0, "differs")
    found = in_short({"rrba_table3": pd.DataFrame(rows)}).numbers
    # Of the first n of each k, with the text's own test for Laplace noise.
    assert [(each.what, each.agrees, each.of) for each in found] == [
        ("Table 3, RRBA", None, 0),
        ("Table 3, Laplace noise", 2, 4),
        ("Table 3, MCIndep", 4, 4),
    ]
    assert found[0].unjudged == (
        "fitted, no verdict; with the published rule of five its power is "
        "50 and 50 % (published 95 and 94)"
    )


def test_nothing_is_said_without_tables() -> None:
    said = in_short({})
    assert not said.privacy
    assert not said.numbers
