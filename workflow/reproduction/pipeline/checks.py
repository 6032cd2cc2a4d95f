"""Compare a configuration with its data sets before the first job starts."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from deniable.datasets import AnyDataset
from deniable.errors import ConfigError
from deniable.release import NETWORK_FILES, ReleaseSettings
from deniable.validation import Strict

from reproduction.pipeline.config import Config, message
from reproduction.pipeline.release_sweeps import releases_of

Columns = Mapping[str, Sequence[str]]  # names of columns, by data set


def check_config(config: Config, datasets: Mapping[str, AnyDataset], networks: Path) -> None:
    """Compare a `config` with its data sets, without reading records.

    Checks that need records are part of the jobs. The `datasets` come from the manifest, and
    `networks` is the folder of the networks that generate records. Each unknown data set or column,
    missing file, and number of parties above the number of records is one line of a `ConfigError`.
    """
    columns = _columns(config, datasets, networks)
    faults: list[str] = []
    if "adult" in datasets:
        faults += _of_analyses(config, columns["adult"], datasets["adult"].records)
    earlier: list[str] = []
    for number, entry in enumerate(config.entries):
        path, releases = f"releases[{number}]", releases_of(entry)
        for release in releases:
            faults += _of_release(path, release, columns)
            faults += [
                f"{path}.plan.clusters.from: {name!r} is not an earlier release; allowed: "
                f"{', '.join(['records', *earlier])}"
                for name in release.options.releases
                if name not in earlier
            ]
        earlier += [release.name for release in releases]
    if faults:
        raise ConfigError(message(faults))


def _columns(config: Config, datasets: Mapping[str, AnyDataset], networks: Path) -> Columns:
    """Return the names of the columns of all data sets, also of those drawn from networks."""
    found = {k: [column.name for column in v.columns.values()] for k, v in datasets.items()}
    if any((each.data or "").startswith(NETWORK_FILES) for each in config.releases):
        from deniable.datasets import FILES, NETWORKS, from_resources  # noqa: PLC0415

        names = {each: list(from_resources(each, networks).domain.names) for each in NETWORKS}
        found |= {f"{NETWORK_FILES}{name}": names[file.network] for name, file in FILES.items()}
    return found


def _of_analyses(config: Config, adult: Sequence[str], records: int) -> Iterator[str]:
    """Yield errors of studies and analyses: columns, or numbers of parties, that Adult lacks."""
    for study in type(config.studies).model_fields:
        ordinal = getattr(getattr(config.studies, study), "ordinal", [])
        yield from _unknown(f"studies.{study}.ordinal", ordinal, adult)
    if config.studies.multirr_epsilon is not None:
        few = config.studies.multirr_epsilon.few
        yield from _unknown("studies.multirr_epsilon.few", few, adult)
    summed, path = config.analyses.multirr_secure_sum, "analyses.multirr_secure_sum"
    if summed is None:
        return
    yield from _unknown(f"{path}.pair", summed.pair, adult)
    for option in ("parties", "parties_of_all_pairs", "linkage_parties"):
        if (parties := getattr(summed, option)) > records:
            yield (
                f"{path}.{option}: {parties}; allowed: at most the {records} records that parties "
                "are drawn from"
            )


def _of_release(path: str, release: ReleaseSettings, columns: Columns) -> Iterator[str]:
    files: list[tuple[str, str | None]] = [("plan", file) for file in release.inputs]
    if own := release.file:
        files += [("file.path", own.path), ("file.schema", own.schema_file)]
    for option, file in files:
        if file is not None and not Path(file).exists():
            yield f"{path}.{option}: {file!r} does not exist; allowed: the path of a file"
    if own:
        return
    if release.data is None or release.data not in columns:
        yield (
            f"{path}.data: {release.data!r} is not a data set of the manifest; allowed: "
            f"{', '.join(columns)}"
        )
        return
    known = columns[release.data]
    yield from _unknown(f"{path}.quasi_identifiers", release.quasi_identifiers, known)
    for number, table in enumerate(release.tables or ()):
        yield from _unknown(f"{path}.tables[{number}]", table, known)
    if isinstance(release.options, Strict) and release.plan_file is None:
        for option, names in _named_columns(release.options.model_dump()):
            yield from _unknown(f"{path}.plan.{option}", names, known)


def _named_columns(options: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    for option in ("columns", "strata"):
        yield option, options.get(option) or []
    yield "class_column", [name for name in [options.get("class_column")] if name]
    for option in ("joint", "tables"):
        for number, names in enumerate(options.get(option) or ()):
            yield f"{option}[{number}]", names
    forms = options.get("ask")
    for number, form in enumerate(forms if isinstance(forms, list) else ()):
        yield (
            f"ask[{number}]",
            [n for own in form for n in ([own] if isinstance(own, str) else own)],
        )
    yield "clusters.ordinal", (options.get("clusters") or {}).get("ordinal") or []


def _unknown(path: str, names: Sequence[str], known: Sequence[str]) -> Iterator[str]:
    for i, name in enumerate(names):
        if name not in known:
            allowed = ", ".join(known)
            yield f"{path}[{i}]: {name!r} is not a column of the data; allowed: {allowed}"
        if name in names[:i]:
            yield f"{path}[{i}]: {name!r} is named twice; allowed: once"
