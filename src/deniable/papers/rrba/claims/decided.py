"""What [rrba] claims in words (1, 4.2, 7.2 to 7.4), held against exact values and tables.

Claims of privacy and of expectations are decided exactly, without a run. Where the text leaves open
what is meant, or where a claim about p alone ought to be one about privacy, a claim has several
rows, told apart by ``reading``. For the tests see `deniable.study.comparisons`; they take means for
medians. Methods of one trial share their true tables: this makes tests between them conservative.
"""

from dataclasses import dataclass

import pandas as pd

from deniable.papers.rrba.claims.convergence import about_convergence
from deniable.papers.rrba.claims.distances import about_distances, about_equal_epsilon
from deniable.papers.rrba.claims.exact import about_privacy, about_the_coins
from deniable.papers.rrba.claims.independence import about_power, about_table_3
from deniable.papers.rrba.claims.rows import Tests
from deniable.papers.rrba.claims.texts import CLAIMS
from deniable.study import Given, claim_columns, claim_row, decided, in_order_of_text

CLAIM_COLUMNS = claim_columns("reading")


@dataclass(frozen=True, eq=False)
class Tables:
    """The tables that the claims are held against.

    Attributes
    ----------
    distances : DataFrame
        rrba_table4 and rrba_table5, one below the other.
    equal : DataFrame
        rrba_equal.
    figure_5, figure_6 : DataFrame
        rrba_fig5 and rrba_fig6.
    table_3 : DataFrame
        rrba_table3: k, n, effect, method, hypothesis, small_cells, regenerated, ci_low, ci_high,
        published, verdict, data_source.
    power : DataFrame
        Rates of rejection at equal exact epsilon: k, margins, pattern, n, effect, epsilon, method,
        measure, small_cells, mean (or regenerated), ci_low, ci_high, data_source.
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
        A row a claim and reading: `CLAIM_COLUMNS`, in the order of the text. Claims about cells
        that the tables lack are left out.
    """
    parts: list[tuple[str, Tests]] = [
        ("exact", about_the_coins()),
        ("exact", about_privacy()),
        (_source(tables.distances), about_distances(tables.distances)),
        (_source(tables.equal), about_equal_epsilon(tables.equal)),
        (_source(tables.figure_6), about_convergence(tables.figure_5, tables.figure_6)),
        (_source(tables.table_3), about_table_3(tables.table_3)),
        (_source(tables.power), about_power(tables.power)),
    ]
    rows = [
        claim_row(CLAIMS[name], (reading,), outcome, source)
        for source, tests in parts
        for (name, reading), outcome in decided(((test[0], test[1]), test[2]) for test in tests)
    ]
    return in_order_of_text(rows, CLAIM_COLUMNS, CLAIMS)


def _source(table: pd.DataFrame) -> str:
    return str(table["data_source"].iloc[0]) if len(table) else "none"


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
