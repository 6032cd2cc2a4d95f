"""The report's sections on [rrba], and the code behind each of its tables and figures."""

from collections.abc import Mapping

from deniable.display import Origin, Section
from deniable.papers.rrba.sections import independence as tests, privacy, tables as rrba

SECTIONS = (
    Section(
        "rrba_overview",
        "Randomized response in blocks: what is promised, what is delivered",
        "Promised and delivered",
        "rrba/overview",
        ("rrba_epsilon",),
        privacy.overview,
    ),
    Section(
        "rrba_convergence",
        "Figures 5 and 6: when estimates have converged",
        "Figures 5 and 6",
        "rrba/convergence",
        ("rrba_fig5", "rrba_fig6"),
        rrba.convergence,
    ),
    Section(
        "rrba_tables",
        "Tables 4 and 5, Figure 7: released tables and the true ones",
        "Tables 4 and 5",
        "rrba/tables",
        ("rrba_table4", "rrba_table5"),
        rrba.released,
    ),
    Section(
        "rrba_equal",
        "The same at equal exact epsilon",
        "At equal epsilon",
        "rrba/equal",
        ("rrba_equal",),
        rrba.equal,
    ),
    Section(
        "rrba_tests",
        "Table 3: tests of independence, their size and power",
        "Table 3, size, power",
        "rrba/tests",
        ("rrba_table3", "rrba_power"),
        tests.independence,
    ),
    Section(
        "rrba_consistency",
        "Consistent views, the two-step estimate, worked cases",
        "Consistency",
        "rrba/consistency",
        ("rrba_consistency", "rrba_examples"),
        tests.consistency,
    ),
    Section(
        "rrba_claims",
        "What [rrba] says in words",
        "Claims in words",
        "rrba/claims",
        ("rrba_claims",),
        rrba.claims,
    ),
)

PICTURES = {
    "rrba_fig4": "Figure 4: the epsilon that Theorem 4.1 claims and the exact one, over p",
    "rrba_fig5": "Figure 5: answers until convergence over the block size, by data set",
    "rrba_fig6": "Figure 6: answers until convergence over the block size, by p",
    "rrba_tables": "Tables 4 and 5 as a picture: printed distances beside ours",
    "rrba_fig7": "Figure 7: histograms of the distances of released tables from the true ones",
    "rrba_equal": "Distances of released tables over the exact epsilon, by method",
    "rrba_table3": "Table 3 as a picture: printed shares of rejected nulls beside ours",
    "rrba_power": "Size and power of tests of independence over the number of records",
}
DRAWN_BY: Mapping[str, Origin] = {
    **{
        f"rrba_fig{n}": Origin(f"papers.rrba.figures.convergence:figure_{n}", "draw")
        for n in (4, 5, 6)
    },
    "rrba_tables": Origin("papers.rrba.figures.tables:tables_4_and_5", "draw"),
    "rrba_fig7": Origin("papers.rrba.figures.tables:figure_7", "draw"),
    "rrba_equal": Origin("papers.rrba.figures.tables:equal_epsilon", "draw"),
    "rrba_table3": Origin("papers.rrba.figures.independence:table_3", "draw"),
    "rrba_power": Origin("papers.rrba.figures.independence:power", "draw"),
}
SIMULATED_BY = {  # by study: Tables 4 and 5 are of one
    "rrba_fig5": "papers.rrba.convergence:Convergence.__call__",
    "rrba_fig6": "papers.rrba.convergence:Convergence.__call__",
    "rrba_table3": "papers.rrba.independence:Table3.__call__",
    "rrba_power": "papers.rrba.independence:IndependencePower.__call__",
    "rrba_tables": "papers.rrba.released_tables:_Simulation.__call__",
    "rrba_equal": "papers.rrba.released_tables:_Simulation.__call__",
}
MADE_BY: Mapping[str, Origin] = {
    "rrba_epsilon": Origin("papers.rrba.epsilon:epsilon_table", "price_answers"),
    "rrba_fig4": Origin("papers.rrba.epsilon:figure_4_table", "price_answers"),
    "rrba_fig7": Origin("papers.rrba.table_results:figure_7_table", "spread_distances"),
    "rrba_consistency": Origin("papers.rrba.consistency:consistency_table", "work_cases"),
    "rrba_examples": Origin("papers.rrba.worked_cases:worked_cases", "work_cases"),
    "rrba_claims": Origin("papers.rrba.claims.decided:claims", "decide_block_claims"),
}
