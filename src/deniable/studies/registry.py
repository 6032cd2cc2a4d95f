"""The studies of all papers, which of them fills which table, and what is drawn from them."""

from collections.abc import Mapping

import deniable.studies.registry_idp as idp
import deniable.studies.registry_multirr as multirr
import deniable.studies.registry_pram as pram
import deniable.studies.registry_rrba as rrba
from deniable.studies.entries import Study, StudyTable

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
