"""What is estimated from a collection: tables, consistent tables and margins, the two steps.

Everything here starts from answers that went through the channels, so it costs no privacy.
"""

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from deniable.arrays import Floats
from deniable.contingency import (
    LogLinearModel,
    NoisyTable,
    consistent_tables,
    margin_of,
    two_step_estimate,
)
from deniable.errors import DeniableError
from deniable.release import CollectionRelease, marked_as
from deniable.release.collection.design import design_from_json, in_full
from deniable.rrba import (
    SEPARATOR,
    CollectionDesign,
    Combination,
    estimate_tables,
    rows_by_table,
)

AGREEMENT = 1e-9
"""Largest difference of shared margins that counts as agreement."""


def estimated(release: CollectionRelease, made: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
    """Return the tables of a `release`, from the ``views`` and the ``collection`` it `made`.

    How many clients there are its ``release`` says.
    """
    design, said = design_from_json(made["views"]), made["release"]
    tables = estimate_tables(design, made["collection"], said["clients"])
    return {"tables": marked_as(tables, made["collection"])}


def cells_of(
    design: CollectionDesign, table: pd.DataFrame, column: str
) -> dict[Combination, Floats]:
    """Return a `column` of a `table`, which has a row a cell, as tables of shapes by `design`."""
    groups = rows_by_table(table)
    return {
        each: groups[SEPARATOR.join(each)][column]
        .to_numpy(dtype=float)
        .reshape(design.domain.project(each).shape)
        for each in design.tables
    }


def make_consistent(
    design: CollectionDesign, tables: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return tables that agree on all shared margins, closest to `tables` ([rrba], 4.3).

    These are what `estimate_tables` returns of a collection by a `design`. Weighted least squares,
    the weights from the standard errors; see
    `deniable.contingency.consistency`.

    Returns
    -------
    consistent : DataFrame
        ``attributes``, ``categories``, ``estimate`` and ``probability``: not negative, each table
        sums to 1, margins that tables share differ by at most 1e-9.
    margins : DataFrame
        ``attribute``, ``category``, ``tables`` that have it, the ``lowest``, ``median`` and
        ``highest`` of their estimates, and the ``consistent`` probability.
    """
    estimates = cells_of(design, tables, "estimate")
    errors = cells_of(design, tables, "standard_error_population")
    noisy = [
        # A table of one cell has no error, and nothing to agree on.
        NoisyTable(each, estimates[each], 1 / (float(np.mean(errors[each] ** 2)) or 1.0))
        for each in design.tables
    ]
    found = consistent_tables(noisy).tables
    apart = margins_apart(found)
    if apart > AGREEMENT:
        raise DeniableError(
            f"consistent tables differ by {apart:.3g} on a shared margin: a fault of "
            "deniable.contingency.consistency, please report it"
        )
    consistent = tables[["attributes", "categories", "estimate"]].assign(
        probability=np.concatenate([found[each].reshape(-1) for each in design.tables])
    )
    return consistent, pd.DataFrame(_margins(design, estimates, found))


def margins_apart(tables: Mapping[Combination, Floats]) -> float:
    """Return the largest difference between margins of any two `tables`, or of a total from 1."""
    apart = max(abs(float(cells.sum()) - 1) for cells in tables.values())
    margins: dict[tuple[str, ...], list[Floats]] = {}
    for names, cells in tables.items():
        table = NoisyTable(names, cells)
        for size in range(1, len(names)):
            for kept in combinations(names, size):
                margins.setdefault(kept, []).append(margin_of(table, kept).reshape(-1))
    return max([apart, *(float(np.ptp(shared, axis=0).max()) for shared in margins.values())])


def _margins(
    design: CollectionDesign,
    estimates: Mapping[Combination, Floats],
    consistent: Mapping[Combination, Floats],
) -> Iterator[dict[str, object]]:
    for attribute in design.domain:
        own = [each for each in design.tables if attribute.name in each]
        before, after = (
            np.array([margin_of(NoisyTable(each, cells[each]), (attribute.name,)) for each in own])
            for cells in (estimates, consistent)
        )
        for code, category in enumerate(attribute.categories):
            column = before[:, code]
            yield {
                "attribute": attribute.name,
                "category": category,
                "tables": len(own),
                "lowest": column.min(),
                "median": np.median(column),
                "highest": column.max(),
                "consistent": after[0, code],
            }


def fit_in_two_steps(design: CollectionDesign, tables: pd.DataFrame) -> pd.DataFrame:
    """Return the two-step maximum-likelihood estimate of each of `tables`, were it independent.

    Of a collection by a `design`.
    [rrba], section 6: the ``nearest`` table without negative cells, then the expected table if its
    attributes were ``independent``, fitted as if the first had been observed. Both as proportions,
    beside ``attributes``, ``categories`` and ``estimate``.
    """
    estimates = cells_of(design, tables, "estimate")
    steps: dict[Combination, tuple[Floats, Floats]] = {}
    by_shape: dict[tuple[int, ...], list[Combination]] = {}
    for each, cells in estimates.items():
        by_shape.setdefault(cells.shape, []).append(each)
    for shape, alike in by_shape.items():
        noisy = np.array([estimates[each].reshape(-1) for each in alike])
        found = two_step_estimate(noisy, 1.0, LogLinearModel.independence(shape))
        steps |= zip(alike, zip(found.tables, found.fitted, strict=True), strict=True)
    nearest, fitted = zip(*(steps[each] for each in design.tables), strict=True)
    return tables[["attributes", "categories", "estimate"]].assign(
        nearest=np.concatenate(nearest), independent=np.concatenate(fitted)
    )


def reconciled(release: CollectionRelease, made: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
    """Return tables that agree on all margins they share, and those margins.

    From the ``tables`` and ``views`` that a `release` has `made`.
    """
    design, tables = design_from_json(made["views"]), made["tables"]
    consistent, margins = make_consistent(design, tables)
    # In full: nine digits would undo the agreement to 1e-9.
    left = {"consistent": in_full(consistent, ["probability"]), "margins": margins}
    return {name: marked_as(table, tables) for name, table in left.items()}


def fitted(release: CollectionRelease, made: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
    """Return independence fitted in two steps to each of the ``tables`` that a `release` `made`."""
    design, tables = design_from_json(made["views"]), made["tables"]
    return {"two_step": marked_as(fit_in_two_steps(design, tables), tables)}
