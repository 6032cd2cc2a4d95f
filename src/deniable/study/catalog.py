"""What a catalog says of studies, analyses, tables, figures and sections: one entry an output.

Code is named by strings, "module:function" below `deniable` or ".module:function" below the folder
of the paper: every job's process reads the catalogs, and only the one that calls a function imports
its module (`resolve`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from deniable.errors import from_extras

if TYPE_CHECKING:  # not at run time: every job's process reads this module
    import pandas as pd

WRITTEN = 2e-8  # tables have 9 digits: numbers that differ by less, relatively, are the same
COMPUTED = 1e-6
"""The same for what sums and solvers compute, which differ with versions and kinds of processor."""
DESIGNED = 1e-3  # the same for channels found by search, which stops where little is left to gain


def resolve(place: str) -> Any:
    """Return the object at a `place` of a catalog, "module:name" or "module:Class.method"."""
    module, _, names = place.partition(":")
    with from_extras():
        found: Any = import_module(f"deniable.{module}")
    for name in names.split("."):
        found = getattr(found, name)
    return found


@dataclass(frozen=True)
class Resources:
    """What a job asks of a cluster at its first attempt; a second one asks for twice as much.

    Minutes are at least five times those of the slowest job at full size, megabytes have room for
    the two Snakemakes around a job on its node (200 each); see docs/cluster.md. All use one thread.
    No entry's digest has them (``repr=False``): they change no result.
    """

    minutes: int = 3
    memory_mb: int = 1000


SECONDS = Resources()  # of jobs that take seconds and 200 to 300 MB
MINUTES = Resources(15, 1500)  # of jobs that may take minutes and up to 500 MB


@dataclass(frozen=True)
class Study:
    """An experiment that is repeated over the cells of a grid."""

    # A class that is a `deniable.study.Simulator`, or a class method that makes one, from true
    # records and what it takes.
    simulator: str
    takes: tuple[str, ...] = ()  # the study's settings that it takes, by name
    summary: Literal["median", "mean"] = "median"  # of the replicates of each output
    published_column: str = ""  # of the printed numbers in their files
    published_replicates: int | None = None  # the runs behind each of them
    # Whose true records it simulates on; of several, the simulator gets a mapping by name. None if
    # it draws its data from a model of its own.
    datasets: tuple[str, ...] = ("adult",)
    # Of a chunk, which a user's own ``chunks`` may make larger than the committed config's.
    resources: Resources = field(default=Resources(30, 1500), repr=False)

    def on(self, data: Any, settings: Mapping[str, Any]) -> Any:
        """Return the simulator on true records, `data` (None: it has a model of its own).

        It takes what it asks for of the study's `settings`, which are given by name.
        """
        asked = {name: settings[name] for name in self.takes}
        asked = {k: tuple(v) if isinstance(v, list) else v for k, v in asked.items()}
        return resolve(self.simulator)(*([data] if self.datasets else []), **asked)

    @property
    def comparison(self) -> tuple[str, str, int | None]:
        """What the collecting of its tables depends on, besides their entries."""
        return self.summary, self.published_column, self.published_replicates

    @property
    def origin(self) -> str:
        """The code that simulates."""
        module, _, name = self.simulator.partition(":")
        return f"{module}:{name.partition('.')[0]}.__call__"


@dataclass(frozen=True)
class Columns:
    """What the columns of a table are, for the baseline that a quick run is held against."""

    keys: tuple[str, ...]  # they name a row; none: its place among rows that are otherwise unnamed
    estimate: str = ""  # the column that ci_low and ci_high belong to, "" if there is none
    summary: Literal["median", "mean"] = "mean"  # of the estimate's replicates
    verdict: str = "verdict"  # the column of verdicts
    # What depends on the draws and has no interval, and what is said in words: not kept.
    by_chance: tuple[str, ...] = ()
    # A column, and how it begins in rows that depend on the draws altogether: not kept either.
    rows_by_chance: tuple[str, str] | None = None
    tolerance: float = COMPUTED  # relative, for numbers that do not depend on chance
    decided_elsewhere: bool = False  # a verdict rests on simulated numbers of other rows or tables


@dataclass(frozen=True)
class StudyTable:
    """A table that a study fills."""

    id: str  # of the file under results/tables
    title: str  # as a reader of the report sees it
    keys: tuple[str, ...]  # columns that name a row, in order
    study: str = ""  # in the config; by default its own id
    # Files of printed numbers under resources/published, without ".csv"; none for the numbers
    # behind a figure that the paper only draws, or that it does not have.
    published: tuple[str, ...] = ()
    # The cells and outputs of the study that belong to the table, by value or values; empty: all.
    where: Mapping[str, Any] = field(default_factory=dict)
    value: str = ""  # name of the column of summaries; the summary's own if empty
    reshape: str = ""  # a function of the results, applied before they are compared
    finish: str = ""  # (results, printed numbers or None) -> the table, if comparing does not do
    by_chance: tuple[str, ...] = ()  # as in `Columns`
    decided_elsewhere: bool = False  # as in `Columns`
    on_request: bool = False  # config/config.yaml does not ask for it
    audited: tuple[str, ...] = field(default=(), repr=False)  # as in `AnalysisTable`
    resources: Resources = field(default=SECONDS, repr=False)  # to collect it

    def __post_init__(self) -> None:
        """Take the study of the same name, unless another is given."""
        object.__setattr__(self, "study", self.study or self.id)

    def holds(self, cell: Mapping[str, Any]) -> bool:
        """Return whether a `cell`, or a row, belongs to the table."""
        return all(
            cell[key] in (values if isinstance(values, tuple) else (values,))
            for key, values in self.where.items()
            if key in cell
        )

    @property
    def compared(self) -> bool:
        """Whether its rows stand beside printed numbers, one by one."""
        return bool(self.published) and not (self.reshape or self.finish)

    def columns(self, study: Study) -> Columns:
        """Return what its columns are, given the `study` that fills it."""
        return Columns(
            tuple(key for key in self.keys if key not in self.by_chance),
            self.value or ("regenerated" if self.published else study.summary),
            study.summary,
            by_chance=self.by_chance,
            tolerance=WRITTEN,
            decided_elsewhere=self.decided_elsewhere,
        )


@dataclass(frozen=True)
class AnalysisTable:
    """A table that no study fills."""

    id: str  # of the file, without ".csv"
    made_by: str  # the function that computes it, which the report names under it
    # What its columns are, or the keys alone; None for a part of a table, neither shown nor kept.
    described: "Columns | tuple[str, ...] | None"
    folder: str = "tables"  # under results/
    # The functions of `deniable.papers.audit` that read its claims of privacy. They are no part of
    # what makes the table: its jobs' digests follow neither their names nor their code.
    audited: tuple[str, ...] = field(default=(), repr=False)

    @property
    def columns(self) -> Columns | None:
        """What its columns are."""
        return Columns(self.described) if isinstance(self.described, tuple) else self.described

    @property
    def path(self) -> str:
        """The file."""
        return f"results/{self.folder}/{self.id}.csv"


@dataclass(frozen=True)
class Given:
    """What an analysis computes from."""

    data: Mapping[str, Any] = field(default_factory=dict)  # records, as `Analysis.data` names them
    tables: Mapping[str, "pd.DataFrame"] = field(default_factory=dict)
    published: Mapping[str, str] = field(default_factory=dict)  # paths of files of printed numbers
    settings: Mapping[str, Any] = field(default_factory=dict)  # as `Analysis.settings` names them
    seed: int = 0  # the root seed


@dataclass(frozen=True)
class Analysis:
    """A computation that fills one table or several, once; a rule of the workflow."""

    name: str  # of the rule
    run: str  # a function of `Given` that returns a mapping of ids to tables
    tables: tuple[AnalysisTable, ...]  # that it fills
    says: str  # what it does, as Snakemake tells it
    data: tuple[str, ...] = ()  # sets that it reads, by the names of their files in results/data
    needs: tuple[str, ...] = ()  # tables that it reads, by id; it is not made without them
    takes_what_is_there: bool = False  # leaves out those that a config makes no cells for
    published: tuple[str, ...] = ()  # files of printed numbers that it reads
    settings: str = ""  # its part of the config, "studies.name" or "analyses.name"
    caption: str = ""  # of its first table in Snakemake's own report: a file in workflow/report
    resources: Resources = field(default=SECONDS, repr=False)


@dataclass(frozen=True)
class Figure:
    """A figure, drawn from tables."""

    id: str  # of the files under results/figures
    draw: str  # a function of its tables that returns a matplotlib Figure
    shows: str  # for those who hear the page
    tables: tuple[str, ...] = ()  # ids; by default its own
    options: Mapping[str, Any] = field(default_factory=dict)  # further arguments of ``draw``
    resources: Resources = field(default=SECONDS, repr=False)

    def __post_init__(self) -> None:
        """Take the table of the same name, unless others are given."""
        object.__setattr__(self, "tables", self.tables or (self.id,))


@dataclass(frozen=True)
class Section:
    """A part of the page with a heading of its own."""

    id: str  # its anchor
    title: str  # its heading
    link: str  # its name in the list of contents
    prepare: str = ""  # a function of all tables: what the template shows besides them
    # "folder/name" of a paper's templates, by default named after the function, or a name of the
    # report's own.
    template: str = ""
    needs: tuple[str, ...] = ("",)  # ids of tables without which it is left out; "" is its own
    options: Mapping[str, Any] = field(default_factory=dict)  # further arguments of ``prepare``

    def __post_init__(self) -> None:
        """Need the table of the same name, unless others are given."""
        object.__setattr__(self, "needs", tuple(name or self.id for name in self.needs))

    def possible(self, tables: Mapping[str, "pd.DataFrame"]) -> bool:
        """Return whether the `tables` that it needs, by name, were made, and are not empty."""
        return all(name in tables and len(tables[name]) for name in self.needs)

    def content(self, tables: Mapping[str, "pd.DataFrame"]) -> Mapping[str, Any]:
        """Return what the template shows besides `tables`, which are given by name."""
        found: Mapping[str, Any] = {}
        return resolve(self.prepare)(tables, **self.options) if self.prepare else found


@dataclass(frozen=True)
class Paper:
    """What is reproduced of one source."""

    # By which it is cited (docs/references.md); folder, tables and figures are named after it.
    key: str
    heading: str  # of its sections on the page
    source: str  # who wrote what, as the page says it
    studies: Mapping[str, Study]
    tables: tuple[StudyTable, ...]
    analyses: tuple[Analysis, ...]
    figures: tuple[Figure, ...]
    sections: tuple[Section, ...]

    def __post_init__(self) -> None:
        """Complete what its entries name relative to its folder."""
        for each in fields(self):
            object.__setattr__(self, each.name, _complete(getattr(self, each.name), self.key))


def _complete(entry: Any, paper: str) -> Any:
    """Return an entry whose code is named from `deniable` on, and whose template is named."""
    if isinstance(entry, str):
        return f"papers.{paper}{entry}" if entry.startswith(".") else entry
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
