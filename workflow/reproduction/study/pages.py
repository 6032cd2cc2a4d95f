"""What a page of the report is made of: sections, verdicts, and where its numbers come from."""

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


@dataclass(frozen=True)
class PrivacyVerdict:
    """What becomes of something that is claimed, or taken, to protect.

    Attributes
    ----------
    verdict : Literal["holds", "depends on the reading", "fails"]
        The second if it holds under one reading and fails under another.
    says : str
        What holds or fails, as a headline.
    found : str
        By how much, in a sentence or two.
    section : str
        The id of the section that has more.
    instead : str, optional
        What one would use; "" if nothing has to be, or nothing is known.
    times : float, optional
        The largest multiple of the claimed epsilon that is spent.
    """

    verdict: Literal["holds", "depends on the reading", "fails"]
    says: str
    found: str
    section: str
    instead: str = ""
    times: float = 1.0


@dataclass(frozen=True)
class Agreement:
    """How many of some printed numbers, of one reading, come out; None: there is no verdict.

    Attributes
    ----------
    what : str
    agrees : int, optional
    of : int
    section : str
    unjudged : str, optional
        What is said instead of None.
    """

    what: str
    agrees: int | None
    of: int
    section: str
    unjudged: str = "no verdict on surrogate data"


@dataclass(frozen=True)
class Verdicts:
    """What is said of a paper on the first page, in the paper's order, but for claims in words.

    Attributes
    ----------
    privacy : sequence of PrivacyVerdict, optional
    numbers : sequence of Agreement, optional
    """

    privacy: Sequence[PrivacyVerdict] = ()
    numbers: Sequence[Agreement] = ()


@dataclass(frozen=True)
class Page:
    """A page of the report.

    Attributes
    ----------
    id : str
        Its file, without ".html".
    title : str
        Its heading.
    link : str
        Its name in lists of pages.
    sections : tuple of Section
    verdicts : str, optional
        A function of all tables that returns its `Verdicts`, if it has any.
    """

    id: str
    title: str
    link: str
    sections: tuple[Section, ...]
    verdicts: str = ""

    def verdicts_on(self, tables: "Mapping[str, pd.DataFrame]") -> Verdicts:
        """Return its verdicts, as far as `tables`, by id, has tables for them."""
        made = {name: table for name, table in tables.items() if len(table)}
        found: Verdicts = resolve(self.verdicts)(made) if self.verdicts else Verdicts()
        return found


def agreement_of(what: str, table: "pd.DataFrame", section: str) -> Agreement:
    """Count which printed numbers of a `table` agree, by its column ``verdict``.

    `what` and `section` are as in `Agreement`.
    """
    verdicts = table["verdict"][table["verdict"] != "not printed"]
    surrogate = (verdicts == "surrogate").any()
    agrees = None if surrogate else int((verdicts == "agrees").sum())
    return Agreement(what, agrees, len(verdicts), section)


def claims_tables(paper: str, decided_by: str, *readings: str) -> tuple[AnalysisTable, ...]:
    """Return the tables of a `paper`'s sentences and of their `readings`; kept: verdicts alone.

    `decided_by` names the function that decides them.
    """
    of_sentences = Columns(("claim",), by_chance=SAID + WORST + COUNTS, decided_elsewhere=True)
    found = [AnalysisTable(f"{paper}_claims", decided_by, of_sentences)]
    if readings:
        of_readings = replace(of_sentences, keys=("claim", *readings), by_chance=SAID + WORST)
        found.append(AnalysisTable(f"{paper}_claim_readings", decided_by, of_readings))
    return tuple(found)


def claims_section(paper: str, words: str = "") -> Section:
    """Return the section on the claims of a `paper`, by its key.

    `words` names what calls methods as readers know them.
    """
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
    """The code that makes a table or a figure.

    Attributes
    ----------
    function : str
        "module:name", as "reproduction.papers.multirr.example_1:example_1", or a script, as
        "workflow/scripts/pram/results.py".
    rule : str
        Of the workflow, which calls it.
    """

    function: str
    rule: str

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
        """The line on which it starts, looked up in the source: nothing need be imported."""
        module, colon, name = self.function.partition(":")
        if not colon:
            return 1
        lines = _lines(module)
        # A method that a class inherits: the class says from whom.
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
