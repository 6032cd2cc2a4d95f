"""The catalog of [rrba]: studies, tables, analyses, figures and sections."""

from functools import partial

from reproduction.papers.rrba.names import FILES
from reproduction.study import (
    Analysis,
    AnalysisTable,
    Columns,
    Figure,
    Paper,
    Study,
    StudyTable,
    claims_section,
    claims_tables,
    section_of,
)

HEADING = "Randomized response block aggregation"
SOURCE = (
    "Imran and Meo, Collection and Analysis of Sensitive Data with Privacy Protection by a "
    "Distributed Randomized Response Protocol (2024)"
)
NETWORKS = ("networks/survey", "networks/alarm", "networks/child")
LARGER = tuple(f"networks/{file}" for file in FILES if "_8000" in file)
PRINTED_TRIALS = 100  # [rrba], 7.3 and 7.4
TABLE_3_KEYS = (
    *("method", "k", "n", "effect", "epsilon_exact", "hypothesis", "rejected"),
    *("trials", "sampled_tables", "small_cells"),
)
RUN_KEYS = ("dataset", "probability", "block_size", "p", "update", "criterion", "measure")
CHANCE_OF_SUBSETS = ("subset_min", "subset_max", "subsets_agreeing", "subsets_lowest", "printed_is")

STUDIES = {
    "rrba_fig5": Study(".convergence:Convergence", datasets=NETWORKS),
    "rrba_fig6": Study(".convergence:Convergence", datasets=NETWORKS),
    "rrba_table3": Study(".independence:Table3", "mean", "rejected_percent", PRINTED_TRIALS, ()),
    "rrba_power": Study(".independence:IndependencePower", datasets=()),
    "rrba_tables": Study(".released_tables:PrintedTables", "mean", "value", PRINTED_TRIALS, LARGER),
    "rrba_equal": Study(".released_tables:EqualEpsilon", datasets=LARGER),
}
TABLES = (
    StudyTable("rrba_fig5", "Figure 5 of [rrba]: convergence on Survey, Alarm and Child", RUN_KEYS),
    StudyTable("rrba_fig6", "Figure 6 of [rrba]: convergence over p, Alarm", RUN_KEYS),
    StudyTable(
        "rrba_table3",
        "Table 3 of [rrba]: decisions of tests of independence",
        TABLE_3_KEYS,
        published=("rrba_table3",),
        reshape=".independence:counted",
        finish=".table_results:table_3",
        by_chance=("rejected",),
        decided_elsewhere=True,
        audited=("noise_of_tests",),
    ),
    StudyTable(
        "rrba_power",
        "Size and power of tests of independence at equal exact ε",
        (
            *("method", "k", "margins", "pattern", "n", "effect", "epsilon", "epsilon_exact"),
            *("measure", "rejected", "trials", "sampled_tables", "small_cells"),
        ),
        value="regenerated",
        reshape=".independence:judged",
        by_chance=("rejected", "trials", "size"),
    ),
    *(
        StudyTable(
            f"rrba_table{number}",
            f"Table {number} of [rrba]: distances of noisy tables, p = {p}",
            ("metric", "dataset", "k", "method", "p", "file", "reading", "trust"),
            study="rrba_tables",
            published=(f"rrba_table{number}",),
            where={"p": float(p)},
            finish=".table_results:printed_table",
            by_chance=CHANCE_OF_SUBSETS,
            audited=("noise_of_tables",),
        )
        for number, p in ((4, ".4"), (5, ".5"))
    ),
    StudyTable(
        "rrba_equal",
        "Tables at equal exact ε: adapted, uniform, and Laplace noise",
        ("metric", "dataset", "k", "epsilon", "method", "reading", "trust", "file"),
        finish=".table_results:equal_table",
        by_chance=CHANCE_OF_SUBSETS,
        decided_elsewhere=True,
    ),
)
CONSISTENCY = Columns(
    ("file", "records", "p", "views_of", "views", "tables", "number", "method"),
    "change",
    by_chance=(
        *("closed_form", "printed_feasible", "disagreement_before", "disagreement_after"),
        *("negative_before", "negative_after", "distance_before", "distance_after"),
    ),
)
HISTOGRAMS = Columns(
    ("dataset", "file", "k", "p", "epsilon_claimed", "metric", "method"),
    by_chance=("bin_low", "bin_high", "count", "share", "mean"),
)
OF_FIG7 = AnalysisTable("rrba_fig7", HISTOGRAMS)
EPSILONS = Columns(("unit", "table", "dataset", "attributes", "answers", "rounds", "p", "floor"))
ANALYSES = (
    Analysis(
        "rrba_examples",
        (
            AnalysisTable("rrba_examples", Columns(("case", "quantity"))),
            AnalysisTable("rrba_consistency", CONSISTENCY),
        ),
        data=("networks/survey",),
    ),
    Analysis(
        "rrba_epsilon",
        (
            AnalysisTable("rrba_epsilon", EPSILONS, ("theorem", "theorem_composed")),
            AnalysisTable("rrba_fig4", Columns(("curve", "cells", "floor", "p"))),
        ),
        data=NETWORKS,
        settings=("analyses.rrba_epsilon",),
    ),
    Analysis("rrba_fig7", (OF_FIG7,), data=LARGER, settings=("studies.rrba_tables",)),
    Analysis("rrba_claims", claims_tables("rrba", "reading"), needs=tuple(t.id for t in TABLES)),
)
FIGURES = tuple(
    Figure(f"rrba_{name}", f".figures:{name}", shows, tuple(f"rrba_{table}" for table in tables))
    for name, shows, *tables in (
        ("fig4", "Figure 4: the ε that Theorem 4.1 claims and the exact ε, over p"),
        ("fig5", "Figure 5: answers until convergence over the block size, by data set"),
        ("fig6", "Figure 6: answers until convergence over the block size, by p"),
        ("fig7", "Figure 7: histograms of the distances of released from original tables"),
        ("tables", "Tables 4 and 5: published distances beside ours", "table4", "table5"),
        ("equal", "Distances of released tables over the exact ε, by method"),
        ("table3", "Table 3 as a figure: published proportions of rejected nulls beside ours"),
        ("power", "Size and power of tests of independence over the number of records"),
    )
)
_section = partial(section_of, "rrba")
SECTIONS = (
    claims_section("rrba"),
    _section("overview", "Privacy of RRBA: promise and exact ε", "", "epsilon"),
    _section("convergence", "Figures 5 and 6: convergence of estimates", "", "fig5", "fig6"),
    _section("tables", "Tables 4 and 5: released and original tables", "", "table4", "table5"),
    _section("equal", "Released tables at equal exact ε", "At equal ε"),
    _section("tests", "Table 3: tests of independence, size, power", "", "table3", "power"),
    _section("consistency", "Consistency: views, two steps, cases", "", "consistency", "examples"),
)

PAPER = Paper("rrba", HEADING, SOURCE, STUDIES, TABLES, ANALYSES, FIGURES, SECTIONS)
