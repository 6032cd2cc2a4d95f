"""Files and settings for the rules on releases, and the check of published ones at start-up."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from deniable.datasets import read_source
from deniable.errors import ConfigError, DeniableError
from deniable.release import (
    NETWORK_FILES,
    PUBLIC,
    RECEIPT,
    DataSource,
    ReleaseSettings,
    fault_of_records,
    faults_of_entries,
    faults_of_files,
    named_ledger,
    refuse_other_settings,
    refuse_production,
    refuse_test,
)

RELEASES, PLANS, DATA = "results/releases", "results/plans", "results/data"


@dataclass(frozen=True)
class Releases:
    """The releases of a config."""

    settings: tuple[ReleaseSettings, ...]  # in the order of the config
    source_of: Callable[[str], str]  # returns the file with the source of a data set, given by name
    damaged: Mapping[str, str] = field(default_factory=dict)
    """A message for each published release with changed files or without its ledger entry."""

    @cached_property
    def _by_name(self) -> Mapping[str, ReleaseSettings]:
        return {each.name: each for each in self.settings}

    def __getitem__(self, name: str) -> ReleaseSettings:
        """Return the settings of the release with that `name`."""
        return self._by_name[name]

    def pattern(
        self, *, test: bool | None = None, own: bool | None = None, done: bool | None = None
    ) -> str:
        """Return a pattern for the names of some releases; by default of all.

        If `test` is True, they are test releases; if `own` is True, they are made from files of the
        user; if `done` is True, they have a receipt. False selects the opposite.
        """
        names = [
            each.name
            for each in self.settings
            if test in (None, each.test)
            and own in (None, each.data is None)
            and done in (None, (folder_of(each.name) / RECEIPT).exists())
        ]
        return any_of(names)

    def made(self, name: str) -> str:
        """Return the public folder of the release `name`, or the receipt of a production release.

        For a damaged release, it is a text that Snakemake reports as a missing input.
        """
        if name in self.damaged:
            what = "its published files or ledger have changed, see the message above"
            return f"{folder_of(name)}: {what}"
        return str(folder_of(name) / (PUBLIC if self[name].test else RECEIPT))

    def all_made(self) -> list[str]:
        """Return `made` for all releases."""
        return [self.made(each.name) for each in self.settings]

    def records(self, name: str) -> str:
        """Return the file of the original records of the release `name`."""
        file = self[name].file
        return file.path if file is not None else f"{DATA}/{self[name].data}.parquet"

    def plan_inputs(self, name: str) -> dict[str, list[str]]:
        """Return the inputs of the rule that makes the plan of the release `name`, by kind."""
        settings = self[name]
        file = settings.file
        schema = f"{DATA}/{settings.data}.schema.yaml" if file is None else file.schema_file
        options = settings.options
        return {
            "schema": [schema] if schema is not None and settings.plan_file is None else [],
            "records": [self.records(name)] if options.reads_records else [],
            "released": [self.made(each) for each in options.releases],
            "files": settings.inputs,
        }

    def draw_inputs(self, name: str) -> dict[str, list[str]]:
        """Return the inputs of the rules that draw the release `name`, by their kind.

        A production release waits for the previous release of the same population, because the
        consent to it states their number and total ε.
        """
        data = self[name].data
        published = data is not None and not data.startswith(NETWORK_FILES)
        return {
            "plan": [f"{PLANS}/{name}/plan.json"],
            "records": [self.records(name)],
            "source": [self.source_of(str(data))] if published else [],
            "after": self._earlier(self[name]),
        }

    def refuse_production(self) -> None:
        """Raise a `ConfigError` if there is a production release, because jobs share no folder."""
        for name in (each.name for each in self.settings if not each.test):
            raise ConfigError(
                f"release {name!r} is a production release: its key and its records need a folder "
                "that all jobs share, but this run would copy them to a storage; make it on a "
                "system where jobs share a folder, or leave it out of this run"
            )

    def _earlier(self, release: ReleaseSettings) -> list[str]:
        if release.test:
            return []
        before = self.settings[: self.settings.index(release)]
        population = str(release.population).lower()
        same = [e for e in before if not e.test and str(e.population).lower() == population]
        return [self.made(each.name) for each in same[-1:]]


def folder_of(name: str) -> Path:
    """Return the folder of the release `name`."""
    return Path(RELEASES, name)


def any_of(names: Sequence[str]) -> str:
    """Return a pattern that matches only these `names`."""
    return "|".join(names) or "(?!)"


def data_source(settings: ReleaseSettings, source: Sequence[Path | str]) -> DataSource:
    """Return the origin of the records of a release with these `settings`.

    `source` contains the file with the source of a data set; it is empty for other records.
    """
    if settings.data is None:
        return "own"
    # Everybody gets the same records from a published network.
    return read_source(source[0]).kind if source else "network"


def check_published(
    settings: Sequence[ReleaseSettings], ledger: Path | str | None
) -> dict[str, str]:
    """Compare published releases with `settings`, `ledger` and their files at publication.

    Files are read only if their sizes or times have changed. Returns, by name, a message for each
    release that has missing or edited files or no entry in the ledger. The messages are also
    written to standard error, because only the rules of these releases fail. A `DeniableError`
    reports changed settings of a published release, and a missing ledger if a release needs it.
    """
    production = [each for each in settings if not each.test]
    for release in settings:
        refuse_other = refuse_production if release.test else refuse_test
        refuse_other(release.name, folder_of(release.name))
    places = (PUBLIC, RECEIPT)
    folders = {each.name: folder_of(each.name) for each in production}
    published = {k: v for k, v in folders.items() if any((v / n).exists() for n in places)}
    damaged = _uncounted(published, ledger, needed=len(published) < len(production))
    for release in production:
        if (folder := published.get(release.name)) is None:
            continue
        faults = [damaged[release.name]] if release.name in damaged else []
        if not faults:
            refuse_other_settings(release.name, folder, release.stated())
            if release.file is not None:
                fault = fault_of_records(Path(release.file.path), folder, named_ledger(ledger))
                faults += [fault] if fault else []
        if (folder / RECEIPT).exists():
            faults += faults_of_files(folder)
        if faults:
            damaged[release.name] = "\n  ".join(faults)
    damaged = {name: f"release {name!r}:\n  {text}" for name, text in damaged.items()}
    for each in damaged.values():
        print(each, file=sys.stderr)
    return damaged


def _uncounted(
    published: Mapping[str, Path], ledger: Path | str | None, *, needed: bool
) -> dict[str, str]:
    """Return messages on releases that the `ledger` lacks, or raise an error if it is `needed`."""
    if not published and not needed:
        return {}
    try:
        opened = named_ledger(ledger)
    except DeniableError as error:
        if needed or ledger is None:
            raise
        return dict.fromkeys(published, str(error))
    faults = faults_of_entries(opened, published.values())
    return {name: faults[folder] for name, folder in published.items() if folder in faults}
