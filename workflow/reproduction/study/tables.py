"""Describe a table and its columns for the baseline and the report."""

from dataclasses import dataclass, field
from typing import Literal

OUTPUT_RTOL = 2e-8  # tables have 9 digits: numbers that differ by less, relatively, are the same
COMPUTED = 1e-6
"""The same for sums and solvers, which differ with versions and kinds of processor."""
DESIGN_RTOL = 1e-3  # the same for channels found by search, which stops near the optimum


@dataclass(frozen=True)
class Columns:
    """The columns of a table, for the baseline that a quick run is compared with."""

    keys: tuple[str, ...]  # they name a row; none: its place among rows that are otherwise unnamed
    estimate: str = ""  # the column that ci_low and ci_high belong to, if there is one
    summary: Literal["median", "mean"] = "mean"  # of the estimate's replicates
    verdict: str = "verdict"  # the column of verdicts
    by_chance: tuple[str, ...] = ()  # texts, and random columns without interval: not kept
    rows_by_chance: tuple[str, str] | None = None
    """A column and the beginning of its text in random rows, which are not kept either."""
    tolerance: float = COMPUTED  # relative, of numbers that do not depend on chance
    decided_elsewhere: bool = False  # a verdict rests on simulated numbers of other rows or tables


@dataclass(frozen=True)
class AnalysisTable:
    """A table that no study fills."""

    id: str  # of the file, without ".csv"
    made_by: str  # the function that computes it, or the script, which the report names under it
    described: Columns | tuple[str, ...] | None
    """Its columns, or the keys alone; None for a part of a table, neither shown nor kept."""
    folder: str = "tables"  # under results/
    audited: tuple[str, ...] = field(default=(), repr=False)
    """The functions of `reproduction.papers.audit` that read its claims of privacy. They do not
    make the table: the digests of its jobs follow neither their names nor their code."""

    @property
    def columns(self) -> Columns | None:
        """Its columns."""
        return Columns(self.described) if isinstance(self.described, tuple) else self.described

    @property
    def path(self) -> str:
        """The file."""
        return f"results/{self.folder}/{self.id}.csv"
