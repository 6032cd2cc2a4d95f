from .catalog import (
    ANALYSES as ANALYSES,
    FIGURES as FIGURES,
    ON_REQUEST as ON_REQUEST,
    STUDIES as STUDIES,
    TABLES as TABLES,
)
from .columns import (
    WRITTEN as WRITTEN,
    Columns as Columns,
    columns_of as columns_of,
    names_of_tables as names_of_tables,
)
from .privacy_sections import by_kind as by_kind
from .report_sections import (
    COMPARED_BY as COMPARED_BY,
    DRAWN_BY as DRAWN_BY,
    FOLDERS as FOLDERS,
    MADE_BY as MADE_BY,
    PARTS as PARTS,
    PICTURES as PICTURES,
)
