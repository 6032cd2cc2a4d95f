"""Collections by RRBA held to what they state: the audit, and rehearsals beside the truth."""

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial, reduce
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy

from deniable.arrays import Floats
from deniable.contingency import LogLinearModel
from deniable.datasets import exact_margin, from_resources
from deniable.estimation import Z_95, jensen_shannon_distances, l2_distances
from deniable.privacy import Finding, column_epsilon, exact_epsilon
from deniable.randomized_response import audit_of_release
from deniable.records import Microdata
from deniable.release import CollectionRelease, ReleaseKey, marked
from deniable.release.collection.design import design_from_json
from deniable.release.collection.estimates import cells_of
from deniable.rrba import SEPARATOR, CollectionDesign, Combination, table_channel

EXACTLY_INDEPENDENT = 1e-12
DECISIONS = (
    *("answers", "p_value", "valid"),
    *("rejected", "rejected_holm", "rejected_benjamini_hochberg"),
)

Margin = Callable[[Combination], Floats]


def audit_collection(
    description: Mapping[str, Any], views: Mapping[str, Any], collection: pd.DataFrame
) -> pd.DataFrame:
    """Audit the epsilons that a collection states, from the tables that clients were sent.

    Of an answer the claim is what views.json says of its table, the exact epsilon that of the
    matrix p I + (1 - p) 1 q' in whole numbers, for each p and q that collection.csv holds; of a
    client's record, the sums over what one client is asked.

    `description` and `views` are the content of release.json and views.json, `collection` that of
    collection.csv, p and fake with all their digits. The columns are those of
    `deniable.randomized_response.audit.audit_multirr`: a row for each number of cells, and one for
    the record.
    """
    design, found = design_from_json(views), _findings(collection)
    tables = {SEPARATOR.join(combination): table for combination, table in design.tables.items()}
    by_cells: dict[int, list[Finding]] = {}
    for block in found:
        for attributes, (exact, shipped) in block.items():
            table = tables[attributes]
            by_cells.setdefault(table.cells, []).append(Finding(table.epsilon, exact, shipped))
    rows = [
        ("answer", f"tables of {cells} cells", _worst(each))
        for cells, each in sorted(by_cells.items())
    ]
    # Clients of a block answer all tables of a question, or none of them.
    asked = [
        [block[SEPARATOR.join(combination)] for combination in question]
        for block in found
        for question in design.questions
        if SEPARATOR.join(question[0]) in block
    ]
    record = Finding(
        float(description["privacy"]["epsilon"]),
        max(sum(exact for exact, _ in question) for question in asked),
        max(sum(shipped for _, shipped in question) for question in asked),
    )
    rows.append(("record", "all answers of a client", record))
    return audit_of_release(description["release"], "rrba", rows)


def audited(made: Mapping[str, Any]) -> pd.DataFrame:
    """Return the audit of a collection by ``release``, ``views`` and ``collection`` it `made`."""
    said = made["release"]
    table = audit_collection(said, made["views"], made["collection"])
    return table.assign(data_source=said["data_source"])


def _worst(findings: Sequence[Finding]) -> Finding:
    """Return the finding farthest above its claim; of those that hold, the largest."""
    return max(findings, key=lambda each: (not each.holds, each.exact))


def _findings(collection: pd.DataFrame) -> list[dict[str, tuple[float, float]]]:
    """Return the exact and the shipped epsilon of each table, by block."""
    known: dict[tuple[float, bytes], tuple[float, float]] = {}
    found: dict[int, dict[str, tuple[float, float]]] = {}
    for _, part in collection.groupby(["block", "attributes"], sort=False):
        block, attributes = int(part["block"].iloc[0]), str(part["attributes"].iloc[0])
        keep, sent = float(part["p"].iloc[0]), part["fake"].to_numpy(dtype=float)
        key = (keep, sent.tobytes())
        if key not in known:
            known[key] = _epsilons(keep, sent)
        found.setdefault(block, {})[attributes] = known[key]
    return list(found.values())


def _epsilons(keep: float, sent: Floats) -> tuple[float, float]:
    """Return the epsilon of the matrix by its definition, and that of the channel that is drawn."""
    p, cells = Fraction(keep), len(sent)
    fakes = [Fraction(share) for share in sent.tolist()]
    total = sum(fakes)  # floats sum to 1 but for rounding; the rows are distributions
    fakes = [(1 - p) * share / total for share in fakes]
    common = math.lcm(p.denominator, *(share.denominator for share in fakes))
    weights = np.array([[int(share * common) for share in fakes]] * cells, dtype=object)
    weights[np.arange(cells), np.arange(cells)] += int(p * common)
    return exact_epsilon(weights), column_epsilon(table_channel(sent, keep).matrix())


def checked(
    release: CollectionRelease,
    made: Mapping[str, Any],
    data: Microdata,
    key: ReleaseKey,
    seed: int,
    network: Path | str | None = None,
) -> dict[str, pd.DataFrame]:
    """Return the tables of a rehearsal, and what was decided of them, beside the truth.

    The `release` `made` ``views``, ``tables``, ``consistent``, ``two_step`` and ``independence`` of
    its true `data`. `network` is the path of the one that these were drawn from, if so. Nothing is
    drawn: neither `key` nor `seed` is looked at.
    """
    design = design_from_json(made["views"])
    margin = margins_of_network(network) if network else None
    steps = ("tables", "consistent", "two_step", "independence")
    tables, consistent, fitted, tests = (made[name] for name in steps)
    found = check_collection(design, data, tables, consistent, fitted, tests, margin)
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
    """Set the tables of a rehearsal, and what was decided of them, beside the true `data`.

    By one `design`: `tables` of `estimate_tables`, `consistent` ones of `make_consistent`, `fitted`
    ones of `fit_in_two_steps`, and the `tests` of `independence_tests`. `margin` gives the
    distribution of some attributes in the population that the file was drawn from, if it is known.

    A row for each table: ``attributes``, ``cells``; ``l2_*`` and ``js_*``, the Euclidean and the
    Jensen-Shannon distance from the true proportions of the estimate (l2 only, for it may be
    negative), the ``nearest`` table without negative cells, the ``consistent`` one, and the
    ``independent`` one; ``covered``, the share of true proportions in their 95 % interval;
    ``answers``, ``p_value``, ``valid`` and ``rejected*`` of the test; ``true_p_value`` and
    ``true_cramers_v`` (of pairs) of Pearson's test with the true records; and ``dependent``,
    whether attributes depend on each other in the population, if that is known.
    """
    columns = {
        "estimate": cells_of(design, tables, "estimate"),
        "nearest": cells_of(design, fitted, "nearest"),
        "consistent": cells_of(design, consistent, "probability"),
        "independent": cells_of(design, fitted, "independent"),
    }
    errors = cells_of(design, tables, "standard_error_file")
    decided = {row["attributes"]: row for row in tests.to_dict("records")}
    rows = []
    for each in design.tables:
        true = data.counts(each) / len(data)
        row: dict[str, Any] = {"attributes": SEPARATOR.join(each), "cells": true.size}
        for column, cells in columns.items():
            row[f"l2_{column}"] = float(l2_distances(cells[each].reshape(-1), true.reshape(-1)))
        for column in ("nearest", "consistent", "independent"):
            found, flat = columns[column][each].reshape(-1), true.reshape(-1)
            row[f"js_{column}"] = float(jensen_shannon_distances(found, flat))
        low_enough = np.abs(columns["estimate"][each] - true) <= Z_95 * errors[each] + 1e-9
        row["covered"] = float(low_enough.mean())
        row |= {name: decided[row["attributes"]][name] for name in DECISIONS}
        row |= _true_dependence(true, len(data))
        rows.append(row | {"dependent": pd.NA if margin is None else depends(margin(each))})
    return pd.DataFrame(rows).astype({"dependent": "boolean"})


def margins_of_network(path: Path | str) -> Margin:
    """Return the exact distributions in the population of the network in the file at `path`."""
    network = from_resources(Path(path).stem, Path(path).parent)
    return partial(exact_margin, network)


def _true_dependence(proportions: Floats, records: int) -> dict[str, float]:
    """Return p-value and Cramér's V of Pearson's test of independence of the true records."""
    expected = LogLinearModel.independence(proportions.shape).fit(proportions.reshape(-1))
    distance = np.zeros(expected.shape)
    squares = (proportions.reshape(-1) - expected) ** 2
    np.divide(squares, expected, out=distance, where=expected > 0)
    # Categories that nobody has are none.
    sizes = [int(np.count_nonzero(margin)) for margin in _margins(proportions)]
    if min(sizes) < 2:
        return {"true_p_value": np.nan, "true_cramers_v": np.nan}
    freedom = LogLinearModel.independence(sizes).degrees_of_freedom
    pair = proportions.ndim == 2
    return {
        "true_p_value": float(scipy.special.chdtrc(freedom, records * distance.sum())),
        "true_cramers_v": float(np.sqrt(distance.sum() / (min(sizes) - 1))) if pair else np.nan,
    }


def depends(joint: Floats) -> bool:
    """Return whether attributes depend on one another by their exact `joint` distribution.

    Its axes are the attributes.
    """
    product = reduce(np.multiply.outer, _margins(joint))
    return bool(np.abs(joint - product).max() > EXACTLY_INDEPENDENT)


def _margins(joint: Floats) -> list[Floats]:
    axes = set(range(joint.ndim))
    return [joint.sum(axis=tuple(axes - {axis})) for axis in sorted(axes)]
