"""Collected tables of a test release, compared with the original data."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import scipy

from deniable.arrays import Floats, quotients
from deniable.contingency import LogLinearModel
from deniable.estimation import Z_95, jensen_shannon_distances, l2_distances
from deniable.records import Microdata
from deniable.responses import CollectedResponses
from deniable.rrba import SEPARATOR, CollectionDesign

ESTIMATES = {
    "consistent": ("consistent", "consistent"),
    "nearest": ("two_step", "nearest"),
    "independent": ("two_step", "independent"),
}
"""The table and the column of each estimate."""
DECISIONS = (
    *("records", "p_value", "valid"),
    *("rejected", "rejected_holm", "rejected_benjamini_hochberg"),
)


def compare_tables(
    design: CollectionDesign,
    protected: CollectedResponses,
    original: Microdata,
    estimates: Mapping[str, pd.DataFrame],
) -> pd.DataFrame:
    """Compare the `protected` tables of a `design` and their estimates with the `original` data.

    The `estimates` are the tables ``consistent``, ``two_step`` and ``independence`` of
    `deniable.Released`. A table that is missing has no columns in the result. There is one row per
    table, with ``columns`` and ``cells``. ``l2_*`` and ``js_*`` are the Euclidean and the
    Jensen-Shannon distance from the original proportions. They are for the unbiased estimate (l2
    only, since it can be negative), the ``consistent`` table, the ``nearest`` table without
    negative cells, and the ``independent`` one. ``covered`` is the proportion of cells with the
    original proportion in the 95 % interval for the file. The decision of the test follows, and
    ``original_p_value`` and ``original_cramers_v`` (of pairs) of Pearson's test of the originals.
    """
    parts = {
        name: {str(key): own for key, own in estimates[name].groupby("columns", sort=False)}
        for name in ("consistent", "two_step", "independence")
        if "columns" in estimates.get(name, ())
    }
    rows = []
    for names in design.tables:
        label, answers = SEPARATOR.join(names), protected.answers_about(names)
        exact = (original.counts(names) / len(original)).reshape(-1)
        estimate = answers.estimate()
        row: dict[str, Any] = {"columns": label, "cells": exact.size}
        row["l2_estimate"] = float(l2_distances(estimate, exact))
        for name, (table, column) in ESTIMATES.items():
            if (own := parts.get(table, {}).get(label)) is not None and len(own) == exact.size:
                found = own[column].to_numpy(dtype=float)
                row[f"l2_{name}"] = float(l2_distances(found, exact))
                row[f"js_{name}"] = float(jensen_shannon_distances(found, exact))
        errors = answers.standard_errors(len(original))
        row["covered"] = float((np.abs(estimate - exact) <= Z_95 * errors + 1e-9).mean())
        if label in parts.get("independence", {}):
            decided = parts["independence"][label].iloc[0]
            row |= {name: decided[name] for name in DECISIONS}
        shape = design.domain.project(names).shape
        rows.append(row | _pearson(exact.reshape(shape), len(original)))
    return pd.DataFrame(rows)


def _pearson(proportions: Floats, records: int) -> dict[str, float]:
    """Return the p-value and Cramér's V of Pearson's test of independence."""
    expected = LogLinearModel.independence(proportions.shape).fit(proportions.reshape(-1))
    distance = quotients((proportions.reshape(-1) - expected) ** 2, expected)
    # Categories without a record do not count.
    axes = set(range(proportions.ndim))
    marginals = [proportions.sum(axis=tuple(axes - {axis})) for axis in sorted(axes)]
    sizes = [int(np.count_nonzero(marginal)) for marginal in marginals]
    if min(sizes) < 2:
        return {"original_p_value": np.nan, "original_cramers_v": np.nan}
    freedom = LogLinearModel.independence(sizes).degrees_of_freedom
    v = float(np.sqrt(distance.sum() / (min(sizes) - 1))) if proportions.ndim == 2 else np.nan
    p_value = float(scipy.special.chdtrc(freedom, records * distance.sum()))
    return {"original_p_value": p_value, "original_cramers_v": v}
