"""The report's section on what a paper says in words: a row a sentence, with its verdict."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from deniable.display import Row, Tables, rows_of
from deniable.study import LEVEL, SIMILAR, resolve

VERDICTS = {
    "holds": ("holds", "hold"),
    "fails": ("fails", "fail"),
    "undecided": ("is undecided", "are undecided"),
    "depends on the margin": ("depends on the margin", "depend on the margin"),
    "depends on the reading": ("depends on the reading", "depend on the reading"),
    "surrogate": ("has no verdict on surrogate data", "have no verdict on surrogate data"),
}
"""Of one sentence and of several, in the order in which they are counted."""
SAID = ("section", "printed", "test", "figure")


def claims(tables: Tables, paper: str, words: str = "") -> dict[str, Any]:
    """Prepare the sentences of a paper's claims, each with its readings if it has several.

    ``words`` names a function that calls methods as a reader knows them.
    """
    in_words: Callable[[str], str] = resolve(words) if words else str
    table = tables[f"{paper}_claims"]
    readings = tables.get(f"{paper}_claim_readings", table.iloc[:0])

    def rows(part: Any) -> list[Row]:
        said = {name: part[name].map(in_words) for name in SAID}
        return rows_of(part.assign(**said))

    return {
        "claims": [
            row | {"rows": rows(readings[readings["claim"] == row["claim"]])} for row in rows(table)
        ],
        "paper": paper,
        "by": [name for name in ("mechanism", "projection", "reading") if name in readings],
        "said": counted(tables, paper),
        "level": LEVEL,
        "similar": SIMILAR,
        "numbers": [f"{paper}_claims"] + [f"{paper}_claim_readings"] * bool(len(readings)),
    }


def counted(tables: Tables, paper: str) -> list[str]:
    """Return how many sentences have each verdict, in words; none without the table."""
    if f"{paper}_claims" not in tables:
        return []
    found = Counter(tables[f"{paper}_claims"]["verdict"])
    return [
        f"{found[name]} {said[found[name] > 1]}" for name, said in VERDICTS.items() if found[name]
    ]
