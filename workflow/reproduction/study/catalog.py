"""What a catalog says of studies, analyses, tables, figures and sections: one entry an output.

Strings name code, "module:function" or, below the folder of the paper, ".module:function". The
process of every job reads the catalogs; only a process that calls a function imports its module
(`resolve`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from deniable.errors import from_extras

from reproduction.study.tables import OUTPUT_RTOL, AnalysisTable, Columns

if TYPE_CHECKING:  # not at run time: every job's process reads this module
    import pandas as pd

WHOLE_TABLE = "reproduction.study.page_tables:whole_table"


def resolve(place: str) -> Any:
    """Return what a catalog names by its `place`, "module:name" or "module:Class.method"."""
    module, _, names = place.partition(":")
    with from_extras():
        found: Any = import_module(module)
    for name in names.split("."):
        found = getattr(found, name)
    return found


@dataclass(frozen=True)
class Resources:
    """What a job asks of a cluster at its first attempt; a second one asks for twice as much.

    Minutes are at least five times those of the slowest job at full size, megabytes have room for
    the two Snakemakes around a job on its node (200 each); see docs/cluster.md. All use one thread.
    No entry's digest has them (``repr=False``): they change no result.

    Attributes
    ----------
    minutes : int, optional
    memory_mb : int, optional
    """

    minutes: int = 3
    memory_mb: int = 1000


SECONDS = Resources()  # of jobs that take seconds and 200 to 300 MB
MINUTES = Resources(15, 1500)  # of jobs that may take minutes and up to 500 MB


@dataclass(frozen=True)
class Study:
    """An experiment that is repeated over the cells of a grid.

    Attributes
    ----------
    simulator : str
        A class that is a `reproduction.study.Simulator`, or a class method that makes one, from
        true records and what it takes.
    takes : tuple of str, optional
        The study's settings that it takes, by name.
    summary : Literal["median", "mean"], optional
        Of the replicates of each output.
    published_column : str, optional
        Of the printed numbers in their files.
    published_replicates : int, optional
        The runs behind each of them.
    datasets : tuple of str, optional
        Whose true records it simulates on; of several, the simulator gets a mapping by name.
        None if it draws its data from a model of its own.
    resources : Resources, optional
        Of a chunk, which a user's own ``chunks`` may make larger than the committed config's.
    """

    simulator: str
    takes: tuple[str, ...] = ()
    summary: Literal["median", "mean"] = "median"
    published_column: str = ""
    published_replicates: int | None = None
    datasets: tuple[str, ...] = ("adult",)
    resources: Resources = field(default=Resources(30, 1500), repr=False)

    def on(self, data: Any, settings: Mapping[str, Any]) -> Any:
        """Return the simulator with `settings` on true `data` (None: it has a model of its own)."""
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
class StudyTable:
    """A table that a study fills.

    Attributes
    ----------
    id : str
        Of the file under results/tables.
    title : str
        As a reader of the report sees it.
    keys : tuple of str
        Columns that name a row, in order.
    study : str, optional
        In the config; by default its own id.
    published : tuple of str, optional
        Files of printed numbers under resources/published, without ".csv"; none for the numbers
        behind a figure that the paper only draws, or that it does not have.
    where : mapping of str to Any, optional
        The cells and outputs of the study that belong to the table, by value or values; empty:
        all.
    value : str, optional
        Name of the column of summaries; the summary's own if empty.
    reshape : str, optional
        A function of the results, applied before they are compared.
    finish : str, optional
        (results, printed numbers or None) -> the table, if comparing does not do.
    by_chance : tuple of str, optional
        As in `Columns`.
    decided_elsewhere : bool, optional
        As in `Columns`.
    on_request : bool, optional
        The file config/config.yaml does not ask for it.
    audited : tuple of str, optional
        As in `AnalysisTable`.
    resources : Resources, optional
        To collect it.
    """

    id: str
    title: str
    keys: tuple[str, ...]
    study: str = ""
    published: tuple[str, ...] = ()
    where: Mapping[str, Any] = field(default_factory=dict)
    value: str = ""
    reshape: str = ""
    finish: str = ""
    by_chance: tuple[str, ...] = ()
    decided_elsewhere: bool = False
    on_request: bool = False
    audited: tuple[str, ...] = field(default=(), repr=False)
    resources: Resources = field(default=SECONDS, repr=False)

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
            tolerance=OUTPUT_RTOL,
            decided_elsewhere=self.decided_elsewhere,
        )


@dataclass(frozen=True)
class Analysis:
    """The tables of one named rule, and the inputs without which they cannot be made.

    Attributes
    ----------
    name : str
        The rule, in ``workflow/rules/<paper>.smk``.
    tables : tuple of AnalysisTable
        Its outputs.
    data : tuple of str, optional
        Data sets among its inputs, by the names of their files in results/data.
    needs : tuple of str, optional
        Tables among its inputs, by id. Without them its tables are not made.
    settings : tuple of str, optional
        Its parts of the config, "studies.name" or "analyses.name". Without them its tables are not
        made.
    takes_what_is_there : bool, optional
        Whether it reads those tables of `needs` that the config requests, and needs none.
    """

    name: str
    tables: tuple[AnalysisTable, ...]
    data: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    takes_what_is_there: bool = False


@dataclass(frozen=True)
class Figure:
    """A figure, drawn from tables.

    Attributes
    ----------
    id : str
        Of the files under results/figures.
    draw : str
        A function of its tables that returns a matplotlib Figure.
    shows : str
        For those who hear the page.
    tables : tuple of str, optional
        Ids; by default its own.
    options : mapping of str to Any, optional
        Further arguments of ``draw``.
    resources : Resources, optional
    """

    id: str
    draw: str
    shows: str
    tables: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    resources: Resources = field(default=SECONDS, repr=False)

    def __post_init__(self) -> None:
        """Take the table of the same name, unless others are given."""
        object.__setattr__(self, "tables", self.tables or (self.id,))


@dataclass(frozen=True)
class Section:
    """A part of the page with a heading of its own.

    Attributes
    ----------
    id : str
        Its anchor.
    title : str
        Its heading.
    link : str
        Its name in the list of contents.
    prepare : str, optional
        A function of all tables: what the template shows besides them.
    template : str, optional
        "folder/name" of a paper's templates, by default named after the function, or a name of
        the report's own. Without function and template, the section has the table of its name with
        all rows, and the figure of that name if there is one.
    needs : tuple of str, optional
        Ids of tables without which it is left out; "" is its own.
    options : mapping of str to Any, optional
        Further arguments of ``prepare``.
    """

    id: str
    title: str
    link: str
    prepare: str = ""
    template: str = ""
    needs: tuple[str, ...] = ("",)
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Need the table of the same name, and show all of it, unless others are given."""
        object.__setattr__(self, "needs", tuple(name or self.id for name in self.needs))
        if not self.prepare and not self.template:
            object.__setattr__(self, "prepare", WHOLE_TABLE)
            object.__setattr__(self, "template", WHOLE_TABLE.rpartition(":")[2])
            object.__setattr__(self, "options", {"name": self.id})

    def possible(self, tables: Mapping[str, "pd.DataFrame"]) -> bool:
        """Return whether the tables that it needs are among `tables`, by id, and not empty."""
        return all(name in tables and len(tables[name]) for name in self.needs)

    def content(self, tables: Mapping[str, "pd.DataFrame"]) -> Mapping[str, Any]:
        """Return what the template shows besides `tables`, from them."""
        found: Mapping[str, Any] = {}
        return resolve(self.prepare)(tables, **self.options) if self.prepare else found


@dataclass(frozen=True)
class Paper:
    """What is reproduced of one source.

    Attributes
    ----------
    key : str
        By which it is cited (docs/references.md); folder, tables and figures are named after
        it.
    heading : str
        Of its sections on the page.
    source : str
        Who wrote what, as the page says it.
    studies : mapping of str to Study
    tables : tuple of StudyTable
    analyses : tuple of Analysis
    figures : tuple of Figure
    sections : tuple of Section
    """

    key: str
    heading: str
    source: str
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
    """Return an entry with full names of its code and its template."""
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
