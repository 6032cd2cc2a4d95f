"""The settings of all kinds of plans, and the plan that they make."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import ValidationError

from deniable.errors import DeniableError
from deniable.plans.kinds import KINDS, settings_class as settings_class  # noqa: PLC0414
from deniable.plans.settings.shared import Released
from deniable.validation import fault_lines, message

if TYPE_CHECKING:  # a config is checked without a computation
    from deniable.plans.interface import Plan
    from deniable.schema import RecordsFile, Schema

MANUAL = "config/README.md has all options"


class PlanSettings(Protocol):
    """The interface of the settings of all kinds of plans; see `PlanOptions`."""

    @property
    def reads_records(self) -> bool: ...

    @property
    def releases(self) -> tuple[str, ...]: ...

    @property
    def files(self) -> tuple[str, ...]: ...

    def make(
        self,
        schema: "Schema",
        data: "RecordsFile | None" = None,
        released: Released | None = None,
        accept: Sequence[str] = (),
    ) -> "Plan":
        """Return the plan; `schema`, `data`, `released`, `accept` as in `plan_from_settings`."""


def settings_from(values: Mapping[str, Any], where: str = "plan") -> PlanSettings:
    """Return the settings of a plan.

    Parameters
    ----------
    values : dict
        Plain values, with the ``kind`` of the plan.
    where : str
        The place that messages begin with.

    Raises
    ------
    DeniableError
        If the kind is unknown, or with one line for each wrong option.
    """
    kind = values.get("kind")
    if not isinstance(kind, str):
        raise DeniableError(f"{where}: the kind is missing; allowed: {', '.join(KINDS)}")
    model: Any = settings_class(kind)
    try:
        found: PlanSettings = model.model_validate(dict(values))
    except ValidationError as error:
        raise DeniableError(message(where, fault_lines(error, model, where), MANUAL)) from None
    return found


def plan_from_settings(
    values: Mapping[str, Any],
    schema: "Schema",
    data: "RecordsFile | None" = None,
    released: Released | None = None,
    accept: Sequence[str] = (),
) -> "Plan":
    """Return the plan of a config's settings.

    Parameters
    ----------
    values : dict
        The mapping ``plan`` of a release.
    schema : Schema
        Of the whole file.
    data : RecordsFile, optional
        The original records; used only by options that say so, whose risk must be accepted, and for
        their number.
    released : mapping of str to Responses, optional
        Responses of other releases of the same population, by name.
    accept : sequence of str
        Names of accepted risks.

    Raises
    ------
    DeniableError
        If an option is wrong, there is no such plan, or a risk is not accepted.
    """
    return settings_from(values).make(schema, data, released, accept)
