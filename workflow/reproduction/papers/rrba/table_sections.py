"""Prepare the report's sections on published tables of [rrba]: Tables 3 to 5 and Figure 7."""

from typing import Any

import pandas as pd

from deniable.display import SIGN, Row, Tables, between, groups_of, plain, short, thousands
from deniable.estimation import Z_95

from reproduction.papers.rrba import names
from reproduction.papers.rrba.ratios import (
    FORM,
    MEASURED,
    OURS,
    named,
    with_interval,
)
from reproduction.study import PageTable, from_rows, pivot, span, texts

AGREEMENT = (
    *("method", "published", "agree with the mean over sets"),
    *("agree with some set", "below the sets", "within", "above", "ours over published"),
)
SETTING = ["small_cells", "sampled_tables", "k", "n", "effect"]
POPULATION = {"k": "k", "margins": "marginal distributions", "pattern": "dependent", "n": "n"}
SHOWN_RULE = "ignore"
PERCENT = 100.0
ERRORS = 2.0
"""Powers differ if their difference exceeds so many Monte Carlo errors."""
SIZE_SIGNS = {"held": " ✓", "held, conservative": " ▿", "too large": " ✗"}
VALID = "valid"


def _verdict(row: Row) -> str:
    return "" if row["verdict"] == "not printed" else f" {SIGN[row['verdict']]}"


# -- Tables 4 and 5, Figure 7 ----------------------------------------------------------------------


def released(tables: Tables) -> dict[str, Any]:
    """Prepare Tables 4 and 5 from `tables`: published beside ours, and their exact ε."""
    main = pd.concat(
        tables[name][tables[name]["main"]].assign(table=title)
        for name, title in names.PRINTED_TABLES.items()
    )
    return {
        "agreement": _agreement(main),
        "privacy": _privacy(main),
        "printed": {title: _published(part) for title, part in main.groupby("table")},
        "replicates": int(main["replicates"].max()),
    }


def _agreement(table: pd.DataFrame) -> PageTable:
    """Count how published numbers compare with ours, by method."""
    rows = []
    own = named(table[table["published"].notna()], method=names.METHODS)
    for of, part in groups_of(own, "method"):
        places = [int((part["printed_is"] == at).sum()) for at in ("below", "within", "above")]
        agree = int((part["verdict"] == "agrees").sum()), int((part["subsets_agreeing"] > 0).sum())
        ratio = span(part[OURS] / part["published"])
        rows.append((of["method"], len(part), *agree, *places, ratio))
    return from_rows("published numbers beside ours", AGREEMENT, rows)


def _privacy(main: pd.DataFrame) -> PageTable:
    """Return the exact ε of each method, of one answer or of a table."""
    rows = [
        (*of.values(), span(part["epsilon_exact"]), part["epsilon_theorem"].max())
        for of, part in groups_of(
            named(main, method=names.METHODS), "table", "p", "epsilon_claimed", "method"
        )
    ]
    heads = ("table", "p", "ε in its title", "method", "exact ε", "ε of Theorem 4.1")
    return from_rows("exact ε of Tables 4 and 5", heads, rows)


def _published(table: pd.DataFrame) -> PageTable:
    """Return the published numbers of a `table` beside ours."""

    def beside(row: Row) -> str:
        subsets = between(row["subset_min"], row["subset_max"])
        return f"{short(row['published'])} | {short(row[OURS])}{_verdict(row)} ({subsets})"

    main = table[table["metric"].isin(MEASURED)]
    main = named(main.assign(found=texts(main, beside))).sort_values("metric", kind="stable")
    keys = {"metric": "measure", "p": "p", "dataset": "data", "k": "k"}
    return pivot(main, keys, "method", table["table"].iloc[0], names=names.METHODS, **FORM)


# -- Table 3, size and power -----------------------------------------------------------------------


def independence(tables: Tables) -> dict[str, Any]:
    """Prepare Table 3 beside ours, then sizes and powers at equal exact ε, from `tables`."""
    return table_3(tables["rrba_table3"]) | power(tables["rrba_power"])


def table_3(table: pd.DataFrame) -> dict[str, Any]:
    """Arrange the `table` of Table 3 by k and setting, and count published rates that agree."""
    rules = list(dict.fromkeys(table["small_cells"]))
    rule = SHOWN_RULE if SHOWN_RULE in rules else rules[0]
    shown = table[table["small_cells"] == rule]
    sampled = int(shown["sampled_tables"].max())
    shown = shown[shown["sampled_tables"] == sampled]
    caption = (
        f"Percent of {thousands(shown['trials'].max())} replicates with exact 95 % intervals, "
        f"{sampled} sampled tables, {names.RULES.get(rule, rule)}. ✓ agrees, ✗ differs, ≈ fitted. "
        "Accuracy: right decisions, half of the replicates independent."
    )
    keys = {"k": "k", "hypothesis": "rate", "setting": "setting"}
    rates, title = _rates(shown), "Table 3, published and ours"
    found = pivot(rates, keys, "method", title, names=names.TESTS, caption=caption, **FORM)
    return {"table_3": found} | _agreements(table[table["published"].notna()])


def _rates(shown: pd.DataFrame) -> pd.DataFrame:
    """Return rejected proportions and accuracies, published and ours, as text."""
    at = ["k", "n", "effect", "method"]
    wide = shown.pivot(index=at, columns="hypothesis", values=[OURS, "published"])
    wide = wide.reindex(columns=pd.MultiIndex.from_product([[OURS, "published"], ["H0", "H1"]]))
    right = wide.xs("H1", axis=1, level=1) + PERCENT - wide.xs("H0", axis=1, level=1)
    right = (right / 2).dropna(how="all").reset_index().assign(hypothesis="accuracy")
    right = right.assign(found=texts(right, lambda row: f"{row[OURS]:.1f}"))
    ours = shown.assign(found=texts(shown, lambda row: with_interval(row, mark=_verdict(row))))
    both = pd.concat([ours, right])
    said = texts(both, lambda row: f"n = {thousands(row['n'])}, effect {plain(row['effect'])}")
    printed = both[both["published"].notna()].drop_duplicates(["method", "hypothesis", "k"])
    printed = printed.assign(setting="published", found=printed["published"].map(plain))
    every = pd.concat([printed, both.assign(setting=said)])
    every = every.sort_values(["k", "hypothesis"], kind="stable")
    return every.replace({"hypothesis": names.HYPOTHESES})


def _agreements(printed: pd.DataFrame) -> dict[str, Any]:
    """Return how many published rates agree at best in one setting, and the fitted settings."""
    agrees = printed.assign(agrees=printed["verdict"].isin(["agrees", "fitted"]))
    counts = agrees.groupby([*SETTING, "method"], sort=False).agg(
        most=("agrees", "sum"), of=("agrees", "size"), epsilon=("epsilon_exact", "max")
    )
    best = []
    for of, at_k in groups_of(counts.reset_index().sort_values(["method", "k"]), "method", "k"):
        most = int(at_k["most"].max())
        reached = f"{(at_k['most'] == most).sum()} of {len(at_k)}"
        method = names.TESTS[of["method"]]
        best.append((method, of["k"], span(at_k["epsilon"]), most, at_k["of"].max(), reached))
    heads = ("method", "k", "exact ε", "rates that agree at best", "of", "in settings")
    fitted = printed[printed["verdict"] == "fitted"]
    return {
        "best": from_rows("published rates that agree", heads, best),
        "fitted": len(fitted.groupby(SETTING)),
    }


def power(table: pd.DataFrame) -> dict[str, Any]:
    """Arrange a `table` of sizes and powers by population, and count the settings."""
    rejected = table[table["measure"] == "rejected"].fillna({"size": ""})
    valid = table[table["measure"] == VALID].assign(method=VALID, size="")
    called = {n: names.TESTS[n] for n in ("channel_aware", "rrba", "mcindep", "laplace")}
    every = pd.concat([rejected, valid])

    def cell(row: Row) -> str:
        if row["method"] == VALID:
            return short(float(row[OURS]))
        return with_interval(row, mark=SIZE_SIGNS.get(row["size"], "") if not row["effect"] else "")

    every = every.assign(found=texts(every, cell))
    every = every.sort_values(["epsilon", *POPULATION, "effect"], kind="stable")
    keys = {"epsilon": "ε"} | POPULATION | {"effect": "effect"}
    heads = called | {VALID: "rule of validity holds"}
    sizes = rejected.loc[rejected["effect"] == 0]
    counted = [
        (title, *((own == name).sum() for name in names.SIZES), len(own))
        for method, title in called.items()
        if len(own := sizes.loc[sizes["method"] == method, "size"])
    ]
    label = "sizes (effect 0) and powers, percent"
    return {
        "power": pivot(every, keys, "method", label, names=heads, **FORM),
        "trials": int(rejected["trials"].max()) if len(rejected) else 0,
        "sizes": from_rows("settings by size", ("method", *names.SIZES, "of"), counted),
        "against": _against(rejected, called),
        "valid_sizes": _valid_sizes(table),
    }


def _against(table: pd.DataFrame, called: dict[str, str]) -> PageTable:
    """Count the powers in which the adjusted test is above or below another one by two errors."""
    keys = [*POPULATION, "effect", "epsilon", "sampled_tables", "small_cells"]
    positive = table[table["effect"] > 0]
    first = positive[positive["method"] == "channel_aware"]
    rows = []
    for other, title in called.items():
        both = first.merge(positive[positive["method"] == other], on=keys, suffixes=("_1", "_2"))
        apart = both[f"{OURS}_1"] - both[f"{OURS}_2"]
        widths = (both[f"ci_high_{which}"] - both[f"ci_low_{which}"] for which in (1, 2))
        reach = ERRORS * sum((width / 2 / Z_95) ** 2 for width in widths) ** 0.5
        higher, lower = int((apart > reach).sum()), int((apart < -reach).sum())
        if len(both) and other != "channel_aware":
            rows.append((title, higher, lower, len(both), span(apart)))
    heads = ("channel-aware test against", "higher in", "lower in", "of", "difference, points")
    return from_rows("power of the channel-aware test", heads, rows)


def _valid_sizes(table: pd.DataFrame) -> Row | None:
    """Return the sizes of the chi-squared test where its rule holds in all replicates."""
    null = table[(table["effect"] == 0) & (table["method"] == "channel_aware")]
    wide = null.pivot_table(index=[*POPULATION, "epsilon"], columns="measure", values=OURS)
    if not {VALID, "valid_and_rejected"} <= set(wide.columns):
        return None
    always = wide[wide[VALID] == PERCENT]
    return {
        "of": len(wide),
        "always": len(always),
        "sizes": span(always["valid_and_rejected"]),
        "never": int((wide[VALID] == 0).sum()),
    }
