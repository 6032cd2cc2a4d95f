"""Check what a run left behind: every table, figure, the audit and the report, none of them empty.

Called by ``make check`` after a run. Holds every result against its record of provenance, and that
against the config of the run. Says all that is missing, damaged or made otherwise, a line each, and
exits 1.
"""

import argparse
import csv
import sys
from pathlib import Path
from typing import get_args

import check_findings
import check_provenance
from check_freshness import not_current
from deniable.errors import DeniableError
from workflow_config import last_config

from reproduction.papers import COMPUTED_TABLES, FIGURES, PAGES, TABLES
from reproduction.study import RESULT_COLUMNS, Verdict

RESULTS = Path("results")
REPORT = RESULTS / "report"
LARGEST_FIRST, LARGEST = 500_000, 2_000_000
"""Bytes of the report's first page, and of any other."""
COMPARED = set(RESULT_COLUMNS)
DRAWN = {"ci_low", "ci_high", "replicates", "data_source"}
VERDICTS = set(get_args(Verdict))


def table_path(name: str) -> Path:
    """Return the file of a table."""
    return RESULTS / "tables" / f"{name}.csv"


def rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table, none if there is no such file."""
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def faults_of_table(path: Path, columns: set[str]) -> list[str]:
    """Return what is wrong with a table."""
    table = rows(path)
    if not table:
        return [f"{path}: missing or empty"]
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


def faults_of_config(configfile: Path) -> dict[str, str]:
    """Return a line for each result that a run with that config would make again."""
    try:
        found = not_current(configfile)
    except DeniableError as error:
        return {"": str(error)}
    return {
        path: f"{path}: {'; '.join(reasons)} (by {configfile}); run make again"
        for path, reasons in sorted(found.items())
    }


def main() -> int:
    """Check everything, print the faults or what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--configfile", type=Path, default=last_config())
    configfile = parser.parse_args().configfile
    faults = []
    asked = {name: table for name, table in TABLES.items() if not table.on_request}
    made = {*asked, *COMPUTED_TABLES}
    drawn = [name for name, figure in FIGURES.items() if {*figure.tables} <= made]
    for table in asked.values():
        faults += faults_of_table(table_path(table.id), COMPARED if table.published else DRAWN)
    for name in COMPUTED_TABLES:
        faults += faults_of_table(table_path(name), set())
    files = [RESULTS / "figures" / f"{name}.{kind}" for name in drawn for kind in ("svg", "png")]
    for path in files:
        if not path.is_file() or path.stat().st_size == 0:
            faults.append(f"{path}: missing or empty")
    audit = RESULTS / "audit" / "privacy.csv"
    if not rows(audit):
        faults.append(f"{audit}: missing or empty")
    damaged, results = check_provenance.faults_of_files(RESULTS)
    faults += faults_of_report(REPORT)
    tables = map(table_path, (*asked, *COMPUTED_TABLES))
    wanted = [str(path) for path in (*tables, *files, audit, REPORT)]
    stale = faults_of_config(configfile)
    ancestry = check_provenance.faults_of_ancestry(wanted, results)
    faults += [*damaged, *stale.values()]
    faults += [fault for fault in ancestry if fault.partition(":")[0] not in stale]
    if faults:
        print("\n".join(faults), file=sys.stderr)
        return 1
    found = {row["data_source"] for name in asked for row in rows(table_path(name))}
    # A study may draw from a model of its own, or a file from a network.
    sources = sorted(found - {"model", "network"})
    print(
        f"results: {len(made)} tables, {len(drawn)} figures, the audit and the "
        f"report are there, as {configfile} asks for them; {len(results)} files are what was made; "
        f"data: {', '.join(sources)}"
    )
    whole = sources == ["original"] and {
        row["replicates"] for row in rows(table_path("multirr_table1"))
    } == {"1000"}
    if whole:
        return check_findings.main(RESULTS)
    print("findings: not held against the tables; they quote a full-size run on the published data")
    return 0


if __name__ == "__main__":
    sys.exit(main())
