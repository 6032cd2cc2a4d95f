"""Settings of masked plans, as a mapping in the workflow's config."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from deniable.idp import DEFAULT_BINS, HISTOGRAMS, NumericMethod, refuse_bad_parameters
from deniable.plans.interface import Order
from deniable.plans.masked.plan import MaskedPlan
from deniable.plans.settings import PlanInputs, PlanOptions
from deniable.validation import Epsilon, Values


class MaskedSettings(PlanOptions):
    """Settings of a `MaskedPlan`; its options are parameters of `MaskedPlan.from_schema`."""

    kind: Literal["masked"]
    columns: Values[str] | None = None
    class_column: Annotated[str, Field(min_length=1)] | None = None
    method: NumericMethod
    epsilon: Epsilon
    k: int | None = None
    bins: int | None = None
    domain_factor: float | None = None
    order: Order = "permuted"

    @model_validator(mode="after")
    def _in_range(self) -> Self:
        if self.bins is not None and self.method != HISTOGRAMS:
            raise ValueError(f"bins: {self.bins}; allowed with method {self.method!r}: none")
        bins = DEFAULT_BINS if self.bins is None else self.bins
        refuse_bad_parameters(self.method, self.epsilon, self.k, bins, self.domain_factor)
        return self

    @property
    def reads_records(self) -> bool:
        return self.domain_factor is not None

    def plan(self, given: PlanInputs) -> MaskedPlan:
        options = self.model_dump(exclude={"kind"}, exclude_none=True)
        return MaskedPlan.from_schema(given.schema, data=given.data, accept=given.accept, **options)
