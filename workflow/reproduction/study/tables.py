"""What a table is and what its columns are, for whoever compares or shows it."""

from dataclasses import dataclass, field
from typing import Literal

OUTPUT_RTOL = 2e-8  # tables have 9 digits: numbers that differ by less, relatively, are the same
COMPUTED = 1e-6
"""The same for what sums and solvers compute, which differ with versions and kinds of processor."""
DESIGN_RTOL = (
    1e-3  # the same for channels found by search, which stops where little is left to gain
)


@dataclass(frozen=True)
class Columns:
    """What the columns of a table are, for the baseline that a quick run is held against.

    Attributes
    ----------
    keys : tuple of str
        They name a row; none: its place among rows that are otherwise unnamed.
    estimate : str, optional
        The column that ci_low and ci_high belong to, "" if there is none.
    summary : Literal["median", "mean"], optional
        Of the estimate's replicates.
    verdict : str, optional
        The column of verdicts.
    by_chance : tuple of str, optional
        What depends on the draws and has no interval, and what is said in words: not kept.
    rows_by_chance : tuple[str, str], optional
        A column, and how it begins in rows that depend on the draws altogether: not kept
        either.
    tolerance : float, optional
        Relative, for numbers that do not depend on chance.
    decided_elsewhere : bool, optional
        A verdict rests on simulated numbers of other rows or tables.
    """

    keys: tuple[str, ...]
    estimate: str = ""
    summary: Literal["median", "mean"] = "mean"
    verdict: str = "verdict"
    by_chance: tuple[str, ...] = ()
    rows_by_chance: tuple[str, str] | None = None
    tolerance: float = COMPUTED
    decided_elsewhere: bool = False


@dataclass(frozen=True)
class AnalysisTable:
    """A table that no study fills.

    Attributes
    ----------
    id : str
        Of the file, without ".csv".
    made_by : str
        The function that computes it, or the script, which the report names under it.
    described : Columns | tuple[str, ...], optional
        What its columns are, or the keys alone; None for a part of a table, neither shown nor
        kept.
    folder : str, optional
        Under results/.
    audited : tuple of str, optional
        The functions of `reproduction.papers.audit` that read its claims of privacy. They are no
        part of what makes the table: its jobs' digests follow neither their names nor their
        code.
    """

    id: str
    made_by: str
    described: "Columns | tuple[str, ...] | None"
    folder: str = "tables"
    audited: tuple[str, ...] = field(default=(), repr=False)

    @property
    def columns(self) -> Columns | None:
        """What its columns are."""
        return Columns(self.described) if isinstance(self.described, tuple) else self.described

    @property
    def path(self) -> str:
        """The file."""
        return f"results/{self.folder}/{self.id}.csv"
