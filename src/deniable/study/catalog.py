"""What the registry knows of a study and of a table: one entry each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:  # not at run time: every job's process reads this room
    import pandas as pd

    from deniable.study.engine import Simulator


@dataclass(frozen=True)
class Study:
    """An experiment that is repeated over the cells of a grid.

    Attributes
    ----------
    simulator : callable
        (true records, the study's settings from the config) -> what simulates its cells.
    summary : "median" or "mean"
        Of the replicates of each output.
    published_column : str, optional
        Column of the printed numbers in their files.
    published_replicates : int, optional
        Runs behind a printed number.
    datasets : tuple of str
        Whose true records it simulates on; of several, the simulator gets a mapping by name. None
        if it draws its data from a model of its own.
    """

    simulator: Callable[[Any, Mapping[str, Any]], "Simulator"]
    summary: Literal["median", "mean"] = "median"
    published_column: str = ""
    published_replicates: int | None = None
    datasets: tuple[str, ...] = ("adult",)


@dataclass(frozen=True)
class StudyTable:
    """A table of results.

    Attributes
    ----------
    id : str
        Name of the file under results/tables.
    study : str
        Name of the study in the config.
    title : str
        As a reader of the report sees it.
    keys : tuple of str
        Columns that name a row, in order.
    published : tuple of str
        Files of printed numbers under resources/published, without ".csv"; none for the numbers
        behind a figure that the paper only draws, or that it does not have.
    where : mapping
        The cells and outputs of the study that belong to the table, by value or values; all if
        empty.
    value : str
        Name of the column of summaries; the summary's own if empty.
    finish : callable, optional
        (results, printed numbers or None) -> the table, where it takes more than comparing.
    """

    id: str
    study: str
    title: str
    keys: tuple[str, ...]
    published: tuple[str, ...] = ()
    where: Mapping[str, Any] = field(default_factory=dict)
    value: str = ""
    finish: Callable[["pd.DataFrame", "pd.DataFrame | None"], "pd.DataFrame"] | None = None

    def holds(self, cell: Mapping[str, Any]) -> bool:
        """Return whether a cell, or a row, belongs to the table."""
        return all(
            cell[key] in (values if isinstance(values, tuple) else (values,))
            for key, values in self.where.items()
            if key in cell
        )
