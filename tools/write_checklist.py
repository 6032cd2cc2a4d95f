"""Write docs/checklist.md from resources/checklist.csv, or check that it is up to date.

The CSV file has one row per numbered item of the four papers and per statement that was checked.
Its columns are ``paper``, ``kind``, ``number``, ``says`` (a paraphrase), ``place`` (terms such as
"table:multirr_fig1" between semicolons), ``verdict`` and ``remark``.
"""

import csv
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path

from generated import write_or_check

ROOT = Path(__file__).resolve().parents[1]
SOURCE, PAGE = ROOT / "resources" / "checklist.csv", ROOT / "docs" / "checklist.md"
VERDICTS = {
    "holds": "was recomputed or proved, and is right",
    "holds in part": "is right under a condition that the text does not state, or for a part",
    "fails": "is wrong",
    "depends on the interpretation": "is right under one interpretation and wrong under another",
    "compared": "has numbers or curves that the tables compare with ours, cell by cell",
    "decided by the run": "is decided again by each run, in the table of claims",
    "misprint": "is a slip of the text that changes no result",
    "not a claim": "is a definition, an algorithm or an illustration",
}
NAMES = {
    "table": "table of results",
    "figure": "figure",
    "function": "function or class",
    "test": "test",
    "claim": "row of the table of claims, `resources/claims`",
    "result": "row of the table `pram_results`",
}
PLURALS = {"corollary": "corollaries"}
START = """# Checklist of the four papers

On this page you can look up each numbered item of the papers, where it is computed here, and its
verdict. The papers' keys are explained in [references](references.md), the findings with their
numbers in [findings](findings.md). Statements are sentences without a number in the papers. Most
sentences of the experiments are only in the tables of claims.

`tools/write_checklist.py` writes this page from `resources/checklist.csv`. A test checks that the
numbers have no gaps and that each table, figure, function, test and claim exists.

"""
Item = Mapping[str, str]


def read_items() -> list[dict[str, str]]:
    """Return the rows of the CSV file, in its order."""
    with SOURCE.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream, strict=True))


def places(item: Item) -> list[tuple[str, str]]:
    """Return the places of an `item` as pairs of a kind in `NAMES` and a name."""
    terms = (term.strip().partition(":") for term in item["place"].split(";"))
    return [(kind, name) for kind, _, name in terms]


def page(items: Iterable[Item]) -> str:
    """Return the page of `items`, one table per paper and kind."""
    return START + "\n".join(_lines(items)) + "\n"


def _lines(items: Iterable[Item]) -> Iterator[str]:
    yield "| verdict | an item with it |\n|---|---|"
    yield from (f"| {name} | {meaning} |" for name, meaning in VERDICTS.items())
    yield "\n| place | is a |\n|---|---|"
    yield from (f"| {name} | {meaning} |" for name, meaning in NAMES.items())
    for paper, of_paper in groupby(items, lambda item: item["paper"]):
        yield f"\n## {paper}"
        for kind, of_kind in groupby(of_paper, lambda item: item["kind"]):
            yield f"\n### {paper}: {PLURALS.get(kind, f'{kind}s')}\n"
            yield "| number | subject | place | verdict | remark |\n|---|---|---|---|---|"
            yield from map(_row, of_kind)


def _row(item: Item) -> str:
    where = ", ".join(f"{kind} `{name}`" for kind, name in places(item))
    cells = (item["number"], item["says"], where, item["verdict"], item["remark"])
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, page(read_items()), sys.argv[1:], "tools/write_checklist.py"))
