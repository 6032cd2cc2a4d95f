"""Read the contents of the report from the result files of a run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from deniable.datasets import ResolvedFile, read_source
from deniable.display import Tables
from deniable.files import read_json, read_table

from reproduction.pipeline import SOURCE_SUFFIX, run_facts


@dataclass(frozen=True)
class ReleaseFiles:
    """A release: its ``plan.json`` (`document`), and the `tables` of estimates and checks."""

    document: Mapping[str, Any]
    tables: Mapping[str, pd.DataFrame]


@dataclass(frozen=True)
class Contents:
    """The contents of the report. Sections without tables are left out.

    The keys of `tables`, `figures` (SVG) and `sources` (of data sets) are names. The `releases` are
    in the order of the config. `findings` is Markdown, `facts` are versions, `seed` is the seed of
    the run, and `config` is YAML.
    """

    tables: Tables
    figures: Mapping[str, str]
    releases: Sequence[ReleaseFiles]
    sources: Mapping[str, ResolvedFile]
    findings: str
    facts: Mapping[str, str]
    seed: int
    config: str

    @property
    def surrogate(self) -> bool:
        """Whether some of the data are surrogates."""
        return any(source.kind == "surrogate" for source in self.sources.values())

    def runs(self, tables: Iterable[str]) -> list[int]:
        """Return the distinct numbers of replicates in `tables`, as far as these exist."""
        found = (self.tables[name]["replicates"] for name in tables if name in self.tables)
        return sorted({int(n) for replicates in found for n in replicates.dropna().unique()})


def gather(files: Any, config: Mapping[str, Any]) -> Contents:
    """Read the contents from `files`, the inputs of the rule by name.

    The `config` lacks its data section, which may contain a path of the machine.
    """
    names = (Path(path).name.removesuffix(SOURCE_SUFFIX) for path in files.sources)
    sources = dict(zip(names, map(read_source, files.sources), strict=True))
    # If there is a production release, hashes of records are not published; see `provenance`.
    if any(each.get("mode") == "production" for each in config.get("releases", ())):
        sources = {name: replace(each, sha256=None) for name, each in sources.items()}
    return Contents(
        tables={Path(path).stem: read_table(path) for path in [*files.tables, *files.audits]},
        figures={Path(path).stem: Path(path).read_text(encoding="utf-8") for path in files.figures},
        releases=read_releases(files.releases, files.estimates, files.checks),
        sources=sources,
        findings=Path(files.findings).read_text(encoding="utf-8"),
        facts=run_facts(),
        seed=config["seed"],
        config=yaml.safe_dump(dict(config), sort_keys=False, default_flow_style=None, width=100),
    )


def read_releases(
    releases: Iterable[str], estimates: Iterable[str], checks: Iterable[str]
) -> list[ReleaseFiles]:
    """Read `releases`, public folders or receipts, with tables of `estimates` and `checks`."""
    tables: dict[str, dict[str, pd.DataFrame]] = {}
    for path in map(Path, estimates):
        if path.suffix == ".csv":  # synthetic records are not shown
            tables.setdefault(path.parent.name, {})[path.stem] = read_table(path)
    for path in map(Path, checks):
        tables.setdefault(path.stem, {})["check"] = read_table(path)
    documents = [read_json(folder / "plan.json") for folder in public_folders(releases)]
    return [ReleaseFiles(each, tables.get(each["release"]["name"], {})) for each in documents]


def public_folders(inputs: Iterable[Path | str]) -> list[Path]:
    """Return the public folders of releases from the public folders and receipts in `inputs`."""
    paths = map(Path, inputs)
    folders = (path if path.name == "public" else path.parents[1] / "public" for path in paths)
    return [folder for folder in dict.fromkeys(folders) if folder.is_dir()]
