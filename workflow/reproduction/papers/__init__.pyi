from .audit import (
    RELEASE as RELEASE,
    STATED as STATED,
    audited_release as audited_release,
    one_audit as one_audit,
)
from .catalog import (
    ANALYSES as ANALYSES,
    AUDITED as AUDITED,
    AUDITS as AUDITS,
    COMPUTED_TABLES as COMPUTED_TABLES,
    DRAWN_BY as DRAWN_BY,
    FIGURES as FIGURES,
    MADE_BY as MADE_BY,
    PAGES as PAGES,
    PAPERS as PAPERS,
    STUDIES as STUDIES,
    TABLES as TABLES,
    columns_of as columns_of,
    names_of_tables as names_of_tables,
)
from .protocols import audited_protocols as audited_protocols
from .samplers import audit_samplers as audit_samplers
from .sections import counted as counted
