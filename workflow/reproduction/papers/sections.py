"""Contents of the report's sections on all papers: claims in words, and privacy."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from deniable.display import Row, Tables, rows_of, short
from deniable.randomized_response import ASSESSMENTS

from reproduction.papers.audit import PROTOCOLS, RELEASE
from reproduction.papers.catalog import AUDITED, PAPERS
from reproduction.study import LEVEL, SIMILAR, by, first_of, groups_of, resolve, where, worst_first

VERDICTS = {  # texts for one sentence and for several, in the order of the counts
    "holds": ("holds", "hold"),
    "fails": ("fails", "fail"),
    "better than published": ("is better here", "are better here"),
    "undecided": ("is undecided", "are undecided"),
    "no amount stated": ("states no amount", "state no amount"),
    "depends on the margin": ("depends on the margin", "depend on the margin"),
    "depends on the interpretation": (
        "depends on the interpretation",
        "depend on the interpretation",
    ),
    "surrogate": ("has no verdict on surrogate data", "have no verdict on surrogate data"),
}
SAID = ("section", "printed", "test", "figure")
RELEASES = "releases"


def claims(tables: Tables, paper: str, words: str = "") -> dict[str, Any]:
    """Return a `paper`'s claims from `tables`; `words` is the place of its names of methods."""
    called: Mapping[str, str] = resolve(words) if words else {}
    table = tables[f"{paper}_claims"]
    readings = tables.get(f"{paper}_claim_readings", table.iloc[:0])

    def rows(part: Any) -> list[Row]:
        said = {name: part[name].map(lambda text: in_words(text, called)) for name in SAID}
        return rows_of(part.assign(**said))

    return {
        "claims": [of | {"rows": rows(where(readings, claim=of["claim"]))} for of in rows(table)],
        "paper": paper,
        "by": [name for name in ("mechanism", "projection", "reading") if name in readings],
        "said": [said for _, said in counted(table["verdict"])],
        "level": LEVEL,
        "similar": SIMILAR,
        "numbers": [f"{paper}_claims"] + [f"{paper}_claim_readings"] * bool(len(readings)),
    }


def in_words(text: Any, called: Mapping[str, str]) -> str:
    """Return a `text` with some words replaced by their names on pages (`called`).

    >>> in_words("rr_clusters_new: 0.2, rr_clusters", {"rr_clusters": "RR-Clusters"})
    'rr_clusters_new: 0.2, RR-Clusters'
    """
    said = re.sub(r"\d[\d.]*e[+-]\d+", lambda number: short(float(number[0])), str(text))
    return re.sub(r"\b[a-z_]+\b|>=", lambda word: called.get(word[0], word[0]), said)


def counted(verdicts: Iterable[str]) -> list[tuple[str, str]]:
    """Return each of the `verdicts` with its count as text, in the order of `VERDICTS`."""
    found = Counter(verdicts)
    known = [(name, found[name], said) for name, said in VERDICTS.items() if found[name]]
    return [(name, f"{number} {said[number > 1]}") for name, number, said in known]


def audit(tables: Tables) -> dict[str, Any]:
    """Return the audit of papers, protocols and releases from `tables`, failing claims first."""
    privacy = tables["privacy"]
    source = privacy["source"].where(~privacy["source"].str.startswith(RELEASE), RELEASES)
    by_source = privacy.groupby(source, sort=False)
    return {
        "papers": [_audited(str(name), part, tables) for name, part in by_source],
        "samplers": tables.get("samplers", pd.DataFrame()),
    }


def _audited(key: str, part: pd.DataFrame, tables: Tables) -> Row:
    part = part.sort_values("fail", key=lambda fail: fail == 0, kind="stable")
    claims = [
        row | {"units": [_worst(of_unit) for _, of_unit in groups_of(own, "unit")]}
        for row, own in groups_of(part, "mechanism", "claim")
    ]
    headings = {paper.key: f"{paper.heading} [{paper.key}]" for paper in PAPERS}
    headings |= {PROTOCOLS: "Protocols that need no curator", RELEASES: "Releases of this run"}
    return {
        "key": key,
        "name": headings[key],
        "claims": claims,
        "rows": rows_of(part),
        "tables": [name for name in AUDITED.get(key, ()) if name in tables],
    }


def _worst(part: pd.DataFrame) -> Row:
    """Return the worst setting of a unit, with the counts of all its cases."""
    ordered = worst_first(part.assign(fails=part["fail"] > 0), "claimed_epsilon", "exact_epsilon")
    ordered = ordered.sort_values("fails", ascending=False, kind="stable")
    return rows_of(ordered.head(1))[0] | {n: int(part[n].sum()) for n in ("cases", "hold", "fail")}


def risk(tables: Tables) -> dict[str, Any]:
    """Compare "equal risk" with the total ε in `tables`, under the matrix as published.

    There is a row for each p and mechanism, at the T_v with the worst attribute. It also has the
    total under each assessment, and the ε of RR-Independent (``alone``).
    """
    table = tables["multirr_risk"]
    part = first_of(table, "matrix")
    rows: list[Row] = []
    for row, at in groups_of(part.sort_values("p", kind="stable"), "p"):
        alone = rows_of(where(at, mechanism="rr_independent"))[0]
        for group, of in groups_of(at[at["t_v"].notna()], "mechanism"):
            plain = where(of, assessment="none")
            worst = rows_of(worst_first(plain, "attribute_alone", "attribute_epsilon").head(1))[0]
            totals = by(where(of, t_v=worst["t_v"]), "assessment")
            rows.append(row | group | {"alone": alone, "worst": worst, "totals": totals})
    release = table[(table["assessment"] == "none") & table["t_v"].notna()]
    assessed = table[table["assessment"] != "none"]
    ways = {*part["assessment"]} - {"none"}
    return {
        "matrix": part["matrix"].iloc[0],
        "rows": rows,
        "assessments": [name for name in ASSESSMENTS if name in ways],
        "every": table,
        "facts": {
            "record": bool(release["equal_risk_record"].all()),
            "attribute": release.groupby("mechanism")["equal_risk_attribute"].all().to_dict(),
            "assessed": bool(assessed["equal_risk_with_assessment"].any()),
        },
    }


def waiver(tables: Tables) -> dict[str, Any]:
    """Return the waiver of [multirr], 4.3, from `tables`: claimed and exact ε, and δ by parties."""
    table = tables["multirr_waiver"]
    rows = []
    for row, part in groups_of(table, "matrix", "p"):
        cells = by(part, "parties")
        rows.append(row | {"cells": cells} | next(iter(cells.values())))
    return {
        "rows": rows,
        "parties": sorted(table["parties"].unique()),
        "releases": int(table["releases"].max()),
        "trust": [
            (sorted(part["parties"].unique()), of["trust"])
            for of, part in groups_of(table, "trust")
        ],
        "others_alike": bool((table["others_alike"] == table["parties"] - 1).all()),
    }
