"""Figures, drawn from the tables that stand beside them."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pandas as pd
from matplotlib.figure import Figure

from deniable.display import save
from deniable.papers.catalog import TABLES
from deniable.papers.idp.figures import privacy as idp_audit, utility as idp
from deniable.papers.multirr.figures import analyses as multirr, sweep
from deniable.papers.multirr.figures.printed import printed_against_regenerated
from deniable.papers.pram.figures import design as pram_design, estimation as pram
from deniable.papers.rrba.figures import (
    convergence as rrba,
    independence as rrba_independence,
    tables as rrba_tables,
)

__all__ = ["DRAWN", "draw", "printed_against_regenerated", "save"]


def _printed(table: str) -> Callable[[pd.DataFrame], Figure]:
    return partial(printed_against_regenerated, title=TABLES[table].title)


def _tables_4_and_5(table_4: pd.DataFrame, table_5: pd.DataFrame) -> Figure:
    return rrba_tables.tables_4_and_5(pd.concat([table_4, table_5], ignore_index=True))


DRAWN: Mapping[str, Callable[..., Figure]] = {
    "multirr_table1": _printed("multirr_table1"),
    "multirr_table2": _printed("multirr_table2"),
    "multirr_fig1": multirr.figure_1,
    "multirr_fig2": multirr.figure_2,
    "multirr_fig3": partial(multirr.figure_3, best="paper"),
    "multirr_fig3_ours": partial(multirr.figure_3, best="ours"),
    "multirr_pairs": multirr.pairs,
    "multirr_assessment": multirr.assessment,
    "multirr_sweep": sweep.thresholds,
    "pram_coverage": pram.coverage,
    "pram_variance": pram.variance,
    "pram_invariant": pram.invariant,
    "pram_joint_loss": pram.joint_loss,
    "pram_breaches": pram.breaches,
    "pram_design": pram_design.design,
    "pram_channels": pram_design.channels,
    "idp_fig3": idp.fig3,
    "idp_fig4": idp.fig4,
    "idp_fig5": idp.fig5,
    "idp_fig6": idp.fig6,
    "idp_audit": idp_audit.claimed_and_exact,
    "idp_attacks": idp_audit.attacks,
    "rrba_fig4": rrba.figure_4,
    "rrba_fig5": rrba.figure_5,
    "rrba_fig6": rrba.figure_6,
    "rrba_fig7": rrba_tables.figure_7,
    "rrba_tables": _tables_4_and_5,
    "rrba_equal": rrba_tables.equal_epsilon,
    "rrba_table3": rrba_independence.table_3,
    "rrba_power": rrba_independence.power,
}
"""How each figure of `deniable.papers.catalog.FIGURES` is drawn from its tables."""


def draw(figure: str, tables: Sequence[pd.DataFrame]) -> Figure:
    """Draw a figure from its tables."""
    return DRAWN[figure](*tables)
