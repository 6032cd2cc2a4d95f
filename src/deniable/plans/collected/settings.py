"""The settings of a collection of tables, as a config states them."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, model_validator

from deniable.plans.settings import PlanInputs, RecordOptions, only_option
from deniable.validation import Coverage, Epsilon, Probability

if TYPE_CHECKING:  # a config is checked without a computation
    from deniable.plans.collected.plan import CollectedPlan


class CollectedSettings(RecordOptions):
    """Tables collected from clients in blocks ([rrba]); config/README.md describes all options."""

    kind: Literal["collected"]
    size: Annotated[int, Field(ge=2, le=8)] = 2
    answers: Literal["view", "table", "all", "memory"] = "view"
    p: Probability | None = None
    epsilon: Epsilon | None = None
    update: Literal["uniform", "pooled", "first_version", "second_version"] = "uniform"
    floor: Coverage | None = None
    block: Annotated[int, Field(ge=1, le=1_000_000)] | Literal["section_5"] = 1000

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

    def plan(self, given: PlanInputs) -> "CollectedPlan":
        from deniable.plans.collected.plan import CollectedPlan  # noqa: PLC0415

        options = self.model_dump(include={"epsilon", "size", "answers", "floor", "block"})
        if self.update.endswith("version"):
            options |= {"update": self.update, "floor": self.floor or 0.0}
        schema = self.own_schema(given.schema)
        plan = CollectedPlan.from_schema(schema, accept=given.accept, keep=self.p, **options)
        return replace(plan, part=self.answering)
