"""What a page of the report is made of: sections, and its verdicts on the first page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from deniable.study.catalog import Section, resolve

if TYPE_CHECKING:  # not at run time: every job's process reads the catalogs
    import pandas as pd


@dataclass(frozen=True)
class PrivacyVerdict:
    """What becomes of something that is claimed, or taken, to protect.

    Attributes
    ----------
    verdict : str
        The second if it holds under one reading and fails under another.
    says : str
        What holds or fails, as a headline.
    found : str
        By how much, in a sentence or two.
    instead : str
        What one would use instead, "" if nothing has to be, or nothing is known.
    section : str
        The id of the section that has more.
    times : float
        The largest multiple of the claimed epsilon that is spent; 1 if the claim is kept to.
    """

    verdict: Literal["holds", "depends on the reading", "fails"]
    says: str
    found: str
    section: str
    instead: str = ""
    times: float = 1.0


@dataclass(frozen=True)
class Agreement:
    """How many of some printed numbers come out again; None on surrogate data.

    Numbers that differ by mechanism or by reading are not counted together.
    """

    what: str
    agrees: int | None
    of: int
    section: str


@dataclass(frozen=True)
class Verdicts:
    """What is said of a paper on the first page.

    Attributes
    ----------
    privacy, numbers
        In the paper's order. What its claims in words come to is counted over all papers at once.
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
    title, link : str
        Its heading, and its name in lists of pages.
    verdicts : str
        A function of all tables that returns its `Verdicts`; "" if it has none.
    """

    id: str
    title: str
    link: str
    sections: tuple[Section, ...]
    verdicts: str = ""

    def verdicts_on(self, tables: "Mapping[str, pd.DataFrame]") -> Verdicts:
        """Return its verdicts, as far as there are tables for them."""
        made = {name: table for name, table in tables.items() if len(table)}
        found: Verdicts = resolve(self.verdicts)(made) if self.verdicts else Verdicts()
        return found


def agreement_of(what: str, table: "pd.DataFrame", section: str) -> Agreement:
    """Count which printed numbers of a table agree, by its column ``verdict``."""
    verdicts = table["verdict"][table["verdict"] != "not printed"]
    surrogate = (verdicts == "surrogate").any()
    agrees = None if surrogate else int((verdicts == "agrees").sum())
    return Agreement(what, agrees, len(verdicts), section)
