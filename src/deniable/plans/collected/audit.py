"""The audit of a collection: epsilons computed from the matrices of its tables."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pandas as pd

from deniable.channels import product_of_ratios
from deniable.plans.auditing import AUDIT_COLUMNS, audit_row
from deniable.privacy import column_epsilon, epsilon_of_ratio, largest_ratio
from deniable.rrba import (
    SEPARATOR,
    CollectedTable,
    CollectionDesign,
    rows_by_table,
    table_channel,
)

MAX_CELLS_BY_ENTRY = 256
"""Cells of a table up to which every entry of its matrix is formed, in whole numbers."""
EVERY_ENTRY, DISTINCT_ENTRIES = "every entry", "the two distinct entries of each column"
THEOREM = "theorem_4_1"


@dataclass(frozen=True)
class _Found:
    """The claimed epsilon of some answers, and their largest ratio, exactly and by floats."""

    claimed: float
    theorem: float
    ratio: Fraction | None
    shipped: float
    shown_by: str

    @property
    def exact(self) -> float:
        return epsilon_of_ratio(self.ratio)

    def row(self, unit: str, of: str) -> dict[str, object]:
        found = audit_row(unit, of, self.claimed, self.exact, self.shipped, self.shown_by)
        return found | {THEOREM: self.theorem}


def audit_design(
    design: CollectionDesign, target: float, record: float, answers: pd.DataFrame | None
) -> pd.DataFrame:
    """Audit the epsilons of a collection.

    Parameters
    ----------
    design : CollectionDesign
    target, record : float
        The requested and the stated epsilon of a client's record.
    answers : DataFrame or None
        As `deniable.rrba.collect_answers` returns them: the tables that clients received. Without
        them, tables q that reach the floor.

    Returns
    -------
    DataFrame
        ``unit`` is "answer" (one row per number of cells), "record" or "record, target".
    """
    by_cells: dict[int, list[_Found]] = {}
    records: list[_Found] = []
    for asked in _questions(design, answers):
        for table, found in asked:
            by_cells.setdefault(table.cells, []).append(found)
        records.append(
            _Found(
                record,
                sum(found.theorem for _, found in asked),
                product_of_ratios([found.ratio for _, found in asked]),
                sum(found.shipped for _, found in asked),
                " and ".join(dict.fromkeys(found.shown_by for _, found in asked)),
            )
        )
    rows = [
        _worst(each).row("answer", f"tables of {cells} cells")
        for cells, each in sorted(by_cells.items())
    ]
    worst = max(records, key=lambda each: each.exact)
    of = "all answers of a client"
    rows.append(worst.row("record", of))
    rows.append(worst.row("record, target", of))
    exact, shipped = worst.exact, worst.shipped
    rows[-1] |= audit_row("record, target", of, target, exact, shipped, worst.shown_by)
    return pd.DataFrame(rows, columns=[*AUDIT_COLUMNS, THEOREM])


def _worst(found: Sequence[_Found]) -> _Found:
    """Return the answers farthest above their claim; if all hold, the ones of largest epsilon."""
    return max(found, key=lambda each: (each.exact > each.claimed, each.exact))


def _questions(
    design: CollectionDesign, answers: pd.DataFrame | None
) -> Iterator[list[tuple[CollectedTable, _Found]]]:
    """Yield the tables of each question, and of each block if there are `answers`."""
    if answers is None:
        for question in design.questions:
            tables = [design.tables[each] for each in question]
            yield [(table, _audited(table, table.keep, _at_floor(table))) for table in tables]
        return
    rows = rows_by_table(answers)
    for question in design.questions:
        # Clients of a block answer about all tables of a question, or about none of them.
        tables = [design.tables[each] for each in question]
        received = [list(_received(table, rows)) for table in tables]
        for block in zip(*received, strict=True):
            yield [(t, _audited(t, *own)) for t, own in zip(tables, block, strict=True)]


def _received(
    table: CollectedTable, rows: Mapping[str, pd.DataFrame]
) -> Iterator[tuple[float, tuple[Fraction, ...]]]:
    """Yield p and q of a `table`, block by block."""
    own = rows[SEPARATOR.join(table.attributes)]
    keeps, fakes = (own[name].to_numpy(float).reshape(-1, table.cells) for name in ("p", "fake"))
    for keep, fake in zip(keeps[:, 0].tolist(), fakes.tolist(), strict=True):
        yield keep, tuple(map(Fraction, fake))


def _at_floor(table: CollectedTable) -> tuple[Fraction, ...]:
    """Return a distribution over the cells of a `table`, one of them at the floor."""
    if table.cells == 1:
        return (Fraction(1),)
    least = Fraction(table.floor) / table.cells
    return (least, *[(1 - least) / (table.cells - 1)] * (table.cells - 1))


def _audited(table: CollectedTable, keep: float, sent: tuple[Fraction, ...]) -> _Found:
    return _Found(table.epsilon, table.claimed_epsilon, *_ratios(keep, sent))


@lru_cache(maxsize=4096)
def _ratios(keep: float, sent: tuple[Fraction, ...]) -> tuple[Fraction | None, float, str]:
    """Return the largest ratio of p I + (1 - p) 1 q', exactly and by floats, and the way."""
    p, cells, total = Fraction(keep), len(sent), sum(sent)
    shipped = column_epsilon(table_channel([float(q) for q in sent], keep).matrix())
    # Floats sum to 1 up to rounding; the rows are distributions.
    fakes = [(1 - p) * proportion / total for proportion in sent]
    if cells > MAX_CELLS_BY_ENTRY:
        ratio = None if min(fakes) == 0 else max((p + fake) / fake for fake in fakes)
        return ratio, shipped, DISTINCT_ENTRIES
    common = math.lcm(p.denominator, *(fake.denominator for fake in fakes))
    weights = np.array([[int(fake * common) for fake in fakes]] * cells, dtype=object)
    weights[np.arange(cells), np.arange(cells)] += int(p * common)
    return largest_ratio(weights), shipped, EVERY_ENTRY
