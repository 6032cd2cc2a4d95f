"""What a run will make: settled, checked and written down before the first job starts."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from deniable.datasets import AnyDataset, Source, categorical, load_manifest, numeric, read_source
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
from reproduction.pipeline.config import Config, validate
from reproduction.pipeline.environment import check_writable, keep_from_others, locked
from reproduction.study import Analysis

MIRROR_VARIABLE = "DENIABLE_DATA_MIRROR"
RESULTS = Path("results")
RAW = Path("results/data/raw")
RELEASES = Path("results/releases")


@dataclass(frozen=True)
class Plan:
    """A validated config, its data sources and the files that follow from them.

    Sources are those of the data sets that the config needs; of another once a target asks for it
    (`source`). The root is the folder of the workflow's own files: not that of the run where
    another workflow has this one as its module, or where a run is told its directory.

    Attributes
    ----------
    config : Config
    root : Path
    datasets : mapping of str to AnyDataset
    sources : dict[str, Source]
    """

    config: Config
    root: Path
    datasets: Mapping[str, AnyDataset]
    sources: dict[str, Source]

    @classmethod
    def prepare(cls, values: Mapping[str, Any], root: Path | str) -> "Plan":
        """Validate the config of `values`, then obtain the data or settle for the surrogates.

        For the process that a user starts. What it settles is recorded under results/data/raw, in
        the folder `root` of the project.

        Raises
        ------
        DeniableError
            Before any job starts, with one message for everything that is wrong with the config.
        """
        # Here, not above: it is large, and `recall` does without it.
        from reproduction.pipeline.checks import check_domains  # noqa: PLC0415

        config = validate(values)
        datasets = load_manifest(_resources(root) / "datasets.yaml")
        domains = {name: dataset.domain for name, dataset in categorical(datasets).items()}
        records = {name: dataset.records for name, dataset in datasets.items()} | drawn_records()
        drawn = drawn_domains(config, _resources(root) / "networks")
        check_domains(config, domains, records, numeric(datasets), drawn)
        _refuse_second_draw(config)
        check_writable(RESULTS)
        keep_from_others()
        needed = _needed_datasets(config, datasets)
        sources = _of_a_run_at_work(needed) or _settle(config, needed, root)
        return cls(config, Path(root), datasets, sources)

    @classmethod
    def recall(cls, values: Mapping[str, Any], root: Path | str) -> "Plan":
        """Rebuild the plan that `prepare` settled of `values` and `root`, for one of its jobs."""
        datasets = load_manifest(_resources(root) / "datasets.yaml")
        config = validate(values)
        needed = _needed_datasets(config, datasets)
        records = {name: RAW / f"{name}.source.json" for name in datasets}
        asked = {name: file for name, file in records.items() if name in needed or file.exists()}
        sources = {name: read_source(file) for name, file in asked.items()}
        return cls(config, Path(root), datasets, sources)

    def code(self, script: str, *entries: Any) -> str:
        """Return the digest of a `script`, `entries` of catalogs, and all code behind them."""
        return code_digest(self.root / "workflow" / "scripts" / script, *entries)

    def settings(self, section: str, name: str) -> dict[str, Any]:
        """Return plain settings, for a rule: those of a `name` in a `section` of the config."""
        if section == "releases":
            return self.config.release(name).model_dump()
        values: dict[str, Any] = getattr(getattr(self.config, section), name).model_dump()
        return values

    def needed(self) -> list[str]:
        """Return the names of the data sets that the config needs."""
        return list(_needed_datasets(self.config, self.datasets))

    def source(self, dataset: str) -> Source:
        """Return where a `dataset` comes from; settle it first if the config does not need it.

        So a target can ask for any data set of the manifest (fit_surrogates asks for all of them).
        """
        if dataset not in self.sources:
            asked = _with_those_of_one_file({dataset}, self.datasets)
            self.sources.update(_settle(self.config, asked, self.root))
        return self.sources[dataset]

    def origin(self, dataset: str) -> str:
        """Return the file that holds a `dataset`: the published one, or its surrogate's model."""
        if self.source(dataset).kind == "original":
            return str(RAW / self.datasets[dataset].file)
        return self.own(f"resources/{self.datasets[dataset].surrogate}")

    def own(self, path: str) -> str:
        """Return the path of a file of the workflow's own, whose `path` is given from its folder.

        The same where the run is in that folder: a project that is moved does not run anew.
        """
        return path if self.root.resolve() == Path.cwd() else str(self.root / path)

    def chunks(self, table: str) -> list[str]:
        """Return the files of results that a `table` is collected from."""
        study = TABLES[table].study
        if not self.config.study(study).cells():
            raise ConfigError(
                f"table {table}: studies.{study} has no cells; name a config that gives it grids "
                "(for multirr_sweep: --configfile config/sweep.yaml)"
            )
        number = min(self.config.study(study).chunks, len(self.config.study(study).cells()))
        return [f"results/studies/{study}/chunk-{i}-of-{number}.csv" for i in range(number)]

    def tables(self) -> list[str]:
        """Return the ids of the tables for which the config asks for cells."""
        return [
            table.id
            for table in TABLES.values()
            if any(table.holds(cell) for cell in self.config.study(table.study).cells())
        ]

    def analyses(self) -> list[Analysis]:
        """Return the analyses whose tables are made, in the catalogs' order.

        Of the data of studies, and of other data sets of the same files.
        """
        lacking, studied = self._lacking, _studied_data(self.config)
        studied |= set(_with_those_of_one_file(studied, self.datasets))
        return [
            analysis
            for analysis in ANALYSES.values()
            if set(analysis.data) <= studied
            and (analysis.takes_what_is_there or not lacking & set(analysis.needs))
        ]

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
        return [f"results/tables/{name}.csv" for name in names if name not in self._lacking]

    @cached_property
    def _lacking(self) -> set[str]:
        """Return the tables for which the config asks for no cells."""
        return set(TABLES) - set(self.tables())

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

    def names(self, *, rehearsal: bool) -> str:
        """Return a pattern for the names of releases: of each `rehearsal`, or of the others."""
        releases = self.config.releases
        names = [each.name for each in releases if each.rehearsal == rehearsal]
        return "|".join(names) or "(?!)"  # which nothing matches


def _same_population(one: AnyRelease, other: AnyRelease) -> bool:
    return str(one.population).lower() == str(other.population).lower()


def _networks_of(data: str) -> list[str]:
    from deniable.datasets import FILES  # noqa: PLC0415

    drawn = data.startswith(NETWORK_FILES)
    return [FILES[data.removeprefix(NETWORK_FILES)].network] if drawn else []


def _studied_data(config: Config) -> set[str]:
    """Return the data, networks among them, of the studies that the config gives cells.

    Analyses are made of these: who asks for no study of Wine is not kept waiting for its audit.
    """
    asked = (study for name, study in STUDIES.items() if config.study(name).cells())
    return {name for study in asked for name in study.datasets}


def _needed_datasets(config: Config, datasets: Mapping[str, AnyDataset]) -> dict[str, AnyDataset]:
    """Return, of a manifest's, the data sets that studies, analyses and releases read.

    With the others of the same files, which cost nothing and are settled together.
    """
    read = _studied_data(config) | {
        release.data for release in config.releases if release.lane != "planned"
    }
    return _with_those_of_one_file(read, datasets)


def _with_those_of_one_file(
    names: set[str], datasets: Mapping[str, AnyDataset]
) -> dict[str, AnyDataset]:
    files = {dataset.file for name, dataset in datasets.items() if name in names}
    return {name: dataset for name, dataset in datasets.items() if dataset.file in files}


def _settle(
    config: Config, datasets: Mapping[str, AnyDataset], root: Path | str
) -> dict[str, Source]:
    """Obtain data sets, or settle for their surrogates."""
    # Here, not above: jobs do without downloads.
    from deniable.datasets import resolve_all  # noqa: PLC0415

    mirror = os.environ.get(MIRROR_VARIABLE) or config.data.mirror
    return resolve_all(
        datasets.values(),
        source=config.data.source,
        mirror=Path(mirror) if mirror else None,
        folder=RAW,
        manifest_folder=_resources(root),
        say=partial(print, file=sys.stderr, flush=True),
    )


def _of_a_run_at_work(datasets: Mapping[str, AnyDataset]) -> dict[str, Source] | None:
    """Return the sources that a run in this folder works with, if one is at work or was killed.

    To decide anew would change the data under the hands of its jobs. Snakemake then refuses the
    second run; what it allows beside the first, a dry run or a report, shows things as they are.
    """
    if not locked():
        return None
    try:
        return {name: read_source(RAW / f"{name}.source.json") for name in datasets}
    except DataError:
        return None


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
