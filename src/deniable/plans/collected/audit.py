"""The audit of a collection: epsilons that are computed from the matrices of its tables."""

import math
from fractions import Fraction
from functools import lru_cache, reduce

import numpy as np
import pandas as pd

from deniable.plans.auditing import AUDIT_COLUMNS, EVERY_ENTRY, Ratios
from deniable.privacy import column_epsilon, largest_ratio
from deniable.rrba import CollectedTable, CollectionDesign, table_channel

MAX_CELLS_BY_ENTRY = 256
"""Cells of a table up to which every entry of its matrix is computed, in integers."""
DISTINCT_ENTRIES = "the two distinct entries of each column"
THEOREM = "theorem_4_1"


def audit_design(design: CollectionDesign, target: float, record: float) -> pd.DataFrame:
    """Audit the epsilons of a collection by its `design`, at tables q with a cell at the floor.

    The requested epsilon of a client's record is `target`, the stated one `record`. ``unit`` is
    "answer" (one row per number of cells), "record" or "record, target".
    """
    by_cells: dict[int, list[tuple[CollectedTable, Ratios]]] = {}
    records: list[tuple[float, Ratios]] = []
    for question in design.asked:
        tables = [design.randomized[each] for each in question]
        ratios = [_ratios(table.keep, table.cells, table.floor) for table in tables]
        for table, own in zip(tables, ratios, strict=True):
            by_cells.setdefault(table.cells, []).append((table, own))
        theorem = sum(table.claimed_epsilon for table in tables)
        records.append((theorem, reduce(Ratios.composed, ratios)))
    rows = []
    for cells, each in sorted(by_cells.items()):
        # The answers farthest above their claim; if all claims hold, the ones of largest epsilon.
        table, found = max(each, key=lambda own: (own[1].exact > own[0].epsilon, own[1].exact))
        row = found.row("answer", f"tables of {cells} cells", table.epsilon)
        rows.append(row | {THEOREM: table.claimed_epsilon})
    theorem, worst = max(records, key=lambda own: own[1].exact)
    for unit, claimed in (("record", record), ("record, target", target)):
        rows.append(worst.row(unit, "all answers of a client", claimed) | {THEOREM: theorem})
    return pd.DataFrame(rows, columns=[*AUDIT_COLUMNS, THEOREM])


@lru_cache(maxsize=4096)
def _ratios(keep: float, cells: int, floor: float) -> Ratios:
    """Return the largest ratio of p I + (1 - p) 1 q', for a q with one cell at the floor."""
    least, p = Fraction(floor) / cells, Fraction(keep)
    sent = [Fraction(1)] if cells == 1 else [least, *[(1 - least) / (cells - 1)] * (cells - 1)]
    shipped = column_epsilon(table_channel([float(q) for q in sent], keep).matrix())
    fakes = [(1 - p) * proportion for proportion in sent]
    if cells > MAX_CELLS_BY_ENTRY:
        ratio = None if min(fakes) == 0 else max((p + fake) / fake for fake in fakes)
        return Ratios(ratio, shipped, DISTINCT_ENTRIES)
    common = math.lcm(p.denominator, *(fake.denominator for fake in fakes))
    weights = np.array([[int(fake * common) for fake in fakes]] * cells, dtype=object)
    weights[np.arange(cells), np.arange(cells)] += int(p * common)
    return Ratios(largest_ratio(weights), shipped, EVERY_ENTRY)
