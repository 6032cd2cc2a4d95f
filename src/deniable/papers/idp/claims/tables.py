"""The tables that the claims of [idp] are held against, as rows to compare.

A row is a mapping with ``median`` (the estimate, here a mean), ``ci_low`` and ``ci_high``: what the
tests of `deniable.study.comparisons` take.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from deniable.records import NumericMicrodata
from deniable.study import Pair, Row, some

KEYS = ("method", "epsilon", "domain_factor", "k")
Key = tuple[str, float, float, int]
"""Method, epsilon, domain factor, k."""
Rows = dict[Key, Row]


@dataclass(frozen=True, eq=False)
class Tables:
    """What the claims on a data set are held against.

    Attributes
    ----------
    dataset : str
        "census" or "wine": some claims are ``about`` one of them.
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
    def errors(self) -> Rows:
        """The mean SSE."""
        return _rows(self.sse, "mean_sse")

    @cached_property
    def measures(self) -> Rows:
        """The mean of the F-measures over the classes.

        Errors of the two classes add: their F-measures come from the same forests.
        """
        values = ["f_measure", "ci_low", "ci_high"]
        means = self.forests.groupby(list(KEYS))[values].mean().reset_index()
        return _rows(means, "f_measure")

    def of_class(self, name: str) -> Rows:
        """Return the F-measures of one class."""
        return _rows(self.forests[self.forests["class"] == name], "f_measure")

    @cached_property
    def settings(self) -> list[tuple[float, float]]:
        """The epsilons and domain factors of the SSE, in order."""
        return sorted({(epsilon, factor) for _, epsilon, factor, _ in self.errors})

    @cached_property
    def epsilons(self) -> list[float]:
        """The epsilons of the SSE, in order."""
        return sorted({epsilon for epsilon, _ in self.settings})

    @cached_property
    def factors(self) -> list[float]:
        """The domain factors of the SSE, in order."""
        return sorted({factor for _, factor in self.settings})

    @cached_property
    def k(self) -> list[int]:
        """The k of the SSE, in order."""
        return sorted({k for *_, k in self.errors})

    def every(self) -> list[tuple[float, float, int]]:
        """Return each setting at each k."""
        return [(*setting, k) for setting in self.settings for k in self.k]

    def pairs(self, first: str, second: str) -> Sequence[Pair]:
        """Return the mean SSE of two methods in each setting, at each k."""
        return some([(self.errors[first, *at], self.errors[second, *at]) for at in self.every()])

    def least(self, epsilon: float, factor: float, among: Iterable[int]) -> tuple[int, Row]:
        """Return the k at which iDP-CBLS has the least mean SSE, and that."""
        of = [(k, self.errors["idp_cbls", epsilon, factor, k]) for k in among]
        if not of:
            raise LookupError("no k to choose from")
        return min(of, key=lambda found: float(found[1]["median"]))

    @property
    def forest_k(self) -> list[int]:
        """The k of forests on iDP-CBLS records, in order."""
        return sorted({k for *_, k in self._forests()})

    @property
    def forest_factors(self) -> list[float]:
        """The domain factors of forests on iDP-CBLS records, in order."""
        return sorted({factor for _, _, factor, _ in self._forests()})

    def _forests(self) -> list[Key]:
        found = [key for key in self.measures if key[0] == "idp_cbls"]
        if not found:
            raise LookupError("no forests on iDP-CBLS records")
        return found

    def bound(self) -> Row:
        """Return the mean F of forests on the original records."""
        return self.measures["original", 0.0, 0.0, 0]

    def best(self, methods: Sequence[str], epsilon: float, factor: float) -> Row:
        """Return the largest mean F of some methods, over k where they have one."""
        at = [(method, epsilon, factor, k) for method in methods for k in (0, *self.forest_k)]
        found = [self.measures[key] for key in at if key in self.measures]
        if not found:
            raise LookupError("the tables lack these methods")
        return max(found, key=lambda row: float(row["median"]))


def _rows(table: pd.DataFrame, value: str) -> Rows:
    return {
        (row["method"], row["epsilon"], row["domain_factor"], int(row["k"])): {
            "median": row[value],
            "ci_low": row["ci_low"],
            "ci_high": row["ci_high"],
        }
        for row in table.to_dict("records")
    }


def times_row(row: Row, factor: float) -> Row:
    """Return a row multiplied by a factor."""
    return {name: factor * value for name, value in row.items()}


def shifted(row: Row, by: float) -> Row:
    """Return a row shifted by a number."""
    return {name: value + by for name, value in row.items()}
