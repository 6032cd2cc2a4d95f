"""Catalog entries of what a paper says in words: its tables of claims, and their section."""

from dataclasses import replace

from deniable.study.catalog import AnalysisTable, Columns, Section

SAID = ("section", "printed", "kind", "test", "figure", "comparisons", "support", "contradict")
WORST = ("worst", "worst_low", "worst_high", "detectable", "p_value")
COUNTS = ("readings", "holds", "fails")


def claims_tables(paper: str, decided_by: str, *readings: str) -> tuple[AnalysisTable, ...]:
    """Return the table of a paper's sentences, and that of their readings if it has several.

    Of both the baseline keeps the verdicts alone.
    """
    of_sentences = Columns(("claim",), by_chance=SAID + WORST + COUNTS, decided_elsewhere=True)
    found = [AnalysisTable(f"{paper}_claims", decided_by, of_sentences)]
    if readings:
        of_readings = replace(of_sentences, keys=("claim", *readings), by_chance=SAID + WORST)
        found.append(AnalysisTable(f"{paper}_claim_readings", decided_by, of_readings))
    return tuple(found)


def claims_section(paper: str, words: str = "") -> Section:
    """Return the section on them; ``words`` names what calls methods as readers know them."""
    return Section(
        f"{paper}_claims",
        f"What [{paper}] says in words",
        "Claims in words",
        "papers.claims_section:claims",
        template="claims/claims",
        options={"paper": paper, "words": words},
    )
