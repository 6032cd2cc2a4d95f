"""Check that all results of a run exist, are undamaged, and were made by the current config.

Called by ``make check`` after a run. It compares every result that the config requires with its
provenance metadata, and the metadata with the config. It prints one line per result that is
missing, damaged or outdated, and exits with code 1.
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
"""Largest number of bytes of the report's first page, and of any other page."""
COMPARED = set(RESULT_COLUMNS)
DRAWN = {"ci_low", "ci_high", "replicates", "data_source"}
VERDICTS = set(get_args(Verdict))


def rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table; none if the file does not exist."""
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def faults_of_table(path: Path) -> list[str]:
    """Return the errors of a table."""
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
    """Return one line per page that is missing, empty, or too large to open quickly."""
    faults = []
    for page in PAGES:
        path = folder / f"{page.id}.html"
        size = path.stat().st_size if path.is_file() else 0
        if not 0 < size < (LARGEST_FIRST if page is PAGES[0] else LARGEST):
            faults.append(f"{path}: missing, empty or too large ({size:,} bytes)")
    return faults


def faults_of_target(path: Path) -> list[str]:
    """Return the errors of a file or folder that a config requires."""
    if path == REPORT:
        return faults_of_report(path)
    if path.suffix == ".csv":
        return faults_of_table(path)
    there = path.is_dir() or (path.is_file() and path.stat().st_size)
    return [] if there else [f"{path}: missing or empty"]


def outdated(plan: RunPlan, results: dict[str, Verified]) -> dict[str, str]:
    """Return one line per result that was made with other settings, code or inputs, by path."""
    found = {path: reasons_of(plan, each.record) for path, each in results.items() if each.record}
    return {
        path: f"{path}: {'; '.join(reasons)}; run make again"
        for path, reasons in sorted(found.items())
        if reasons
    }


def main() -> int:
    """Check all results; print the errors, or a summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--configfile", type=Path, default=last_config())
    parser.add_argument("--section", help="section of the config file for a workflow as a module")
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
    # Records of a study may be from its own model, and a file may be from a network.
    sources = sorted(found - {"model", "network"})
    print(
        f"results: all {len(targets)} files and folders of {told.configfile} exist; {len(results)} "
        f"have unchanged content; data: {', '.join(sources) or 'of releases alone'}"
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
