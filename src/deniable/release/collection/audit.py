"""The audit of collections by RRBA: what they state of their privacy, and whether it is so."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from deniable.arrays import Floats
from deniable.privacy import Finding, column_epsilon, exact_epsilon
from deniable.release import released
from deniable.release.collection.design import BETWEEN, CollectionDesign
from deniable.rrba import table_channel


def audit_collection(
    description: Mapping[str, Any], views: Mapping[str, Any], collection: pd.DataFrame
) -> pd.DataFrame:
    """Audit the epsilons that a collection states, from the tables that clients were sent.

    Of an answer the claim is what views.json says of its table, the exact epsilon that of the
    matrix p I + (1 - p) 1 q' in whole numbers, for each p and q that collection.csv holds; of a
    client's record, the sums over what one client is asked.

    Parameters
    ----------
    description, views : mappings
        The content of release.json and views.json.
    collection : DataFrame
        collection.csv, p and fake with all their digits.

    Returns
    -------
    DataFrame
        The columns of `deniable.randomized_response.audit.audit_multirr`: a row for each number of
        cells, and one for the record.
    """
    design = CollectionDesign.from_json(views)
    found = _findings(collection)
    tables = {BETWEEN.join(combination): table for combination, table in design.tables.items()}
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
        [block[BETWEEN.join(combination)] for combination in question]
        for block in found
        for question in design.questions
        if BETWEEN.join(question[0]) in block
    ]
    record = Finding(
        float(description["privacy"]["epsilon"]),
        max(sum(exact for exact, _ in question) for question in asked),
        max(sum(shipped for _, shipped in question) for question in asked),
    )
    rows.append(("record", "all answers of a client", record))
    return released(description["release"], "rrba", rows)


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
