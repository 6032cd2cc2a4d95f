"""What the report's first page says of [idp]."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from deniable.display import Tables, joined, short

from reproduction.papers.idp.names import CLUSTERED, DATASETS, MASKED, SSE_TABLES, Shown, where
from reproduction.papers.idp.sections import overview
from reproduction.study import PrivacyVerdict, Verdicts


def in_short(tables: Tables) -> Verdicts:
    """Return what becomes of the ε of released records in `tables`; the paper prints no numbers."""
    return Verdicts(privacy=[*_records(tables)])


def _records(tables: Tables) -> Iterator[PrivacyVerdict]:
    found = overview(tables) if "idp_audit" in tables else {}
    if not found.get("records"):
        return
    records, endless = found["records"], found["endless"]
    datasets = [DATASETS[name] for name in found["datasets"]]
    by_method = {
        name: [page["by"][name]["delivered"] for page in found["datasets"].values()]
        for name in CLUSTERED
    }
    yield PrivacyVerdict(
        "fails" if endless else "holds",
        f"iDP's released records have {'no' if endless else 'a'} finite ε",
        f"ε = {found['at'].epsilon:g} is promised. In {endless} of {records} cases "
        f"({joined(MASKED[name] for name in CLUSTERED)} on {joined(datasets)}) there is none: the "
        "file shows who shares a value with whom, and one person's number can change that for "
        f"certain.{_centroids(by_method, found['at'])}",
        "idp_overview",
        _instead(tables, found) if endless else "",
        math.inf if endless else 1.0,
    )


def _centroids(by_method: Mapping[str, list[Mapping[str, Any]]], at: Shown) -> str:
    """Return how many times its share of epsilon one centroid spends, by method.

    The sentence names the rows of the audit that it covers: those `at` which results are shown.
    """
    said = []
    for name in CLUSTERED:
        rows = [row["centroid"] for row in by_method[name] if row["centroid"]]
        worst = max(rows, key=lambda row: float(row["times_claimed"]), default=None)
        if worst and worst["verdict"] == "fails":
            least = "at least " if worst["kind"] == "lower bound" else ""
            times = short(float(worst["times_claimed"]))
            place = f"{worst['attribute']} of {DATASETS[worst['dataset']]}"
            said.append(f"{least}{times} times under {MASKED[name]} ({place})")
    if not said:
        return ""
    return (
        f" At k = {at.k:g}, ε = {at.epsilon:g} and domain factor {at.factor:g}, one centroid "
        f"spends its share of ε {joined(said)}. Other k and ε are not covered and can have larger "
        "factors."
    )


def _instead(tables: Tables, found: Mapping[str, Any]) -> str:
    """Return what true DP reaches at the epsilon that is shown, beside iDP-CBLS."""
    epsilon = found["at"].epsilon
    learned, least = [], []
    for name, page in found["datasets"].items():
        honest, own = page["best"].get(epsilon), page["by"]["idp_cbls"]
        if honest and epsilon in own["f"]:
            beside = f"(iDP-CBLS {own['f'][epsilon]['mean']:.3f})"
            learned.append(f"{honest['mean']:.3f} on {DATASETS[name]} {beside}")
        bound = where(tables.get(SSE_TABLES[name]), method="least_dp", epsilon=epsilon)
        if len(bound) and epsilon in own["sse"]:
            least.append(f"{short(float(bound['mean_sse'].min()))} ({short(own['sse'][epsilon])})")
    said = "Judge the file as microaggregation, by linkage."
    if learned:
        said += f" An ε that holds: classifiers with true DP, mean F {joined(learned)}."
    if least:
        said += (
            " If attributes are released independently and blind to the order of the records, "
            f"true DP has a mean SSE of at least {joined(least)}."
        )
    return said
