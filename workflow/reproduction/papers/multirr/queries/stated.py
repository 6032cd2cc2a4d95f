"""Count queries of two attributes by the methods of [multirr], each at a stated exact epsilon.

The replicates are as in Figure 3, and p follows from the epsilon of a whole record. Each method
appears once at an epsilon, under its own name. RR-Independent and its adjustment come from cells
with *kronecker* clusters, RR-Joint from cells with one *joint* cluster of all attributes.
``uniform`` is an answer without data, for comparison.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from deniable.arrays import Floats

from reproduction.papers.multirr.queries.adjusted import ERROR, METHODS, AdjustedQueries, Reports
from reproduction.study import Cell

UNIFORM = "uniform"


@dataclass(frozen=True, eq=False)
class StatedQueries(AdjustedQueries):
    """Simulates cells that state an epsilon, on all attributes of original `data` or on `few`."""

    few: tuple[str, ...] = ()
    methods: ClassVar[tuple[str, ...]] = (*METHODS, UNIFORM)

    @cached_property
    def _of_few(self) -> "StatedQueries":
        ordinal = tuple(name for name in self.ordinal if name in self.few)
        return replace(self, data=self.data.project(self.few), ordinal=ordinal)

    def _on(self, cell: Cell) -> "StatedQueries":
        """Return the simulator on the attributes of a `cell`."""
        return self if cell["attributes"] == "all" else self._of_few

    def _kept_outputs(self, cell: Cell) -> list[tuple[int, dict[str, Any]]]:
        """Return those outputs of Figure 3 that a `cell` keeps, with their places there."""
        clusters = self._on(cell).clusters(cell)
        mechanism, joint = cell["mechanism"], cell["mechanism"] == "joint"
        grouped = f"rr_clusters_{mechanism}"
        called = {
            "rr_independent": None if joint else "rr_independent",
            "rr_independent_adjustment": None if joint else "rr_independent_adjustment",
            "rr_clusters": grouped,
            "rr_clusters_adjustment": f"{grouped}_adjustment",
            UNIFORM: None if joint else UNIFORM,
        }
        if joint and len(clusters) == 1:
            # The adjustment to a single cluster changes nothing.
            called |= {"rr_clusters": "rr_joint", "rr_clusters_adjustment": None}
        outputs = enumerate(super().outputs(cell))
        return [
            (place, {**each, "method": called[each["method"]], "clusters": len(clusters)})
            for place, each in outputs
            if each["measure"] == ERROR and called[each["method"]]
        ]

    def outputs(self, cell: Cell) -> list[dict[str, Any]]:
        """Return the name of each output of a `cell`: a method, the number of its clusters."""
        return [output for _, output in self._kept_outputs(cell)]

    def compared(self, cell: Cell) -> list[Any]:
        """Return no comparison for any `cell`: methods are compared by their intervals."""
        return []

    def spends(self, cell: Cell, output: Mapping[str, Any]) -> Mapping[str, float]:
        """Return the p of a `cell` and the epsilons of an `output`'s method; nothing of no data."""
        if output["method"] == UNIFORM:
            return {}
        found: Mapping[str, float] = AdjustedQueries.spends(self._on(cell), cell, output)
        return found

    def __call__(self, cell: Cell, generator: np.random.Generator, replicates: int) -> Floats:
        """Return the errors, shape (replicates, outputs, pairs).

        A cell has attributes, matrix, mechanism, t_v, t_d, epsilon.
        """
        values = AdjustedQueries.__call__(self._on(cell), cell, generator, replicates)
        return np.asarray(values[:, [place for place, _ in self._kept_outputs(cell)]])

    def _tables(self, reports: Sequence[Reports], pair: tuple[str, str]) -> list[Floats]:
        uniform = np.ones(self.data.domain.project(pair).shape)
        return [*super()._tables(reports, pair), uniform / uniform.size]
