"""Settings of masked plans, as a mapping in the workflow's config."""

from dataclasses import replace
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from deniable.idp import DEFAULT_BINS, HISTOGRAMS, NumericMethod, refuse_bad_parameters
from deniable.plans.interface import Order, Part
from deniable.plans.masked.mixed import MixedPlan
from deniable.plans.masked.plan import MaskedPlan
from deniable.plans.settings import (
    ColumnsSettings,
    PlanInputs,
    PlanOptions,
    RecordOptions,
    StrataSettings,
)
from deniable.validation import Epsilon


class MaskedSettings(RecordOptions):
    """Settings of a `MaskedPlan`; its options are parameters of `MaskedPlan.from_schema`."""

    kind: Literal["masked"]
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

    def plan(self, given: PlanInputs, part: Part | None = None) -> MaskedPlan:
        """Return the plan of the inputs `given`, for a `part` of the respondents."""
        more: dict[str, Any] = self.model_dump(exclude={"kind", "part"}, exclude_none=True)
        more |= {"data": given.data, "accept": given.accept, "part": part or self.answering}
        return MaskedPlan.from_schema(given.schema, **more)


class MixedSettings(PlanOptions):
    """Settings of a `MixedPlan`: masked `numbers`, and channels of the other columns.

    Order and part of the respondents are options of the `categories`. The kinds of the sections
    are by default masked and columns.
    """

    kind: Literal["mixed"]
    numbers: MaskedSettings
    categories: Annotated[ColumnsSettings | StrataSettings, Field(discriminator="kind")]

    @model_validator(mode="before")
    @classmethod
    def _with_kinds(cls, values: Any) -> Any:
        kinds = {"numbers": {"kind": "masked"}, "categories": {"kind": "columns"}}
        given = values if isinstance(values, dict) else {}
        sections = {name: given[name] for name in kinds if isinstance(given.get(name), dict)}
        return values if not sections else given | {n: kinds[n] | s for n, s in sections.items()}

    @model_validator(mode="after")
    def _one_order(self) -> Self:
        for name in ("order", "part"):
            if name in self.numbers.model_fields_set:
                raise ValueError(f"{name} of the numbers; allowed: in the section categories")
        return self

    @property
    def reads_records(self) -> bool:
        return self.numbers.reads_records or self.categories.reads_records

    @property
    def releases(self) -> tuple[str, ...]:
        return self.categories.releases

    @property
    def files(self) -> tuple[str, ...]:
        return self.categories.files

    def plan(self, given: PlanInputs) -> MixedPlan:
        numbers = self.numbers.plan(given, self.categories.answering)
        taken = {*numbers.names, numbers.class_column}
        rest = [each.name for each in given.schema.randomized if each.name not in taken]
        schema = given.schema.only(rest)
        data = None if given.data is None else given.data.with_schema(schema)
        return MixedPlan.of(numbers, self.categories.plan(replace(given, schema=schema, data=data)))
