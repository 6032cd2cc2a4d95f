"""Published plans without their matrices, which the data owner keeps back ([pram], 2)."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import pandas as pd
import pyarrow as pa

from deniable.errors import DeniableError
from deniable.plans.auditing import AUDIT_COLUMNS, audit_row
from deniable.plans.document import epsilon_to_json
from deniable.plans.interface import Plan, Watch
from deniable.plans.risks import Guarantee, invariant_risks, sum_of_epsilons
from deniable.plans.settings import KEPT_BACK
from deniable.responses import ProtectedFormat, ProtectedRecords, category_columns, kept_back_table
from deniable.sampling import RandomnessSource
from deniable.schema import RecordBatch

UNKNOWN = "not shown: the matrices are kept back"


@dataclass(frozen=True, eq=False, repr=False)
class KeptBackPlan(Plan):
    """A plan of invariant matrices without the matrices; it follows from the settings alone.

    Columns of one of the `blocks` share a matrix. Other randomized columns of the schema are
    strata. The `bounds` are the requested epsilons of the blocks, which no matrix exceeds, and
    `why` has the reasons for their matrices. The `weight` is as in `CategoricalPlan`, and all other
    parameters are as in `Plan`.
    """

    kind: ClassVar[str] = KEPT_BACK
    row_by_row = True

    blocks: tuple[tuple[str, ...], ...]
    bounds: tuple[float, ...]
    why: tuple[str, ...]
    weight: str | None = None

    @property
    def epsilon(self) -> float:
        """A bound on the epsilon of a record; only the data owner has the exact epsilon."""
        return sum_of_epsilons(self.bounds)

    @property
    def strata(self) -> tuple[str, ...]:
        randomized = {name for block in self.blocks for name in block}
        return tuple(name for name in self.schema.domain().names if name not in randomized)

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        (first,) = super().guarantees
        bound = "The epsilon is the requested one, a bound; the exact one is kept back."
        return (Guarantee(first.epsilon, first.unit, (*first.conditions, bound)),)

    @property
    def risks(self) -> dict[str, str]:
        return super().risks | invariant_risks(self.weight, kept_back=True)

    @property
    def unverifiable(self) -> tuple[str, ...]:
        return tuple(" x ".join(block) for block in self.blocks)

    def randomize(
        self, batches: Iterable[RecordBatch], source: RandomnessSource, watch: Watch | None = None
    ) -> Iterator[pa.Table]:
        raise DeniableError(
            "this published plan has no matrices; use the plan that its owner keeps back"
        )

    def responses(self, source: Any) -> ProtectedRecords:
        known = self.schema.domain(), self.strata, self.blocks
        table_of = partial(kept_back_table, *known, weight=self.weight)
        layout = ProtectedFormat(self.schema, category_columns(self.schema), self.passed)
        return ProtectedRecords(source, layout, table_of, self.blocks)

    def audit(self) -> pd.DataFrame:
        rows = [
            audit_row("block", name, bound, math.nan, math.nan, UNKNOWN)
            for name, bound in zip(self.unverifiable, self.bounds, strict=True)
        ]
        total, way = self.epsilon, "sum of the bounds of all blocks"
        rows.append(audit_row("record, target", "all attributes", self.target, total, total, way))
        return pd.DataFrame(rows, columns=list(AUDIT_COLUMNS))

    def to_json(self) -> dict[str, Any]:
        rows = zip(self.blocks, self.bounds, self.why, strict=True)
        own = {} if self.weight is None else {"weight": self.weight}
        return own | {
            "clusters": [
                {"attributes": list(names), "bound": epsilon_to_json(bound), "why": reason}
                for names, bound, reason in rows
            ]
        }

    @classmethod
    def from_json(cls, own: Mapping[str, Any], fields: Mapping[str, Any]) -> "KeptBackPlan":
        clusters = own["clusters"]
        return cls(
            blocks=tuple(tuple(each["attributes"]) for each in clusters),
            bounds=tuple(float(each["bound"]) for each in clusters),
            why=tuple(str(each["why"]) for each in clusters),
            weight=own.get("weight"),
            **fields,
        )
