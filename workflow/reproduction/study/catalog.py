"""Entries of a paper's catalog: studies, tables, analyses, figures, sections.

An entry names code by a string, "module:function" or, below the folder of the paper,
".module:function". Each job reads the catalogs. `resolve` imports a module when it is needed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from inspect import signature
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Literal

from deniable.errors import from_extras

if TYPE_CHECKING:  # not at run time: every job's process reads this module
    import pandas as pd

WHOLE_TABLE = "reproduction.study.page_tables:whole_table"
OUTPUT_RTOL = 2e-8  # relative tolerance of numbers in tables, which have 9 significant digits
COMPUTED = 1e-6  # of sums and solvers: their results differ between versions and processors
DESIGN_RTOL = 1e-3  # of matrices found by search, which stops near the optimum


def resolve(place: str) -> Any:
    """Return the object at a `place`, "module:name"."""
    with from_extras():
        return resolve_name(place)


@dataclass(frozen=True)
class Columns:
    """The columns of a table. The baseline uses them to compare a quick run with an earlier one."""

    keys: tuple[str, ...]  # identify a row; if empty, its position among unnamed rows does
    estimate: str = ""  # the column that ci_low and ci_high belong to, if there is one
    summary: Literal["median", "mean"] = "mean"  # of the estimate's replicates
    verdict: str = "verdict"  # the column of verdicts
    by_chance: tuple[str, ...] = ()  # texts, and random columns without an interval: not kept
    rows_by_chance: tuple[str, str] | None = None
    """A column, and the beginning of its text in random rows. Such rows are not kept either."""
    tolerance: float = COMPUTED  # relative, of numbers that are not random
    decided_elsewhere: bool = False  # a verdict rests on simulated numbers of other rows or tables


@dataclass(frozen=True)
class AnalysisTable:
    """A table that no study fills."""

    id: str  # of the file, without ".csv"
    columns: Columns  # the description of its columns
    audited: tuple[str, ...] = field(default=(), repr=False)
    """The functions of `reproduction.papers.audit` that read its claims of privacy. They do not
    compute the table, so the digests of its jobs cover neither their names nor their code."""


@dataclass(frozen=True)
class Study:
    """An experiment that is repeated over the settings of a grid."""

    simulator: str  # a subclass of `Simulator`, or a class method that returns one
    summary: Literal["median", "mean"] = "mean"  # of the replicates of each output
    published_column: str = ""  # of the published values in their files
    published_replicates: int | None = None  # number of replicates of each published value
    datasets: tuple[str, ...] = ("adult",)
    """The original records to simulate on: none, or several as a mapping by name."""

    def on(self, data: Any, settings: Mapping[str, Any]) -> Any:
        """Return the simulator with those `settings` that it takes, and `data` if it uses any."""
        make = resolve(self.simulator)
        asked = {name: settings[name] for name in signature(make).parameters if name in settings}
        asked = {k: tuple(v) if isinstance(v, list) else v for k, v in asked.items()}
        return make(*([data] if self.datasets else []), **asked)

    @property
    def comparison(self) -> tuple[str, str, int | None]:
        """The fields that the tables of the study depend on, besides their own entries."""
        return self.summary, self.published_column, self.published_replicates


@dataclass(frozen=True)
class StudyTable:
    """A table that a study fills."""

    id: str  # of the file under results/tables
    title: str  # its heading
    keys: tuple[str, ...]  # the columns that name a row, in order
    study: str = ""  # by default its own id
    published: tuple[str, ...] = ()  # files under resources/published, without ".csv"
    where: Mapping[str, Any] = field(default_factory=dict)
    """The value, or values, of settings and outputs of the study in the table; by default all."""
    value: str = ""  # the column of summaries, by default "regenerated" or the summary's name
    reshape: str = ""  # a function of the results, applied before they are compared
    finish: str = ""  # (results, published values or None) -> the table, in place of `compare`
    by_chance: tuple[str, ...] = ()  # as in `Columns`
    decided_elsewhere: bool = False  # as in `Columns`
    on_request: bool = False  # config/config.yaml does not request it
    audited: tuple[str, ...] = field(default=(), repr=False)  # as in `AnalysisTable`

    def __post_init__(self) -> None:
        """Set the default: the study of the same name."""
        object.__setattr__(self, "study", self.study or self.id)

    def holds(self, cell: Mapping[str, Any]) -> bool:
        """Return whether a `cell` (a setting or a row) belongs to the table."""
        asked = {k: v if isinstance(v, tuple) else (v,) for k, v in self.where.items() if k in cell}
        return all(cell[key] in values for key, values in asked.items())

    @property
    def compared(self) -> bool:
        """Whether each of its rows is compared with a published value."""
        return bool(self.published) and not (self.reshape or self.finish)

    def columns(self, study: Study) -> Columns:
        """Describe its columns, given the `study` that fills it."""
        return Columns(
            tuple(key for key in self.keys if key not in self.by_chance),
            self.value or ("regenerated" if self.published else study.summary),
            study.summary,
            by_chance=self.by_chance,
            tolerance=OUTPUT_RTOL,
            decided_elsewhere=self.decided_elsewhere,
        )


@dataclass(frozen=True)
class Analysis:
    """The tables of one rule of ``workflow/rules/<paper>.smk``, and the inputs that it needs."""

    name: str  # the rule
    tables: tuple[AnalysisTable, ...]  # its outputs
    data: tuple[str, ...] = ()  # files in results/data, without their ending
    needs: tuple[str, ...] = ()  # ids of tables among its inputs
    settings: tuple[str, ...] = ()  # its parts of the config: "studies.name", "analyses.name"
    takes_what_is_there: bool = False
    """Whether it reads only those tables of `needs` that the config requests, possibly none."""


@dataclass(frozen=True)
class Figure:
    """A figure of one or more tables."""

    id: str  # of the files under results/figures
    draw: str  # a function of its tables that returns a matplotlib Figure
    shows: str  # description for screen readers
    tables: tuple[str, ...] = ()  # ids; by default its own
    options: Mapping[str, Any] = field(default_factory=dict)  # further arguments of ``draw``

    def __post_init__(self) -> None:
        """Set the default: the table of the same name."""
        object.__setattr__(self, "tables", self.tables or (self.id,))


@dataclass(frozen=True)
class Section:
    """A part of a page with its own heading.

    Without `prepare` and `template` it shows all rows of the table with its id, and the figure with
    that id if there is one.
    """

    id: str  # its anchor
    title: str  # its heading
    link: str = ""  # its name in the list of contents, by default the title up to a colon
    prepare: str = ""  # a function of all tables that returns the variables of the template
    template: str = ""
    """A template of a paper ("folder/name", by default named after the function) or the report."""
    needs: tuple[str, ...] = ("",)  # tables that it cannot be shown without; "" is its own
    options: Mapping[str, Any] = field(default_factory=dict)  # further arguments of ``prepare``

    def __post_init__(self) -> None:
        """Set the defaults: need the table of the same name, and show all its rows."""
        object.__setattr__(self, "needs", tuple(name or self.id for name in self.needs))
        object.__setattr__(self, "link", self.link or self.title.partition(":")[0])
        if not self.prepare and not self.template:
            object.__setattr__(self, "prepare", WHOLE_TABLE)
            object.__setattr__(self, "template", WHOLE_TABLE.rpartition(":")[2])
            object.__setattr__(self, "options", {"name": self.id})

    def possible(self, tables: Mapping[str, "pd.DataFrame"]) -> bool:
        """Return whether `tables`, by id, contains the needed tables, and none is empty."""
        return all(name in tables and len(tables[name]) for name in self.needs)

    def content(self, tables: Mapping[str, "pd.DataFrame"]) -> Mapping[str, Any]:
        """Return the variables of the template, from `tables`."""
        return dict(resolve(self.prepare)(tables, **self.options)) if self.prepare else {}


@dataclass(frozen=True)
class Paper:
    """The entries of one paper."""

    key: str  # its key in docs/references.md; folder, tables and figures are named after it
    heading: str  # of its sections on the page
    source: str  # authors and title, as on the page
    studies: Mapping[str, Study]  # by the names in the config
    tables: tuple[StudyTable, ...]  # of the studies
    analyses: tuple[Analysis, ...]  # with their own tables
    figures: tuple[Figure, ...]  # of any tables
    sections: tuple[Section, ...]  # of the pages

    def __post_init__(self) -> None:
        """Complete the names of code and templates that are relative to its folder."""
        for each in fields(self):
            object.__setattr__(self, each.name, _complete(getattr(self, each.name), self.key))


def _complete(entry: Any, paper: str) -> Any:
    """Return an `entry` of a `paper` with full names of its code and its template."""
    if isinstance(entry, str):
        return f"reproduction.papers.{paper}{entry}" if entry.startswith(".") else entry
    if isinstance(entry, tuple):
        return tuple(_complete(each, paper) for each in entry)
    if isinstance(entry, Mapping):
        return {key: _complete(each, paper) for key, each in entry.items()}
    if not is_dataclass(entry) or isinstance(entry, type):
        return entry
    own = {each.name: _complete(getattr(entry, each.name), paper) for each in fields(entry)}
    if isinstance(entry, Section) and not entry.template:
        own["template"] = f"{paper}/{entry.prepare.rpartition(':')[2]}"
    return replace(entry, **own)
