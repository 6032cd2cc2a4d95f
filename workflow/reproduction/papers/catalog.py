"""The catalogs of all papers in one: studies, tables, figures, audits and pages."""

from itertools import chain

from deniable.errors import DeniableError

from reproduction import study
from reproduction.papers.idp import PAPER as IDP
from reproduction.papers.multirr import PAPER as MULTIRR
from reproduction.papers.pram import PAPER as PRAM
from reproduction.papers.rrba import PAPER as RRBA

PAPERS = (MULTIRR, PRAM, IDP, RRBA)
STUDIES = {name: each for paper in PAPERS for name, each in paper.studies.items()}
TABLES = {each.id: each for paper in PAPERS for each in paper.tables}
"""The tables that studies fill."""
ANALYSES = {each.name: each for paper in PAPERS for each in paper.analyses}
COMPUTED_TABLES = {table.id: table for each in ANALYSES.values() for table in each.tables}
"""The tables that analyses fill."""
FIGURES = {each.id: each for paper in PAPERS for each in paper.figures}

CLAIMED = ("source", "mechanism", "claim", "setting", "unit")
OF_SAMPLERS = ("statistic", "rare_p_value", "p_value", "draws")
AUDITS = {
    "privacy": study.Columns(CLAIMED, verdict="holds", by_chance=("of", "shown_by")),
    "samplers": study.Columns(("release", "cluster"), by_chance=OF_SAMPLERS),
}
"""The tables of the audit, from the rules audit_privacy and audit_samplers."""
AUDITED = {
    paper.key: {t.id: t.audited for each in paper.analyses for t in each.tables if t.audited}
    | {t.id: t.audited for t in paper.tables if t.audited}
    for paper in PAPERS
}  # for each paper, the tables that the privacy audit reads, and the functions that read them


def _of_paper(paper: study.Paper, link: str) -> study.Page:
    verdicts = f"reproduction.papers.{paper.key}.in_short:in_short"
    return study.Page(paper.key, paper.heading, link, paper.sections, verdicts)


def _own(name: str, title: str) -> study.Section:
    return study.Section(name, title, template=name, needs=())


def _of_privacy(
    name: str, title: str, link: str, table: str = "privacy", of: str = "sections"
) -> study.Section:
    prepare, template = f"reproduction.papers.{of}:{name}", f"privacy/{name}"
    return study.Section(name, title, link, prepare, template, (table,))


ABOUT = study.Section(
    "about",
    "Methods and terms",
    "Methods, terms and signs",
    "reproduction.papers.multirr.sections:about",
    "multirr/about",
    needs=(),
)
PROTOCOLS = "Protocols that need no curator, at a stated ε"
WAIVER = "A waiver of sequential composition, checked"
PRIVACY = (
    _of_privacy("audit", "Privacy: claimed and exact", "Audit"),
    _of_privacy("protocols", PROTOCOLS, "Protocols", of="protocols"),
    _of_privacy("risk", "“Equal risk”, compared with the total ε", "“Equal risk”", "multirr_risk"),
    _of_privacy("waiver", WAIVER, "The waiver of 4.3", "multirr_waiver"),
)
OF_RUN = (_own("findings", "Findings"), _own("run", "This run"))
TITLE = "Deniable: the claims of four papers, checked"
PAGES = (  # The pages of the report with their sections, in order. The first has all verdicts.
    study.Page("index", TITLE, "In short", (_own("glance", "In short"),)),
    study.Page("words", "In plain words", "In plain words", (ABOUT,)),
    _of_paper(MULTIRR, "Multi-dimensional RR"),
    _of_paper(PRAM, "PRAM"),
    _of_paper(IDP, "Individual DP"),
    _of_paper(RRBA, "RRBA"),
    study.Page("privacy", "Privacy", "Privacy", PRIVACY),
    study.Page("releases", "Releases", "Releases", (_own("releases", "Releases"),)),
    study.Page("findings", "Findings and the run", "Findings, run", OF_RUN),
)


def _file_of(place: str) -> str:
    return f"workflow/{place.partition(':')[0].replace('.', '/')}.py"


MADE_BY = {  # the simulator or the script that computes each table
    **{name: _file_of(STUDIES[table.study].simulator) for name, table in TABLES.items()},
    **{
        table.id: f"workflow/scripts/{each.name.replace('_', '/', 1)}.py"
        for each in ANALYSES.values()
        for table in each.tables
    },
    **{name: f"workflow/scripts/audit_{name}.py" for name in AUDITS},
}
DRAWN_BY = {name: _file_of(figure.draw) for name, figure in FIGURES.items()}


def columns_of(table: str) -> study.Columns:
    """Return the description of the columns of a `table`, given by its name."""
    if table in TABLES:
        return TABLES[table].columns(STUDIES[TABLES[table].study])
    computed = {name: each.columns for name, each in COMPUTED_TABLES.items()}
    computed |= {f"audit_{name}": columns for name, columns in AUDITS.items()}
    if table not in computed:
        raise DeniableError(
            f"the columns of table {table!r} are not described; "
            "enter it in the catalog of its paper, workflow/reproduction/papers/<key>/catalog.py"
        )
    return computed[table]


def names_of_tables() -> tuple[str, ...]:
    """Return the names of all tables of a quick run."""
    asked = (name for name, table in TABLES.items() if not table.on_request)
    return tuple(chain(asked, COMPUTED_TABLES, (f"audit_{name}" for name in AUDITS)))
