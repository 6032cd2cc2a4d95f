"""The parts of a page of the report: sections and verdicts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from reproduction.study.catalog import AnalysisTable, Columns, Section, resolve

if TYPE_CHECKING:  # not at run time: every job's process reads the catalogs
    import pandas as pd

    from reproduction.study.worst import Worst

SAID = ("section", "printed", "kind", "test", "figure", "comparisons", "support", "contradict")
WORST = ("worst", "worst_low", "worst_high", "detectable", "p_value")
COUNTS = ("readings", "holds", "fails")
ON_SURROGATES = "no verdict on surrogate data"


@dataclass(frozen=True)
class PrivacyVerdict:
    """A verdict on a privacy claim."""

    verdict: Literal["holds", "depends on the reading", "fails", "our finding"]
    """On the claim; "our finding" if the paper makes none."""
    says: str  # the headline
    found: str  # the size of the difference, in a sentence or two
    section: str  # the id of the section that has more
    worst: "Worst | None" = None  # the case in which it is exceeded most
    instead: str = ""  # the recommendation for privacy; "" if none is needed, or known
    useful: str = ""  # the same for utility

    @property
    def beyond(self) -> float:
        """The largest exact epsilon less the claimed one."""
        return self.worst.beyond if self.worst else 0.0


@dataclass(frozen=True)
class AgreementCount:
    """How many of some published values, of one reading, agree with ours."""

    what: str  # the values, in words
    agrees: int | None  # None: there is no verdict
    of: int  # how many there are
    section: str  # the id of the section with them
    unjudged: str = ON_SURROGATES  # the text in place of None


@dataclass(frozen=True)
class Verdicts:
    """The first page's verdicts on a paper, in the paper's order, without claims in words."""

    privacy: Sequence[PrivacyVerdict] = ()  # of its claims of privacy
    numbers: Sequence[AgreementCount] = ()  # of its published values

    def without_verdicts(self) -> "Verdicts":
        """Return the published values without counts, for a run on surrogate data."""
        none = (replace(each, agrees=None, unjudged=ON_SURROGATES) for each in self.numbers)
        return Verdicts(numbers=tuple(none))


@dataclass(frozen=True)
class Page:
    """A page of the report."""

    id: str  # its file, without ".html"
    title: str  # its heading
    link: str  # its name in lists of pages
    sections: tuple[Section, ...]  # in order
    verdicts: str = ""  # a function of all tables that returns its `Verdicts`, if it has any

    def verdicts_on(self, tables: "Mapping[str, pd.DataFrame]") -> Verdicts:
        """Return its verdicts, as far as there are `tables`, by id, for them."""
        made = {name: table for name, table in tables.items() if len(table)}
        found: Verdicts = resolve(self.verdicts)(made) if self.verdicts else Verdicts()
        return found


def agreement_of(what: str, table: "pd.DataFrame", section: str) -> AgreementCount:
    """Count the values, `what`, of a `table` that agree; the `section` of this id has more."""
    verdicts = table["verdict"][table["verdict"] != "not printed"]
    surrogate = (verdicts == "surrogate").any()
    agrees = None if surrogate else int((verdicts == "agrees").sum())
    return AgreementCount(what, agrees, len(verdicts), section)


def claims_tables(paper: str, *readings: str) -> tuple[AnalysisTable, ...]:
    """Describe the tables of a `paper`'s claims and of their `readings`; verdicts are kept."""
    of_sentences = Columns(("claim",), by_chance=SAID + WORST + COUNTS, decided_elsewhere=True)
    found = [AnalysisTable(f"{paper}_claims", of_sentences)]
    if readings:
        of_readings = replace(of_sentences, keys=("claim", *readings), by_chance=SAID + WORST)
        found.append(AnalysisTable(f"{paper}_claim_readings", of_readings))
    return tuple(found)


def section_of(
    paper: str, name: str, title: str, link: str, *tables: str, of: str = "sections"
) -> Section:
    """Return a section of a `paper`, with `title` and `link`.

    The function `name` of its module `of` prepares it. It needs some `tables` of the paper, by
    default the one of its name.
    """
    needs = tuple(f"{paper}_{table}" for table in tables or (name,))
    return Section(f"{paper}_{name}", title, link, f".{of}:{name}", needs=needs)


def claims_section(paper: str, words: str = "") -> Section:
    """Return the section on the claims of a `paper`; `words` is the place of names of methods."""
    return Section(
        f"{paper}_claims",
        f"What [{paper}] says in words",
        "Claims in words",
        "reproduction.papers.sections:claims",
        template="claims/claims",
        options={"paper": paper, "words": words},
    )
