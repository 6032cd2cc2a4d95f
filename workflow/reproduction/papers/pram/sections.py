"""Prepare the tables of the report's sections on [pram] from the tables of a run."""

from typing import Any

import pandas as pd

from deniable.display import Tables, first_of, groups_of, rows_of

from reproduction.papers.pram import names
from reproduction.study import PageTable, all_rows, pivot

TARGETS = {"population": "the population", "file": "these records"}
IN = {name: f"coverage in {name}" for name in TARGETS.values()}
COVERED = "coverage, mean over categories"
WEIGHTED = {
    "hajek": "weighted, over the sum of weights",
    "horvitz_thompson": "weighted, over the known total",
    "unweighted": "without weights",
}
DESIGNS = {"pps": "drawn by size", "stratified": "drawn by stratum"}
SECTIONS = {"1": "estimation", "2": "PRAM", "3": "privacy", "4": "item sets"}
RIVALS = {"generalized_rr": "generalized RR", "two_step": "two steps"}
SHOWN_EPSILON = 1.0  # the design's table shows the epsilon of a run that is nearest to it
LOSSES = {
    "trace": "sum of variances",
    "worst_cell": "largest variance",
    "changed": "proportion of changed records",
    "distance": "expected distance",
}
BY_CHANNEL = {"channel": "channel", "records": "records", "target": "truth"}


def _named(table: pd.DataFrame) -> pd.DataFrame:
    """Return a `table` with channels and targets as a page calls them."""
    return table.replace({"channel": names.CHANNELS, "target": TARGETS})


# -- introduction, and the numbered results --------------------------------------------------------


def about(tables: Tables) -> dict[str, Any]:
    """Prepare the glossary's example from `tables`: one response about the smallest attribute."""
    if "pram_intruder" not in tables:
        return {"example": None}
    table = tables["pram_intruder"]
    sizes = table.groupby("attribute", sort=False)["category"].nunique()
    part = table[(table["attribute"] == sizes.idxmin()) & (table["p"] == table["p"].max())]
    example = rows_of(part.loc[[part["factor"].idxmax()]])[0]
    kept = example["p"] + (1 - example["p"]) / int(sizes.min())
    return {"example": example | {"size": int(sizes.min()), "kept": kept}}


def results(tables: Tables) -> dict[str, Any]:
    """Prepare the numbered results in `tables` by section, and how many hold."""
    table = tables["pram_results"]
    holds = table["verdict"] == "holds"
    return {
        "groups": [
            (f"Section {of['section']}: {SECTIONS[str(of['section'])]}", rows_of(part))
            for of, part in groups_of(table, "section")
        ],
        "count": len(table),
        "holds": int(holds.sum()),
        "largest": table["gap"][holds].max(),
        "failing": [row["result"] for row in rows_of(table[~holds])],
    }


# -- estimates and their intervals (section 1, (2.7), section 4) -----------------------------------


def coverage(tables: Tables) -> dict[str, Any]:
    """Prepare from `tables` how often intervals contain the truth, by channel and target."""
    table = _named(tables["pram_coverage"])
    covered = table[table["measure"] == "coverage"]
    kinds = {"none": "one at a time", "bonferroni": "Bonferroni", "scheffe": "Scheffé"}
    of = covered["method"].map(names.METHODS) + ", " + covered["intervals"].map(kinds)
    covered = covered.assign(of=of)
    called = {f"{m}, {k}": f"{m}, {k}" for m in names.METHODS.values() for k in kinds.values()}
    every = covered["category"] == names.EVERY
    single = covered[~every & (covered["intervals"] == "none")]
    form: dict[str, Any] = {"value": "mean", "text": "percent"}
    ratio = table[table["measure"] == "variance_ratio"]
    heads = BY_CHANNEL | {"mean": "estimated / true variance"}
    bias = table[table["measure"] == "bias"]
    largest = bias.assign(mean=bias["mean"].abs()).groupby([*BY_CHANNEL], sort=False)["mean"].max()
    keys = BY_CHANNEL | {"category": "category"}
    label = "coverage, mean over categories or of all at once"
    return {
        "means": pivot(covered[every], BY_CHANNEL, "of", label, names=called, **form),
        "ratios": all_rows(ratio, "estimated variances over true ones", heads),
        "bias": all_rows(
            largest.reset_index(),
            "largest bias of a category, in standard errors",
            BY_CHANNEL | {"mean": "largest bias"},
        ),
        "categories": pivot(
            single, keys, "method", "coverage of every category", names=names.METHODS, **form
        ),
    }


def weights(tables: Tables) -> dict[str, Any]:
    """Prepare weighted estimates in `tables` beside unweighted ones, by design and channel."""
    table = _named(tables["pram_weights"]).replace({"design": DESIGNS, "estimator": WEIGHTED})
    keys = {"design": "sample", "channel": "channel", "estimator": "estimate"}
    exact = table[table["measure"].isin(("bias", "expected_bias"))]
    size = exact.assign(mean=exact["mean"].abs())
    size = size.groupby([*keys, "measure"], sort=False)["mean"].max().reset_index()
    of = {"bias": "simulated", "expected_bias": "exact"}
    every = table[(table["category"] == names.EVERY) & (table["measure"] == "coverage")]
    ratio = table[table["measure"] == "variance_ratio"]
    form: dict[str, Any] = {"value": "mean", "text": "percent"}
    heads = keys | {"mean": "estimated / true variance"}
    return {
        "coverage": pivot(every, keys, "target", COVERED, names=IN, **form),
        "bias": pivot(size, keys, "measure", "largest bias of a category", names=of, **form),
        "ratios": all_rows(ratio, "estimated variances over true ones, weighted", heads),
    }


ITEM_SETS = {
    **{"support": "support", "standard_error": "standard error"},
    "expected_relative_error": "exact standard error, of the support",
    "relative_error": "mean error, of the support",
    **{"told_from_zero": "distinguished from 0", "coverage_score": "coverage, score"},
    **{"coverage_wald": "coverage, Wald", "coverage_bonferroni": "coverage, Bonferroni"},
}


def item_sets(tables: Tables) -> dict[str, Any]:
    """Prepare the errors of item sets in `tables`, by an item's epsilon and the size of the set."""
    table = first_of(tables["pram_item_sets"], "records")
    table = table.assign(set=table["epsilon"] * table["size"]).sort_values(["epsilon", "size"])
    keys = {"epsilon": "ε of an item", "size": "items", "set": "ε of the set"}
    form: dict[str, Any] = {"value": "mean", "text": "percent", "names": ITEM_SETS}
    label = "errors of item sets by ε and size"
    return {
        "errors": pivot(table, keys, "measure", label, intervals=False, **form),
        "every": pivot(table, keys, "measure", "item sets with 95 % intervals", **form),
    }


# -- variances under PRAM and invariant PRAM (section 2) -------------------------------------------


def variance(tables: Tables) -> dict[str, PageTable]:
    """Prepare variance inflations in `tables` by attribute and epsilon, and the file's epsilon."""
    table = tables["pram_variance"]
    whole = tables["pram_whole_file"].replace(
        {"mechanism": names.MECHANISMS | {"resampling": "redraw all"}}
    )
    of_file = {"attribute": "attribute", "smallest_count": "records of the rarest category"}
    of_file |= {"mechanism": "matrix"}
    keys = ("attribute", "categories", "epsilon")
    inflated = "variance inflation at equal ε"
    return {
        "inflation": pivot(
            table, keys, "mechanism", inflated, value="inflation", names=names.MECHANISMS
        ),
        "retention": pivot(
            table[table["retention"].notna()],
            keys,
            "mechanism",
            "retention probabilities",
            value="retention",
            names=names.MECHANISMS,
        ),
        "whole": pivot(
            whole,
            of_file,
            "epsilon",
            "ε of the whole file, with a matrix that is kept secret",
            value="whole_file_epsilon",
        ),
    }


INVARIANT = {
    **{"records": "records", "p": "p", "estimator": "estimate", "method": "matrix"},
    "attribute": "attribute",
}


def invariant(tables: Tables) -> dict[str, Any]:
    """Prepare claimed over true variances and coverage in `tables`, by matrix and attribute."""
    table = tables["pram_invariant"]
    order = {name: at for at, name in enumerate(names.INVARIANT_METHODS)}
    table = table.assign(order=table["method"].map(order), plain=table["estimator"] != "shares")
    table = table.sort_values(
        ["records", "p", "plain", "order"], ascending=[False, True, True, True]
    )
    first = first_of(table, "records", "p", "estimator")
    called = {"method": names.INVARIANT_METHODS}
    inflation = table[table["measure"] == "inflation"].replace(called)

    def of(part: pd.DataFrame, measure: str, label: str, text: str = "short") -> PageTable:
        cells = part[part["measure"] == measure].replace(called)
        form: dict[str, Any] = {"value": "mean", "names": names.CLAIMS, "text": text}
        return pivot(cells, INVARIANT, "claim", label, intervals=part is not first, **form)

    return {
        "claims": names.CLAIMS,
        "claimed": of(first, "claimed_to_true", "claimed over true variance"),
        "covered": of(first, "coverage", "coverage of nominal 95 % intervals", "percent"),
        "every": [
            all_rows(inflation, "true inflation", INVARIANT | {"mean": "inflation"}),
            of(table, "claimed_to_true", "claimed over true variance in all settings"),
            of(table, "coverage", "coverage in all settings", "percent"),
            of(table, "coverage_rarest", "coverage of the rarest category", "percent"),
        ],
    }


JOINT_MEASURES = {
    "cramers_v": ("Cramér's V", "short"),
    "expected_cramers_v": ("Cramér's V of the expected table", "short"),
    "distance": ("distance from the true table", "percent"),
    "expected_distance": ("distance of the expected table", "percent"),
    "margin_distance": ("distance of the marginal distributions", "percent"),
    "query_error": ("error of a count query", "percent"),
}


def joint_loss(tables: Tables) -> dict[str, Any]:
    """Prepare from `tables` what pairs keep of dependence: a table for each measure."""
    table = tables["pram_joint_loss"].sort_values(["first", "second", "epsilon"])
    called = {"true": "true"} | names.JOINT_ESTIMATORS
    found = {
        measure: pivot(
            table[table["measure"] == measure],
            ["first", "second", "epsilon"],
            "estimator",
            label,
            value="mean",
            text=text,
            names=called,
            intervals=False,
        )
        for measure, (label, text) in JOINT_MEASURES.items()
    }
    shown = ("cramers_v", "distance")
    return {
        "shown": [found[name] for name in shown],
        "others": [found[name] for name in found if name not in shown],
    }


# -- breaches, and optimized matrices (section 3) --------------------------------------------------


def breaches(tables: Tables) -> dict[str, PageTable]:
    """Prepare from `tables` the bounds on beliefs, and the posterior beliefs of an intruder."""
    bounds, intruder = tables["pram_breach_bounds"], tables["pram_intruder"]
    worst = tables["pram_worst_sets"]
    ends = {"rho_1": "believed before", "epsilon": "ε", "smallest_posterior": "least after"}
    ends |= {"largest_posterior": "most after"}
    limits = {"rho_1": "ρ₁", "rho_2": "ρ₂", "largest_parity": "largest parity, (3.5)"}
    limits |= {"largest_epsilon": "its ε", "largest_factor": "parity by Theorem 3.2"}
    heads = {"attribute": "attribute", "p": "p", "epsilon": "ε", "parity": "parity"}
    beliefs = {"prior": "before", "posterior": "after", "factor": "factor"}
    of_category = heads | {"category": "reported"} | beliefs | {"likeliest": "likeliest truth"}
    of_set = heads | {"rho_1": "ρ₁", "members": "set", "report": "reported"} | beliefs
    of_set |= {"bound": "bound", "exact": "all sets searched"}
    known = intruder[intruder["factor"].notna()]
    ends_of = known.groupby(["attribute", "p"], sort=False)["factor"].agg(["idxmax", "idxmin"])
    label = "categories that gain most and least"
    return {
        "bounds": all_rows(bounds, "bounds on beliefs after one response", ends),
        "thresholds": pivot(
            tables["pram_breach_thresholds"],
            limits,
            "categories",
            "largest parity that rules a breach out, and the diagonal by categories",
            value="diagonal",
            text="percent",
        ),
        "intruder": all_rows(known.loc[ends_of.to_numpy().ravel()], label, of_category),
        "categories": all_rows(known, "every category that is reported", of_category),
        "worst": all_rows(worst[worst["posterior"].notna()], "worst sets of categories", of_set),
    }


def design(tables: Tables) -> dict[str, Any]:
    """Prepare optimized matrices in `tables` beside the best in closed form."""
    table = tables["pram_design"].replace({"loss": LOSSES})
    ratios = {f"{name} / optimized": table[name] / table["designed"] for name in RIVALS}
    table = table.assign(**ratios)
    heads = {
        **{"attribute": "attribute", "categories": "categories", "epsilon": "ε", "loss": "loss"},
        **{"requirements": "required", "designed": "optimized"},
        **RIVALS,
        **{f"{name} / optimized": f"{title} / optimized" for name, title in RIVALS.items()},
        **{"lower_bound": "lower bound", "optimality": "optimum"},
    }
    shown = min(table["epsilon"], key=lambda epsilon: abs(epsilon - SHOWN_EPSILON))
    return {
        "shown": all_rows(table[table["epsilon"] == shown], "optimized beside closed forms", heads),
        "every": all_rows(table, "all optimized matrices", heads),
        "matrices": [
            pivot(
                part,
                {"true": str(at["design"])},
                "reported",
                f"matrix of {at['design']}",
                value="probability",
                names={each: each for each in part["reported"]},
            )
            for at, part in groups_of(tables["pram_channels"], "design")
        ],
    }
