"""The studies of [rrba] (randomized response block aggregation), their tables and figures."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from deniable.study import StudyTable
from deniable.study.catalog import Study

if TYPE_CHECKING:  # not at run time: every job's process reads this room
    import pandas as pd

    from deniable.records import Microdata
    from deniable.study import Simulator

    Files = Mapping[str, Microdata]

TABLE_3_KEYS = ("method", "k", "n", "effect", "epsilon_exact", "hypothesis", "rejected", "trials",
                "sampled_tables", "small_cells")  # fmt: skip
POWER_KEYS = ("method", "k", "margins", "pattern", "n", "effect", "epsilon", "epsilon_exact",
              "measure", "rejected", "trials", "sampled_tables", "small_cells")  # fmt: skip
CONVERGENCE_KEYS = ("dataset", "probability", "block_size", "p", "update", "criterion", "measure")
RELEASED_KEYS = ("metric", "dataset", "k", "method", "p", "file", "reading", "trust")
PRINTED_TRIALS = 100  # [rrba], 7.3 and 7.4


# The rooms of the studies are large; only the process that simulates imports the one it needs.
def _convergence(files: "Files", settings: Mapping[str, Any]) -> "Simulator":
    from deniable.papers.rrba.convergence import Convergence  # noqa: PLC0415

    return Convergence(files, settings["blocks"], settings["reference"])


def _table_3(_: None, settings: Mapping[str, Any]) -> "Simulator":
    from deniable.papers.rrba.independence import Table3  # noqa: PLC0415

    return Table3()


def _power(_: None, settings: Mapping[str, Any]) -> "Simulator":
    from deniable.papers.rrba.independence import IndependencePower  # noqa: PLC0415

    return IndependencePower()


def _tables(files: "Files", settings: Mapping[str, Any]) -> "Simulator":
    from deniable.papers.rrba.released_tables import PrintedTables, Subsets  # noqa: PLC0415

    subsets = Subsets(settings["subsets"], settings["subset_seed"])
    return PrintedTables(files, subsets, settings["block_size"])


def _equal(files: "Files", settings: Mapping[str, Any]) -> "Simulator":
    from deniable.papers.rrba.released_tables import EqualEpsilon, Subsets  # noqa: PLC0415

    subsets = Subsets(settings["subsets"], settings["subset_seed"])
    return EqualEpsilon(files, subsets, settings["block_size"])


# -- how their results become tables ---------------------------------------------------------------


def _decisions(results: "pd.DataFrame", printed: "pd.DataFrame | None") -> "pd.DataFrame":
    from deniable.papers.rrba.independence import counted  # noqa: PLC0415
    from deniable.study import compare  # noqa: PLC0415

    return compare(counted(results), printed, TABLE_3_KEYS, PRINTED_TRIALS)


def _rates(results: "pd.DataFrame", printed: "pd.DataFrame | None") -> "pd.DataFrame":
    from deniable.papers.rrba.independence import counted  # noqa: PLC0415
    from deniable.study import plotted  # noqa: PLC0415

    return plotted(counted(results), POWER_KEYS, "regenerated")


def _released(results: "pd.DataFrame", printed: "pd.DataFrame | None") -> "pd.DataFrame":
    from deniable.papers.rrba.table_results import printed_table  # noqa: PLC0415

    return printed_table(results, printed)


def _at_equal_epsilon(results: "pd.DataFrame", printed: "pd.DataFrame | None") -> "pd.DataFrame":
    from deniable.papers.rrba.table_results import equal_table  # noqa: PLC0415

    return equal_table(results)


NETWORKS = ("networks/survey", "networks/alarm", "networks/child")
LARGER = ("networks/survey_8000", "networks/survey_8000_resampled", "networks/alarm_8000",
          "networks/child_8000")  # fmt: skip
STUDIES = {
    "rrba_fig5": Study(_convergence, "mean", datasets=NETWORKS),
    "rrba_fig6": Study(_convergence, "mean", datasets=NETWORKS),
    "rrba_table3": Study(_table_3, "mean", "rejected_percent", PRINTED_TRIALS, ()),
    "rrba_power": Study(_power, "mean", datasets=()),
    "rrba_tables": Study(_tables, "mean", "value", PRINTED_TRIALS, LARGER),
    "rrba_equal": Study(_equal, "mean", datasets=LARGER),
}
TABLES = {
    table.id: table
    for table in (
        StudyTable(
            "rrba_fig5",
            "rrba_fig5",
            "Figure 5 of [rrba]: convergence on Survey, Alarm and Child",
            CONVERGENCE_KEYS,
        ),
        StudyTable(
            "rrba_fig6",
            "rrba_fig6",
            "Figure 6 of [rrba]: convergence over p, Alarm",
            CONVERGENCE_KEYS,
        ),
        StudyTable(
            "rrba_table3",
            "rrba_table3",
            "Table 3 of [rrba]: decisions of tests of independence",
            TABLE_3_KEYS,
            ("rrba_table3",),
            finish=_decisions,
        ),
        StudyTable(
            "rrba_power",
            "rrba_power",
            "Size and power of tests of independence at equal exact epsilon",
            POWER_KEYS,
            value="regenerated",
            finish=_rates,
        ),
        StudyTable(
            "rrba_table4",
            "rrba_tables",
            "Table 4 of [rrba]: distances of noisy tables, p = .4",
            RELEASED_KEYS,
            ("rrba_table4",),
            {"p": 0.4},
            finish=_released,
        ),
        StudyTable(
            "rrba_table5",
            "rrba_tables",
            "Table 5 of [rrba]: distances of noisy tables, p = .5",
            RELEASED_KEYS,
            ("rrba_table5",),
            {"p": 0.5},
            finish=_released,
        ),
        StudyTable(
            "rrba_equal",
            "rrba_equal",
            "Tables at equal exact epsilon: adapted, uniform, and Laplace noise",
            ("metric", "dataset", "k", "epsilon", "method", "reading", "trust", "file"),
            finish=_at_equal_epsilon,
        ),
    )
}

FIGURES: Mapping[str, tuple[str, ...]] = {
    "rrba_fig4": ("rrba_fig4",),
    "rrba_fig5": ("rrba_fig5",),
    "rrba_fig6": ("rrba_fig6",),
    "rrba_fig7": ("rrba_fig7",),
    "rrba_tables": ("rrba_table4", "rrba_table5"),
    "rrba_equal": ("rrba_equal",),
    "rrba_table3": ("rrba_table3",),
    "rrba_power": ("rrba_power",),
}

ANALYSES = (
    "rrba_examples",
    "rrba_epsilon",
    "rrba_fig4",
    "rrba_fig7",
    "rrba_consistency",
    "rrba_claims",
)
