"""The studies of [idp] (individual differential privacy), their tables and figures."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from deniable.study import StudyTable
from deniable.study.catalog import Study

if TYPE_CHECKING:  # not at run time: every job's process reads this room
    from deniable.records import NumericMicrodata
    from deniable.study import Simulator


# The rooms of the studies are large; only the process that simulates imports the one it needs.
def _sse(data: "NumericMicrodata", settings: Mapping[str, Any]) -> "Simulator":
    from deniable.papers.idp.sse import IdpSse  # noqa: PLC0415

    return IdpSse(data, tuple(settings["k"]))


def _forests(data: "NumericMicrodata", settings: Mapping[str, Any]) -> "Simulator":
    from deniable.papers.idp.forests import IdpForests  # noqa: PLC0415

    return IdpForests(data, tuple(settings["domain_factors"]), settings["attribute"])


STUDIES = {
    "idp_fig3": Study(_sse, "mean", datasets=("census",)),
    "idp_fig4": Study(_sse, "mean", datasets=("wine",)),
    "idp_fig5": Study(_forests, "mean", datasets=("census",)),
    "idp_fig6": Study(_forests, "mean", datasets=("wine",)),
}
SSE_KEYS = ("method", "epsilon", "domain_factor", "k")
FOREST_KEYS = (*SSE_KEYS, "class")
TABLES = {
    table.id: table
    for table in (
        StudyTable(
            "idp_fig3",
            "idp_fig3",
            "Figure 3 of [idp]: error of masked records, Census",
            SSE_KEYS,
            value="mean_sse",
        ),
        StudyTable(
            "idp_fig4",
            "idp_fig4",
            "Figure 4 of [idp]: error of masked records, Wine",
            SSE_KEYS,
            value="mean_sse",
        ),
        StudyTable(
            "idp_fig5",
            "idp_fig5",
            "Figure 5 of [idp]: classifiers trained on masked records, Census",
            FOREST_KEYS,
            value="f_measure",
        ),
        StudyTable(
            "idp_fig6",
            "idp_fig6",
            "Figure 6 of [idp]: classifiers trained on masked records, Wine",
            FOREST_KEYS,
            value="f_measure",
        ),
    )
}

FIGURES: Mapping[str, tuple[str, ...]] = {
    "idp_fig3": ("idp_fig3",),
    "idp_fig4": ("idp_fig4",),
    "idp_fig5": ("idp_fig5",),
    "idp_fig6": ("idp_fig6",),
    "idp_audit": ("idp_audit",),
    "idp_attacks": ("idp_attacks",),
}

ANALYSES = (
    "idp_audit",
    "idp_audit_clusters",
    "idp_attacks",
    "idp_protection",
    "idp_claims",
)
