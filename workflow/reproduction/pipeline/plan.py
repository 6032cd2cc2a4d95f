"""List the files that a config requests, and the settings, inputs, code, resources of their jobs.

The time of a job is at least five times the time of the slowest job at full size. The memory is for
a job and two Snakemake processes around it (200 MB each, docs/cluster.md). All jobs use one thread.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from deniable.datasets import AnyDataset, load_manifest
from deniable.errors import ConfigError, DataError
from deniable.release import LEDGER_VARIABLE
from deniable.validation import Strict

from reproduction.papers import ANALYSES, FIGURES, STUDIES, TABLES
from reproduction.pipeline.code_digest import code_digests
from reproduction.pipeline.config import Config, message, validate
from reproduction.pipeline.environment import check_writable, keep_from_others
from reproduction.pipeline.provenance import SOURCE_SUFFIX, read_provenance
from reproduction.pipeline.releases import Releases, any_of, check_published
from reproduction.study import Analysis

MIRROR_VARIABLE = "DENIABLE_DATA_MIRROR"
RESULTS, RAW = Path("results"), Path("results/data/raw")
ESTIMATES = (  # files of the estimates of each release
    *("margins.csv", "pairs.csv", "numbers.csv", "consistent.csv", "disagreement.csv"),
    *("two_step.csv", "independence.csv", "weights.csv", "joint.json"),
    "synthetic.parquet",
)
ITEM_ESTIMATES = ("item_sets.csv", "item_rules.csv")  # of releases with `item_sets`


# Limits of time in minutes and of memory in MB, at the first attempt.
SECONDS = 3, 1000  # for jobs that take seconds and 200 to 300 MB
MINUTES = 15, 1500  # for jobs that may take minutes and up to 500 MB
SIMULATION = 30, 1500  # for a chunk; a user's value of ``chunks`` may make it larger


def needs(limits: tuple[int, int]) -> Mapping[str, Callable[[Any, int], int]]:
    """Return the resources of a rule; the n-th attempt requests n times the first `limits`."""
    minutes, memory_mb = limits
    return {
        "runtime": lambda wildcards, attempt: attempt * minutes,
        "mem_mb": lambda wildcards, attempt: attempt * memory_mb,
    }


@dataclass(frozen=True)
class RunPlan:
    """A validated `config`, and the files that it requests."""

    config: Config
    root: Path
    """The folder of the workflow's own files. It differs from the folder of the run if this
    workflow is a module of another one, or runs with ``--directory``."""
    datasets: Mapping[str, AnyDataset]  # from the manifest
    damaged: Mapping[str, str] = field(default_factory=dict)
    """Messages on published releases with changed files; see `check_published`."""

    @classmethod
    def prepare(cls, values: Mapping[str, Any], root: Path | str) -> "RunPlan":
        """Check the config `values` in the main process; `root` is the folder of the workflow.

        A `DeniableError` lists all errors of the config.
        """
        # Imported here because it is large and `recall` does not need it.
        from reproduction.pipeline.checks import check_config  # noqa: PLC0415

        plan = cls.recall(values, root)
        check_config(plan.config, plan.datasets, Path(root, "resources", "networks"))
        damaged = check_published(plan.config.releases, plan.ledger)
        check_writable(RESULTS)
        keep_from_others()
        return replace(plan, damaged=damaged)

    @classmethod
    def recall(cls, values: Mapping[str, Any], root: Path | str) -> "RunPlan":
        """Return, for a job, the plan of `values` and `root` that `prepare` has checked."""
        manifest = Path(root, "resources", "datasets.yaml")
        return cls(validate(values), Path(root), load_manifest(manifest))

    def targets(self) -> list[str]:
        """Return the files of a whole run."""
        if not self._made:
            return self.released()
        tables, figures = [*self.tables(), *self.computed_tables()], self.figures()
        kinds = ("svg", "png")
        return [
            "results/report",
            *(f"results/tables/{table}.csv" for table in tables),
            *(f"results/figures/{figure}.{kind}" for figure in figures for kind in kinds),
            "results/audit/privacy.csv",
            "results/audit/samplers.csv",
            *self.released(),
        ]

    def code(self, script: str, *entries: Any) -> dict[str, str]:
        """Return digests of a `script`, of `entries` of catalogs, and of all code they use."""
        return code_digests(self.root / "workflow" / "scripts" / script, *entries)

    def settings(self, section: str, name: str) -> dict[str, Any]:
        """Return the settings with a `name` in a `section` of the config, as plain values."""
        if section == "releases":
            return self.releases[name].model_dump(by_alias=True)
        part: Strict | None = self.config.part(f"{section}.{name}")
        if part is None:
            raise ConfigError(message([f"{section}.{name}: missing; it must be given"]))
        return part.model_dump()

    @property
    def mirror(self) -> Path | None:
        named = os.environ.get(MIRROR_VARIABLE) or self.config.data.mirror
        return Path(named).expanduser() if named else None

    @property
    def ledger(self) -> str | None:
        return os.environ.get(LEDGER_VARIABLE) or self.config.ledger

    def download_settings(self, file: str) -> dict[str, Any]:
        """Return the setting ``source``, and whether the mirror has a published `file`.

        If the published file was verified before, only the source "surrogate" changes the records.
        With other sources the recorded parameters are returned, so that no job starts.
        """
        source, mirror = self.config.data.source, self.mirror
        if source != "surrogate":
            record = None
            with suppress(DataError):
                record = read_provenance(RAW / f"{file}{SOURCE_SUFFIX}")
            dataset = next(each for each in self.datasets.values() if each.file == file)
            published = {"kind": "original", "sha256": dataset.sha256}
            if record and published in record["data"].values():
                return dict(record["asked"])
        has_file = mirror is not None and (mirror / file).is_file()
        return {"source": source, "mirror": has_file and source in ("auto", "mirror")}

    def sources(self) -> list[str]:
        """Return the files with the sources of the data sets that the run reads."""
        read = _studied_data(self.config) | {each.data for each in self.config.releases}
        return sorted({self.source(name) for name in self.datasets if name in read})

    def source(self, dataset: str) -> str:
        """Return the file with the source of a `dataset`."""
        return f"{RAW}/{self.datasets[dataset].file}{SOURCE_SUFFIX}"

    def own(self, path: str) -> str:
        """Return the `path` of a file of the workflow, relative if the run is in its folder."""
        return path if self.root.resolve() == Path.cwd() else str(self.root / path)

    def chunks(self, table: str) -> list[str]:
        """Return the files of the simulations for a `table`."""
        study = TABLES[table].study
        number = self.config.chunks(study)
        if not number:
            raise ConfigError(
                f"table {table}: studies.{study} has no settings; use a config with grids for it "
                "(for multirr_sweep: --configfile config/sweep.yaml)"
            )
        return [f"results/studies/{study}/chunk-{i}-of-{number}.csv" for i in range(number)]

    def tables(self) -> list[str]:
        """Return the ids of the tables of studies that the config requests."""
        return [t.id for t in TABLES.values() if any(map(t.holds, self.config.cells(t.study)))]

    @cached_property
    def analyses(self) -> list[Analysis]:
        """The requested analyses, in the order of the catalogs.

        An analysis is requested if a study reads the files of its data, the config has its
        settings, and the run contains the tables that it needs.
        """
        config, studied = self.config, _studied_data(self.config)
        files = {each.file for name, each in self.datasets.items() if name in studied}
        studied |= {name for name, each in self.datasets.items() if each.file in files}
        papers = config.studies.model_fields_set or config.analyses.model_fields_set
        made, found = {*self.tables()}, list[Analysis]()
        for each in ANALYSES.values() if papers else ():  # each after the analyses that it needs
            needed = made >= {*each.needs} or (each.takes_what_is_there and made & {*each.needs})
            given = all(config.part(place) is not None for place in each.settings)
            if needed and given and set(each.data) <= studied:
                found.append(each)
                made |= {table.id for table in each.tables}
        return found

    def computed_tables(self) -> list[str]:
        """Return the ids of the tables that no study fills."""
        return [table.id for analysis in self.analyses for table in analysis.tables]

    @cached_property
    def _made(self) -> set[str]:
        return {*self.tables(), *self.computed_tables()}

    def made_tables(self, *names: str) -> list[str]:
        """Return the files of the tables with these `names` that the config requests."""
        return [f"results/tables/{name}.csv" for name in names if name in self._made]

    def figures(self) -> list[str]:
        """Return the ids of the figures with requested tables."""
        return [name for name, figure in FIGURES.items() if self._made >= set(figure.tables)]

    @cached_property
    def releases(self) -> Releases:
        return Releases(tuple(self.config.releases), self.source, self.damaged)

    def released(self) -> list[str]:
        """Return all result files of releases, estimates, comparisons and sweeps."""
        names = [name for name, sweep in self.config.sweeps.items() if sweep.data is not None]
        kinds = ("csv", "svg", "png")
        sweeps = [f"results/sweeps/{name}.{kind}" for name in names for kind in kinds]
        return [*self.releases.all_made(), *self.estimates(), *self.comparisons(), *sweeps]

    def pattern_of_sweeps(self, *, own: bool) -> str:
        """Return a pattern for names of sweeps: of the user's `own` files, or of data sets."""
        sweeps = self.config.sweeps.items()
        return any_of([name for name, sweep in sweeps if own == (sweep.data is None)])

    def sweep_inputs(self, name: str) -> dict[str, list[str]]:
        """Return the inputs of the rule that collects the sweep `name`, one for each release."""
        sweep = self.config.sweeps[name]
        checks = "results/checks" if sweep.data is not None else "results/checks/private"
        return {
            "checks": [f"{checks}/{each}.csv" for each in sweep.settings],
            "margins": [f"results/estimates/{each}/margins.csv" for each in sweep.settings],
            "pairs": [f"results/estimates/{each}/pairs.csv" for each in sweep.settings],
            "releases": [self.releases.made(each) for each in sweep.settings],
        }

    def estimates(self) -> list[str]:
        """Return the files of the estimates of all releases."""
        items = {release.name: release.item_sets is not None for release in self.config.releases}
        files = {name: ESTIMATES + (ITEM_ESTIMATES if own else ()) for name, own in items.items()}
        return [f"results/estimates/{name}/{file}" for name in files for file in files[name]]

    def comparisons(self) -> list[str]:
        """Return the files with comparisons of test releases and original records of data sets."""
        compared = (each for each in self.config.releases if each.test and each.data is not None)
        return [f"results/checks/{release.name}.csv" for release in compared]


def _studied_data(config: Config) -> set[str]:
    requested = (study for name, study in STUDIES.items() if config.cells(name))
    return {name for study in requested for name in study.datasets}
