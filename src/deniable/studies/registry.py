"""Which study fills which table, and where the printed numbers of a table are."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

PUBLISHED_REPLICATES = 1000  # text 003, 6.5: medians over 1000 runs
CLUSTER_QUERY_KEYS = ("dataset", "matrix", "mechanism", "projection", "p", "t_d", "t_v")


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
