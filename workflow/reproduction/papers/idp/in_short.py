"""Verdicts on [idp] for the first page of the report."""

import math

import pandas as pd

from deniable.display import Tables, at_least, joined, rows_of, short

from reproduction.papers.idp import names
from reproduction.papers.idp.names import CLUSTERED, DATASETS, MASKED, Shown
from reproduction.study import PrivacyVerdict, Verdicts, Worst, groups_of, where


def in_short(tables: Tables) -> Verdicts:
    """Return the verdict on the ε of released records from `tables`; no numbers are published."""
    if "idp_audit" not in tables:
        return Verdicts()
    at = names.shown(tables)
    delivered = names.deliveries(tables["idp_audit"], at)
    delivered = where(delivered, epsilon=at.epsilon, method=CLUSTERED)
    records = where(delivered, unit="record")["exact_or_lower_bound"]
    if not len(records):
        return Verdicts()
    datasets = {name: DATASETS[name] for name in dict.fromkeys(delivered["dataset"])}
    endless = int((records == math.inf).sum())
    cases = f"{joined(MASKED[name] for name in CLUSTERED)} on {joined(datasets.values())}"
    verdict = PrivacyVerdict(
        "fails" if endless else "holds",
        "iDP's released records keep the promised ε",
        f"The promise is ε = {at.epsilon:g} (k = {at.k:g}, domain factor {at.factor:g}). In "
        f"{endless} of {len(records)} cases ({cases}) no finite ε exists: the file reveals which "
        "records share a value, and one person's number can change that with certainty."
        f"{_centroids(tables['idp_audit'])}",
        "idp_overview",
        Worst(at.epsilon, math.inf, f"{endless} of {len(records)} cases, k = {at.k:g}")
        if endless
        else None,
        "Assess the file as microaggregation, by linkage." if endless else "",
        _useful(tables, datasets, at) if endless else "",
    )
    return Verdicts(privacy=[verdict])


def _centroids(audit: pd.DataFrame) -> str:
    """Return a sentence on the factors by which one centroid exceeds its ε, over all settings."""
    cases = where(audit, reading=names.RECOMPUTED_SCALE, unit="centroid", domain="public")
    cases = where(cases[~names.noted(cases, names.CERTIFICATE)], method=CLUSTERED)
    said = []
    for of, own in groups_of(cases.sort_values("times_claimed", kind="stable"), "method"):
        fails = own[own["holds"].map(names.verdict_of) == "fails"]
        finite = fails[fails["times_claimed"] < math.inf]
        found = [
            f"{at_least(row['times_claimed'])} times "
            f"({DATASETS[row['dataset']]}, k = {row['k']:g}, ε = {row['epsilon']:g})"
            for row in rows_of(finite.iloc[[0, -1]] if len(finite) else finite)
        ]
        found = [f"at least {' to '.join(dict.fromkeys(found))}"] if found else []
        found += [f"no finite ε in {len(fails) - len(finite)}"] * (len(finite) < len(fails))
        count = f"{len(fails)} of {len(own)} cases under {MASKED[of['method']]}"
        said += [f"{count} ({', '.join(found)})"] if found else []
    factors = joined(f"{factor:g}" for factor in sorted(cases["domain_factor"].unique()))
    exceeded = f" One centroid exceeds its part of ε in {joined(said)}, domain factor {factors}."
    return exceeded if said else ""


def _useful(tables: Tables, datasets: dict[str, str], at: Shown) -> str:
    """Return sentences on the results of central ε-DP and iDP-CBLS at the ε of the page."""
    learned, least = [], []
    for name, title in datasets.items():
        forests = names.forests_at(tables.get(names.FOREST_TABLES[name]), at)
        forests = where(forests, epsilon=at.epsilon)
        means = forests.groupby("method")["f_measure"].mean() if len(forests) else pd.Series()
        honest = means.reindex(names.DP_BASELINES).max()
        if "idp_cbls" in means and not pd.isna(honest):
            own_mean = f"iDP-CBLS over all k: {means['idp_cbls']:.3f}"
            learned.append(f"{honest:.3f} on {title} ({own_mean})")
        errors = where(tables.get(names.SSE_TABLES[name]), epsilon=at.epsilon)
        bound = where(errors, method="least_dp")
        masked = where(errors, method="idp_cbls", domain_factor=at.factor, k=at.k)
        if len(bound) and len(masked):
            own_error = short(float(masked["mean_sse"].iloc[-1]))
            least.append(f"{at_least(bound['mean_sse'].min())} (iDP-CBLS: {own_error})")
    said = []
    if learned:
        said += [f"Classifiers with central ε-DP keep their ε: mean F {joined(learned)}."]
    if least:
        said += [
            "If attributes are released independently and blind to the order of the records, "
            f"central ε-DP has a mean SSE of at least {joined(least)} on them."
        ]
    return " ".join(said)
