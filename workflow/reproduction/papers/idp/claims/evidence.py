"""The evidence for claims of [idp]: expected mean SSE, F-measures, the records, the audit.

A sentence about both data sets is decided from both together.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pandas as pd

from deniable.records import NumericMicrodata

from reproduction.papers.idp.names import FOREST_TABLES, SSE_TABLES
from reproduction.papers.idp.sse import expected_table
from reproduction.study import Cells, Evidence, Row, by, exact_row, require_any, source_of

KEYS = ("method", "epsilon", "domain_factor", "k")


@dataclass(frozen=True, eq=False)
class Tables:
    """The evidence of one data set: records, means of the SSE, and F-measures of forests.

    `data` are the original records. `sse` comes from `reproduction.papers.idp.sse.expected_table`.
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

    def sse_of(self, method: str, epsilon: float, factor: float, k: int = 0) -> Row:
        """Return the SSE of a `method`, `epsilon`, domain `factor` and `k`; ``dp`` has no k."""
        return self.errors[method, epsilon, factor, 0 if method == "dp" else k]

    @cached_property
    def measures(self) -> Cells:
        """Means of the F-measures of both classes; their errors add, because they share forests."""
        values = ["f_measure", "ci_low", "ci_high", "replicates"]
        return _cells(self._forests.groupby(list(KEYS))[values].mean().reset_index(), *KEYS)

    @cached_property
    def classes(self) -> Cells:
        """The F-measures of the frequent and the rare class."""
        called = dict(zip(self.data.classes, ("frequent", "rare"), strict=True))
        return _cells(self._forests.replace({"class": called}), *KEYS, "class")

    @cached_property
    def _forests(self) -> pd.DataFrame:
        """The forests, with an interval even if all replicates agree (as with trees of one leaf).

        The F of another replicate is between 0 and 1. If n replicates agree, at most a proportion
        1 - .025 ** (1 / n) of all replicates differs. The majority class has a single F.
        """
        table = self.forests
        agree = (table["ci_low"] == table["ci_high"]) & (table["method"] != "majority")
        reach = (1 - 0.025 ** (1 / table["replicates"])).where(agree, 0.0)
        return table.assign(ci_low=table["ci_low"] - reach, ci_high=table["ci_high"] + reach)

    @cached_property
    def settings(self) -> list[tuple[float, float]]:
        """The ε and domain factors of the SSE, in order."""
        return sorted({(epsilon, factor) for _, epsilon, factor, _ in self.errors})

    @property
    def k(self) -> list[int]:
        return require_any(sorted({key[-1] for key in self.errors} - {0}), "k")

    def least(self, epsilon: float, factor: float, among: Iterable[int]) -> tuple[int, Row]:
        """Return the best k of iDP-CBLS `among` several at `epsilon` and `factor`, with its SSE."""
        of = [(k, self.sse_of("idp_cbls", epsilon, factor, k)) for k in among]
        return min(require_any(of, "k to choose from"), key=lambda found: found[1]["median"])

    @cached_property
    def masked(self) -> Cells:
        """The F-measures of forests on records that were masked in clusters."""
        return Cells(KEYS, {key: row for key, row in self.measures.items() if key[-1]})

    @cached_property
    def cluster_based(self) -> Cells:
        """The F-measures of forests on iDP-CBLS records."""
        own = {key: row for key, row in self.measures.items() if key[0] == "idp_cbls"}
        return Cells(KEYS, require_any(own, "forests on iDP-CBLS records"))

    def best(self, methods: Sequence[str], epsilon: float, factor: float) -> Row:
        """Return the largest mean F of `methods` over k, at an `epsilon` and a domain `factor`."""
        every = (0, *self.cluster_based.values_of("k"))
        at = [(method, epsilon, factor, k) for method in methods for k in every]
        found = [self.measures[key] for key in at if key in self.measures]
        lacking = f"{', '.join(methods)} at epsilon {epsilon:g}, factor {factor:g}"
        return max(require_any(found, lacking), key=lambda row: float(row["median"]))


def _cells(table: pd.DataFrame, *columns: str) -> Cells:
    freedom = (table["replicates"] - 1).clip(lower=1)
    named = table.assign(k=table["k"].astype(int), median=table["f_measure"], freedom=freedom)
    return Cells(columns, by(named, *columns))


def evidence_of(tables: Mapping[str, Tables], audit: pd.DataFrame) -> dict[str, list[Evidence]]:
    """Return the evidence from the `tables` of "census" and "wine", and from the `audit`."""
    given = {}
    for name, own in tables.items():
        source = source_of(own.sse if len(own.sse) else own.forests)
        given[name] = [Evidence((), source, own, name.capitalize())]
    given["both"] = [each for own in given.values() for each in own]
    for cells in ("errors", "masked"):
        given[cells] = [replace(each, given=getattr(each.given, cells)) for each in given["both"]]
    given["gaps"] = [
        replace(each, given=each.given.ratios("idp_ls", "dp_um")) for each in given["errors"]
    ]
    given["classes"] = [replace(each, given=each.given.classes) for each in given.get("wine", ())]
    given["curves"] = [replace(each, given=each.given.masked) for each in given.get("census", ())]
    parts = audit.groupby("dataset", sort=False)
    given["audit"] = [Evidence((), source_of(t), t, str(name).capitalize()) for name, t in parts]
    return given


def decided_on(
    data: Mapping[str, NumericMicrodata], tables: Mapping[str, pd.DataFrame]
) -> tuple[dict[str, Tables], pd.DataFrame]:
    """Return the tables of each data set for `evidence_of`, and the expected errors.

    `data` are the original records by data set. `tables` belong to Figures 3 to 6.
    """
    expected = pd.concat(
        expected_table(name, data[name], tables[figure]) for name, figure in SSE_TABLES.items()
    )
    found = {
        name: Tables(data[name], expected[expected["dataset"] == name], tables[figure])
        for name, figure in FOREST_TABLES.items()
    }
    return found, expected
