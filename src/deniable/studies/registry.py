"""The studies, which of them fills which table, and where a table's printed numbers are."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # not at run time: every job's process reads this room
    from deniable.microdata import Microdata
    from deniable.study import Simulate

CLUSTER_QUERY_KEYS = ("dataset", "matrix", "mechanism", "projection", "p", "t_d", "t_v")


@dataclass(frozen=True)
class Study:
    """An experiment that is repeated over the cells of a grid.

    Attributes
    ----------
    keys : tuple of str
        Columns that name a cell, in the order of its tables.
    simulator : callable
        (true records, the study's settings from the config) -> the function for one cell.
    published_column : str
        Column of the printed numbers in their files.
    published_replicates : int
        Runs behind a printed number.
    """

    keys: tuple[str, ...]
    simulator: Callable[["Microdata", Mapping[str, Any]], "Simulate"]
    published_column: str
    published_replicates: int


def _cluster_queries(data: "Microdata", settings: Mapping[str, Any]) -> "Simulate":
    from deniable.studies.cluster_queries import ClusterQueries  # noqa: PLC0415 - a large room

    return ClusterQueries(data, settings["coverage"], tuple(settings["ordinal"]))


# Text 003, 6.5: medians over 1000 runs.
_CLUSTER_QUERIES = Study(CLUSTER_QUERY_KEYS, _cluster_queries, "median_relative_error", 1000)
STUDIES = {"multirr_tables": _CLUSTER_QUERIES, "multirr_sensitivity": _CLUSTER_QUERIES}


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
    published : tuple of str
        Files of printed numbers under resources/published, without ".csv".
    where : mapping
        The cells of the study that belong to the table; all if empty.
    """

    id: str
    study: str
    title: str
    published: tuple[str, ...]
    where: Mapping[str, Any] = field(default_factory=dict)

    def holds(self, cell: Mapping[str, Any]) -> bool:
        """Return whether a cell belongs to the table."""
        return all(cell[key] == value for key, value in self.where.items())


TABLES = {
    table.id: table
    for table in (
        StudyTable(
            "multirr_table1",
            "multirr_tables",
            "Table 1: relative error of RR-Clusters on Adult",
            ("multirr_table1",),
            {"dataset": "adult"},
        ),
        StudyTable(
            "multirr_table2",
            "multirr_tables",
            "Table 2: relative error of RR-Clusters on Adult6",
            ("multirr_table2",),
            {"dataset": "adult6"},
        ),
        StudyTable(
            "multirr_sensitivity",
            "multirr_sensitivity",
            "Tables 1 and 2 under the other readings and projections",
            ("multirr_table1", "multirr_table2"),
        ),
    )
}

FIGURES = ("multirr_table1", "multirr_table2")
