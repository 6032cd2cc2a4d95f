"""How a rehearsal of a collection fares against the truth, which a rehearsal knows."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from deniable.arrays import Floats
from deniable.contingency import LogLinearModel
from deniable.datasets import exact_margin, from_resources
from deniable.estimation import Z_95, jensen_shannon_distances, l2_distances
from deniable.records import Microdata
from deniable.release import CollectionRelease, marked
from deniable.release.collection.design import BETWEEN, CollectionDesign
from deniable.release.collection.estimates import cells_of
from deniable.rrba import Combination

EXACTLY_INDEPENDENT = 1e-12
DECISIONS = (
    *("answers", "p_value", "valid"),
    *("rejected", "rejected_holm", "rejected_benjamini_hochberg"),
)

Margin = Callable[[Combination], Floats]


def checked(
    release: CollectionRelease,
    made: Mapping[str, Any],
    data: Microdata,
    seed: int,
    network: Path | str | None = None,
) -> dict[str, pd.DataFrame]:
    """Return the tables of a rehearsal, and what was decided of them, beside the truth.

    Parameters
    ----------
    release : CollectionRelease
    made : mapping
        What the rehearsal left: ``views``, ``tables``, ``consistent``, ``two_step``,
        ``independence``.
    data : Microdata
        The true records.
    seed : int
        Nothing is drawn.
    network : path, optional
        Of the network that the records were drawn from.
    """
    design = CollectionDesign.from_json(made["views"])
    found = check_collection(
        design,
        data,
        made["tables"],
        made["consistent"],
        made["two_step"],
        made["independence"],
        margins_of_network(network) if network else None,
    )
    return {"check": marked(found, release, data)}


def check_collection(
    design: CollectionDesign,
    data: Microdata,
    tables: pd.DataFrame,
    consistent: pd.DataFrame,
    fitted: pd.DataFrame,
    tests: pd.DataFrame,
    margin: Margin | None = None,
) -> pd.DataFrame:
    """Set the tables of a rehearsal, and what was decided of them, beside the truth.

    Parameters
    ----------
    design : CollectionDesign
    data : Microdata
        The true records.
    tables, consistent, fitted, tests : DataFrame
        Of `estimate_tables`, `make_consistent`, `fit_in_two_steps` and `independence_tests`.
    margin : callable, optional
        The distribution of some attributes in the population that the file was drawn from, if it
        is known.

    Returns
    -------
    DataFrame
        A row for each table: ``attributes``, ``cells``; ``l2_*`` and ``js_*``, the
        Euclidean and the Jensen-Shannon distance from the true proportions of the estimate (l2
        only, for it may be negative), the ``nearest`` table without negative cells, the
        ``consistent`` one, and the ``independent`` one; ``covered``, the share of true proportions
        in their 95 % interval; ``answers``, ``p_value``, ``valid`` and ``rejected*`` of the
        test; ``true_p_value`` and ``true_cramers_v`` (of pairs) of Pearson's test with the true
        records; and ``dependent``, whether attributes depend on each other in
        the population, if that is known.
    """
    columns = {
        "estimate": cells_of(design, tables, "estimate"),
        "nearest": cells_of(design, fitted, "nearest"),
        "consistent": cells_of(design, consistent, "probability"),
        "independent": cells_of(design, fitted, "independent"),
    }
    errors = cells_of(design, tables, "standard_error_file")
    decided: dict[str, dict[str, Any]] = {
        row["attributes"]: {name: row[name] for name in DECISIONS}
        for row in tests.to_dict("records")
    }
    rows = []
    for each in design.tables:
        name = BETWEEN.join(each)
        true = data.counts(each) / len(data)
        away = {column: cells[each].reshape(-1) for column, cells in columns.items()}
        low_enough = np.abs(columns["estimate"][each] - true) <= Z_95 * errors[each] + 1e-9
        rows.append(
            {
                "attributes": name,
                "cells": true.size,
                **{f"l2_{c}": float(l2_distances(x, true.reshape(-1))) for c, x in away.items()},
                **{
                    f"js_{c}": float(jensen_shannon_distances(x, true.reshape(-1)))
                    for c, x in away.items()
                    if c != "estimate"
                },
                "covered": float(low_enough.mean()),
                **decided[name],
                **_true_dependence(true, len(data)),
                "dependent": pd.NA if margin is None else depends(margin(each)),
            }
        )
    return pd.DataFrame(rows).astype({"dependent": "boolean"})


def margins_of_network(path: Path | str) -> Margin:
    """Return the exact distributions in the population that a network describes.

    Parameters
    ----------
    path : path
        Of the network, under resources/networks.
    """
    network = from_resources(Path(path).stem, Path(path).parent)
    return partial(exact_margin, network)


def _true_dependence(proportions: Floats, records: int) -> dict[str, float]:
    """Return p-value and Cramér's V of Pearson's test of independence of the true records."""
    expected = LogLinearModel.independence(proportions.shape).fit(proportions.reshape(-1))
    distance = np.zeros(expected.shape)
    squares = (proportions.reshape(-1) - expected) ** 2
    np.divide(squares, expected, out=distance, where=expected > 0)
    # Categories that nobody has are none.
    sizes = [
        int(np.count_nonzero(proportions.sum(axis=tuple(set(range(proportions.ndim)) - {axis}))))
        for axis in range(proportions.ndim)
    ]
    if min(sizes) < 2:
        return {"true_p_value": np.nan, "true_cramers_v": np.nan}
    freedom = LogLinearModel.independence(sizes).degrees_of_freedom
    pair = proportions.ndim == 2
    return {
        "true_p_value": float(special.chdtrc(freedom, records * distance.sum())),
        "true_cramers_v": float(np.sqrt(distance.sum() / (min(sizes) - 1))) if pair else np.nan,
    }


def depends(joint: Floats) -> bool:
    """Return whether the attributes of an exact distribution depend on one another."""
    product = np.ones(())
    for axis in range(joint.ndim):
        others = tuple(set(range(joint.ndim)) - {axis})
        product = np.multiply.outer(product, joint.sum(axis=others))
    return bool(np.abs(joint - product).max() > EXACTLY_INDEPENDENT)
