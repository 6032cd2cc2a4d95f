"""Collect the privacy claims of all mechanisms in one audit, with the exact ε and its evidence.

The tables of the papers audit claims case by case. This module converts them to rows of one kind,
without new computations. A row is a claim about a unit at a setting that the claim names. Other
conditions (attribute, clusters, k, the table of a floor) are pooled: the row has their number and
the worst one (`reproduction.study.worst`).
"""

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from deniable.display import Tables, rows_of
from deniable.files import read_json
from deniable.plans import plan_from_json
from deniable.randomized_response import ATTRIBUTE_IN_CLUSTER, WAIVED

from reproduction.papers import idp
from reproduction.papers.rrba import STATED_EPSILON
from reproduction.study import resolve, worst_first

KEYS = ("source", "mechanism", "claim", "setting", "unit")
EPSILONS = ("claimed_epsilon", "exact_epsilon", "shipped_epsilon", "kind", "holds")
COLUMNS = (*KEYS, *EPSILONS, "times", "cases", "hold", "fail", "of", "shown_by", "data_source")
PROTOCOLS = "protocols"
RELEASE = "release "  # its name follows
"""Sources of rows."""
STATED = "ε that the release states"
ASKED = "requested ε"
NOT_STATED = "no finite ε, as the release says"
OF_MATRICES = "ε of the matrices stated (6.3.1, 6.3.2)"
READ_APART = "“equal risk” read attribute by attribute (6.3.2)"
ONCE = "4.3, as if each attribute were released once"
THEOREM = "Theorem 4.1: ε = ln 1 / (1 − p)"
HONEST_SCALE = "ε of noise of the scale 2 / ε"
PRINTED_SCALE = "ε of noise of the scale 2 |T| / ε, as published (7.4)"
OF_CENTROIDS = "Definition 3 of [idp], for centroids"
OF_TARGET = ", target"  # the end of units of a claim about the requested epsilon
AS_IF_ONCE = WAIVED.rpartition(", ")[2]  # the end of claims of the waiver ([multirr], 4.3)
FROM_DATA = "from the data"
WORST = {"attribute": "{}", "k": "k = {:.0f}", "domain_factor": "domain {:g} times", "note": "{}"}
"""Formats of the name of the worst case in the audit of [idp]."""
OUTPUT_RTOL = 1e-8  # numbers are written with 9 digits

Cases = dict[str, Any]
"""Columns of the audit, as single values or with one row per case. ``case`` names the case if it
has several rows. By default a claim holds if the exact ε is at most the claimed ε. Most functions
of this module convert a table of a paper to cases."""


def one_audit(
    readers_of: Mapping[str, Mapping[str, tuple[str, ...]]],
    tables: Tables,
    releases: Iterable[tuple[str, pd.DataFrame]] = (),
    protocols: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return the audit of papers, protocols and releases.

    For each paper and table, `readers_of` names the functions of this module that read the table
    (`reproduction.papers.AUDITED`). Papers' `tables` that do not exist are left out. The `releases`
    come from `audited_release`, the `protocols` from
    `reproduction.papers.protocols.audited_protocols`.

    `KEYS` identify a row. ``claimed_epsilon``, ``exact_epsilon`` and ``shipped_epsilon`` (of the
    matrix in use) belong to the worst case, ``of``. They are infinite if a value is certain.
    ``times`` is the ratio of exact to claimed ε: infinite if 0 is claimed and exceeded, empty if 0
    is claimed and holds. ``kind`` is "exact", "lower bound" or "proved" (an upper bound). ``holds``
    is empty if undecided. ``shown_by`` is the file under results/ with each case.
    """
    parts = [
        _pooled(key, f"tables/{name}.csv", read(tables[name].assign(id=name)), tables[name])
        for key, audited in readers_of.items()
        for name, readers in audited.items()
        if len(tables.get(name, ()))
        for read in (resolve(f"reproduction.papers.audit:{reader}") for reader in readers)
    ]
    if protocols is not None:
        cases = dict(protocols[[*EPSILONS, "mechanism", "of"]]) | {
            "claim": ASKED,
            "setting": _said(protocols, epsilon="ε = {:g}", categories="{:,} categories"),
            "unit": "report of an attribute",
        }
        parts.append(_pooled(PROTOCOLS, "audit/privacy.csv", cases, protocols))
    for name, audited in releases:
        shown = f"releases/{name}/public/plan.json"
        parts.append(_pooled(f"{RELEASE}{name}", shown, _of_release(audited), audited))
    every = pd.concat(parts, ignore_index=True) if parts else None
    return pd.DataFrame(every, columns=list(COLUMNS))


def _pooled(source: str, shown_by: str, cases: Cases, table: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each claim and setting: its worst case, and how many cases hold and fail."""
    shared = {"source": source, "shown_by": shown_by, "shipped_epsilon": np.nan, "kind": "exact"}
    own = {"data_source": table.get("data_source", "formula"), "where": True, "case": table.index}
    frame = pd.DataFrame(shared | own | cases, index=table.index)
    frame = frame[frame.pop("where")]
    frame["holds"] = frame.get("holds", _is_kept(frame))
    frame["place"] = frame.groupby(list(KEYS), sort=False).ngroup()
    verdicts = frame["holds"].astype(str)
    frame["fail"], frame["hold"] = verdicts == "False", verdicts == "True"
    # A refutation decides a case; without one, a proof does. A bound below the claim does not.
    frame = worst_first(frame, "claimed_epsilon", "exact_epsilon")
    frame = frame.sort_values(["fail", "hold"], ascending=False, kind="stable")
    frame = frame.drop_duplicates(["place", "case"])
    counts = frame.groupby("place")[["hold", "fail"]].sum()
    rows = frame.drop_duplicates("place").set_index("place").assign(**counts).sort_index()
    rows["cases"] = frame["place"].value_counts()
    proved = rows["hold"] == rows["cases"]
    return rows.assign(holds=np.select([rows["fail"] > 0, proved], ["False", "True"], ""))


def _is_kept(frame: pd.DataFrame) -> Any:
    return frame["exact_epsilon"] <= frame["claimed_epsilon"] * (1 + OUTPUT_RTOL)


def _said(given: pd.DataFrame, /, **formats: str) -> list[str]:
    """Return a text such as "p = 0.1, T_v = 50" for each row, without missing values."""
    return [
        ", ".join(
            text.format(row[name])
            for name, text in formats.items()
            if name in row and not pd.isna(row[name]) and row[name] != ""
        )
        for row in rows_of(given)
    ]


def multirr(table: pd.DataFrame) -> Cases:
    """Convert the `table` of RR-Independent, RR-Clusters and assessments ([multirr], 4, 6.3)."""
    apart = table["unit"] == ATTRIBUTE_IN_CLUSTER
    once = table["of"].str.endswith(AS_IF_ONCE)
    assesses = table["mechanism"].str.startswith("assessment")
    alone = assesses & table["mechanism"].str.endswith("attributes")
    claims = (READ_APART, ONCE, "4.1, one randomization", "4.3, all pairs composed")
    return dict(table[[*EPSILONS, "mechanism", "unit", "of"]]) | {
        "claim": np.select([apart, once, alone, assesses], claims, OF_MATRICES),
        "setting": _said(table, matrix="matrix {}", p="p = {:g}", t_v="T_v = {:.0f}"),
    }


def waiver(table: pd.DataFrame) -> Cases:
    """Convert the `table` of the waiver of sequential composition ([multirr], 4.3)."""
    return dict(table[["claimed_epsilon", "exact_epsilon", "holds"]]) | {
        "mechanism": _said(table, releases="secure sums of {} randomized releases"),
        "claim": ONCE,
        "setting": _said(table, matrix="matrix {}", p="p = {:g}"),
        "unit": "attribute",
        "of": _said(table, parties="{} parties"),
    }


def matrices(table: pd.DataFrame) -> Cases:
    """Convert the `table` of matrices in closed form for a target ε ([pram], 2 and 3)."""
    # The inverted two-step matrix has the same privacy.
    own = table["exact_epsilon"].notna() & ~table["mechanism"].str.endswith("inverted")
    return _of_matrix(table) | {"mechanism": table["mechanism"], "where": own}


def designed(table: pd.DataFrame) -> Cases:
    """Convert the `table` of matrices that are optimized for requirements with an ε."""
    invariant = table["requirements"].str.contains("invariant")
    return _of_matrix(table) | {
        "mechanism": np.where(invariant, "designed, invariant", "designed"),
        "of": _said(table, attribute="{}", loss="least {}"),
    }


def _of_matrix(table: pd.DataFrame, exact: str = "exact_epsilon") -> Cases:
    return {
        "claim": "ε of the matrix, ln of its parity (3.6)",
        "setting": _said(table, epsilon="ε = {:g}"),
        "unit": "report of an attribute, the matrix given",
        "claimed_epsilon": table["epsilon"],
        "exact_epsilon": table[exact],
        "of": table["attribute"],
    }


def _whole_file(column: str, matrix: str, table: pd.DataFrame) -> Cases:
    """Convert the `table` of invariant matrices as functions of the file ([pram], 2: no claim)."""
    return _of_matrix(table, column) | {
        "mechanism": table["mechanism"],
        "claim": f"no claim of the paper: ε of the matrix, taken for the file's, {matrix}",
        "unit": "record of the file that the matrix is made of",
    }


kept_secret = partial(_whole_file, "whole_file_epsilon", "kept secret")
published = partial(_whole_file, "published_epsilon", "published")


def posteriors(table: pd.DataFrame) -> Cases:
    """Convert the `table` of posteriors of sets at the original proportions ([pram], (3.11))."""
    return {
        "mechanism": "randomized_response",
        "claim": "posterior over prior at most the parity (3.11)",
        "setting": _said(table, p="p = {:g}"),
        "unit": "any set of categories, at the file's shares",
        "claimed_epsilon": table["epsilon"],
        "exact_epsilon": np.log(table["largest_factor"]),
        "of": table["attribute"],
        # The largest factor is over all priors, so one row suffices.
        "where": ~table.duplicated(["attribute", "p"]),
    }


def theorem(table: pd.DataFrame, composed: bool = False) -> Cases:
    """Convert the `table` of Theorem 4.1 ([rrba]) on the protocol, or `composed` over answers."""
    ending = "_composed" if composed else ""
    return {
        "mechanism": "rrba",
        "claim": f"{THEOREM}, counted once an answer" if composed else THEOREM,
        "setting": _said(table, p="p = {:g}", table="table {}", floor="w = {:g}"),
        "unit": table["unit"],
        "claimed_epsilon": table[f"claimed{ending}"],
        "exact_epsilon": table["exact"],
        "holds": table[f"holds{ending}"],
        "of": _said(table, dataset="{}", cells="{} cells", answers="{} answers"),
        "where": table["answers"] > 1 if composed else True,
    }


theorem_composed = partial(theorem, composed=True)


def _noise(claims: Mapping[str, str], table: pd.DataFrame) -> Cases:
    """Convert a `table` of noise on counts ([rrba], 7.3, 7.4). A case is a k and a data set."""
    own = table.assign(number=table["id"].str[-1], claim=table["method"].map(claims))
    own["claimed"] = table.get("epsilon_claimed", STATED_EPSILON)
    cases = _said(own, dataset="{}", k="k = {:.0f}")
    return {
        "claim": own["claim"],
        "mechanism": own["method"].str.partition("_")[0],
        "setting": _said(own, number="Table {}", claimed="ε = {:g}"),
        "unit": "record of a table, replaced; a trusted curator",
        "claimed_epsilon": own["claimed"],
        "exact_epsilon": own["epsilon_exact"],
        "of": cases,
        "case": cases,
        "where": own["claim"].notna(),
    }


noise_of_tables = partial(_noise, {"laplace": PRINTED_SCALE, "laplace_honest": HONEST_SCALE})
noise_of_tests = partial(
    _noise,
    {"laplace": HONEST_SCALE, "laplace_printed_scale": PRINTED_SCALE, "mcindep": HONEST_SCALE},
)


def true_privacy(table: pd.DataFrame, of_data: bool = False) -> Cases:
    """Convert the `table` of competitors of [idp] with a proof (`deniable.idp.true_dp`).

    A case is a domain factor. The proof requires public domains. Domains from the data (`of_data`),
    which the studies use, reveal the largest values.
    """
    training = "training " if table["id"].isin(idp.FORESTS).all() else ""
    own = table.assign(data=table["id"].map(idp.FIGURES_OF).map(idp.DATASETS))
    return {
        "mechanism": table["method"],
        "claim": f"ε-differential privacy, domain {FROM_DATA if of_data else 'public'}",
        "setting": _said(own, data="{}", epsilon="ε = {:g}"),
        "unit": f"{training}record, its class public",
        "claimed_epsilon": table["epsilon"],
        "exact_epsilon": np.inf if of_data else table["epsilon"],
        "kind": "exact" if of_data else "proved",
        "holds": not of_data,
        "of": _said(table, domain_factor=WORST["domain_factor"]),
        "case": table["domain_factor"],
        "where": table["method"].isin(idp.DP_BASELINES),
    }


true_privacy_of_domain = partial(true_privacy, of_data=True)


def individual(table: pd.DataFrame) -> Cases:
    """Convert the `table` of the audit of [idp], one claim per interpretation of Definition 3.

    A case is a k, a domain factor and an attribute. Bounds that are measured in released numbers
    are left out: they are random, and no larger than the computed bounds.
    """
    readings = {how: name for name, how in idp.READINGS.items()}
    # DP has no clusters: "fixed clusters" means a fixed scale.
    formed = table["clusters"].replace({"none": "recomputed"})
    together = (table["unit"] == "attribute") & (table["attribute"] == idp.ALL)
    own = table.assign(
        attribute=table["attribute"].where(table["unit"] != "record", ""),
        domain=table["domain"].where(table["domain"] == FROM_DATA, ""),
        reading=[readings[how] for how in zip(table["reading"], formed, strict=True)],
        dataset=table["dataset"].replace(idp.DATASETS),
    )
    return dict(table[["claimed_epsilon", "kind", "holds"]]) | {
        "mechanism": table["method"],
        "setting": _said(own, dataset="{}", epsilon="ε = {:g}"),
        "claim": _said(own, reading="Definition 3, {}", domain="domain {}"),
        "unit": np.where(together, idp.ALL, table["unit"]),
        "exact_epsilon": table["exact_or_lower_bound"],
        "of": _said(own, **WORST),
        "case": _said(own, k="{}", domain_factor="{}", attribute="{}"),
        "where": ~idp.noted(table, idp.CERTIFICATE),
    }


def audited_release(public: Path) -> tuple[str, pd.DataFrame]:
    """Return the name of a release and the audit of its plan, from its `public` folder.

    The audit has the columns of `deniable.plans.Plan.audit`, then ``mechanism`` (the kind of the
    plan), ``setting`` (its target) and ``data_source``. If a theorem of the paper claims another ε,
    that claim has separate rows with ``theorem`` True.
    """
    document = read_json(public / "plan.json")
    plan, release = plan_from_json(document, str(public / "plan.json")), document["release"]
    audited = plan.audit().assign(theorem=False)
    if "theorem_4_1" in audited:
        claimed = audited.pop("theorem_4_1")
        rows = audited.assign(theorem=True, claimed_epsilon=claimed)
        rows = rows.assign(holds=_is_kept)[~rows["unit"].str.endswith(OF_TARGET) & claimed.notna()]
        audited = pd.concat([audited, rows], ignore_index=True)
    target = f"ε = {plan.target:.4g}" if np.isfinite(plan.target) else "no target"
    # Tables of results call published records "original".
    source = {"published": "original"}.get(release["data_source"], release["data_source"])
    return release["name"], audited.assign(mechanism=plan.kind, setting=target, data_source=source)


def _of_release(audited: pd.DataFrame) -> Cases:
    none = np.isinf(audited["claimed_epsilon"])
    targets = audited["unit"].str.endswith(OF_TARGET)
    centroids = audited["unit"].str.contains("centroid")
    claims = (THEOREM, NOT_STATED, ASKED, OF_CENTROIDS)
    return dict(audited[[*EPSILONS, "mechanism", "setting", "of"]]) | {
        "claim": np.select([audited["theorem"], none, targets, centroids], claims, STATED),
        "unit": audited["unit"].str.removesuffix(OF_TARGET),
    }
