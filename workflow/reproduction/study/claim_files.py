"""Claims of a paper as rows of a CSV file: each sentence, and the comparison that decides it.

`resources/claims/<paper>.csv` has one row per claim, in the order of the text. The columns
``claim``, ``section``, ``printed``, ``kind``, ``test``, ``about`` and the optional last one,
``amount``, are the fields of `Claim`. A claim on values of tables states their comparison in five
more columns. If these are empty, a function of the paper decides the claim.

- ``left`` and ``right``: the values ("cells") of the two sides, or a number. Each value of one side
  is compared with each value of the other. Terms with semicolons between them select cells.
  ``k = 3 | 5`` requires these values. ``k``, ``k >= 3`` and ``k <= 5`` take the values of the
  table. ``k = smallest`` and ``k = largest`` take the ends of several values. The word ``or``
  separates alternatives.
- ``each``: the settings of a comparison, in the same terms.
- ``rule``: "below"; "ratio below", on the log scale; "alike", within a factor of `SIMILAR`; or
  "within" with an equivalence margin of our choice.
- ``figure``: a template with the ranges ``{ratios}``, ``{left}`` and ``{right}``, the largest
  distance ``{apart}``, or a setting of the first comparison, ``{left_k}`` or ``{right_k}``. A part
  in brackets, ``[k = {k}]``, lists cells with their medians, each cell once.
"""

import csv
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, product
from pathlib import Path
from typing import Any

from deniable.errors import DataError

from reproduction.study.claims import Claim, Test
from reproduction.study.comparisons import (
    Outcome,
    Pair,
    Row,
    below,
    equivalent,
    exact_row,
    listed,
    logarithms,
    range_of,
    ratio,
    require_any,
    within_tolerance,
)

SAID = ("claim", "section", "printed", "kind", "test", "about")
COMPARED = ("each", "left", "right", "rule", "figure")
AMOUNT = "amount"
Place = dict[str, Any]  # a cell, or the common part of several cells: values by column
TERM = re.compile(r"(\w+)(?: (=|>=|<=) (.+))?")
IN_BRACKETS = re.compile(r"\[(.+)\]")
RELATIONS: Mapping[str | None, Callable[[Any, float], bool]] = {
    **{">=": operator.ge, "<=": operator.le},
    None: lambda *_: True,  # a term that is only the name of a column
}


class Cells(dict[tuple[Any, ...], Row]):
    """The `rows` that claims compare, indexed by their values in `columns`.

    >>> cells = Cells(("k", "epsilon"), {(k, e): exact_row(k * e) for k in (1, 2) for e in (5, 7)})
    >>> cells.places("k = largest; epsilon <= 6 or k = 3; epsilon = 5")
    [{'k': 2, 'epsilon': 5}, {'k': 3, 'epsilon': 5}]
    """

    def __init__(self, columns: Sequence[str], rows: Mapping[tuple[Any, ...], Row]) -> None:
        super().__init__(rows)
        self.columns = tuple(columns)

    def at(self, place: Place) -> Row:
        """Return the row at a `place`; raise a `KeyError` if there is none."""
        if differing := place.keys() ^ set(self.columns):
            names = ", ".join(sorted(differing))
            raise DataError(f"a comparison selects no cell: {names} is missing, or not a column")
        return self[tuple(place[column] for column in self.columns)]

    def values_of(self, column: str) -> list[Any]:
        """Return the values in a `column`, in order; without any, raise a `LookupError`."""
        position = self.columns.index(column)
        return require_any(sorted({key[position] for key in self}), column.replace("_", " "))

    def ends(self, column: str) -> tuple[Any, Any]:
        """Return the smallest and the largest value in a `column`, which has at least two."""
        values = self.values_of(column)
        if len(values) < 2:
            raise LookupError(f"a second {column.replace('_', ' ')}")
        return values[0], values[-1]

    def ratios(self, first: Any, second: Any) -> "Cells":
        """Return the ratios of cells with `first` in the first column to cells with `second`."""
        rows = {
            rest: ratio(row, self[second, *rest])
            for (value, *others), row in self.items()
            if value == first and (second, *(rest := tuple(others))) in self
        }
        return Cells(self.columns[1:], rows)

    def places(self, text: str) -> list[Place]:
        """Return the places that a `text` selects, in the terms of a file of claims."""
        return list(chain.from_iterable(map(self._alternative, text.split(" or "))))

    def _alternative(self, text: str) -> Iterator[Place]:
        required: dict[str, list[Any]] = {}
        bounds: dict[str, tuple[str | None, float]] = {}
        for term in filter(None, text.split(";")):
            match = TERM.fullmatch(term.strip())
            if not match or match[1] not in self.columns:
                raise DataError(
                    f"{term.strip()!r} is not a valid term; write terms as 'k = 3 | 5'. The "
                    f"columns are {', '.join(self.columns)}"
                )
            column, relation, values = match.groups()
            if relation == "=":
                required[column] = [
                    self.ends(column)[each == "largest"]
                    if each in ("smallest", "largest")
                    else _number_or_text(each)
                    for each in map(str.strip, values.split("|"))
                ]
            else:
                bounds[column] = relation, float(values or 0)
        places = (dict(zip(self.columns, key, strict=True)) for key in self)
        found = {
            tuple(place[column] for column in bounds)
            for place in places
            if all(place[column] in values for column, values in required.items())
            and all(RELATIONS[how](place[column], end) for column, (how, end) in bounds.items())
        }
        for taken in sorted(found) if bounds else [()]:
            for values in product(*required.values()):
                yield dict(zip((*required, *bounds), (*values, *taken), strict=True))


def _number_or_text(text: str) -> Any:
    for number in (int, float):
        with suppress(ValueError):
            return number(text)
    return text


def _filled(template: str, values: Place) -> str:
    try:
        return template.format(**values)
    except KeyError as name:
        known = ", ".join(values)
        raise DataError(f"the figure {template!r} uses {name}; available: {known}") from None


class _Range(list[float]):
    """Numbers that a template formats as their range."""

    def __format__(self, style: str) -> str:
        return range_of(self, style or ".3g")


def _side(cells: Cells, text: str, setting: Place) -> list[tuple[Place, Row]]:
    if isinstance(number := _number_or_text(text), int | float):
        return [({}, exact_row(number))]
    places = [setting | place for place in cells.places(text)]
    return [(place, cells.at(place)) for place in places]


@dataclass(frozen=True)
class Compared:
    """A comparison of cells from a file of claims. Calling it decides the claim."""

    each: str  # the settings of a comparison
    left: str  # its cells or number, expected to be smaller
    right: str  # the same of the other side
    rule: str  # the comparison
    figure: str  # a template

    def __call__(self, cells: Cells) -> Outcome:
        """Compare `cells`; raise a `LookupError` if some of them are absent."""
        label = IN_BRACKETS.search(self.figure)
        named: dict[str, float] = {}
        pairs: list[Pair] = []
        ends: Place = {}
        for setting in cells.places(self.each):
            left, right = (_side(cells, text, setting) for text in (self.left, self.right))
            pairs += ((first, second) for (_, first), (_, second) in product(left, right))
            for side, found in (("left", left[:1]), ("right", right[:1])):
                ends = {f"{side}_{column}": at[column] for at, _ in found for column in at} | ends
            for place, row in chain(right, left):
                if label and place:
                    named.setdefault(_filled(label[1], place), row["median"])
        both = [(float(a["median"]), float(b["median"])) for a, b in require_any(pairs)]
        values: Place = ends | {
            "left": _Range(first for first, _ in both),
            "right": _Range(second for _, second in both),
            "ratios": _Range([first / second for first, second in both if second] or [math.nan]),
            "apart": max(abs(first - second) for first, second in both),
            "cells": listed(named),
        }
        return self._decided(pairs, _filled(IN_BRACKETS.sub("{cells}", self.figure), values))

    def _decided(self, pairs: Sequence[Pair], figure: str) -> Outcome:
        match self.rule.split():
            case ["below"]:
                return below(pairs, figure)
            case ["ratio", "below"]:
                return below([(logarithms(a), logarithms(b)) for a, b in pairs], figure)
            case ["alike"]:
                return equivalent(pairs, figure)
            case ["within", tolerance]:
                found = within_tolerance(pairs, float(tolerance), figure)
                return replace(found, our_margin=True)
        raise DataError(f"{self.rule!r} is not a rule; write below, ratio below, alike or within")


def read_claims(path: Path | str, tests: Mapping[str, Test]) -> tuple[Claim, ...]:
    """Read a paper's claims, in order, from the file at a `path` in `resources/claims`.

    The functions `tests`, by the name of the claim, decide claims without a comparison of cells.
    Wrong columns, a claim without a test, and a test without a claim raise a `DataError`.
    """
    with Path(path).open(newline="", encoding="utf-8") as stream:
        table = csv.DictReader(stream, strict=True)
        if [name for name in table.fieldnames or () if name != AMOUNT] != [*SAID, *COMPARED]:
            raise DataError(f"{path}: name the columns {', '.join(SAID + COMPARED)}")
        rows = list(table)
    if differing := tests.keys() ^ {row["claim"] for row in rows if not row["rule"]}:
        raise DataError(
            f"{path}: give each claim a rule or a function, and each function a claim: "
            f"{', '.join(sorted(differing))}"
        )

    def claim_of(row: dict[str, Any]) -> Claim:
        compared = [row.pop(column) for column in COMPARED]
        decide = tests.get(row["claim"]) or Compared(*compared)
        amount = row.pop(AMOUNT, None) or ""
        return Claim(id=row.pop("claim"), decide=decide, amount=amount, **row)

    return tuple(map(claim_of, rows))
