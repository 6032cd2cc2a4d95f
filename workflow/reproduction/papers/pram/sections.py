"""The report's sections about the census report ([pram]), as its templates show them.

What a study always makes is taken for granted; what a user's grids may leave out is asked for.
"""

from typing import Any

import pandas as pd

from deniable.display import Row, Tables, by, first_of, groups_of, rows_of
from deniable.estimation import Z_95

from reproduction.papers.pram import names

TARGETS = {"population": "population", "file": "these records"}
WEIGHTED = {
    "hajek": "weighted, over the sum of weights",
    "horvitz_thompson": "weighted, over the known total",
    "unweighted": "without weights",
}
DESIGNS = {"pps": "drawn by size", "stratified": "drawn by stratum"}
SECTIONS = {"1": "estimation", "2": "PRAM", "3": "privacy", "4": "item sets"}
CONTROL = "two_step_fixed"
RAREST = ("conditional", "coverage_rarest")  # the owner's intervals of the rarest category
SHORT_NAMES = {"separate": "one by one", "separate_inverted": "inverted", "joint": "together"}
SHOWN_EPSILONS = (1.0, 4.0)  # those of a run that are nearest to these stand open
LOSSES = {
    "trace": "sum of variances",
    "worst_cell": "largest variance",
    "changed": "share of changed records",
    "distance": "expected distance",
}
RIVALS = {"generalized_rr": "generalized RR", "two_step": "two steps"}
NEVER_WORSE = 1e-6  # relative


# -- what it is about, and the numbered results ----------------------------------------------------


def about(tables: Tables) -> dict[str, Any]:
    """Prepare the glossary's example from `tables`: one report about the smallest attribute."""
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
    """Prepare from `tables` how often intervals hold the truth: a row a channel and target."""
    table = tables["pram_coverage"]
    rows = [
        at | {"name": names.CHANNELS[at["channel"]]} | _covered(part)
        for at, part in groups_of(table, "channel", "records", "target")
    ]
    each = [row | {"cell": cell} for row in rows for cell in row["single"]]
    outside = [row for row in each if not names.WITHIN[0] <= row["cell"]["mean"] <= names.WITHIN[1]]
    together = [row | {"cell": cell} for row in rows for cell in row["together"].values()]
    single = table[(table["intervals"] == "none") & (table["measure"] == "coverage")]
    return {
        "rows": rows,
        "methods": names.METHODS,
        "targets": TARGETS,
        "within": names.WITHIN,
        "runs": int(table["replicates"].max()),
        "means": extremes(single[single["category"] == names.EVERY]),
        "singles": len(each),
        "outside": sorted(outside, key=lambda row: float(row["cell"]["mean"])),
        "least_together": min(together, key=lambda row: float(row["cell"]["mean"])),
        "ratios": extremes(table[table["measure"] == "variance_ratio"]),
    }


def _covered(part: pd.DataFrame) -> Row:
    """Return coverages, largest bias and ratio of variances of one channel and target."""
    covered, measure = part[part["measure"] == "coverage"], part["measure"]
    single = covered[covered["intervals"] == "none"]
    each = single[single["category"] != names.EVERY]
    return {
        "single": rows_of(each),
        "each": {of["category"]: by(cells, "method") for of, cells in groups_of(each, "category")},
        "ends": {of["method"]: extremes(cells) for of, cells in groups_of(each, "method")},
        "mean": by(single[single["category"] == names.EVERY], "method"),
        "together": by(covered[covered["intervals"] != "none"], "intervals", "method"),
        "bias": float(part["mean"][measure == "bias"].abs().max()),
        "ratio": rows_of(part[measure == "variance_ratio"])[0],
    }


def weights(tables: Tables) -> dict[str, Any]:
    """Prepare weighted estimates in `tables` beside unweighted ones: a row a design and channel."""
    table = tables["pram_weights"]
    rows = []
    for at, part in groups_of(table, "design", "channel", "records"):
        bias = part[part["measure"] == "bias"]
        rows.append(
            at
            | {"name": names.CHANNELS[at["channel"]], "drawn": DESIGNS[at["design"]]}
            | {"bias": bias["mean"].abs().groupby(bias["estimator"]).max().to_dict()}
            | {"of": by(part[part["category"] == names.EVERY], "measure", "target", "estimator")}
        )
    covered = table[(table["measure"] == "coverage") & (table["target"] == "population")]
    plain = covered["estimator"] == "unweighted"
    exact = table[table["measure"] == "expected_bias"]
    keys = ["design", "channel", "records", "estimator", "category"]
    of_another = exact["estimator"] == "unweighted"
    simulated = table[table["measure"] == "bias"].merge(exact, on=keys, suffixes=("", "_exact"))
    half = (simulated["ci_high"] - simulated["ci_low"]) / 2
    return {
        "rows": rows,
        "estimators": WEIGHTED,
        "weighted": extremes(covered[~plain]),
        "unweighted": extremes(covered[plain]),
        "largest": exact["mean"][of_another].abs().max(),
        "unbiased": not exact["mean"][~of_another].any(),
        "apart": ((simulated["mean"] - simulated["mean_exact"]) / half).abs().max() * Z_95,
        "largest_ratio": max(row["bias"]["hajek"] for row in rows),
        "ratios": extremes(table[table["measure"] == "variance_ratio"]),
        "runs": int(table["replicates"].max()),
    }


def item_sets(tables: Tables) -> dict[str, Any]:
    """Prepare what item sets in `tables` cost as they grow: a row an item's epsilon and a size."""
    table = first_of(tables["pram_item_sets"], "records")
    rows = [at | {"of": by(part, "measure")} for at, part in groups_of(table, "epsilon", "size")]
    rows.sort(key=lambda row: (row["epsilon"], row["size"]))
    sizes = sorted(table["size"].unique())
    errors = by(table[table["measure"] == "expected_relative_error"], "epsilon", "size")
    ends = []
    for epsilon in dict.fromkeys((rows[0]["epsilon"], rows[-1]["epsilon"])):
        least, most = (errors.get((epsilon, size)) for size in (sizes[0], sizes[-1]))
        if least and most and len(sizes) > 1:
            ends.append({"epsilon": epsilon, "smallest": least["mean"], "largest": most["mean"]})
    return {
        "rows": rows,
        "sizes": sizes,
        "ends": ends,
        "covered": extremes(table[table["measure"] == "coverage_score"]),
        "records": int(table["records"].iloc[0]),
        "runs": int(table["replicates"].max()),
    }


# -- variances under PRAM and invariant PRAM (section 2) -------------------------------------------


def variance(tables: Tables) -> dict[str, Any]:
    """Prepare variance inflations in `tables` by attribute and epsilon, and the file's epsilon."""
    table, whole = tables["pram_variance"], tables["pram_whole_file"]
    epsilons = sorted(table["epsilon"].unique())
    rows = [
        at | {"of": by(part, "epsilon", "mechanism"), "records": int(part["records"].iloc[0])}
        for at, part in groups_of(table, "attribute", "categories")
    ]
    inflation = table.pivot(index=["epsilon", "attribute"], columns="mechanism", values="inflation")
    response = inflation["randomized_response"]
    wins = (response < inflation["invariant_two_step"]).groupby("epsilon").sum()
    shown = (min(epsilons, key=lambda e: abs(e - wanted)) for wanted in SHOWN_EPSILONS)
    return {
        "rows": rows,
        "epsilons": epsilons,
        "shown": list(dict.fromkeys(shown)),
        "mechanisms": names.MECHANISMS,
        "wins": [(epsilon, number) for epsilon, number in wins.items() if number],
        # How far randomized response and PRAM of the same parity are apart, at most.
        "same": (response / inflation["pram_given_parity"] - 1).abs().max(),
        "ranges": {name: (column.min(), column.max()) for name, column in inflation.items()},
        "of_file": by(whole, "attribute", "epsilon", "mechanism"),
        "whole": _whole(whole),
    }


def _whole(table: pd.DataFrame) -> Row:
    """Return what the whole-file epsilons come to, and one case with large ones."""
    made = table[table["mechanism"] != "resampling"]
    found = made["whole_file_epsilon"]
    case = first_of(made[made["categories"] == made["categories"].max()], "mechanism")
    return {
        "cases": len(made),
        "beyond": int((found > made["epsilon"]).sum()),
        "low": found.min(),
        "high": found.max(),
        "case": rows_of(case.sort_values("epsilon"))[0],
        "rows": [
            at | {"of": by(part, "epsilon")}
            for at, part in groups_of(table, "attribute", "smallest_count", "mechanism")
        ],
        "epsilons": sorted(table["epsilon"].unique()),
        "names": names.MECHANISMS | {"resampling": "redraw all"},
    }


def invariant(tables: Tables) -> dict[str, Any]:
    """Prepare claimed and true variances in `tables`: a row a method and attribute, by claim."""
    table = tables["pram_invariant"]
    order = list(names.INVARIANT_METHODS)
    rows = [
        at | {"name": names.INVARIANT_METHODS[at["method"]], "of": by(part, "claim", "measure")}
        for at, part in groups_of(table, "records", "p", "estimator", "method", "attribute")
    ]
    rows.sort(key=lambda row: order.index(row["method"]))
    rows.sort(key=lambda row: (-row["records"], row["p"], row["estimator"] != "shares"))
    first = rows[0]
    table = table[(table["records"] == first["records"]) & (table["p"] == first["p"])]
    control = table["method"] == CONTROL
    of_control = table[control & (table["estimator"] == "shares")]
    of_control = of_control[of_control["measure"] == "claimed_to_true"]
    claimed = of_control[of_control["claim"] == "multinomial"]
    by_owner = [row for row in rows if row["estimator"] == "shares" and RAREST in row["of"]]
    return {
        "rows": rows,
        "shown": [
            row for row in rows if all(row[k] == first[k] for k in ("records", "p", "estimator"))
        ],
        "first": first,
        "claims": names.CLAIMS,
        # The ranges of each measure over invariant methods, by estimator and claim.
        "said": {
            tuple(of.values()): {
                each["measure"]: extremes(cells) for each, cells in groups_of(part, "measure")
            }
            for of, part in groups_of(table[~control], "estimator", "claim")
        },
        "control": extremes(claimed) if len(claimed) else None,
        # Where the owner's intervals hold the share of the rarest category least often.
        "rarest": min(by_owner, key=lambda row: float(row["of"][RAREST]["mean"]), default=None),
        "runs": int(table["replicates"].max()),
    }


def joint_loss(tables: Tables) -> dict[str, Any]:
    """Prepare what pairs in `tables` keep of dependence, from which epsilon inverting is nearer."""
    table = tables["pram_joint_loss"].sort_values("epsilon", kind="stable")
    rows, pairs, nearest = [], [], set()
    for pair, part in groups_of(table, "first", "second"):
        own = [
            pair | at | {"cells": by(cells, "estimator", "measure")}
            for at, cells in groups_of(part, "epsilon")
        ]
        nearer = []
        for row in own:
            off = {name: row["cells"][name, "distance"]["mean"] for name in names.JOINT_ESTIMATORS}
            nearest.add(min(off, key=lambda name: float(off[name])))
            if off["separate_inverted"] < off["separate"]:
                nearer.append(row["epsilon"])
        rows += own
        pairs.append({"first": own[0], "last": own[-1], "nearer_from": min(nearer, default=None)})
    return {
        "rows": rows,
        "names": names.JOINT_ESTIMATORS,
        "short_names": SHORT_NAMES,
        "pairs": pairs,
        "joint_best": nearest == {"joint"},
        "runs": int(table["replicates"].max()),
    }


# -- breaches, and designed channels (section 3) ---------------------------------------------------


def breaches(tables: Tables) -> dict[str, Any]:
    """Prepare from `tables` what a report can tell: bounds, thresholds, approach, an intruder."""
    bounds, thresholds = tables["pram_breach_bounds"], tables["pram_breach_thresholds"]
    approach = tables["pram_approach"]
    last = approach[approach["mass"] == approach["mass"].max()]
    keys = ("rho_1", "rho_2", "largest_parity", "largest_epsilon", "largest_factor")
    return {
        "priors": sorted(bounds["rho_1"].unique()),
        "epsilons": sorted(bounds["epsilon"].unique()),
        "bounds": by(bounds, "rho_1", "epsilon"),
        # What rules out a breach: a row for both probabilities, a column a size.
        "thresholds": [
            at | {"of": by(part, "categories")} for at, part in groups_of(thresholds, *keys)
        ],
        "sizes": sorted(thresholds["categories"].unique()),
        # How close every channel comes to its bound on both sides, at the largest mass.
        "approach": {"mass": float(last["mass"].iloc[0]), "gap": float(last["gap"].max())},
        "intruder": _intruder(tables["pram_intruder"]),
        "worst": _worst_sets(tables["pram_worst_sets"]),
    }


def _intruder(table: pd.DataFrame) -> Row:
    """Arrange what reports tell somebody who knows the true margin: a row an attribute and p."""
    rows: list[Row] = []
    for at, part in groups_of(
        table[table["factor"].notna()], "attribute", "p", "epsilon", "parity"
    ):
        most, least = part["factor"].idxmax(), part["factor"].idxmin()
        rows.append(
            at
            | {"most": rows_of(part.loc[[most]])[0], "least": rows_of(part.loc[[least]])[0]}
            | {"categories": len(part)}
            | {"others": int((part["likeliest"] != part["category"]).sum())}
        )
    misled = max(rows, key=lambda row: int(row["others"]))
    return {"rows": rows, "misled": misled if misled["others"] else None}


def _worst_sets(table: pd.DataFrame) -> Row:
    """Arrange the worst sets beside the bound: a row an attribute and p, columns by rho_1."""
    found = table[table["posterior"].notna()]
    shares = found["posterior"] / found["bound"]
    return {
        "rows": [
            at | {"cells": by(part, "rho_1")}
            for at, part in groups_of(table, "attribute", "p", "epsilon")
        ],
        "priors": sorted(table["rho_1"].unique()),
        "all": rows_of(found),
        "shares": (shares.min(), shares.max()),
        "exact": bool(found["exact"].all()),
    }


def design(tables: Tables) -> dict[str, Any]:
    """Prepare designed channels in `tables` beside the best in closed form: a row a design."""
    table = tables["pram_design"]
    rows = [row | {"saved": _saved(row), "loss": LOSSES[row["loss"]]} for row in rows_of(table)]
    shown = min(table["epsilon"], key=lambda epsilon: abs(epsilon - SHOWN_EPSILONS[0]))
    gains = {
        name: sorted(
            (row | {"share": row["saved"][name]} for row in rows if name in row["saved"]),
            key=lambda row: float(row["share"]),
        )
        for name in RIVALS
    }
    # What a rival was made for: against inverting the two steps much is saved all too easily.
    fair = {
        name: [row for row in found if ("invariant" in row["requirements"]) == (name == "two_step")]
        for name, found in gains.items()
    }
    return {
        "rows": rows,
        "shown": [row for row in rows if row["epsilon"] == shown],
        "rivals": RIVALS,
        "gains": {name: (found[0], found[-1]) for name, found in fair.items()},
        "compared": {name: len(found) for name, found in gains.items()},
        "worse": [row for found in gains.values() for row in found if row["share"] < -NEVER_WORSE],
        "optimality": table["optimality"].value_counts(sort=False).to_dict(),
        "channels": [
            {"design": at["design"], "reported": list(dict.fromkeys(part["reported"]))}
            | {"rows": [(of["true"], rows_of(row)) for of, row in groups_of(part, "true")]}
            for at, part in groups_of(tables["pram_channels"], "design")
        ],
    }


def _saved(row: Row) -> dict[str, float]:
    """Return the share of a rival's loss that the design saves, of the rivals there are."""
    return {name: 1 - row["designed"] / row[name] for name in RIVALS if not pd.isna(row[name])}


# -- what several sections need --------------------------------------------------------------------


def extremes(table: pd.DataFrame) -> tuple[float, float]:
    """Return the smallest and the largest mean of the rows of a `table`."""
    return float(table["mean"].min()), float(table["mean"].max())
