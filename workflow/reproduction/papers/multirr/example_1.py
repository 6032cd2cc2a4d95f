"""Compute Example 1 of RR-Adjustment in fractions ([multirr], section 5), with published values.

After sweep t the proportion of the cell (a12, a21), records 5 and 6, is 1 / (4 (t + 1)). It
approaches 0, its value in the published limit (14), ever more slowly and never reaches it.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

HALF = Fraction(1, 2)  # the target of each category
Values = tuple[Fraction, ...]
Shares = npt.NDArray[np.object_]  # fractions by categories of both attributes, shape (2, 2)
GROUPS = {"1_4": (0, 0), "5_6": (1, 0), "7_10": (1, 1)}
"""The cells with responses, by the numbers that the text gives their records."""
SIZES = np.array([[4, 0], [2, 4]], dtype=object)  # the number of responses in each cell

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
}  # the published values after each adjustment, by sweep and attribute
PRINTED_LIMIT = {
    "weight": (Fraction(1, 8), Fraction(0), Fraction(1, 8)),
    "joint": (HALF, Fraction(0), Fraction(0), HALF),  # (14)
}
PRINTED_INDEPENDENT = {"joint": (Fraction(1, 4),) * 4}  # (15)
NOTES = {
    (1, 2): "misprint in the text: the value that lambda_2 takes is that of pi-hat^2, not pi-hat^1"
}


class ExampleStep(NamedTuple):
    """The state of Algorithm 2 after it adjusted an `attribute`, 1 or 2, in a `sweep`.

    Both are 0 at the start. The `shares` are the proportions of the four cells.
    """

    sweep: int
    attribute: int
    shares: Shares

    @property
    def found(self) -> dict[str, Values]:
        """The weight of a record of each group, and both weighted marginal distributions."""
        weights = tuple(self.shares[cell] / SIZES[cell] for cell in GROUPS.values())
        lambdas = {f"lambda_{a}": tuple(self.shares.sum(axis=2 - a)) for a in (1, 2)}
        return {"weight": weights} | lambdas

    @property
    def gap(self) -> Fraction:
        """The largest distance between a marginal distribution and its target."""
        return Fraction(max(abs(self.shares.sum(axis=axis) - HALF).max() for axis in (0, 1)))


def steps(sweeps: int) -> Iterator[ExampleStep]:
    """Yield the start, then the state after each attribute in all `sweeps`."""
    shares = SIZES * Fraction(1, SIZES.sum())
    yield ExampleStep(0, 0, shares)
    for sweep in range(1, sweeps + 1):
        for attribute in (1, 2):  # Adjust_weights, lines 10 to 18
            shares = shares * (HALF / shares.sum(axis=2 - attribute, keepdims=True))
            yield ExampleStep(sweep, attribute, shares)


def example_1(sweeps: int) -> pd.DataFrame:
    """Return Example 1 step by step, in 1 or more `sweeps`, with verdicts on published values.

    The last two rows are the limit (14) and RR-Independent (15). Weights are fractions in columns
    such as ``weight_1_4``, and numbers in columns such as ``value_1_4``. ``share`` belongs to the
    cell (a12, a21).
    """
    every = list(steps(sweeps))
    # Only one distribution on the cells with responses has both marginal distributions: a11 occurs
    # only with a21, a22 only with a12, and (a12, a21) gets the rest.
    limit = np.array([[HALF, Fraction(0)], [HALF - HALF, HALF]])
    note = (
        "approached, never reached: the share of (a12, a21) is 1/(4 (t + 1)) after "
        f"sweep t, here {every[-1].shares[1, 0]} after {sweeps}"
    )
    at_limit = {"weight": ExampleStep(0, 0, limit).found["weight"], "joint": tuple(limit.flat)}
    product = _compared(PRINTED_INDEPENDENT, {"joint": (HALF * HALF,) * 4})
    ends = (
        {"adjusted": "limit", "note": note} | _compared(PRINTED_LIMIT, at_limit),
        {"adjusted": "RR-Independent", "note": ""} | product,
    )
    return pd.DataFrame([*map(_row, every), *ends]).astype({"sweep": "Int64"})


def _row(step: ExampleStep) -> dict[str, Any]:
    at, found, share = (step.sweep, step.attribute), step.found, step.shares[1, 0]
    weights = dict(zip(GROUPS, found["weight"], strict=True))
    printed = PRINTED.get(at, {})
    return (
        {"sweep": step.sweep, "adjusted": str(step.attribute or "start")}
        | {f"weight_{name}": str(weight) for name, weight in weights.items()}
        | {f"value_{name}": float(weight) for name, weight in weights.items()}
        | {name: _text(found[name]) for name in ("lambda_1", "lambda_2")}
        | {"gap": str(step.gap), "gap_value": float(step.gap)}
        | {"share": str(share), "sweep_times_share": float(step.sweep * share)}
        | _compared(printed, {name: found[name] for name in printed})
        | {"note": NOTES.get(at, "")}
    )


def _compared(printed: Mapping[str, Values], found: Mapping[str, Values]) -> dict[str, Any]:
    both = ((f"{name} {_text(of)}" for name, of in each.items()) for each in (printed, found))
    published, regenerated = map("; ".join, both)
    verdict = ("agrees" if printed == found else "differs") if printed else "not published"
    return {"published": published, "regenerated": regenerated, "verdict": verdict}


def _text(values: Values) -> str:
    return f"({', '.join(map(str, values))})"
