"""The settings of a collection of tables, as a config states them."""

from dataclasses import replace
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from deniable import plans
from deniable.plans.settings import PlanInputs, RecordOptions, only_option
from deniable.validation import Coverage, Epsilon, Probability


class CollectedSettings(RecordOptions):
    """Tables that randomized response block aggregation ([rrba]) collects (docs/rrba.md).

    Each record is a client. With probability p it answers with its true cell, otherwise with a cell
    drawn from the table that its block received. The exact ε of an answer is
    ln(1 + p / ((1 − p) q)), with q the smallest cell of the table that was sent. The protected file
    has only counts of answers. One of `p` and `epsilon` is required.
    """

    kind: Literal["collected"]
    """Kind of the plan."""
    size: Annotated[int, Field(ge=2, le=8)] = 2
    """Number of columns of a table. All combinations are collected, with at most 50,000 cells."""
    answers: Literal["view", "table", "all", "memory"] = "view"
    """Each client answers about a view (tables without a common column), one table, or all tables
    ([multirr], 4.3). The ε of these tables are added. With `memory` each column is randomized once,
    uniformly, for all tables, and ε is added over columns."""
    p: Probability | None = None
    """Probability of a true answer."""
    epsilon: Epsilon | None = None
    """Exact ε of the record of a client."""
    update: Literal["uniform", "pooled", "first_version", "second_version"] = "uniform"
    """Table that a block receives: `uniform` (smallest errors at equal exact ε), or `pooled`, the
    estimate from all earlier blocks. By equation (4), `first_version` (with `block: 1`) uses all
    answers and the last table, and `second_version` the last block."""
    floor: Coverage | None = None
    """The smallest of m cells is `floor` / m, which bounds ε. Required with `pooled`, not for
    `uniform`. A version without it has no finite ε, and needs `p` and `accept: [no_floor]`."""
    block: Annotated[int, Field(ge=1, le=1_000_000)] | Literal["section_5"] = 1000
    """Clients of a block. With `section_5` the number of answers about each table is the number of
    cells of the largest one."""

    @model_validator(mode="after")
    def _in_pairs(self) -> Self:
        only_option({"p": self.p, "epsilon": self.epsilon})
        if self.update.endswith("version") and self.floor is None:
            return self
        if (self.floor is None) != (self.update == "uniform"):
            given = "floor is missing" if self.floor is None else f"floor: {self.floor:g}"
            allowed = "a floor, which bounds epsilon" if self.floor is None else "none"
            raise ValueError(f"{given}; allowed with update {self.update!r}: {allowed}")
        return self

    def plan(self, given: PlanInputs) -> "plans.CollectedPlan":
        options = self.model_dump(include={"epsilon", "size", "answers", "floor", "block"})
        if self.update.endswith("version"):
            options |= {"update": self.update, "floor": self.floor or 0.0}
        schema = self.own_schema(given.schema)
        plan = plans.CollectedPlan.from_schema(schema, accept=given.accept, keep=self.p, **options)
        return replace(plan, part=self.answering)
