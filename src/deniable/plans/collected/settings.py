"""The settings of a collection of tables, as a config states them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from deniable.plans.settings import PartSettings, PlanOptions
from deniable.schema import Schema
from deniable.validation import Coverage, Epsilon, Probability, Values

if TYPE_CHECKING:  # reading settings computes nothing
    from deniable.plans.collected.plan import CollectedPlan


class CollectedSettings(PlanOptions):
    """Tables collected from clients in blocks ([rrba]).

    Attributes
    ----------
    columns : list of str
        By default all randomized columns of the schema.
    size : int
        Number of columns of each table.
    answers : str
        ``view``: each client answers about all tables of a view; ``table``: about one table.
    p : float
        The probability that an answer is kept.
    epsilon : float
        Instead of p: the epsilon of a client's record.
    update : str
        ``uniform``: fake answers are uniform; ``pooled``: they follow the estimates so far.
    floor : float
        With ``pooled``: the smallest cell of a table of m cells is floor / m.
    block : int
        Number of clients that receive the same tables.
    part : PartSettings
        The part of the respondents that answers; by default all.
    """

    kind: Literal["collected"]
    columns: Values[str] | None = None
    size: Annotated[int, Field(ge=2, le=8)] = 2
    answers: Literal["view", "table"] = "view"
    p: Probability | None = None
    epsilon: Epsilon | None = None
    update: Literal["uniform", "pooled"] = "uniform"
    floor: Coverage | None = None
    block: Annotated[int, Field(ge=1, le=1_000_000)] = 1000
    part: PartSettings | None = None

    @model_validator(mode="after")
    def _one_probability(self) -> Self:
        if (self.p is None) == (self.epsilon is None):
            given = "neither" if self.p is None else "both"
            raise ValueError(
                f"{given} of p and epsilon given; allowed: p, the probability that an answer is "
                "kept, or the epsilon of a client's record"
            )
        return self

    @model_validator(mode="after")
    def _floor_with_pooled_tables(self) -> Self:
        if (self.floor is None) != (self.update == "uniform"):
            given = "floor is missing" if self.floor is None else f"floor: {self.floor:g}"
            allowed = "a floor, which bounds epsilon" if self.floor is None else "none"
            raise ValueError(f"{given}; allowed with update {self.update!r}: {allowed}")
        return self

    def make(
        self, schema: Schema, data: Any = None, released: Any = None, accept: Sequence[str] = ()
    ) -> "CollectedPlan":
        """Return the plan.

        Parameters
        ----------
        schema : Schema
            Of the file; columns that the settings do not name are left out.
        data, released : optional
            Without effect: the questions follow from the schema alone.
        accept : sequence of str, optional
            Names of accepted risks.

        Raises
        ------
        DeniableError
            If a column is unknown, or a risk is not accepted.
        """
        from deniable.plans.collected.plan import CollectedPlan  # noqa: PLC0415

        kept = schema if self.columns is None else schema.only(self.columns)
        settings = self.size, self.answers, self.floor, self.block, accept
        if self.p is not None:
            plan = CollectedPlan.of_retention(kept, self.p, *settings)
        else:
            plan = CollectedPlan.of_epsilon(kept, self.epsilon or 0.0, *settings)
        return replace(plan, part=None if self.part is None else self.part.part())
