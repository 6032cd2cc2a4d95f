"""The baseline of a quick run: the columns of its tables that are kept, and their form.

A table is kept as text. It has the key columns; the estimate, with the half-width of the 95 %
interval in place of both ends; and every other column that does not depend on chance. A mark
replaces a value that repeats the one above, which halves the length of the files.
"""

import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from deniable.errors import DataError
from deniable.files import read_json, sha256, write_json, write_text
from deniable.records import read_true_records

from reproduction.papers import TABLES, columns_of, names_of_tables
from reproduction.pipeline import COMPUTING_PACKAGES, Config, versions as versions_of_run

Origin = Literal["original", "surrogate", "any", "mixed"]
"""Origin of the records behind a table: "any" without a data set, "mixed" for both kinds."""

KEPT_IN: tuple[Origin, ...] = ("original", "surrogate", "any")
HALF_WIDTH = "half_width"
AS_ABOVE = "^"
FACTS = "run.json"
AUDIT = "audit_"
_HALF_WIDTH_DIGITS = 4


@dataclass(frozen=True)
class Kept:
    """A table as it is kept: its rows as text, and the SHA-256 of its file."""

    rows: pd.DataFrame
    digest: str


@dataclass(frozen=True)
class Facts:
    """The seed, config, versions and records behind the numbers."""

    seed: int
    config: str  # a digest of the settings of studies and analyses
    versions: Mapping[str, str]
    records: Mapping[str, str]  # a digest of each data set


@dataclass(frozen=True)
class Run:
    """The tables of a run, or of the baseline with which a run is compared."""

    tables: Mapping[str, Kept]
    origins: Mapping[str, Origin]  # of each table
    facts: Mapping[Origin, Facts] = field(default_factory=dict)


# -- how a table is kept ---------------------------------------------------------------------------


def kept(table: str, path: Path) -> Kept:
    """Return the kept part of a table, from its file.

    Raises
    ------
    DataError
        If the file is missing, empty, or lacks columns that name its rows.
    """
    columns = columns_of(table)
    try:
        rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{path}: {reason}; run make quick") from None
    lacking = {*columns.keys, *([columns.estimate] if columns.estimate else [])} - set(rows)
    if lacking:
        raise DataError(
            f"{path}: no column {', '.join(sorted(lacking))}; "
            "if it was renamed, rename it in the catalog of its paper too"
        )
    if columns.rows_by_chance:
        column, beginning = columns.rows_by_chance
        rows = rows[~rows[column].str.startswith(beginning)]
    if columns.estimate:
        rows = rows.assign(**{HALF_WIDTH: _half_widths(rows["ci_low"], rows["ci_high"])})
    first = [*columns.keys, *([columns.estimate, HALF_WIDTH] if columns.estimate else [])]
    dropped = {*first, *columns.by_chance, *(("ci_low", "ci_high") if columns.estimate else ())}
    others = [column for column in rows if column not in dropped]
    rows = rows[[*first, *others]]
    if columns.by_chance:
        rows = rows.drop_duplicates()  # rows that differ only in other columns, such as bins
    return Kept(rows.reset_index(drop=True), sha256(path))


def _half_widths(low: pd.Series, high: pd.Series) -> list[str]:
    with np.errstate(invalid="ignore"):  # of infinite ends
        halves = (pd.to_numeric(high) - pd.to_numeric(low)).to_numpy(dtype=float) / 2
    return [f"{half:.{_HALF_WIDTH_DIGITS}g}" for half in halves]


def as_text(rows: pd.DataFrame) -> str:
    """Return rows as CSV; `AS_ABOVE` replaces a value that repeats the one above."""
    repeated = (rows == rows.shift()) & rows.map(lambda cell: len(cell) > len(AS_ABOVE))
    return rows.mask(repeated, AS_ABOVE).to_csv(index=False, lineterminator="\n")


def from_text(text: str) -> pd.DataFrame:
    """Return the rows that `as_text` wrote."""
    rows = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
    return rows.mask(rows == AS_ABOVE).ffill() if len(rows) else rows


def origin_of(rows: pd.DataFrame, otherwise: Origin) -> Origin:
    """Return the origin of the records behind a table; ``otherwise`` if it does not state one."""
    if "data_source" not in rows:
        return otherwise
    named = set(rows["data_source"])
    if {"original", "surrogate"} <= named:
        return "mixed"
    return "original" if "original" in named else "surrogate" if "surrogate" in named else "any"


# -- the run and the folder ------------------------------------------------------------------------


def path_of(table: str, results: Path) -> Path:
    """Return the file of a table under the folder of results."""
    if table.startswith(AUDIT):
        return results / "audit" / f"{table.removeprefix(AUDIT)}.csv"
    return results / "tables" / f"{table}.csv"


def of_run(results: Path, config: Config) -> Run:
    """Return the kept tables of a run, from its folder and its expected config.

    Raises
    ------
    DataError
        If a table is missing or invalid, or if the run had another size.
    """
    facts = _facts(results, config)
    # Tables that do not state an origin depend on Adult, or on no data.
    otherwise = _kind_of(results / "data" / "adult.parquet")
    tables = {name: kept(name, path_of(name, results)) for name in names_of_tables()}
    for name in (name for name in TABLES if name in tables):
        asked = config.study(TABLES[name].study).replicates
        found = max(map(int, tables[name].rows["replicates"]), default=0)
        if found != asked:
            raise DataError(
                f"{path_of(name, results)} has {found} replicates where the quick size has {asked}:"
                " the last run was not the quick one; run make quick"
            )
    return Run(
        tables,
        {name: origin_of(each.rows, otherwise) for name, each in tables.items()},
        facts,
    )


def _facts(results: Path, config: Config) -> dict[Origin, Facts]:
    known = versions_of_run()
    versions = {name: known[name] for name in ("python", *COMPUTING_PACKAGES)}
    said = json.dumps(config.model_dump(mode="json", exclude={"data", "seed"}), sort_keys=True)
    records: dict[Origin, dict[str, str]] = {origin: {} for origin in KEPT_IN}
    for file in sorted((results / "data").glob("*.parquet")):
        records[_kind_of(file)][file.stem] = digest_of_records(file)
    for file in sorted((results / "data" / "networks").glob("*.parquet")):
        records["any"][f"networks/{file.stem}"] = digest_of_records(file)
    digest = hashlib.sha256(said.encode()).hexdigest()[:16]
    return {origin: Facts(config.seed, digest, versions, own) for origin, own in records.items()}


def _kind_of(file: Path) -> Origin:
    return (
        "surrogate" if read_true_records(file).marks["data_source"] == "surrogate" else "original"
    )


def digest_of_records(file: Path) -> str:
    """Return a digest of the records in a file, independent of versions of packages."""
    text = pd.read_parquet(file).to_csv(index=False, lineterminator="\n")
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def write(run: Run, folder: Path) -> list[Path]:
    """Write the tables of a run as the baseline of their origin; return the files.

    Tables of another origin do not change. Tables that the run does not have are removed.

    Raises
    ------
    DataError
        If a table depends on published records and on a surrogate.
    """
    mixed = [name for name, origin in run.origins.items() if origin == "mixed"]
    if mixed:
        raise DataError(
            f"{mixed[0]} depends on published records and on a surrogate; run with data.source "
            "surrogate, or with a mirror that has all files"
        )
    written = []
    for origin in sorted(set(run.origins.values())):
        own = {name: run.tables[name] for name in run.tables if run.origins[name] == origin}
        for name, table in own.items():
            written.append(folder / origin / f"{name}.csv")
            write_text(written[-1], as_text(table.rows))
        facts = run.facts[origin]
        digests = {name: table.digest for name, table in sorted(own.items())}
        written.append(folder / origin / FACTS)
        write_json(written[-1], {**vars(facts), "tables": digests})
        for old in set((folder / origin).glob("*.csv")) - set(written):
            old.unlink()
    return written


def read(folder: Path, run: Run) -> Run:
    """Return the baseline of a run: of the same origin, table by table.

    Raises
    ------
    DataError
        If there is no baseline for the origins of the run's tables, or a file is damaged.
    """
    tables: dict[str, Kept] = {}
    origins: dict[str, Origin] = {}
    facts: dict[Origin, Facts] = {}
    for origin in KEPT_IN:
        file = folder / origin / FACTS
        if origin not in run.origins.values() or not file.is_file():
            continue
        entry: dict[str, Any] = read_json(file)
        digests = entry.pop("tables")
        facts[origin] = Facts(**entry)
        for name, digest in digests.items():
            # A table of another origin's baseline is not missing here.
            if run.origins.get(name, origin) == origin:
                text = (folder / origin / f"{name}.csv").read_text(encoding="utf-8")
                tables[name], origins[name] = Kept(from_text(text), digest), origin
    if not tables:
        found = ", ".join(sorted(set(run.origins.values())))
        raise DataError(f"{folder}: no baseline for {found} data; write one with make baseline")
    return Run(tables, origins, facts)
