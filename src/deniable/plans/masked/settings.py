"""Settings of masked plans, as a mapping in the workflow's config."""

from dataclasses import replace
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from deniable.idp import DEFAULT_BINS, HISTOGRAMS, NumericMethod, refuse_bad_parameters
from deniable.plans.interface import Order
from deniable.plans.masked.mixed import MixedPlan
from deniable.plans.masked.plan import MaskedPlan
from deniable.plans.settings import (
    ColumnsSettings,
    PlanInputs,
    PlanOptions,
    RecordOptions,
    StrataSettings,
)
from deniable.schema import Part
from deniable.validation import Epsilon


class MaskedSettings(RecordOptions):
    """A plan that masks numbers (`MaskedPlan`), by default of all numeric columns.

    The number of records is public. Values outside the bounds count as the nearest bound. Noise is
    drawn exactly, on the grid of OpenDP's samplers. The plan lists all claims of the method with
    their verdicts.
    """

    kind: Literal["masked"]
    """Kind of the plan."""
    class_column: Annotated[str, Field(min_length=1)] | None = None
    """Categorical column, public and released unchanged."""
    method: NumericMethod
    """`histograms` draws synthetic records from noisy histograms of each column in each class, so
    columns depend on each other by class only. `dp` adds Laplace noise to each value. The others
    add it to centroids of clusters of similar values, with global (`dp_um`), local (`idp_ls`) or
    cluster-based local sensitivity (`idp_cbls`). Central ε-DP holds for `histograms`, with public
    bounds for `dp`, and not for the others."""
    epsilon: Epsilon
    """ε claimed for a record, in equal parts for the columns."""
    k: int | None = None
    """Smallest size of a cluster, from 3 to half the records, at most 1,000,000. Required for
    `dp_um`, `idp_ls` and `idp_cbls`, not for others. `deniable protect` refuses larger ones."""
    bins: int | None = None
    """Number of bins of equal width for each column of `histograms`, from 2 to 1,000. The default
    is 20."""
    domain_factor: float | None = None
    """A number in [1, 1000]. Domains begin at 0 and end at this multiple of the largest value, a
    risk. Not for `histograms`. The default is public bounds of the schema."""
    order: Order = "permuted"
    """Order of the protected records, as for `columns`."""

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
    """A plan that masks `numbers` and randomizes the other columns by channels (`MixedPlan`).

    Its ε is the sum of both parts: central for numbers, local for categories. See
    docs/numbers-and-clusters.md#numbers-beside-categories.
    """

    kind: Literal["mixed"]
    """Kind of the plan."""
    numbers: MaskedSettings
    """A plan of kind `masked` (default), without `order` and `part`."""
    categories: Annotated[ColumnsSettings | StrataSettings, Field(discriminator="kind")]
    """A plan of kind `columns` (default) or `strata`, with `order` and `part` of the whole plan."""

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
