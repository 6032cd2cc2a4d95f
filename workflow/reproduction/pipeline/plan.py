"""The files that a config asks for, and the settings, inputs and code of their jobs."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from deniable.datasets import AnyDataset, categorical, load_manifest, numeric
from deniable.errors import ConfigError, DataError
from deniable.files import read_json
from deniable.records import Domain
from deniable.release import (
    LANES,
    NETWORK_FILES,
    PRIVATE,
    PUBLIC,
    RECEIPT,
    AnyRelease,
    Lane,
    Ledger,
    PlannedRelease,
    Step,
    refuse_real,
    refuse_uncounted,
)

from reproduction.papers import ANALYSES, AUDITED, FIGURES, STUDIES, TABLES
from reproduction.pipeline.code_digest import code_digest
from reproduction.pipeline.config import Config, message, validate
from reproduction.pipeline.downloads import RAW, download_settings
from reproduction.pipeline.environment import check_writable, keep_from_others
from reproduction.pipeline.provenance import SOURCE_SUFFIX
from reproduction.study import Analysis

MIRROR_VARIABLE = "DENIABLE_DATA_MIRROR"
RESULTS = Path("results")
RELEASES = Path("results/releases")


@dataclass(frozen=True)
class Plan:
    """A validated config, and the files that follow from it.

    The root is the folder of the workflow's own files. It differs from the folder of the run where
    another workflow has this one as its module, or where a run is given its directory.

    Attributes
    ----------
    config : Config
    root : Path
    datasets : mapping of str to AnyDataset
    """

    config: Config
    root: Path
    datasets: Mapping[str, AnyDataset]

    @classmethod
    def prepare(cls, values: Mapping[str, Any], root: Path | str) -> "Plan":
        """Validate the config of `values` and check it before the first job starts.

        For the process that a user starts. The workflow's own files are below `root`.

        Raises
        ------
        DeniableError
            With one message for everything that is wrong with the config.
        """
        # Here, not above: it is large, and `recall` does without it.
        from reproduction.pipeline.checks import check_domains  # noqa: PLC0415

        plan = cls.recall(values, root)
        domains = {name: dataset.domain for name, dataset in categorical(plan.datasets).items()}
        records = {name: dataset.records for name, dataset in plan.datasets.items()}
        drawn = drawn_domains(plan.config, _resources(root) / "networks")
        numbers = numeric(plan.datasets)
        check_domains(plan.config, domains, records | drawn_records(), numbers, drawn)
        _refuse_second_draw(plan.config)
        check_writable(RESULTS)
        keep_from_others()
        return plan

    @classmethod
    def recall(cls, values: Mapping[str, Any], root: Path | str) -> "Plan":
        """Return the plan that `prepare` has checked, for one of its jobs."""
        return cls(validate(values), Path(root), load_manifest(_resources(root) / "datasets.yaml"))

    def targets(self) -> list[str]:
        """Return the files of a whole run: of all that the config names, and nothing else."""
        tables, figures = [*self.tables(), *self.computed_tables()], self.figures()
        if not tables:
            return self.released()
        kinds = ("svg", "png")
        return [
            "results/report",
            *(f"results/tables/{table}.csv" for table in tables),
            *(f"results/figures/{figure}.{kind}" for figure in figures for kind in kinds),
            "results/audit/privacy.csv",
            "results/audit/samplers.csv",
            *self.released(),
        ]

    def code(self, script: str, *entries: Any) -> str:
        """Return the digest of a `script`, `entries` of catalogs, and all code behind them."""
        return code_digest(self.root / "workflow" / "scripts" / script, *entries)

    def settings(self, section: str, name: str) -> dict[str, Any]:
        """Return plain settings, for a rule: those of a `name` in a `section` of the config."""
        if section == "releases":
            return self.config.release(name).model_dump()
        part = self.config.part(f"{section}.{name}")
        if part is None:
            raise ConfigError(message([f"{section}.{name}: missing; it must be given"]))
        values: dict[str, Any] = part.model_dump()
        return values

    @property
    def mirror(self) -> Path | None:
        """The directory with published files, which the environment or the config names."""
        named = os.environ.get(MIRROR_VARIABLE) or self.config.data.mirror
        return Path(named).expanduser() if named else None

    def download_settings(self, file: str) -> dict[str, Any]:
        """Return the parameters of the job that obtains a published `file`."""
        dataset = next(each for each in self.datasets.values() if each.file == file)
        return download_settings(dataset, self.config.data.source, self.mirror)

    def sources(self) -> list[str]:
        """Return the sources of the data sets that studies, analyses and releases read."""
        read = _studied_data(self.config) | {
            release.data for release in self.config.releases if release.lane != "planned"
        }
        return sorted({self.source(name) for name in self.datasets if name in read})

    def source(self, dataset: str) -> str:
        """Return the file that says where the records of a `dataset` come from."""
        return f"{RAW}/{self.datasets[dataset].file}{SOURCE_SUFFIX}"

    def surrogate(self, dataset: str) -> str:
        """Return the file of the model that records of a `dataset` are drawn from in need."""
        return self.own(f"resources/{self.datasets[dataset].surrogate}")

    def own(self, path: str) -> str:
        """Return the path of a file of the workflow's own, whose `path` is given from its folder.

        The same where the run is in that folder: a project that is moved does not run anew.
        """
        return path if self.root.resolve() == Path.cwd() else str(self.root / path)

    def chunks(self, table: str) -> list[str]:
        """Return the files of results that a `table` is collected from."""
        study = TABLES[table].study
        number = self.config.chunks(study)
        if not number:
            raise ConfigError(
                f"table {table}: studies.{study} has no cells; name a config that gives it grids "
                "(for multirr_sweep: --configfile config/sweep.yaml)"
            )
        return [f"results/studies/{study}/chunk-{i}-of-{number}.csv" for i in range(number)]

    def tables(self) -> list[str]:
        """Return the ids of the tables for which the config asks for cells."""
        return [
            table.id
            for table in TABLES.values()
            if any(table.holds(cell) for cell in self.config.cells(table.study))
        ]

    def analyses(self) -> list[Analysis]:
        """Return the analyses whose tables are made, in the order of the catalogs.

        Their data are those of studies, or other data sets of the same files. Their settings are in
        the config. The tables that they need are made.
        """
        return self._analyses

    @cached_property
    def _analyses(self) -> list[Analysis]:
        studied = _studied_data(self.config)
        files = {each.file for name, each in self.datasets.items() if name in studied}
        studied |= {name for name, each in self.datasets.items() if each.file in files}
        kept = [
            each
            for each in ANALYSES.values()
            if self.config.names_papers
            and set(each.data) <= studied
            and all(self.config.part(place) is not None for place in each.settings)
        ]
        while True:
            made = {*self.tables(), *(table.id for each in kept for table in each.tables)}
            possible = [each for each in kept if _is_possible(each, made)]
            if len(possible) == len(kept):
                return kept
            kept = possible

    def computed_tables(self) -> list[str]:
        """Return the ids of the tables that no study fills."""
        tables = (table for analysis in self.analyses() for table in analysis.tables)
        return [table.id for table in tables if table.columns]

    def audited_tables(self) -> list[str]:
        """Return the names of the tables that the audit of privacy reads, if they are made."""
        made = {*self.tables(), *self.computed_tables()}
        return [name for tables in AUDITED.values() for name in tables if name in made]

    def made_tables(self, *names: str) -> list[str]:
        """Return the files of those tables, by their `names`, that the config requests."""
        made = {*self.tables(), *(table.id for each in self.analyses() for table in each.tables)}
        return [f"results/tables/{name}.csv" for name in names if name in made]

    def figures(self) -> list[str]:
        """Return the ids of the figures whose tables are made."""
        made = {*self.tables(), *self.computed_tables()}
        return [name for name, figure in FIGURES.items() if made >= set(figure.tables)]

    def refuse_releases(self) -> None:
        """Refuse releases that are no rehearsals, where jobs share no folder.

        Raises
        ------
        ConfigError
            Naming the first of them.
        """
        real = [each.name for each in self.config.releases if not each.rehearsal]
        if real:
            raise ConfigError(
                f"release {real[0]!r} is no rehearsal: its key and its records need a folder that "
                "all jobs share, and here they would pass through a storage; make it where jobs "
                "share a folder, or leave it out of this run"
            )

    def lane(self, release: str) -> Lane:
        """Return what a `release` goes through."""
        return LANES[self.config.release(release).lane]

    def steps(self, release: str) -> tuple[Step, ...]:
        """Return the steps of a `release`."""
        return self.lane(release).steps(self.config.release(release))

    def released(self, *lanes: str) -> list[str]:
        """Return what the releases of some `lanes`, or all, leave that Snakemake may know.

        The folders of rehearsals, and the receipts of others.
        """
        return [
            f"{RELEASES}/{release.name}/{left}"
            for release in self.config.releases
            if not lanes or release.lane in lanes
            for left in ((PUBLIC, PRIVATE) if release.rehearsal else (RECEIPT,))
        ]

    def made_from(self, release: str) -> dict[str, list[str]]:
        """Return the files that a `release` is made from, by what they are.

        Receipts of earlier releases of the same population, whose number and total a consent names;
        its true records, or a file of one's own with schema or plan; files of a user's own
        matrices, the manifest that states the bounds of numbers, and the network that the records
        are drawn from.
        """
        settings = self.config.release(release)
        numbers = settings.lane == "numeric"
        own = settings.made_of if isinstance(settings, PlannedRelease) else []
        return {
            "after": self._earlier(settings),
            "data": [f"results/data/{settings.data}.parquet"] if not own else [],
            "own": own,
            "matrices": getattr(settings, "matrix_files", []),
            "manifest": [self.own("resources/datasets.yaml")] if numbers else [],
            "network": [
                self.own(f"resources/networks/{network}.json")
                for network in _networks_of(settings.data)
            ],
        }

    def _earlier(self, release: AnyRelease) -> list[str]:
        """Return the receipt of the release before one of the same population, if there is one."""
        before = self.config.releases[: self.config.releases.index(release)]
        real = [each for each in before if not each.rehearsal and not release.rehearsal]
        alike = [each.name for each in real if _same_population(each, release)]
        return [f"{RELEASES}/{name}/{RECEIPT}" for name in alike[-1:]]

    def names(self, *, rehearsal: bool, own: bool | None = None) -> str:
        """Return a pattern for the names of releases: of each `rehearsal`, or of the others.

        Of `own` files, or of data sets of the manifest; by default of both.
        """
        releases = self.config.releases
        names = [
            each.name
            for each in releases
            if each.rehearsal == rehearsal and own in (None, each.data == "own")
        ]
        return "|".join(names) or "(?!)"  # which nothing matches


def _same_population(one: AnyRelease, other: AnyRelease) -> bool:
    return str(one.population).lower() == str(other.population).lower()


def _networks_of(data: str) -> list[str]:
    from deniable.datasets import FILES  # noqa: PLC0415

    drawn = data.startswith(NETWORK_FILES)
    return [FILES[data.removeprefix(NETWORK_FILES)].network] if drawn else []


def _is_possible(analysis: Analysis, made: set[str]) -> bool:
    """Return whether the tables that an `analysis` needs are among those `made`."""
    found = made & set(analysis.needs)
    return len(found) == len(analysis.needs) or (analysis.takes_what_is_there and bool(found))


def _studied_data(config: Config) -> set[str]:
    """Return the data, networks among them, of the studies that the config gives cells."""
    asked = (study for name, study in STUDIES.items() if config.cells(name))
    return {name for study in asked for name in study.datasets}


def _resources(root: Path | str) -> Path:
    return Path(root) / "resources"


def drawn_records() -> dict[str, int]:
    """Return the numbers of records of the files drawn from networks, by the names of data."""
    from deniable.datasets import FILES  # noqa: PLC0415

    return {f"{NETWORK_FILES}{name}": file.records for name, file in FILES.items()}


def drawn_domains(config: Config, folder: Path) -> dict[str, Domain]:
    """Return the domains of all files drawn from the networks in a `folder`, by name.

    There are none if no release of the `config` names such a file.
    """
    if not any(release.data.startswith(NETWORK_FILES) for release in config.releases):
        return {}
    from deniable.datasets import FILES, NETWORKS, from_resources  # noqa: PLC0415

    domains = {name: from_resources(name, folder).domain for name in NETWORKS}
    return {f"{NETWORK_FILES}{name}": domains[file.network] for name, file in FILES.items()}


def _refuse_second_draw(config: Config) -> None:
    """Refuse to draw a release anew: two draws from the same records together tell more.

    A rehearsal may be repeated; it protects nobody.
    """
    for release in config.releases:
        folder = RELEASES / release.name
        file = folder / PUBLIC / "release.json"
        if release.rehearsal:
            refuse_real(release.name, folder)
        if release.rehearsal or not file.exists():
            continue
        try:
            drawn = read_json(file)
            rehearsed, parameters = drawn["rehearsal"], drawn["parameters"]
        except (ValueError, LookupError, TypeError):
            raise DataError(
                f"{file}: damaged or edited since it was published; restore it from a copy"
            ) from None
        if rehearsed:
            raise ConfigError(
                f"release {release.name!r}: {folder} holds its rehearsal; delete that folder, then "
                "start again"
            )
        if parameters != release.stated():
            raise ConfigError(
                f"release {release.name!r} is in {file.parent} already, with other settings; a "
                "second draw adds to what the first one tells. Give this one a new name"
            )
        refuse_uncounted(Ledger(config.ledger), release, file.parent)
