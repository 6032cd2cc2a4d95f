"""The studies of all papers, which of them fills which table, and what is drawn from them."""

from collections.abc import Mapping

import deniable.papers.idp.catalog as idp
import deniable.papers.multirr.catalog as multirr
import deniable.papers.pram.catalog as pram
import deniable.papers.rrba.catalog as rrba
from deniable.study import StudyTable
from deniable.study.catalog import Study

__all__ = ["ANALYSES", "FIGURES", "ON_REQUEST", "STUDIES", "TABLES", "Study", "StudyTable"]

STUDIES: Mapping[str, Study] = {**multirr.STUDIES, **pram.STUDIES, **idp.STUDIES, **rrba.STUDIES}
TABLES: Mapping[str, StudyTable] = {**multirr.TABLES, **pram.TABLES, **idp.TABLES, **rrba.TABLES}
FIGURES: Mapping[str, tuple[str, ...]] = {
    **multirr.FIGURES,
    **pram.FIGURES,
    **idp.FIGURES,
    **rrba.FIGURES,
}
"""The figures, each with the tables that it is drawn from."""
ANALYSES: tuple[str, ...] = (*multirr.ANALYSES, *pram.ANALYSES, *idp.ANALYSES, *rrba.ANALYSES)
"""The tables that no study fills."""
ON_REQUEST: tuple[str, ...] = multirr.ON_REQUEST
"""The tables that the full size leaves out."""
