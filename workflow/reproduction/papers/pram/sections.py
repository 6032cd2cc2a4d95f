"""Contents of the report's sections on [pram], from the tables of a run."""

from functools import partial
from typing import Any

from deniable.display import Tables, rows_of

from reproduction.papers.pram import names
from reproduction.study import PageTable, all_rows, first_of, groups_of, pivot, where

TARGETS = {"population": "the population", "file": "these records"}
NAMED = {"channel": names.CHANNELS, "target": TARGETS}  # in columns of tables
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
SHOWN_EPSILON = 1.0  # the table of optimized matrices has the ε of a run that is nearest to this
LOSSES = {
    "trace": "sum of variances",
    "worst_cell": "largest variance",
    "changed": "proportion of changed records",
    "distance": "expected distance",
}
BY_CHANNEL = {"channel": "channel", "records": "records", "target": "estimated for"}
RATIO = {"mean": "estimated / true variance"}
ITEM_SETS = {
    **{"support": "support", "standard_error": "standard error"},
    "expected_relative_error": "exact standard error, of the support",
    "relative_error": "mean error, of the support",
    **{"told_from_zero": "distinguished from 0", "coverage_score": "coverage, score"},
    **{"coverage_wald": "coverage, Wald", "coverage_bonferroni": "coverage, Bonferroni"},
}
WHOLE_FILE = {
    **{"attribute": "attribute", "smallest_count": "records of the rarest category"},
    "mechanism": "matrix",
}
LIMITS = {
    **{"rho_1": "ρ₁", "rho_2": "ρ₂", "largest_parity": "largest parity, (3.5)"},
    **{"largest_epsilon": "its ε", "largest_factor": "parity by Theorem 3.2"},
}


def about(tables: Tables) -> dict[str, Any]:
    """Return the example of the glossary from `tables`: one response on the smallest attribute."""
    if "pram_intruder" not in tables:
        return {"example": None}
    table = tables["pram_intruder"]
    sizes = table.groupby("attribute", sort=False)["category"].nunique()
    part = table[(table["attribute"] == sizes.idxmin()) & (table["p"] == table["p"].max())]
    example = rows_of(part.loc[[part["factor"].idxmax()]])[0]
    kept = example["p"] + (1 - example["p"]) / int(sizes.min())
    return {"example": example | {"size": int(sizes.min()), "kept": kept}}


def results(tables: Tables) -> dict[str, Any]:
    """Return the numbered results in `tables` by section, and the number that hold."""
    table = tables["pram_results"]
    return {
        "groups": [
            (f"Section {of['section']}: {SECTIONS[str(of['section'])]}", rows_of(part))
            for of, part in groups_of(table, "section")
        ],
        "count": len(table),
        "holds": int((table["verdict"] == "holds").sum()),
    }


def coverage(tables: Tables) -> dict[str, Any]:
    """Return the coverage of intervals by channel and target, from `tables`."""
    table = tables["pram_coverage"].replace(NAMED)
    covered = where(table, measure="coverage", category=names.EVERY)
    kinds = {"none": "single", "bonferroni": "Bonferroni", "scheffe": "Scheffé"}
    covered = covered.replace({"method": names.METHODS, "intervals": kinds})
    covered = covered.assign(of=covered["method"] + ", " + covered["intervals"])
    called = {f"{m}, {k}": f"{m}, {k}" for m in names.METHODS.values() for k in kinds.values()}
    label = "coverage, mean over categories or of all together"
    bias = where(table, measure="bias")
    largest = bias.assign(mean=bias["mean"].abs()).groupby([*BY_CHANNEL], sort=False)["mean"].max()
    of_bias, heads = "largest bias of a category, in standard errors", {"mean": "largest bias"}
    ratio = where(table, measure="variance_ratio")
    return {
        "means": pivot(covered, BY_CHANNEL, "of", label, names=called, text="percent"),
        "ratios": all_rows(ratio, "estimated variances over true ones", BY_CHANNEL | RATIO),
        "bias": all_rows(largest.reset_index(), of_bias, BY_CHANNEL | heads),
    }


def weights(tables: Tables) -> dict[str, Any]:
    """Return weighted and unweighted estimates from `tables`, by design and channel."""
    table = tables["pram_weights"].replace(NAMED | {"design": DESIGNS, "estimator": WEIGHTED})
    keys = {"design": "sample", "channel": "channel", "estimator": "estimate"}
    size = where(table, measure=("bias", "expected_bias"))
    size = size.assign(mean=size["mean"].abs())
    size = size.groupby([*keys, "measure"], sort=False)["mean"].max().reset_index()
    of = {"bias": "simulated", "expected_bias": "exact"}
    covered = where(table, category=names.EVERY, measure="coverage")
    ratio = where(table, measure="variance_ratio")
    label, of_bias = "estimated variances over true ones, weighted", "largest bias of a category"
    return {
        "coverage": pivot(covered, keys, "target", COVERED, names=IN, text="percent"),
        "bias": pivot(size, keys, "measure", of_bias, names=of, text="percent"),
        "ratios": all_rows(ratio, label, keys | RATIO),
    }


def item_sets(tables: Tables) -> dict[str, Any]:
    """Return the errors of item sets from `tables`, by ε of an item and size of the set."""
    table = first_of(tables["pram_item_sets"], "records")
    table = table.assign(set=table["epsilon"] * table["size"]).sort_values(["epsilon", "size"])
    keys = {"epsilon": "ε of an item", "size": "items", "set": "ε of the set"}
    label = "errors of item sets by ε and size"
    form: dict[str, Any] = {"names": ITEM_SETS, "text": "percent", "intervals": False}
    return {"errors": pivot(table, keys, "measure", label, **form)}


def variance(tables: Tables) -> dict[str, PageTable]:
    """Return variance inflations by attribute and ε, and the ε of the file, from `tables`."""
    called = names.MECHANISMS | {"resampling": "redraw all"}
    table, keys = tables["pram_variance"], ("attribute", "categories", "epsilon")
    whole = tables["pram_whole_file"].replace({"mechanism": called})
    equal = "variance inflation at equal ε"
    secret = "ε of the whole file, with a matrix that is kept secret"
    return {
        "inflation": pivot(table, keys, "mechanism", equal, value="inflation", names=called),
        "whole": pivot(whole, WHOLE_FILE, "epsilon", secret, value="whole_file_epsilon"),
    }


def invariant(tables: Tables) -> dict[str, Any]:
    """Return claimed over true variances, and coverage, from `tables` by matrix and attribute."""
    table = tables["pram_invariant"]
    order = {name: at for at, name in enumerate(names.INVARIANT_METHODS)}
    table = where(table, records=table["records"].max(), estimator="shares")
    table = table.assign(order=table["method"].map(order)).sort_values(["p", "order"])
    first = first_of(table, "p").replace({"method": names.INVARIANT_METHODS})
    first = first.rename(columns={"method": "matrix", "estimator": "estimate"})
    claimed, covered = (where(first, measure=name) for name in ("claimed_to_true", "coverage"))
    keys = ("records", "p", "estimate", "matrix", "attribute")
    of = partial(pivot, keys=keys, column="claim", names=names.CLAIMS, intervals=False)
    return {
        "claims": names.CLAIMS,
        "claimed": of(claimed, label="claimed over true variance"),
        "covered": of(covered, label="coverage of nominal 95 % intervals", text="percent"),
    }


def joint_loss(tables: Tables) -> dict[str, PageTable]:
    """Return the dependence of pairs, and distances from the original table, from `tables`."""
    table = tables["pram_joint_loss"].sort_values(["first", "second", "epsilon"])
    called = {"true": "original"} | names.JOINT_ESTIMATORS
    dependence, distance = (where(table, measure=name) for name in ("cramers_v", "distance"))
    keys = ("first", "second", "epsilon")
    of = partial(pivot, keys=keys, column="estimator", names=called, intervals=False)
    return {
        "dependence": of(dependence, label="Cramér's V"),
        "distance": of(distance, label="distance from the original table", text="percent"),
    }


def breaches(tables: Tables) -> dict[str, PageTable]:
    """Return limits that rule out breaches, and posteriors of an intruder, from `tables`."""
    worst = tables["pram_worst_sets"]
    known = tables["pram_intruder"].dropna(subset="factor")
    ends = known.groupby(["attribute", "p"], sort=False)["factor"].agg(["idxmax", "idxmin"])
    heads = {"attribute": "attribute", "p": "p", "epsilon": "ε", "parity": "parity"}
    beliefs = {"prior": "before", "posterior": "after", "factor": "factor"}
    of_set = heads | {"rho_1": "ρ₁", "members": "set", "report": "response"} | beliefs
    of_set |= {"bound": "bound", "exact": "all sets searched"}
    of_category = heads | {"category": "response"} | beliefs | {"likeliest": "likeliest answer"}
    limits = tables["pram_breach_thresholds"]
    form: dict[str, Any] = {"value": "diagonal", "text": "percent"}
    label = "largest parity that rules out a breach, and the diagonal by number of categories"
    known = known.loc[ends.to_numpy().ravel()]
    return {
        "thresholds": pivot(limits, LIMITS, "categories", label, **form),
        "intruder": all_rows(known, "categories with largest and smallest factors", of_category),
        "worst": all_rows(worst.dropna(subset="posterior"), "worst sets of categories", of_set),
    }


def design(tables: Tables) -> dict[str, PageTable]:
    """Return optimized matrices and the best closed forms from `tables`."""
    table = tables["pram_design"].replace({"loss": LOSSES})
    ratios = {f"{name} / optimized": table[name] / table["designed"] for name in RIVALS}
    epsilon = min(table["epsilon"], key=lambda epsilon: abs(epsilon - SHOWN_EPSILON))
    shown = where(table.assign(**ratios), epsilon=epsilon)
    heads = {
        **{"attribute": "attribute", "categories": "categories", "epsilon": "ε", "loss": "loss"},
        **{"requirements": "required", "designed": "optimized"},
        **RIVALS,
        **{f"{name} / optimized": f"{title} / optimized" for name, title in RIVALS.items()},
        **{"lower_bound": "lower bound", "optimality": "optimum"},
    }
    return {"shown": all_rows(shown, "optimized beside closed forms", heads)}
