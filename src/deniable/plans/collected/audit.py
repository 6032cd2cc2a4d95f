"""The audit of a collection: epsilons that are computed from the matrices of its tables."""

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache, reduce

import numpy as np
import pandas as pd

from deniable.plans.auditing import AUDIT_COLUMNS, EVERY_ENTRY, Ratios
from deniable.privacy import column_epsilon, largest_ratio
from deniable.rrba import SEPARATOR, CollectedTable, CollectionDesign, rows_by_table, table_channel

MAX_CELLS_BY_ENTRY = 256
"""Cells of a table up to which every entry of its matrix is computed, in integers."""
DISTINCT_ENTRIES = "the two distinct entries of each column"
THEOREM = "theorem_4_1"


def audit_design(
    design: CollectionDesign, target: float, record: float, answers: pd.DataFrame | None
) -> pd.DataFrame:
    """Audit the epsilons of a collection by its `design`.

    The requested epsilon of a client's record is `target`, the stated one `record`. The tables q
    are the ones that clients received, from the `answers` that `deniable.rrba.collect_answers`
    returns. Without answers, a q with a cell at the floor is used. ``unit`` is "answer" (one row
    per number of cells), "record" or "record, target".
    """
    by_cells: dict[int, list[tuple[CollectedTable, Ratios]]] = {}
    records: list[tuple[float, Ratios]] = []
    for received in _questions(design, answers):
        for table, found in received:
            by_cells.setdefault(table.cells, []).append((table, found))
        theorem = sum(table.claimed_epsilon for table, _ in received)
        records.append((theorem, reduce(Ratios.composed, (found for _, found in received))))
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


def _questions(
    design: CollectionDesign, answers: pd.DataFrame | None
) -> Iterator[list[tuple[CollectedTable, Ratios]]]:
    """Yield the tables of each question, and of each block if there are `answers`."""
    # With a memory all tables q are uniform, and the answers are about combinations of tables.
    rows = None if answers is None or design.memory else rows_by_table(answers)
    for question in design.asked:
        # Clients of a block answer about all tables of a question, or about none of them.
        tables = [design.randomized[each] for each in question]
        for block in zip(*[_sent(table, rows) for table in tables], strict=True):
            yield [(table, _ratios(*own)) for table, own in zip(tables, block, strict=True)]


def _sent(
    table: CollectedTable, rows: Mapping[str, pd.DataFrame] | None
) -> Iterator[tuple[float, tuple[Fraction, ...]]]:
    """Yield p and q of a `table`, block by block; without `rows` a q with a cell at the floor."""
    if rows is None:
        yield table.keep, _at_floor(table)
        return
    own = rows[SEPARATOR.join(table.attributes)]
    keeps, fakes = (own[name].to_numpy(float).reshape(-1, table.cells) for name in ("p", "fake"))
    for keep, fake in zip(keeps[:, 0].tolist(), fakes.tolist(), strict=True):
        yield keep, tuple(map(Fraction, fake))


def _at_floor(table: CollectedTable) -> tuple[Fraction, ...]:
    """Return a distribution over the cells of a `table`, with one cell at the floor."""
    if table.cells == 1:
        return (Fraction(1),)
    least = Fraction(table.floor) / table.cells
    return (least, *[(1 - least) / (table.cells - 1)] * (table.cells - 1))


@lru_cache(maxsize=4096)
def _ratios(keep: float, sent: tuple[Fraction, ...]) -> Ratios:
    """Return the largest ratio of p I + (1 - p) 1 q'."""
    p, cells, total = Fraction(keep), len(sent), sum(sent)
    shipped = column_epsilon(table_channel([float(q) for q in sent], keep).matrix())
    # Floats sum to 1 only up to rounding, so fractions are divided by their sum.
    fakes = [(1 - p) * proportion / total for proportion in sent]
    if cells > MAX_CELLS_BY_ENTRY:
        ratio = None if min(fakes) == 0 else max((p + fake) / fake for fake in fakes)
        return Ratios(ratio, shipped, DISTINCT_ENTRIES)
    common = math.lcm(p.denominator, *(fake.denominator for fake in fakes))
    weights = np.array([[int(fake * common) for fake in fakes]] * cells, dtype=object)
    weights[np.arange(cells), np.arange(cells)] += int(p * common)
    return Ratios(largest_ratio(weights), shipped, EVERY_ENTRY)
