"""The report's section about the sweep of config/sweep.yaml, where it was run."""

from typing import Any

from deniable.display import Tables, first_of, groups_of, rows_of

VALUE = "median_relative_error"


def sweep(tables: Tables) -> dict[str, Any]:
    """Prepare the sweep of RR-Clusters: the best thresholds at each p and number of records."""
    whole = tables["multirr_sweep"]
    table = first_of(whole, "matrix", "mechanism", "projection")
    probabilities = sorted(table["p"].unique())
    rows = []
    for row, part in groups_of(table.sort_values(["records", "t_d", "t_v"]), "records"):
        lowest = part.loc[part.groupby("p")[VALUE].idxmin()]
        best = {cell["p"]: cell for cell in rows_of(lowest)}
        rows.append(row | {"best": [best.get(p) for p in probabilities]})
    first = table.iloc[0]
    return {
        "cells": len(whole),
        "sizes": sorted(table["records"].unique()),
        "probabilities": probabilities,
        "rows": rows,
        **{name: first[name] for name in ("matrix", "mechanism", "projection")},
    }
