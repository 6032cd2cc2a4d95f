"""Pages of the report, their sections, and verdicts."""

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

    verdict: Literal["holds", "depends on the interpretation", "fails", "our finding"]
    """The verdict on the claim; "our finding" if the paper makes no claim."""
    says: str  # the headline
    found: str  # the size of the difference, in one or two sentences
    section: str  # the id of the section with details
    worst: "Worst | None" = None  # the case in which the claim is exceeded most
    instead: str = ""  # the recommendation for privacy; "" if none is needed or known
    useful: str = ""  # the recommendation for utility

    @property
    def beyond(self) -> float:
        """The largest exact ε minus the claimed one."""
        return self.worst.beyond if self.worst else 0.0


@dataclass(frozen=True)
class AgreementCount:
    """The number of published values that agree with ours under one interpretation."""

    what: str  # the values, in words
    agrees: int | None  # None: there is no verdict
    of: int  # number of values
    section: str  # the id of the section with them
    unjudged: str = ON_SURROGATES  # the text in place of None


@dataclass(frozen=True)
class Verdicts:
    """Verdicts on a paper for the first page, in the paper's order, without claims in words."""

    privacy: Sequence[PrivacyVerdict] = ()  # on its claims of privacy
    numbers: Sequence[AgreementCount] = ()  # on its published values

    def without_verdicts(self) -> "Verdicts":
        """Return the published values without counts, for surrogate data."""
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
        """Return the verdicts that the `tables`, by id, suffice for."""
        made = {name: table for name, table in tables.items() if len(table)}
        found: Verdicts = resolve(self.verdicts)(made) if self.verdicts else Verdicts()
        return found


def agreement_of(what: str, table: "pd.DataFrame", section: str) -> AgreementCount:
    """Return how many values (`what`) of a `table` agree; the `section` of this id has details."""
    verdicts = table["verdict"][table["verdict"] != "not published"]
    surrogate = (verdicts == "surrogate").any()
    agrees = None if surrogate else int((verdicts == "agrees").sum())
    return AgreementCount(what, agrees, len(verdicts), section)


def claims_tables(paper: str, *readings: str) -> tuple[AnalysisTable, ...]:
    """Describe the tables of a `paper`'s claims and their `readings`; the baseline has verdicts."""
    of_sentences = Columns(("claim",), by_chance=SAID + WORST + COUNTS, decided_elsewhere=True)
    found = [AnalysisTable(f"{paper}_claims", of_sentences)]
    if readings:
        of_readings = replace(of_sentences, keys=("claim", *readings), by_chance=SAID + WORST)
        found.append(AnalysisTable(f"{paper}_claim_readings", of_readings))
    return tuple(found)


def section_of(
    paper: str, name: str, title: str, link: str, *tables: str, of: str = "sections"
) -> Section:
    """Return a section of a `paper`, with a `title` and a `link`.

    The function `name` of the paper's module `of` prepares it. It needs the `tables` of the paper,
    by default the table with its name.
    """
    needs = tuple(f"{paper}_{table}" for table in tables or (name,))
    return Section(f"{paper}_{name}", title, link, f".{of}:{name}", needs=needs)


def claims_section(paper: str, words: str = "") -> Section:
    """Return the section on the claims of a `paper`; `words` is the place of names of methods."""
    return Section(
        f"{paper}_claims",
        f"Claims of [{paper}] in words",
        "Claims in words",
        "reproduction.papers.sections:claims",
        template="claims/claims",
        options={"paper": paper, "words": words},
    )
