"""The tables that the claims of [idp] are held against, as rows to compare.

A row is a mapping with ``median`` (the estimate, here a mean), ``ci_low`` and ``ci_high``: what the
tests of `deniable.study.comparisons` take.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from deniable.records import NumericMicrodata
from deniable.study import Decide, Row

Tests = Iterator[tuple[str, Decide]]
"""Ids of claims, and what decides them."""


@dataclass(frozen=True, eq=False)
class Tables:
    """What the claims on a data set are held against.

    Attributes
    ----------
    dataset : str
        "census" or "wine": some claims are made of one of them.
    data : NumericMicrodata
    sse : DataFrame
        idp_fig3 or idp_fig4: method, epsilon, domain_factor, k, mean_sse, ci_low, ci_high.
    forests : DataFrame
        idp_fig5 or idp_fig6: the same with class and f_measure; epsilon, domain_factor and k are 0
        where they do not apply.
    """

    dataset: str
    data: NumericMicrodata
    sse: pd.DataFrame
    forests: pd.DataFrame

    @cached_property
    def errors(self) -> dict[tuple[str, float, float, int], Row]:
        """The mean SSE by method, epsilon, domain factor and k."""
        return {
            (row["method"], row["epsilon"], row["domain_factor"], int(row["k"])): as_row(
                row, "mean_sse"
            )
            for row in self.sse.to_dict("records")
        }

    @cached_property
    def measures(self) -> dict[tuple[str, float, float, int], Row]:
        """The mean of the F-measures over the classes, by the same.

        Errors of the two classes add: their F-measures come from the same forests.
        """
        keys = ["method", "epsilon", "domain_factor", "k"]
        named = self.forests.rename(columns={"f_measure": "median"})
        means = named.groupby(keys)[["median", "ci_low", "ci_high"]].mean()
        return {
            (key[0], key[1], key[2], int(key[3])): row
            for key, row in zip(means.index, means.to_dict("records"), strict=True)
        }

    def of_class(self, name: str) -> dict[tuple[str, float, float, int], Row]:
        """Return the F-measures of one class, by the same."""
        part = self.forests[self.forests["class"] == name]
        return {
            (row["method"], row["epsilon"], row["domain_factor"], int(row["k"])): as_row(
                row, "f_measure"
            )
            for row in part.to_dict("records")
        }

    @property
    def settings(self) -> list[tuple[float, float]]:
        """The epsilons and domain factors of the SSE, in order."""
        return sorted({(epsilon, factor) for _, epsilon, factor, _ in self.errors})

    @property
    def k(self) -> list[int]:
        """The k of the SSE, in order."""
        return sorted({k for *_, k in self.errors})


def as_row(row: Row, value: str) -> Row:
    """Return a row of a table as a row to compare."""
    return {"median": row[value], "ci_low": row["ci_low"], "ci_high": row["ci_high"]}


def times_row(row: Row, factor: float) -> Row:
    """Return a row multiplied by a factor."""
    return {name: factor * value for name, value in row.items()}


def shifted(row: Row, by: float) -> Row:
    """Return a row shifted by a number."""
    return {name: value + by for name, value in row.items()}
