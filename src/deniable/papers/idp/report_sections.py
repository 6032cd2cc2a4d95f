"""The report's sections on [idp], and the code behind each of its tables and figures."""

from collections.abc import Mapping

from deniable.display import Origin, Section
from deniable.papers.idp.sections import (
    overview as idp_overview,
    privacy as idp_privacy,
    utility as idp,
)

SECTIONS = (
    Section(
        "idp_overview",
        "Individual differential privacy: promised, delivered, protected",
        "Promised and delivered",
        "idp/overview",
        ("idp_audit",),
        idp_overview.overview,
    ),
    Section(
        "idp_sse",
        "Figures 3 and 4: the error of masked records",
        "Figures 3 and 4",
        "idp/sse",
        ("idp_fig3", "idp_fig4"),
        idp.sse,
    ),
    Section(
        "idp_forests",
        "Figures 5 and 6: classifiers trained on masked records",
        "Figures 5 and 6",
        "idp/forests",
        ("idp_fig5", "idp_fig6"),
        idp.forests,
    ),
    Section(
        "idp_privacy",
        "The audit: from one centroid to the released records",
        "Audit of iDP",
        "idp/privacy",
        ("idp_audit", "idp_audit_clusters", "idp_attacks", "idp_protection"),
        idp_privacy.audit,
    ),
    Section(
        "idp_claims",
        "What [idp] says in words",
        "Claims in words",
        "idp/claims",
        ("idp_claims",),
        idp.claims,
    ),
)

PICTURES = {
    "idp_fig3": "Figure 3: mean SSE of masked Census records over k, by epsilon and domain",
    "idp_fig4": "Figure 4: mean SSE of masked Wine records over k, by epsilon and domain",
    "idp_fig5": "Figure 5: F-measures of classifiers trained on protected Census records, over k",
    "idp_fig6": "Figure 6: F-measures of classifiers trained on protected Wine records, over k",
    "idp_audit": "Exact over claimed epsilon of one centroid, of all, and of the records, over k",
    "idp_attacks": "How often an intruder tells a file from its neighbour, over claimed epsilon",
}
DRAWN_BY: Mapping[str, Origin] = {
    **{f"idp_fig{n}": Origin(f"papers.idp.figures.utility:fig{n}", "draw") for n in (3, 4, 5, 6)},
    "idp_audit": Origin("papers.idp.figures.privacy:claimed_and_exact", "draw"),
    "idp_attacks": Origin("papers.idp.figures.privacy:attacks", "draw"),
}
SIMULATED_BY = {
    "idp_fig3": "papers.idp.sse:IdpSse.__call__",
    "idp_fig4": "papers.idp.sse:IdpSse.__call__",
    "idp_fig5": "papers.idp.forests:IdpForests.__call__",
    "idp_fig6": "papers.idp.forests:IdpForests.__call__",
}
MADE_BY: Mapping[str, Origin] = {
    "idp_audit": Origin("papers.idp.audit:audit_table", "audit_individual"),
    "idp_audit_clusters": Origin("papers.idp.audit:cluster_table", "audit_individual"),
    "idp_attacks": Origin("papers.idp.attacks:attack_table", "attack_individual"),
    "idp_protection": Origin("papers.idp.attacks:protection_table", "attack_individual"),
    "idp_claims": Origin("papers.idp.claims.decided:claims", "decide_individual_claims"),
}
