"""Estimates of collected tables from the answers of all blocks ([rrba], section 4.1)."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from deniable.arrays import Counts, Floats
from deniable.errors import DataError
from deniable.rrba.collection import SEPARATOR, CollectionDesign
from deniable.rrba.tables import checked_counts, printed_estimate
from deniable.rrba.views import Combination


@dataclass(frozen=True, eq=False)
class TableAnswers:
    """All answers about one table, block by block.

    `keep` is p, in (0, 1). Numbers of answers, `reports`, and distributions of fake answers,
    `fake`, have the shape (blocks, cells). Raises `DeniableError` if the reports are not counts.
    """

    keep: float
    reports: Counts
    fake: Floats

    def __post_init__(self) -> None:
        checked_counts(self.reports, self.fake.shape[-1])

    @property
    def number(self) -> int:
        """Number of answers."""
        return int(self.reports.sum())

    @property
    def average_fake(self) -> Floats:
        """The distribution of fake answers, averaged over answers, shape (cells,)."""
        sizes = self.reports.sum(axis=1)
        return np.asarray(sizes @ self.fake / sizes.sum())

    def estimate(self) -> Floats:
        """Return the unbiased estimate of the original proportions, shape (cells,), by (4)."""
        return printed_estimate(self.reports.sum(axis=0), self.average_fake, self.keep)

    def standard_errors(self, clients: int | None = None) -> Floats:
        """Return the standard errors of the estimate, shape (cells,).

        By default they are for the population. Answers of a block are multinomial with lambda = p
        pi + (1 - p) q. The variance is the sum of n lambda (1 - lambda), divided by (p N)^2. For
        the file itself, the N clients are a simple random sample of `clients`, and the variance is
        smaller by pi (1 - pi) / N times (N - 1) / (clients - 1). The estimate, clipped to [0, 1],
        replaces pi.
        """
        sizes = self.reports.sum(axis=1, keepdims=True)
        pi = np.clip(self.estimate(), 0.0, 1.0)
        reported = self.keep * pi + (1 - self.keep) * self.fake
        variance = np.sum(sizes * reported * (1 - reported), axis=0)
        variance = variance / (self.keep * self.number) ** 2
        if clients is not None and clients > 1:
            variance = variance - pi * (1 - pi) / self.number * (self.number - 1) / (clients - 1)
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)))


def answers_by_table(
    design: CollectionDesign, answers: pd.DataFrame
) -> dict[Combination, TableAnswers]:
    """Return the answers about each table of a `design`.

    The `answers` are as `collect_answers` returns them. Raises `DataError` if a table has no
    answers, or another number of cells.
    """
    groups = rows_by_table(answers)
    found = {}
    for combination, table in design.tables.items():
        rows = groups.get(SEPARATOR.join(combination))
        if rows is None or len(rows) % table.cells:
            raise DataError(
                f"the collection has no whole table of {SEPARATOR.join(combination)}; it is "
                "damaged or belongs to another release. Restore it"
            )
        reports = rows["reports"].to_numpy(dtype=np.int64).reshape(-1, table.cells)
        fake = rows["fake"].to_numpy(dtype=float).reshape(-1, table.cells)
        found[combination] = TableAnswers(float(rows["p"].iloc[0]), reports, fake)
    return found


def rows_by_table(rows: pd.DataFrame) -> Mapping[str, pd.DataFrame]:
    """Return the rows of each table of `rows`, by the column ``attributes``."""
    return {str(name): own for name, own in rows.groupby("attributes", sort=False)}
