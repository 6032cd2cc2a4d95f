"""Options of the settings of several kinds of plans."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import Field

from deniable import plans
from deniable.privacy import PrivacyOptions
from deniable.validation import Strict, Values

if TYPE_CHECKING:  # a config is checked without a computation
    from deniable.responses import Responses
    from deniable.schema import Part, RecordsFile, Schema

Joint = list[Annotated[list[str], Field(min_length=2)]]  # groups of columns that share a channel
OrderName = Literal["permuted", "as_in_file"]
AnyPlan = TypeVar("AnyPlan", bound="plans.Plan")


@dataclass(frozen=True)
class PlanInputs:
    """The inputs of a plan: the `schema` of the whole file, and inputs of single options.

    Only options that say so use the original records, `data`, and their risk must be accepted. The
    mapping `released` has responses of other releases of the same population, by name. The names of
    accepted risks are in `accept`.
    """

    schema: "Schema"
    data: "RecordsFile | None" = None
    released: "Mapping[str, Responses]" = field(default_factory=dict)
    accept: tuple[str, ...] = ()


class PlanOptions(Strict):
    """The options of a plan, of any kind, and the files that the plan is made from."""

    @property
    def reads_records(self) -> bool:
        """Whether the plan is made from the original records, or needs their number."""
        return False

    @property
    def releases(self) -> tuple[str, ...]:
        """Names of the releases that the plan is made from."""
        return ()

    @property
    def files(self) -> tuple[str, ...]:
        """Paths of further files that the plan is made from."""
        return ()

    def plan(self, given: PlanInputs) -> "plans.Plan":
        """Return the plan of the inputs `given`; each kind defines it.

        Raises `DeniableError` if the plan is impossible, or a risk is not accepted.
        """
        raise NotImplementedError


class PartSettings(Strict):
    """The part of the respondents that answers, such as `{of: 2, take: 1, seed: TEXT}`.

    The public seed alone divides the respondents (`deniable.schema.Part`). The ledger counts parts
    by their maximum (docs/ledger.md).
    """

    of: Annotated[int, Field(ge=2, le=1000)] = 2
    """Number of parts."""
    take: Annotated[int, Field(ge=1, le=1000)]
    """The part that answers, at most `of`."""
    seed: Annotated[str, Field(min_length=1)]
    """The same public text for all parts."""


class RecordOptions(PlanOptions):
    """Options of plans for some columns and some respondents, by default for all."""

    columns: Values[str] | None = None
    """Columns of the plan. All others are left out. The default is all."""
    part: PartSettings | None = None
    """The part of the respondents that answers. The default is all."""

    def own_schema(self, schema: "Schema") -> "Schema":
        """Return the `schema` of the plan's columns."""
        return schema if self.columns is None else schema.only(self.columns)

    @property
    def answering(self) -> "Part | None":
        """The part of the respondents that answers."""
        from deniable.schema import Part  # noqa: PLC0415

        return None if self.part is None else Part(self.part.of, self.part.take, self.part.seed)


class ChannelOptions(RecordOptions, PrivacyOptions):
    """Options of plans that randomize columns by channels; groups of columns in `joint` share one.

    `epsilon`, `beta` or `breach` is of the record.
    """

    joint: Joint = Field(default_factory=list)
    """Groups of columns that share a channel over their joint cells."""
    epsilon: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """Exact ε of a record, never exceeded. Each channel has an ε of at most 30."""
    order: OrderName = "permuted"
    """Order of the protected records. By the order of the file, all people who know this order can
    re-identify records."""

    def completed(self, plan: "AnyPlan", matrix: Any) -> "AnyPlan":
        """Return the `plan` with order, part and requirement, which a `matrix` may have."""
        required = self.requirement("record")
        if isinstance(matrix, PrivacyOptions):
            required = matrix.requirement("column")
        return replace(plan, order=self.order, part=self.answering, requirement=required)

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(getattr(getattr(self, "matrix", None), "files", {}).values())


def only_option(given: Mapping[str, object]) -> str:
    """Return the name of the one option in `given` that is not None; else raise `ValueError`."""
    if len(names := [name for name, value in given.items() if value is not None]) != 1:
        *first, last = given
        raise ValueError(
            f"{' and '.join(names) or 'none'} of {', '.join(first)} and {last} given; allowed: one "
            "of them"
        )
    return names[0]
