"""Contents of the report's sections on [rrba], from the tables of a run."""

from typing import Any

import pandas as pd

from deniable.display import Row, Tables, between, percent, plain, short, thousands
from deniable.estimation import Z_95

from reproduction.papers.rrba import names
from reproduction.papers.rrba.catalog import RUN_KEYS
from reproduction.papers.rrba.table_results import power_with_rule, shown_settings
from reproduction.study import (
    MISSING,
    SIGN,
    PageTable,
    all_rows,
    from_rows,
    groups_of,
    nearest,
    pivot,
    span,
    texts,
    where,
)

SHOWN_FLOOR = 0.1
PERCENT = 100.0
ERRORS = 2.0  # number of Monte Carlo errors beyond which powers differ
OURS = "regenerated"


def named(table: pd.DataFrame, **titles: Any) -> pd.DataFrame:
    """Return a `table` with names for pages; `titles` are mappings for further columns."""
    always: dict[str, Any] = {"dataset": names.FILES, "file": names.FILES, "metric": names.METRICS}
    return table.replace(always | titles)


def over_uniform(equal: pd.DataFrame, method: str) -> pd.Series:
    """Return distances of a `method` over distances with a uniform table, at `equal` ε."""
    shown = where(equal, reading="projected", metric=names.COMPARED)
    by_setting = shown.set_index(["metric", "file", "k", "epsilon"])
    own, uniform = (where(by_setting, method=name)["mean"] for name in (method, "rrba_uniform"))
    return (own / uniform).dropna()


def overview(tables: Tables) -> dict[str, Any]:
    """Return the claimed and the exact ε of one answer and of a view, from `tables`."""
    table = tables["rrba_epsilon"].fillna({"dataset": ""})
    signs = table["holds"].map({True: SIGN["holds"], False: SIGN["fails"]})
    found = table["exact"].map(short) + " " + signs
    table = table.assign(found=found, setting=texts(table, _setting))
    general, views = where(table, dataset=""), where(table, unit="view")
    answers = where(general, unit="answer").sort_values("p", kind="stable")
    floor = nearest(table["floor"].dropna(), SHOWN_FLOOR)
    single = answers[answers["floor"].isna() | (answers["floor"] == floor)]
    keys = {name: name for name in ("dataset", "p", "answers", "claimed")}
    keys |= {"claimed_composed": "claimed, for each answer"}
    label = "claimed and exact ε of one answer"
    return {
        "answers": pivot(single, ["p", "claimed", "setting"], "cells", label),
        "views": pivot(named(views), keys, "setting", "exact ε of the views of a client"),
    }


def _setting(row: Row) -> str:
    place = {"lowest": "one cell at the floor", "true": "original table, floor"}.get(row["table"])
    return f"{place} {plain(row['floor'])} / m" if place else "uniform"


ENDS = {  # labels of measures without a criterion
    **{"invalid": "replicates with an invalid table", "error_last": "error, last table"},
    "error_average": "error, average of the last two",
    "error_pooled": "error, pooled estimate",
}
CONVERGED = (
    *("criterion", "settings", "replicates that converge", "at least half in", "all in"),
    *("answers", "blocks", "accurate"),
)


def convergence(tables: Tables) -> dict[str, Any]:
    """Return convergence by criterion, and tables without stopping, from `tables`."""
    both = pd.concat([tables["rrba_fig5"], tables["rrba_fig6"]], ignore_index=True)
    every = both.drop_duplicates(list(RUN_KEYS))
    # One row for each followed cell, with its measures in columns.
    wide = every.pivot(index=RUN_KEYS[:-1], columns="measure", values="mean").reset_index()
    rows = []
    for (update, criterion), title in names.CRITERIA.items():
        cells = where(wide, update=update, criterion=criterion)
        if len(cells):
            converged, within = cells["converged"], cells["within"]
            always = cells[converged == 1]
            ends = always["tuples"], always["tuples"] / always["block_size"]
            half, share = (converged >= 0.5).sum(), percent(converged.mean())
            row = title, len(cells), share, half, len(always)
            close = f"{percent(within.mean())} (by setting {span(within)})"
            rows.append((*row, *(span(each.round()) for each in ends), close))
    groups = where(every, criterion="none").groupby(["update", "p", "measure"], as_index=False)
    ended: pd.DataFrame = groups[["mean"]].mean().replace({"update": names.UPDATES})
    by_update, label = {"update": "next table", "p": "p"}, "tables without stopping"
    return {
        "replicates": int(every["replicates"].max()),
        "criteria": from_rows("convergence by criterion", CONVERGED, rows),
        "updates": pivot(ended, by_update, "measure", label, names=ENDS),
    }


def tables(results: Tables) -> dict[str, Any]:
    """Return Tables 4 and 5 from `results`: published and our values, and their exact ε."""
    both = pd.concat(results[name].assign(table=t) for name, t in names.PRINTED_TABLES.items())
    main = named(both[both["main"]])
    by_method = named(main, method=names.METHODS)
    exact = [
        (*of.values(), span(part["epsilon_exact"]), part["epsilon_theorem"].max())
        for of, part in groups_of(by_method, "table", "p", "epsilon_claimed", "method")
    ]
    heads = ("table", "p", "ε in its title", "method", "exact ε", "ε of Theorem 4.1")
    shown = where(main, metric=tuple(names.METRICS[name] for name in names.COMPARED))
    ours = texts(shown, lambda row: _judged(row, "subset_min", "subset_max"))
    shown = shown.assign(found=shown["published"].map(short) + " | " + ours)
    shown = shown.sort_values("metric", kind="stable")
    keys = {"metric": "measure", "p": "p", "dataset": "data", "k": "k"}
    return {
        "privacy": from_rows("exact ε of Tables 4 and 5", heads, exact),
        "printed": {
            title: pivot(where(shown, table=title), keys, "method", title, names=names.METHODS)
            for title in names.PRINTED_TABLES.values()
        },
        "replicates": int(main["replicates"].max()),
    }


def _judged(row: Row, low: str, high: str) -> str:
    verdict = "" if row["verdict"] == "not published" else f" {SIGN[row['verdict']]}"
    return f"{short(float(row[OURS]))}{verdict} ({between(row[low], row[high])})"


def equal(tables: Tables) -> dict[str, Any]:
    """Return distances over distances with a uniform table, at equal exact ε, from `tables`."""
    every = tables["rrba_equal"]
    found = {title: over_uniform(every, name) for name, title in names.EQUAL_METHODS.items()}
    del found[names.EQUAL_METHODS["rrba_uniform"]]
    rows = [(k, int((v < 1).sum()), len(v), span(v)) for k, v in found.items() if len(v)]
    heads = ("method", "smaller distance in", "of", "distance over uniform table")
    return {
        "replicates": int(every["replicates"].max()),
        "ratios": from_rows("distances relative to a uniform table", heads, rows),
    }


def table_3(table: pd.DataFrame) -> PageTable:
    """Return rejection rates and accuracies from the `table` of Table 3, published and ours."""
    shown = shown_settings(table)
    rule, sampled = shown["small_cells"].iloc[0], shown["sampled_tables"].iloc[0]
    caption = (
        f"Percent of {thousands(shown['trials'].max())} replicates with exact 95 % intervals, "
        f"{sampled} sampled tables, {names.RULES[rule]}. ✓ agrees, ✗ differs, ≈ fitted. "
        "Accuracy: right decisions, with independence in half of the replicates."
    )
    at = ["k", "n", "effect", "method"]
    wide = shown.pivot(index=at, columns="hypothesis", values=[OURS, "published"])
    wide = wide.reindex(columns=pd.MultiIndex.from_product([[OURS, "published"], ["H0", "H1"]]))
    right = wide.xs("H1", axis=1, level=1) + PERCENT - wide.xs("H0", axis=1, level=1)
    right = (right / 2).dropna(how="all").reset_index().assign(hypothesis="accuracy")
    right = right.assign(found=right[OURS].map("{:.1f}".format))
    ours = texts(shown, lambda row: _judged(row, "ci_low", "ci_high"))
    both = pd.concat([shown.assign(found=ours), right])
    said = texts(both, lambda row: f"n = {thousands(row['n'])}, effect {plain(row['effect'])}")
    printed = both[both["published"].notna()].drop_duplicates(["method", "hypothesis", "k"])
    printed = printed.assign(setting="published", found=printed["published"].map(plain))
    every = pd.concat([printed, both.assign(setting=said)])
    every = every.sort_values(["k", "hypothesis"], kind="stable")
    rates, title = every.replace({"hypothesis": names.HYPOTHESES}), "Table 3, published and ours"
    keys = {"k": "k", "hypothesis": "rate", "setting": "setting"}
    return pivot(rates, keys, "method", title, names=names.TESTS, caption=caption)


def tests(tables: Tables) -> dict[str, Any]:
    """Return Table 3, published and ours, and counts of sizes and powers at equal ε from `tables`.

    Powers differ from the power of the adjusted test if they are more than `ERRORS` apart.
    """
    rejected = where(tables["rrba_power"], measure="rejected")
    keys = ["k", "margins", "pattern", "n", "effect", "epsilon", "sampled_tables", "small_cells"]
    sizes, powers = rejected[rejected["effect"] == 0], rejected[rejected["effect"] > 0]
    counted, against = [], []
    for method in ("channel_aware", "rrba", "mcindep", "laplace"):
        title, own = names.TESTS[method], where(sizes, method=method)
        if len(own):
            by_size = ((own["size"] == name).sum() for name in names.SIZES)
            counted.append((title, *by_size, len(own)))
        first, second = (where(powers, method=name) for name in ("channel_aware", method))
        both = first.merge(second, on=keys, suffixes=("_1", "_2"))
        apart = both[f"{OURS}_1"] - both[f"{OURS}_2"]
        widths = (both[f"ci_high_{which}"] - both[f"ci_low_{which}"] for which in (1, 2))
        reach = ERRORS * sum((width / 2 / Z_95) ** 2 for width in widths) ** 0.5
        higher, lower = int((apart > reach).sum()), int((apart < -reach).sum())
        if len(both) and method != "channel_aware":
            against.append((title, higher, lower, len(both), span(apart)))
    heads = ("channel-aware test against", "higher in", "lower in", "of", "difference, points")
    return {
        "table_3": table_3(tables["rrba_table3"]),
        "with_rule": power_with_rule(tables["rrba_table3"]),
        "trials": int(rejected["trials"].max()) if len(rejected) else 0,
        "sizes": from_rows("settings by size", ("method", *names.SIZES, "of"), counted),
        "against": from_rows("power of the channel-aware test", heads, against),
    }


VIEWS = {
    **{"file": "data", "records": "n", "p": "p", "views": "views", "tables": "tables"},
    **{"printed_feasible": "published program is feasible", "closed_form": "closed form suffices"},
    **{"negative_before": "cells below 0 before", "disagreement_before": "disagreement before"},
    "distance_before": "distance before",
}
AGREE_WITHIN = 1e-9


def consistency(tables: Tables) -> dict[str, Any]:
    """Return the disagreement of views before and after, and worked cases, from `tables`."""
    table, methods = tables["rrba_consistency"], names.CONSISTENCY_METHODS
    shown = table.assign(
        found=texts(table, _after),
        views=texts(table, lambda row: f"{row['views']} of {row['views_of']}-way"),
        # The columns before consistency are the same for all methods.
        **{name: table[name].map(short) for name in ("disagreement_before", "distance_before")},
        **{
            name: table[name].map(lambda part: MISSING if pd.isna(part) else percent(part))
            for name in ("printed_feasible", "closed_form", "negative_before")
        },
    )
    gains = []
    for of, own in groups_of(where(table, tables="observed"), "method"):
        smaller, larger = int((own["ci_high"] < 0).sum()), int((own["ci_low"] > 0).sum())
        ratios = span(own["distance_after"] / own["distance_before"])
        gains.append((methods[of["method"]], smaller, larger, len(own), ratios))
    heads = ("method", "smaller distance in", "larger in", "of", "distance after / before")
    titled, label = named(shown, tables=names.KINDS), "views before and after consistency"
    cases = tables["rrba_examples"].astype({"quantity": str, "exact": str})
    minus = {name: {r"-(?=\d)": "−"} for name in ("quantity", "exact")}
    cases = cases.replace(minus, regex=True).rename(columns={"printed": "published"})
    cases = cases.assign(verdict=cases["verdict"].map(SIGN) + " " + cases["verdict"])
    columns = ("case", "place", "quantity", "exact", "published", "verdict")
    return {
        "replicates": int(table["replicates"].max()),
        "gains": from_rows("distances from the original tables", heads, gains),
        "views": pivot(titled, VIEWS, "method", label, names=methods),
        "cases": all_rows(cases, "worked cases in fractions", columns),
    }


def _after(row: Row) -> str:
    """Return the distance after, the interval of its change, and the remaining disagreement."""
    left = row["disagreement_after"]
    distance = short(float(row["distance_after"]))
    change: str = "" if pd.isna(row["change"]) else f" ({between(row['ci_low'], row['ci_high'])})"
    return f"{distance}{change}; {'< 10⁻⁹' if left < AGREE_WITHIN else short(float(left))}"
