"""What [rrba] claims in words (1, 4.2, 7.2 to 7.4), held against exact values and tables.

Claims of privacy and of expectations are decided exactly, without a run. Where the text leaves open
what is meant, or where a claim about p alone ought to be one about privacy, a claim has several
rows, told apart by ``reading``. For the tests see `deniable.study.comparisons`; they take means for
medians. Methods of one trial share their true tables: this makes tests between them conservative.
"""

from dataclasses import dataclass

import pandas as pd

from deniable.papers.rrba.claims import convergence, promises, tables as of_tables
from deniable.study import Evidence, Given, decide_claims, source_of

CLAIMS = (*promises.CLAIMS, *convergence.CLAIMS, *of_tables.CLAIMS)
"""In the order of the text."""


@dataclass(frozen=True, eq=False)
class Tables:
    """The tables that the claims are held against.

    Attributes
    ----------
    distances : DataFrame
        rrba_table4 and rrba_table5, one below the other:
        `deniable.papers.rrba.released_tables.TABLE_COLUMNS`.
    equal : DataFrame
        rrba_equal: `deniable.papers.rrba.released_tables.EQUAL_COLUMNS`.
    figure_5, figure_6 : DataFrame
        rrba_fig5 and rrba_fig6: dataset, probability, block_size, p, update, criterion, measure,
        mean, ci_low, ci_high, replicates, data_source.
    table_3 : DataFrame
        rrba_table3: k, n, effect, sampled_tables, method, hypothesis, small_cells, regenerated (per
        cent), ci_low, ci_high, published, verdict, data_source.
    power : DataFrame
        Rates of rejection at equal exact epsilon: k, margins, pattern, n, effect, epsilon, method,
        measure, sampled_tables, small_cells, mean (or regenerated), ci_low, ci_high, data_source.
    """

    distances: pd.DataFrame
    equal: pd.DataFrame
    figure_5: pd.DataFrame
    figure_6: pd.DataFrame
    table_3: pd.DataFrame
    power: pd.DataFrame


def claims(tables: Tables) -> pd.DataFrame:
    """Hold every claim against exact values and tables.

    Returns
    -------
    DataFrame
        A row a claim and reading: `deniable.study.claims.claim_columns`, in the order of the text.
        Claims about cells that the tables lack are left out.
    """
    evidence = {
        about: [Evidence((reading,), "exact", reading) for reading in about.split(", ")]
        for about in {claim.about for claim in promises.CLAIMS} - {"equal"}
    }
    for name, table in (("distances", tables.distances), ("equal", tables.equal)):
        evidence[name] = [Evidence((), source_of(table), table)]
    for name, table in (("figure_5", tables.figure_5), ("figure_6", tables.figure_6)):
        evidence[name] = [
            Evidence((reading,), source_of(table), part)
            for reading, part in convergence.under_rules(table).items()
        ]
    evidence |= of_tables.evidence_on_tests(tables.table_3, tables.power)
    return decide_claims(CLAIMS, evidence, "reading")


def decide(given: Given) -> dict[str, pd.DataFrame]:
    """Decide what the text claims in words, from the tables of this run."""
    found = given.tables
    tables = Tables(
        distances=pd.concat([found["rrba_table4"], found["rrba_table5"]]),
        equal=found["rrba_equal"],
        figure_5=found["rrba_fig5"],
        figure_6=found["rrba_fig6"],
        table_3=found["rrba_table3"],
        power=found["rrba_power"],
    )
    return {"rrba_claims": claims(tables)}
