"""What the claims of [idp] are held against: expected mean SSE, F-measures, the records."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TypeVar

import pandas as pd

from deniable.records import NumericMicrodata

from reproduction.study import Decide, Pair, Row, exact_row, found_by, require_any, source_of

KEYS = ("method", "epsilon", "domain_factor", "k")
Key = tuple[str, float, float, int]  # method, epsilon, domain factor, k
Rows = dict[Key, Row]
Readings = list[tuple[str, Decide]]  # what a claim decides under each way to read it, by name
CLUSTER_FORESTS = "forests on iDP-CBLS records"
Number = TypeVar("Number", int, float)


@dataclass(frozen=True, eq=False)
class Tables:
    """What claims are held against: a set's `data`, the `sse` of their releases, and `forests`.

    A row to compare has ``median`` (the estimate, here a mean), ``ci_low`` and ``ci_high``.
    """

    data: NumericMicrodata
    sse: pd.DataFrame  # as `reproduction.papers.idp.sse.expected_table` returns it
    forests: pd.DataFrame  # idp_fig5 or idp_fig6, with 0 for what does not apply

    @property
    def source(self) -> str:
        """Where the records come from."""
        return source_of(self.sse if len(self.sse) else self.forests)

    @cached_property
    def _errors(self) -> dict[Key, float]:
        values = (self.sse[name].tolist() for name in (*KEYS, "expected_sse"))
        return {(m, e, c, int(k)): value for m, e, c, k, value in zip(*values, strict=True)}

    def sse_of(self, method: str, epsilon: float, factor: float, k: int = 0) -> Row:
        """Return the expected mean SSE of a `method`, an `epsilon`, a domain `factor` and a `k`.

        That of ``dp``, a single experiment, is one at every k.
        """
        return exact_row(self._errors[method, epsilon, factor, 0 if method == "dp" else k])

    @cached_property
    def measures(self) -> Rows:
        """The mean of the F-measures over the classes, whose errors add: they share forests."""
        values = ["f_measure", "ci_low", "ci_high", "replicates"]
        return _rows(self._forests.groupby(list(KEYS))[values].mean().reset_index())

    def of_class(self, name: str) -> Rows:
        """Return the F-measures of the class `name`."""
        return _rows(self._forests[self._forests["class"] == name])

    @cached_property
    def _forests(self) -> pd.DataFrame:
        """The forests with an interval also where all runs agree, as trees of one leaf do.

        What other runs would give lies between 0 and 1, and of n like these an unseen share of at
        most 1 - .025 ** (1 / n) differs. Whoever names the larger class has one F for certain.
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
        return sorted({(epsilon, factor) for _, epsilon, factor, _ in self._errors})

    @property
    def epsilons(self) -> Sequence[float]:
        """The epsilons of the SSE, in order; a `LookupError` says that there are none."""
        return _in_order((epsilon for epsilon, _ in self.settings), "epsilon")

    @property
    def factors(self) -> Sequence[float]:
        """The domain factors of the SSE, in order."""
        return _in_order((factor for _, factor in self.settings), "domain factor")

    @property
    def k(self) -> Sequence[int]:
        """The k of the SSE, in order."""
        return _in_order((k for *_, k in self._errors if k), "k")

    def every(self) -> list[tuple[float, float, int]]:
        """Return each setting at each k."""
        return [(*setting, k) for setting in self.settings for k in self.k]

    def pairs(self, first: str, second: str) -> Sequence[Pair]:
        """Return the mean SSE of two methods, `first` and `second`, in each setting, at each k."""
        return require_any(
            [(self.sse_of(first, *at), self.sse_of(second, *at)) for at in self.every()]
        )

    def least(self, epsilon: float, factor: float, among: Iterable[int]) -> tuple[int, Row]:
        """Return the k `among` some at which iDP-CBLS has the least mean SSE, and that.

        It is the SSE at an `epsilon` and a domain `factor`.
        """
        of = [(k, self.sse_of("idp_cbls", epsilon, factor, k)) for k in among]
        if not of:
            raise LookupError("k to choose from")
        return min(of, key=lambda found: float(found[1]["median"]))

    @property
    def forest_k(self) -> Sequence[int]:
        """The k of forests on iDP-CBLS records, in order."""
        return _in_order(
            (k for method, *_, k in self.measures if method == "idp_cbls"), CLUSTER_FORESTS
        )

    @property
    def forest_factors(self) -> Sequence[float]:
        """The domain factors of forests on iDP-CBLS records, in order."""
        return _in_order(
            (factor for m, _, factor, _ in self.measures if m == "idp_cbls"), CLUSTER_FORESTS
        )

    def bound(self) -> Row:
        """Return the mean F of forests on the original records."""
        return self.measures["original", 0.0, 0.0, 0]

    def best(self, methods: Sequence[str], epsilon: float, factor: float) -> Row:
        """Return the largest mean F of `methods` at an `epsilon` and a domain `factor`.

        Over k where they have one.
        """
        at = [(method, epsilon, factor, k) for method in methods for k in (0, *self.forest_k)]
        if not (found := [self.measures[key] for key in at if key in self.measures]):
            raise LookupError(f"{', '.join(methods)} at epsilon {epsilon:g}, factor {factor:g}")
        return max(found, key=lambda row: float(row["median"]))


def _rows(table: pd.DataFrame) -> Rows:
    columns = (*KEYS, "f_measure", "ci_low", "ci_high", "replicates")
    values = zip(*(table[name].tolist() for name in columns), strict=True)
    rows: Rows = {}
    for method, epsilon, factor, k, found, low, high, runs in values:
        row = {"median": found, "ci_low": low, "ci_high": high, "freedom": max(runs - 1, 1)}
        rows[method, epsilon, factor, int(k)] = row
    return rows


def _in_order(values: Iterable[Number], what: str) -> Sequence[Number]:
    if not (found := sorted(set(values))):
        raise LookupError(what)
    return found


def ends(values: Sequence[float], what: str) -> tuple[float, float]:
    """Return the first and the last of ordered `values`; a `LookupError` says that `what` lacks."""
    if len(values) < 2:
        raise LookupError(f"a second {what}")
    return values[0], values[-1]


def readings(decide: Mapping[str, Decide]) -> Readings:
    """Return what `decide` finds, by reading, each with the figures of all: they are compared."""
    found = {name: found_by(each) for name, each in decide.items()}
    said = "; ".join(f"{name}: {outcome.figure}" for name, outcome in found.items())
    return [(name, partial(replace, outcome, figure=said)) for name, outcome in found.items()]
