"""Matrices in fractions from the JSON values of channels alone, by the definition of each kind."""

import math
from fractions import Fraction
from itertools import combinations
from typing import Any

Rows = list[list[Fraction]]


def exact_rows(stated: dict[str, Any]) -> Rows:
    """Return the matrix that JSON values describe; the order of its columns is free."""
    match stated["kind"]:
        case "keep-or-replace":
            return _keep_or_replace(stated)
        case "dense":
            return [_in_proportion(row) for row in stated["matrix"]["weights"]]
        case "product":
            rows = [[Fraction(1)]]
            for factor in map(exact_rows, stated["factors"]):
                rows = [[p * q for p in left for q in right] for left in rows for right in factor]
            return rows
        case "square-wave":
            return _square_wave(stated)
        case "square-wave-or-missing":
            return _square_wave_or_missing(stated)
        case "subset-selection":
            return _subset_selection(stated)
    raise AssertionError(f"no definition of {stated['kind']}")


def exact_parity(rows: Rows) -> Fraction | None:
    """Return the largest ratio in a column; None if it is infinite."""
    worst = Fraction(1)
    for column in zip(*rows, strict=True):
        if min(column) == 0 < max(column):
            return None
        if max(column) > 0:
            worst = max(worst, max(column) / min(column))
    return worst


def _in_proportion(weights: list[int]) -> list[Fraction]:
    return [Fraction(each, sum(weights)) for each in weights]


def _keep_or_replace(stated: dict[str, Any]) -> Rows:
    a, weights = Fraction(stated["diagonal_weight"]), stated["replacement"]["weights"]
    rest = [(1 - a) * Fraction(each, sum(weights) or 1) for each in weights]
    size, denominator = range(len(weights)), stated["replacement"]["denominator"]

    def diagonal(v: int) -> Fraction:
        never = a + Fraction(weights[v], denominator) == 0  # the stated numbers cancel
        return Fraction(0) if never else max(rest[v] + a, Fraction(0))

    return [[diagonal(v) if u == v else rest[v] for v in size] for u in size]


def _square_wave(stated: dict[str, Any]) -> Rows:
    cells, b, inside = stated["cells"], stated["half_width"], Fraction(stated["inside"])
    near, far = inside / (2 * b + 1), (1 - inside) / (cells - 1)
    reports = range(cells + 2 * b)
    return [[near if u <= v <= u + 2 * b else far for v in reports] for u in range(cells)]


def _square_wave_or_missing(stated: dict[str, Any]) -> Rows:
    cells, b = stated["cells"], stated["half_width"]
    near, far, made, spread, kept = stated["weights"]["weights"]
    reports = range(cells + 2 * b)
    numbers = [
        _in_proportion([*(near if u <= v <= u + 2 * b else far for v in reports), made])
        for u in range(cells)
    ]
    return [*numbers, _in_proportion([*[spread] * len(reports), kept])]


def _subset_selection(stated: dict[str, Any]) -> Rows:
    size, chosen, p = stated["categories"], stated["subset_size"], Fraction(stated["probability"])
    own = p / math.comb(size - 1, chosen - 1)
    others = (1 - p) / math.comb(size - 1, chosen)
    subsets = list(combinations(range(size), chosen))
    return [[own if u in subset else others for subset in subsets] for u in range(size)]
