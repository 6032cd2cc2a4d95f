"""Check the numbers that docs/findings.md quotes against the tables of a run.

Called by ``make check``, for a full-size run on the published data only: others have other numbers.
Each row of docs/findings.csv names a quotation, which must stand in docs/findings.md, and the cell
of a table whose value, rounded as it is quoted, must be its first number.
"""

import csv
import re
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FINDINGS = ROOT / "docs" / "findings.md"
QUOTED = ROOT / "docs" / "findings.csv"


class Quotation(NamedTuple):
    """A number in the findings, and where it comes from."""

    quoted: str
    table: str
    where: dict[str, str]
    column: str


def quotations() -> list[Quotation]:
    """Return the rows of docs/findings.csv."""
    with QUOTED.open(newline="", encoding="utf-8") as stream:
        return [
            Quotation(
                row["quoted"],
                row["table"],
                dict(part.split("=", 1) for part in row["where"].split(";")),
                row["column"],
            )
            for row in csv.DictReader(stream)
        ]


def not_in_text(quotation: Quotation) -> bool:
    """Return whether the findings lack the quotation."""
    text = re.sub(r"\s+", " ", FINDINGS.read_text(encoding="utf-8"))
    return re.search(rf"(?<![\d.]){re.escape(quotation.quoted)}(?!\d)", text) is None


def number_in(quoted: str) -> str:
    """Return the first number of a quotation."""
    return re.findall(r"-?[\d,]*\.?\d+", quoted)[0].replace(",", "")


def holds(quoted: str, value: float) -> bool:
    """Return whether a value rounds to a quoted number; shares may be quoted "of 100"."""
    number = number_in(quoted)
    decimals = len(number.partition(".")[2])
    if quoted.endswith("of 100"):
        value *= 100
    return abs(value - float(number)) <= 0.5000001 * 10**-decimals


def fault(quotation: Quotation, results: Path) -> str | None:
    """Return what is wrong with a quotation, None if it holds."""
    if not_in_text(quotation):
        return f"{FINDINGS.name} does not say {quotation.quoted!r}"
    with (results / f"{quotation.table}.csv").open(newline="", encoding="utf-8") as stream:
        rows = [
            row
            for row in csv.DictReader(stream)
            if all(row[column] == value for column, value in quotation.where.items())
        ]
    values = {row[quotation.column] for row in rows}
    place = f"{quotation.table}.csv, {quotation.where}"
    if len(values) != 1:
        return f"{place}: {len(values)} values of {quotation.column}"
    (value,) = values
    if not holds(quotation.quoted, float(value)):
        return f"{place}: {quotation.column} is {value}, quoted as {quotation.quoted}"
    return None


def main(results: Path) -> int:
    """Print every quotation that does not hold."""
    faults = [found for each in quotations() if (found := fault(each, results))]
    if faults:
        print("\n".join(faults), file=sys.stderr)
        return 1
    print(f"findings: {len(quotations())} numbers quoted stand in the tables")
    return 0


if __name__ == "__main__":
    sys.exit(main(ROOT / "results"))
