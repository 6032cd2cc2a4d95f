"""The evidence for claims of [idp]: expected mean SSE, F-measures, the records."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TypeVar

import pandas as pd

from deniable.records import NumericMicrodata

from reproduction.study import (
    Cells,
    Decide,
    Readings,
    Row,
    by,
    exact_row,
    found_by,
)

KEYS = ("method", "epsilon", "domain_factor", "k")
Number = TypeVar("Number", int, float)


@dataclass(frozen=True, eq=False)
class Tables:
    """The evidence of one data set: records, means of the SSE, and F-measures of forests.

    `data` are the original records, `sse` is from `reproduction.papers.idp.sse.expected_table`.
    `forests` is idp_fig5 or idp_fig6, with 0 for settings that do not apply.
    """

    data: NumericMicrodata
    sse: pd.DataFrame
    forests: pd.DataFrame

    @cached_property
    def errors(self) -> Cells:
        """The expected mean SSE. The k of ``dp``, which has no clusters, is 0."""
        values = zip(*(self.sse[name].tolist() for name in (*KEYS, "expected_sse")), strict=True)
        return Cells(KEYS, {(m, e, c, int(k)): exact_row(value) for m, e, c, k, value in values})

    @cached_property
    def gaps(self) -> Cells:
        """The SSE of iDP-LS over the SSE of DP-UM."""
        return self.errors.ratios("idp_ls", "dp_um")

    def sse_of(self, method: str, epsilon: float, factor: float, k: int = 0) -> Row:
        """Return the SSE of a `method`, `epsilon`, domain `factor` and `k`. ``dp`` has no k."""
        return self.errors[method, epsilon, factor, 0 if method == "dp" else k]

    @cached_property
    def measures(self) -> Cells:
        """Means of the F-measures of both classes. Their errors add, since they share forests."""
        values = ["f_measure", "ci_low", "ci_high", "replicates"]
        return _cells(self._forests.groupby(list(KEYS))[values].mean().reset_index())

    @cached_property
    def classes(self) -> Cells:
        """The F-measures of the frequent and the rare class."""
        called = dict(zip(self.data.classes, ("frequent", "rare"), strict=True))
        named = self._forests.replace({"class": called})
        return _cells(named, *KEYS, "class")

    @cached_property
    def _forests(self) -> pd.DataFrame:
        """The forests, with an interval also if all replicates agree, like trees of one leaf.

        The F of another replicate is between 0 and 1. If n replicates agree, at most a proportion
        1 - .025 ** (1 / n) of all replicates differs. The majority class has one F.
        """
        agree = self.forests["ci_low"] == self.forests["ci_high"]
        reach = (1 - 0.025 ** (1 / self.forests["replicates"])).where(
            agree & (self.forests["method"] != "majority"), 0.0
        )
        low, high = self.forests["ci_low"] - reach, self.forests["ci_high"] + reach
        return self.forests.assign(ci_low=low, ci_high=high)

    @cached_property
    def settings(self) -> list[tuple[float, float]]:
        """The epsilons and domain factors of the SSE, in order."""
        return sorted({(epsilon, factor) for _, epsilon, factor, _ in self.errors})

    @property
    def k(self) -> Sequence[int]:
        """The k of the SSE, in order. A `LookupError` says that there are none."""
        return _in_order((k for *_, k in self.errors if k), "k")

    def least(self, epsilon: float, factor: float, among: Iterable[int]) -> tuple[int, Row]:
        """Return iDP-CBLS's best k `among` several at an `epsilon` and `factor`, and its SSE."""
        of = [(k, self.sse_of("idp_cbls", epsilon, factor, k)) for k in among]
        if not of:
            raise LookupError("k to choose from")
        return min(of, key=lambda found: float(found[1]["median"]))

    @cached_property
    def masked(self) -> Cells:
        """The measures of forests on records that were masked in clusters."""
        return Cells(KEYS, {key: row for key, row in self.measures.items() if key[-1]})

    @property
    def forest_k(self) -> Sequence[int]:
        """The k of forests on iDP-CBLS records, in order."""
        return _in_order((key[3] for key in self._cluster_based), "forests on iDP-CBLS records")

    @property
    def forest_factors(self) -> Sequence[float]:
        """The domain factors of forests on iDP-CBLS records, in order."""
        return _in_order((key[2] for key in self._cluster_based), "forests on iDP-CBLS records")

    @property
    def _cluster_based(self) -> list[tuple[str, float, float, int]]:
        return [key for key in self.measures if key[0] == "idp_cbls"]

    def bound(self) -> Row:
        """Return the mean F of forests on the original records."""
        return self.measures["original", 0.0, 0.0, 0]

    def best(self, methods: Sequence[str], epsilon: float, factor: float) -> Row:
        """Return the largest mean F of `methods` over k, at an `epsilon` and a domain `factor`."""
        at = [(method, epsilon, factor, k) for method in methods for k in (0, *self.forest_k)]
        if not (found := [self.measures[key] for key in at if key in self.measures]):
            raise LookupError(f"{', '.join(methods)} at epsilon {epsilon:g}, factor {factor:g}")
        return max(found, key=lambda row: float(row["median"]))


def _cells(table: pd.DataFrame, *columns: str) -> Cells:
    columns = columns or KEYS
    freedom = (table["replicates"] - 1).clip(lower=1)
    named = table.assign(k=table["k"].astype(int), median=table["f_measure"], freedom=freedom)
    return Cells(columns, by(named, *columns))


def _in_order(values: Iterable[Number], what: str) -> Sequence[Number]:
    if not (found := sorted(set(values))):
        raise LookupError(what)
    return found


def readings(decide: Mapping[str, Decide]) -> Readings:
    """Call `decide` for each interpretation, and give each outcome the figures of all."""
    found = {name: found_by(each) for name, each in decide.items()}
    said = "; ".join(f"{name}: {outcome.figure}" for name, outcome in found.items())
    return [(name, partial(replace, outcome, figure=said)) for name, outcome in found.items()]
