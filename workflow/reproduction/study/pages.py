"""The parts of a page of the report: sections, verdicts, and the origin of its numbers."""

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from reproduction.study.catalog import Section, resolve
from reproduction.study.tables import AnalysisTable, Columns

if TYPE_CHECKING:  # not at run time: every job's process reads the catalogs
    import pandas as pd

FOLDERS = {"deniable": "src", "reproduction": "workflow"}
"""Where the packages are in the repository."""
SAID = ("section", "printed", "kind", "test", "figure", "comparisons", "support", "contradict")
WORST = ("worst", "worst_low", "worst_high", "detectable", "p_value")
COUNTS = ("readings", "holds", "fails")
DECIDED_BY = "reproduction.study.claims:decide_claims"


@dataclass(frozen=True)
class PrivacyVerdict:
    """A verdict on a privacy claim."""

    verdict: Literal["holds", "depends on the reading", "fails"]  # on the claim
    says: str  # the headline
    found: str  # the size of the difference, in a sentence or two
    section: str  # the id of the section that has more
    instead: str = ""  # the recommended method; "" if none is needed, or known
    times: float = 1.0  # the largest multiple of the claimed epsilon


@dataclass(frozen=True)
class AgreementCount:
    """How many of some published values, of one reading, agree with ours."""

    what: str  # the values, in words
    agrees: int | None  # None: there is no verdict
    of: int  # how many there are
    section: str  # the id of the section with them
    unjudged: str = "no verdict on surrogate data"  # the text in place of None


@dataclass(frozen=True)
class Verdicts:
    """The first page's verdicts on a paper, in the paper's order, without claims in words."""

    privacy: Sequence[PrivacyVerdict] = ()  # of its claims of privacy
    numbers: Sequence[AgreementCount] = ()  # of its published values


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
    found = [AnalysisTable(f"{paper}_claims", DECIDED_BY, of_sentences)]
    if readings:
        of_readings = replace(of_sentences, keys=("claim", *readings), by_chance=SAID + WORST)
        found.append(AnalysisTable(f"{paper}_claim_readings", DECIDED_BY, of_readings))
    return tuple(found)


def section_of(paper: str, name: str, title: str, link: str, *tables: str) -> Section:
    """Return a section of a `paper` that its function `name` prepares, with `title` and `link`.

    It needs some `tables` of the paper, by default the one of its name.
    """
    needs = tuple(f"{paper}_{table}" for table in tables or (name,))
    return Section(f"{paper}_{name}", title, link, f".sections:{name}", needs=needs)


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


@dataclass(frozen=True)
class Origin:
    """The code that makes a table or a figure."""

    function: str
    """As "reproduction.papers.multirr.example_1:example_1", or a script, as
    "workflow/scripts/pram/results.py"."""
    rule: str  # of the workflow, which calls it

    @property
    def name(self) -> str:
        """The name of the function, or of the script."""
        return self.function.rpartition(":" if ":" in self.function else "/")[2]

    @property
    def file(self) -> str:
        """The file of the code, as seen from the project's root."""
        module, colon, _ = self.function.partition(":")
        if not colon:
            return self.function
        package = module.partition(".")[0]
        return f"{FOLDERS[package]}/{module.replace('.', '/')}.py"

    @property
    def line(self) -> int:
        """The line on which it starts, from the source: its module is not imported."""
        module, colon, name = self.function.partition(":")
        if not colon:
            return 1
        lines = _lines(module)
        # An inherited method: the line of the class, which names its base.
        return lines[name] if name in lines else lines[name.partition(".")[0]]


@cache
def _lines(module: str) -> dict[str, int]:
    """Return the first line of every function, method and class of a module, by its full name."""
    package, *parts = module.split(".")
    place = str(import_module(package).__file__)  # of a package: nothing else is imported
    file = Path(place).parent.joinpath(*parts).with_suffix(".py")
    lines: dict[str, int] = {}

    def visit(body: Iterable[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                lines[prefix + node.name] = node.lineno
                visit(node.body, f"{prefix}{node.name}.")

    visit(ast.parse(file.read_text(encoding="utf-8")).body, "")
    return lines
