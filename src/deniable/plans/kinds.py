"""The registry of the kinds of plans: the class of each kind, and the model of its settings.

A class is imported when a plan of its kind is read, and its settings when a config has one.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from deniable.errors import DeniableError, shown
from deniable.validation import Strict

if TYPE_CHECKING:  # a config is checked without a computation
    from deniable.plans.interface import Plan


class PlanKind(NamedTuple):
    """The places of the classes of a kind.

    Attributes
    ----------
    plan : str
        The class of its plans, as "module:class".
    settings : str
        The model of their settings, a `deniable.plans.settings.PlanSettings`.
    """

    plan: str
    settings: str


KINDS: Mapping[str, PlanKind] = {
    "columns": PlanKind(
        "deniable.plans.columns:ColumnsPlan",
        "deniable.plans.settings.columns:ColumnsSettings",
    ),
    "strata": PlanKind(
        "deniable.plans.strata:StrataPlan",
        "deniable.plans.settings.strata:StrataSettings",
    ),
    "masked": PlanKind(
        "deniable.plans.masked.plan:MaskedPlan",
        "deniable.plans.masked.settings:MaskedSettings",
    ),
    "collected": PlanKind(
        "deniable.plans.collected.plan:CollectedPlan",
        "deniable.plans.collected.settings:CollectedSettings",
    ),
}
"""All kinds of plans, by name."""


def plan_class(kind: Any) -> "type[Plan]":
    """Return the class of the plans of a `kind`.

    Raises
    ------
    DeniableError
        If there is no such kind.
    """
    found: type[Plan] = _resolved(_known(kind).plan)
    return found


def settings_class(kind: Any) -> type[Strict]:
    """Return the model of the settings of a `kind`.

    Raises
    ------
    DeniableError
        If there is no such kind.
    """
    found: type[Strict] = _resolved(_known(kind).settings)
    return found


def _known(kind: Any) -> PlanKind:
    if not isinstance(kind, str) or kind not in KINDS:
        raise DeniableError(f"a plan of kind {shown(kind)}; allowed: {', '.join(KINDS)}")
    return KINDS[kind]


def _resolved(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
