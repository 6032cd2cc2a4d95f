"""Check the results of a run: whether all are there, undamaged, and made as the config says now.

Called by ``make check`` after a run. Compares every result that the config asks for with its
provenance metadata, and these with the config. Prints a line for each that is missing, damaged or
outdated, and exits 1.
"""

import argparse
import csv
import sys
from pathlib import Path
from typing import get_args

import check_findings
import check_provenance
from deniable.errors import DeniableError
from workflow_config import last_config, read_plan

from reproduction.papers import PAGES, TABLES
from reproduction.pipeline import RunPlan, Verified, reasons_of
from reproduction.study import RESULT_COLUMNS, Verdict

RESULTS = Path("results")
REPORT = RESULTS / "report"
LARGEST_FIRST, LARGEST = 500_000, 2_000_000
"""Bytes of the report's first page, and of any other."""
COMPARED = set(RESULT_COLUMNS)
DRAWN = {"ci_low", "ci_high", "replicates", "data_source"}
VERDICTS = set(get_args(Verdict))


def rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table, none if there is no such file."""
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def faults_of_table(path: Path) -> list[str]:
    """Return what is wrong with a table."""
    table, entry = rows(path), TABLES.get(path.stem)
    if not table:
        return [f"{path}: missing or empty"]
    columns = (COMPARED if entry.published else DRAWN) if entry else set[str]()
    missing = columns - set(table[0])
    if missing:
        return [f"{path}: lacks {', '.join(sorted(missing))}"]
    strange = {row["verdict"] for row in table} - VERDICTS if "verdict" in columns else set()
    return [f"{path}: unknown verdict {verdict!r}" for verdict in sorted(strange)]


def faults_of_report(folder: Path) -> list[str]:
    """Return which pages are missing, empty, or too large to open at once."""
    faults = []
    for page in PAGES:
        path = folder / f"{page.id}.html"
        size = path.stat().st_size if path.is_file() else 0
        if not 0 < size < (LARGEST_FIRST if page is PAGES[0] else LARGEST):
            faults.append(f"{path}: missing, empty or too large ({size:,} bytes)")
    return faults


def faults_of_target(path: Path) -> list[str]:
    """Return what is wrong with a file or folder that a config asks for."""
    if path == REPORT:
        return faults_of_report(path)
    if path.suffix == ".csv":
        return faults_of_table(path)
    there = path.is_dir() or (path.is_file() and path.stat().st_size)
    return [] if there else [f"{path}: missing or empty"]


def outdated(plan: RunPlan, results: dict[str, Verified]) -> dict[str, str]:
    """Return a line for each result that was made with other settings, code or inputs."""
    found = {path: reasons_of(plan, each.record) for path, each in results.items() if each.record}
    return {
        path: f"{path}: {'; '.join(reasons)}; run make again"
        for path, reasons in sorted(found.items())
        if reasons
    }


def main() -> int:
    """Check everything, print the faults or what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--configfile", type=Path, default=last_config())
    parser.add_argument("--section", help="of the config file, where the workflow is a module")
    told = parser.parse_args()
    try:
        plan = read_plan(told.configfile, told.section)
    except DeniableError as error:
        print(error, file=sys.stderr)
        return 1
    targets = plan.targets()
    faults = [fault for path in targets for fault in faults_of_target(Path(path))]
    damaged, results = check_provenance.faults_of_files(RESULTS)
    old = outdated(plan, check_provenance.behind(targets, results))
    ancestry = check_provenance.faults_of_ancestry(targets, results)
    faults += [*damaged, *old.values()]
    faults += [fault for fault in ancestry if fault.partition(":")[0] not in old]
    if faults:
        print("\n".join(faults), file=sys.stderr)
        return 1
    tables = plan.tables()
    found = {
        row["data_source"] for name in tables for row in rows(RESULTS / "tables" / f"{name}.csv")
    }
    # A study may draw from a model of its own, or a file from a network.
    sources = sorted(found - {"model", "network"})
    print(
        f"results: {len(targets)} files and folders are there, as {told.configfile} asks for them; "
        f"{len(results)} are what was made; data: {', '.join(sources) or 'of releases alone'}"
    )
    whole = sources == ["original"] and {
        row["replicates"] for row in rows(RESULTS / "tables" / "multirr_table1.csv")
    } == {"1000"}
    if whole:
        return check_findings.main(RESULTS)
    print("findings: not compared; they quote a full-size run on the published data")
    return 0


if __name__ == "__main__":
    sys.exit(main())
