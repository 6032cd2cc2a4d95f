"""Work Example 1 of RR-Adjustment in fractions ([multirr], section 5), next to the printed values.

After sweep t the proportion of the cell (a12, a21), records 5 and 6, is 1 / (4 (t + 1)). It
approaches the printed limit (14), in which it is 0, ever more slowly and never reaches it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import pandas as pd

from deniable.errors import DeniableError

HALF = Fraction(1, 2)
Values = tuple[Fraction, ...]


class StepGroup(NamedTuple):
    """Responses with the same two categories, and therefore with the same weight."""

    records: str  # their numbers in the text
    size: int  # the number of responses
    categories: tuple[int, int]  # codes


GROUPS = (StepGroup("1-4", 4, (0, 0)), StepGroup("5-6", 2, (1, 0)), StepGroup("7-10", 4, (1, 1)))
NAMES = tuple(group.records.replace("-", "_") for group in GROUPS)  # in columns
RECORDS = sum(group.size for group in GROUPS)
TARGETS = ((HALF, HALF), (HALF, HALF))
CELLS = ((0, 0), (0, 1), (1, 0), (1, 1))  # in the order of (14) and (15)
VANISHING = CELLS.index((1, 0))

PRINTED: dict[tuple[int, int], dict[str, Values]] = {
    (0, 0): {
        "weight": (Fraction(1, 10),) * 3,
        "lambda_1": (Fraction(4, 10), Fraction(6, 10)),
        "lambda_2": (Fraction(6, 10), Fraction(4, 10)),
    },
    (1, 1): {
        "weight": (Fraction(1, 8), Fraction(1, 12), Fraction(1, 12)),
        "lambda_1": (HALF, HALF),
        "lambda_2": (Fraction(2, 3), Fraction(1, 3)),
    },
    (1, 2): {"lambda_2": (HALF, HALF)},
}
"""The printed values after an attribute was adjusted in a sweep, by sweep and attribute."""
PRINTED_LIMIT = {
    "weight": (Fraction(1, 8), Fraction(0), Fraction(1, 8)),
    "joint": (HALF, Fraction(0), Fraction(0), HALF),  # (14)
}
PRINTED_INDEPENDENT = {"joint": (Fraction(1, 4),) * 4}  # (15)
NOTES = {
    (1, 2): "misprint in the text: the value that lambda_2 takes is that of pi-hat^2, not pi-hat^1"
}


@dataclass(frozen=True)
class ExampleStep:
    """The state of Algorithm 2 after it adjusted an `attribute`, 1 or 2, in a `sweep`.

    Both are 0 at the start. The `weights` belong to one record of each group.
    """

    sweep: int
    attribute: int
    weights: Values

    @property
    def joint(self) -> Values:
        """The proportions of the four cells, in the order of (14)."""
        shares = {g.categories: g.size * w for g, w in zip(GROUPS, self.weights, strict=True)}
        return tuple(shares.get(cell, Fraction(0)) for cell in CELLS)

    def margin(self, position: int) -> Values:
        """Return the weighted marginal distribution of the attribute at a `position`, 0 or 1."""
        return tuple(
            sum((s for c, s in zip(CELLS, self.joint, strict=True) if c[position] == k), Fraction())
            for k in (0, 1)
        )

    @property
    def gap(self) -> Fraction:
        """The largest distance between a marginal distribution and its target."""
        return max(
            abs(share - target)
            for position in (0, 1)
            for share, target in zip(self.margin(position), TARGETS[position], strict=True)
        )

    def adjusted(self, attribute: int) -> Values:
        """Return the weights after Adjust_weights for an `attribute`, 1 or 2 (lines 10 to 18)."""
        sums, targets = self.margin(attribute - 1), TARGETS[attribute - 1]
        categories = [group.categories[attribute - 1] for group in GROUPS]
        return tuple(
            w * targets[v] / sums[v] for w, v in zip(self.weights, categories, strict=True)
        )


def steps(sweeps: int) -> Iterator[ExampleStep]:
    """Yield the start, then the state after each attribute in all `sweeps`."""
    step = ExampleStep(0, 0, (Fraction(1, RECORDS),) * len(GROUPS))
    yield step
    for sweep in range(1, sweeps + 1):
        for attribute in (1, 2):
            step = ExampleStep(sweep, attribute, step.adjusted(attribute))
            yield step


def example_1(sweeps: int = 10) -> pd.DataFrame:
    """Return Example 1 step by step, in 1 or more `sweeps`, with verdicts on the printed values.

    The last two rows are the limit (14) and RR-Independent (15). ``weight_1_4`` and its like are
    fractions, and ``value_1_4`` and its like are numbers. ``share`` is the proportion of the cell
    (a12, a21); ``sweep_times_share`` tends to 1/4.
    """
    if sweeps < 1:
        raise DeniableError(f"the number of sweeps is {sweeps}; it must be at least 1")
    every = list(steps(sweeps))
    independent = {"joint": tuple(TARGETS[0][a] * TARGETS[1][b] for a, b in CELLS)}
    compared = _compared(PRINTED_INDEPENDENT, independent)
    ends = _limit_row(every[-1]), {"adjusted": "RR-Independent", "note": ""} | compared
    table = pd.DataFrame([*map(_row, every), *ends])
    return table.astype({"sweep": "Int64"})


def _row(step: ExampleStep) -> dict[str, Any]:
    lambdas = {f"lambda_{position + 1}": step.margin(position) for position in (0, 1)}
    printed = PRINTED.get((step.sweep, step.attribute), {})
    found = {"weight": step.weights} | lambdas
    weights = dict(zip(NAMES, step.weights, strict=True))
    share = step.joint[VANISHING]
    return (
        {"sweep": step.sweep, "adjusted": str(step.attribute or "start")}
        | {f"weight_{name}": str(weight) for name, weight in weights.items()}
        | {f"value_{name}": float(weight) for name, weight in weights.items()}
        | {name: _text(values) for name, values in lambdas.items()}
        | {"gap": str(step.gap), "gap_value": float(step.gap)}
        | {"share": str(share), "sweep_times_share": float(step.sweep * share)}
        | _compared(printed, {name: found[name] for name in printed})
        | {"note": NOTES.get((step.sweep, step.attribute), "")}
    )


def _limit_row(last: ExampleStep) -> dict[str, Any]:
    # Of all distributions on the reported cells one has both marginal distributions: a11 is
    # reported with a21 only, a22 with a12 only, and (a12, a21) gets the rest.
    (a11, _), (a21, a22) = TARGETS
    joint = (a11, Fraction(0), a21 - a11, a22)
    shares = dict(zip(CELLS, joint, strict=True))
    weights = tuple(shares[group.categories] / group.size for group in GROUPS)
    note = (
        "approached, never reached: the share of (a12, a21) is 1/(4 (t + 1)) after "
        f"sweep t, here {last.joint[VANISHING]} after {last.sweep}"
    )
    compared = _compared(PRINTED_LIMIT, {"weight": weights, "joint": joint})
    return {"adjusted": "limit"} | compared | {"note": note}


def _compared(printed: Mapping[str, Values], found: Mapping[str, Values]) -> dict[str, Any]:
    if not printed:
        return {"published": "", "regenerated": "", "verdict": "not printed"}
    return {
        "published": "; ".join(f"{name} {_text(values)}" for name, values in printed.items()),
        "regenerated": "; ".join(f"{name} {_text(values)}" for name, values in found.items()),
        "verdict": "agrees" if printed == found else "differs",
    }


def _text(values: Values) -> str:
    return f"({', '.join(map(str, values))})"
